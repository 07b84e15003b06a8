// trace_context.hpp: which trace a piece of work belongs to, as W3C Trace Context tells it from one
// program to the next.
//
//     const std::optional<TraceContext> parent = parse({.traceparent = request["traceparent"]});
//     ...
//     outgoing["traceparent"] = to_headers(current_trace()).traceparent;      // inside of a task
//
// Thread safety: values; current_trace() is the calling thread's own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <muster/base/api.hpp>

namespace muster {

struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};  // all 0: there is no trace
  std::array<std::uint8_t, 8> span_id{};    // of the span that what follows is a child of
  bool sampled = false;                     // somebody records this trace

  // What others have to say of the trace, handed on as it is.
  std::string trace_state = {};

  // Whether there is a trace.
  [[nodiscard]] MUSTER_API bool is_valid() const noexcept;

  bool operator==(const TraceContext&) const = default;
};

// The two headers in which a context travels.
struct TraceHeaders {
  std::string traceparent = {};
  std::string tracestate = {};
};

// Nothing if the traceparent breaks the rules of W3C Trace Context. A bad tracestate is left out.
MUSTER_API std::optional<TraceContext> parse(const TraceHeaders& headers);

// Both empty if there is no trace.
MUSTER_API TraceHeaders to_headers(const TraceContext& context);

// A trace of its own, sampled; its ids are random.
MUSTER_API TraceContext start_trace();

// Another span of the same trace; start_trace() if there is none.
MUSTER_API TraceContext child_of(const TraceContext& parent);

// The context of the innermost TraceScope of this thread; none outside.
MUSTER_API const TraceContext& current_trace() noexcept;

// Makes a context the thread's current one as long as it lives. The context must live as long.
class MUSTER_API TraceScope {
 public:
  explicit TraceScope(const TraceContext& context) noexcept;
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  const TraceContext* const outer_;
};

}  // namespace muster
