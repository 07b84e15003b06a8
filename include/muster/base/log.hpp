// log.hpp: what muster tells about itself goes to one hook, and nowhere unless you set it.
//
//     muster::set_log_hook(muster::log_to_stderr);
//     MUSTER_LOG(LogLevel::warning, "worker " << id << " died and is replaced");
//
// Without a hook MUSTER_LOG is one relaxed load and a branch; its message is not evaluated.
//
// Thread safety: anything here may be called from any thread. Several threads may be inside the
// hook at once, so it locks what it shares.
// Lifetime: when set_log_hook() returns, the old hook is no longer running anywhere, and what it
// refers to may be destroyed.
#pragma once

#include <atomic>
#include <functional>
#include <source_location>
#include <sstream>
#include <string_view>

#include <muster/base/api.hpp>

namespace muster {

enum class LogLevel { debug, info, warning, error };

MUSTER_API std::string_view to_string(LogLevel level);

// Valid during the call of the hook only; copy what you keep.
struct LogRecord {
  LogLevel level = LogLevel::info;
  std::string_view message = {};
  std::source_location location = {};
};

// Runs on the thread that logs, so be quick. What it throws is dropped, and so is what it logs
// itself; calling set_log_hook() from inside it is a bug and aborts.
using LogHook = std::function<void(const LogRecord&)>;

// Replaces the hook and returns the old one. An empty hook turns logging off.
MUSTER_API LogHook set_log_hook(LogHook hook);

// A ready-made hook: one line per record, like `muster warning: scale.cpp:42: ...`.
MUSTER_API void log_to_stderr(const LogRecord& record);

namespace detail {

extern MUSTER_API std::atomic<bool> has_log_hook;

// Collects one message, delivers it at the end of its scope.
class MUSTER_API LogMessage {
 public:
  LogMessage(LogLevel level, std::source_location location) : level_(level), location_(location) {}
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;
  ~LogMessage();

  std::ostream& text() { return text_; }

 private:
  const LogLevel level_;
  const std::source_location location_;
  std::ostringstream text_;
};

}  // namespace detail

// True while a hook is set. For work beyond the message itself; MUSTER_LOG checks by itself.
inline bool log_enabled() noexcept {
  // relaxed: a stale answer loses or wastes one message; the hook itself is read under a lock
  return detail::has_log_hook.load(std::memory_order_relaxed);
}

}  // namespace muster

// `message` is what stands after `out <<`: "text " << value << ... It cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define MUSTER_LOG(level, message)                                                              \
  do {                                                                                          \
    if (::muster::log_enabled()) {                                                              \
      ::muster::detail::LogMessage(level, ::std::source_location::current()).text() << message; \
    }                                                                                           \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)
