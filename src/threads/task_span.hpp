// task_span.hpp: a task of a traced pool, from its post to its end, for the pool's tracer.
//
// What settles a future is escorted: it may be run by whoever waits for it, or be cancelled, and
// what stands in the queue would not notice. Any other task is called, or destroyed, by what
// stands for it in the queue.
//
// Thread safety: none; goes with its task from thread to thread.
// Lifetime: ends itself when its task has ended. The crew and the tracer outlive it.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <muster/observe/task_trace.hpp>
#include <muster/observe/trace_context.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/future_state.hpp>

namespace muster {

class Crew;

class TaskSpan final : public Escort {
 public:
  // Posted now, as part of current_trace(). Requires: the crew has a tracer.
  TaskSpan(const Crew& crew, std::string name);
  ~TaskSpan() override;

  // Traces a task that is about to be queued. Null: somebody has begun it already.
  static TaskSpan* attach(const Crew& crew, const std::string& name, Closure& task);

  // It waits in the queue from now on, not earlier.
  void accept() noexcept;

  // Its task was not taken: nothing is recorded.
  void withdraw(const Closure& task) noexcept;

  void begin() noexcept override;
  void end(const std::exception_ptr& error) noexcept override;

  // For what happens to the traced task that this thread runs or destroys: it did not begin after
  // all, or ran too long.
  static void note(TaskOutcome outcome) noexcept;

  // As long as it lives this thread is as if it ran nothing; for a simulation.
  class Apart {
   public:
    Apart() noexcept;
    ~Apart();
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

   private:
    TaskSpan* const outer_;
    const TraceScope scope_;
  };

 private:
  class Call;
  class CallThatMustRun;

  void call();
  void drop() noexcept;
  [[nodiscard]] TaskOutcome outcome_of(const std::exception_ptr& error) const;

  // Fixed at construction.
  const Crew& crew_;

  // Whoever has the task.
  Closure task_;  // empty: it is escorted
  TaskTrace trace_;
  bool is_silent_ = false;  // nothing is recorded
  std::optional<TaskOutcome> noted_;
  std::optional<TraceScope> scope_;  // while it runs
  TaskSpan* outer_ = nullptr;        // while it runs or is destroyed
};

// Around a post to a pool that may be traced: the task is traced, unless the pool does not take it.
class Tracing {
 public:
  Tracing(const Crew& crew, const std::string& name, Closure& task);
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  // The task that this thread posts has waited for room until now.
  static void note_room() noexcept;

 private:
  const Closure& task_;
  TaskSpan* const span_;  // null: not traced
  Tracing* const outer_;
};

}  // namespace muster
