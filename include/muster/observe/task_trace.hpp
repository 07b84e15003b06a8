// task_trace.hpp: when a task was accepted, began and ended, for whoever records traces.
//
// A pool that has a TaskTracer asks it for a context as each task is posted, runs the task inside
// of that (current_trace() gives it), and hands over the times when the task has ended. A context
// that is not sampled is only passed on. Which tasks: docs/guides/exporting.md.
//
// Thread safety: a tracer is called from any thread; a TaskTrace is a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/observe/trace_context.hpp>

namespace muster {

enum class TaskOutcome {
  succeeded,
  failed,     // it threw
  timed_out,  // it ran longer than it may
  cancelled,  // from here on: it never began
  expired,
  dropped,
};

MUSTER_API std::string_view to_string(TaskOutcome outcome);

struct TaskTrace {
  std::string pool = {};
  std::string name = {};  // as in its options; may be empty

  Time accepted{};
  std::optional<Time> started = {};  // none: it never began
  Time ended{};
  std::optional<unsigned> worker = {};  // who ran it

  TaskOutcome outcome = TaskOutcome::succeeded;
  std::string error = {};  // in words, unless it succeeded

  TraceContext parent = {};   // what its sender was part of, if anything
  TraceContext context = {};  // its own
};

class MUSTER_API TaskTracer {
 public:
  TaskTracer() = default;
  TaskTracer(const TaskTracer&) = delete;
  TaskTracer& operator=(const TaskTracer&) = delete;
  virtual ~TaskTracer();

  // The context for a task that is posted. Says by `sampled` whether it wants to see the trace. If
  // it throws, the task goes on in its sender's context and is not recorded.
  [[nodiscard]] virtual TraceContext begin(const TraceContext& parent) = 0;

  // Never waits: a worker calls it between two tasks. What it has no room for it drops and counts.
  virtual void record(TaskTrace&& trace) noexcept = 0;
};

}  // namespace muster
