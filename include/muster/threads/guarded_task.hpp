// guarded_task.hpp: a task whose options are more than a priority: it looks at them when it begins,
// and is watched while it runs if it has a timeout.
//
// Either the task ends first, or its timeout passes first: whoever takes the watch out of the
// pool's timers settles. If that is the timer, it does so at once, while the task still runs, and
// what the task gives later is destroyed by the worker.
//
// Lifetime: the timer touches the state only until end() has returned, so it needs no reference.
// Design note: docs/design/thread_pool.md, "Timeouts"
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/observe/task_trace.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/task_options.hpp>

namespace muster {

class Crew;
class Timers;

namespace detail {

template <class F>
concept TakesToken = std::is_invocable_v<std::decay_t<F>&, std::stop_token>;

// Callable without arguments, or with a stop token.
template <class F>
concept TaskWithOptions = std::is_invocable_v<std::decay_t<F>&> || TakesToken<F>;

template <class F>
decltype(auto) call_with(F& callable, const std::stop_token& token) {
  if constexpr (TakesToken<F>) {
    return std::invoke(callable, token);
  } else {
    return std::invoke(callable);
  }
}

template <class F>
using TaskResult =
    decltype(call_with(std::declval<std::decay_t<F>&>(), std::declval<const std::stop_token&>()));

enum class ErrorsGo { to_future, to_pool };
enum class TaskEnd { in_time, too_late };

// What all guarded tasks have in common.
class MUSTER_API TaskGuard {
 public:
  TaskGuard(Crew& crew, const TaskOptions& options, ErrorsGo errors_go);
  TaskGuard(const TaskGuard&) = delete;
  TaskGuard& operator=(const TaskGuard&) = delete;
  ~TaskGuard();

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

  // `task "resize"`, or `the task`.
  [[nodiscard]] std::string describe() const;

  // --- on the thread that runs the task ---

  // Throws Cancelled or Expired if the task must not begin. From now on `time_out` may be called on
  // the timer thread, if there is a timeout.
  void begin(Closure&& time_out);

  [[nodiscard]] std::stop_token token() const noexcept;

  // Call it once, whether the task has begun or not. Afterwards `time_out` is not called.
  TaskEnd end() noexcept;

  // In time, but with this.
  void report_failure(const std::exception_ptr& error) noexcept;

  // --- on the timer thread ---

  // The task's end comes too late from now on; gives what to settle it with.
  [[nodiscard]] std::exception_ptr time_out() noexcept;

  // After it was settled: tells the task to stop, and if nobody else gets the error, the pool.
  void follow_up(const std::exception_ptr& error) noexcept;

 private:
  void note(TaskOutcome outcome) const noexcept;

  struct Forward {
    std::stop_source& to;
    void operator()() const noexcept { to.request_stop(); }
  };

  // Fixed at construction.
  const TaskOptions options_;
  const std::shared_ptr<Timers> timers_;  // null without a timeout
  Crew* const reports_to_;                // null: the future has its errors
  const bool is_traced_;

  // Whoever runs the task.
  std::optional<std::stop_callback<Forward>> forward_;
  std::optional<Time> watched_until_;
  std::uint64_t watch_number_ = 0;

  // Written by whoever runs the task before it is watched, and by the timer thread until the watch
  // has rung; the mutex of the timers stands between them.
  std::stop_source stop_{std::nostopstate};  // by the timeout or by the options' token
  bool timed_out_ = false;
};

template <class T, class F>
class GuardedTask final : public FutureState<T> {
 public:
  template <class G>
  GuardedTask(Crew& crew, ExecutorId home, const TaskOptions& options, G&& callable)
      : FutureState<T>(home),
        guard_(crew, options, ErrorsGo::to_future),
        callable_(std::forward<G>(callable)) {}

  // Posted: nobody has a future for it.
  template <class G>
  GuardedTask(Crew& crew, const TaskOptions& options, G&& callable)
      : FutureState<T>(0, 1),
        guard_(crew, options, ErrorsGo::to_pool),
        callable_(std::forward<G>(callable)) {}

 private:
  void run() noexcept override {
    std::exception_ptr error;
    try {
      guard_.begin(Closure([this] { time_out(); }));
      call();
    } catch (...) {
      error = std::current_exception();
    }
    callable_.reset();
    if (guard_.end() == TaskEnd::too_late) return this->value_.reset();
    if (error == nullptr) return this->settle();
    guard_.report_failure(error);
    this->settle_with(std::move(error));
  }
  void drop_task() noexcept override { callable_.reset(); }
  [[nodiscard]] std::string name() const override { return guard_.name(); }
  [[nodiscard]] std::string describe() const override { return guard_.describe(); }

  // NOLINTBEGIN(bugprone-unchecked-optional-access): claimed once
  void call() {
    if constexpr (std::is_void_v<T>) {
      call_with(*callable_, guard_.token());
    } else {
      this->value_.emplace(call_with(*callable_, guard_.token()));
    }
  }
  // NOLINTEND(bugprone-unchecked-optional-access)

  void time_out() noexcept {
    this->settle_with(guard_.time_out());
    guard_.follow_up(this->error());
  }

  TaskGuard guard_;
  std::optional<F> callable_;
};

// Most tasks with options have a priority and nothing else, and pay for nothing else.
template <class F>
bool needs_guard(const TaskOptions& options) {
  return TakesToken<F> || options.deadline || options.timeout || options.stop.stop_possible() ||
         !options.name.empty();
}

template <class F>
Closure posted_task(Crew& crew, const TaskOptions& options, F&& callable) {
  if constexpr (!TakesToken<F>) {
    if (!needs_guard<F>(options)) return Closure(std::forward<F>(callable));
  }
  using Guarded = GuardedTask<void, std::decay_t<F>>;
  return Closure(QueuedTask(new Guarded(crew, options, std::forward<F>(callable))));
}

template <class F>
FutureState<TaskResult<F>>* submitted_task(Crew& crew, ExecutorId home, const TaskOptions& options,
                                           F&& callable) {
  using Result = TaskResult<F>;
  static_assert(!std::is_reference_v<Result>, "a task gives a value or a pointer");
  if constexpr (!TakesToken<F>) {
    if (!needs_guard<F>(options)) {
      return new SubmittedTask<Result, std::decay_t<F>>(home, std::forward<F>(callable));
    }
  }
  return new GuardedTask<Result, std::decay_t<F>>(crew, home, options, std::forward<F>(callable));
}

}  // namespace detail
}  // namespace muster
