// future.hpp: the result of a task, later.
//
//     muster::Future<int> answer = pool.submit([] { return 42; });
//     if (answer.wait_for(10ms) == muster::FutureStatus::ready) use(answer.get());
//
// A task that threw throws again from get(). One that was cancelled, or dropped because its pool
// stopped, throws Cancelled or Stopped from there.
//
//     Future<Page> page = pool.submit(fetch).then(parse);    // parse(what fetch gave), on the pool
//     auto both = when_all(one, other);                      // when.hpp
//     int number = co_await answer;                          // in a coroutine, see task.hpp
//
// Waiting on a worker runs the awaited task right there if it is of the same pool and nobody has
// begun it; the worker does not start anything else. A spare takes its place if it waits for long.
//
// Thread safety: a Future belongs to one thread at a time; the task may run on any other.
// Ordering: what the task did is visible after get() or wait() has returned.
// Lifetime: outlives its pool without harm. Dropping a Future does not cancel its task.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/suspension.hpp>

namespace muster {

enum class FutureStatus { ready, pending };

template <class T>
class Future;

namespace detail {

template <class T, class F>
struct ContinuationResult {
  using Type = std::invoke_result_t<F&, T>;
};
template <class F>
struct ContinuationResult<void, F> {
  using Type = std::invoke_result_t<F&>;
};

// Whom cancel() of a continuation calls off: only itself, or what it waits for, and so both.
enum class Cancels { itself, both };

// A task that waits for another's result.
template <class T, class F, Cancels kCancels = Cancels::itself>
class Continuation final : public FutureState<typename ContinuationResult<T, F>::Type>,
                           public FutureCallback {
 public:
  using Result = typename ContinuationResult<T, F>::Type;

  template <class G>
  Continuation(FutureRef<FutureState<T>> before, ExecutorId home, G&& f)
      : FutureState<Result>(home), before_(std::move(before)), f_(std::forward<G>(f)) {}

  // Call once, when nobody else has the state yet.
  void begin() noexcept { before_->add_callback(*this); }

  void on_settled() noexcept override {
    Closure task{QueuedContinuation(this)};  // the task's reference
    if (before_->error() != nullptr) {
      std::move(task)();  // nothing of the user's runs
    } else {
      execute_on(this->home(), std::move(task));
    }
  }

  void help() noexcept override {
    before_->help();
    if (before_->is_settled() && this->is_home()) this->run_if_unclaimed();
  }

  void attend(const FutureStateBase& goal, Time deadline) override {
    before_->attend(goal, deadline);
  }
  void stir() noexcept override { before_->stir(); }

  bool cancel() override {
    if constexpr (kCancels == Cancels::both) return before_->cancel();
    return FutureState<Result>::cancel();
  }

 private:
  void run() noexcept override {
    try {
      if constexpr (std::is_void_v<Result>) {
        call();
        this->value_.emplace();
      } else {
        this->value_.emplace(call());
      }
      f_.reset();
      this->settle();
    } catch (...) {
      f_.reset();
      this->settle_with(std::current_exception());
    }
  }
  void drop_task() noexcept override { f_.reset(); }

  Result call() {
    if constexpr (std::is_void_v<T>) {
      before_->take();
      return std::invoke(*f_);  // NOLINT(bugprone-unchecked-optional-access): claimed once
    } else {
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): claimed once
      return std::invoke(*f_, before_->take());
    }
  }

  const FutureRef<FutureState<T>> before_;
  std::optional<F> f_;
};

template <Cancels kCancels = Cancels::itself, class T, class F>
auto continue_with(FutureRef<FutureState<T>> before, ExecutorId home, F&& f) {
  using Next = Continuation<T, std::decay_t<F>, kCancels>;
  auto* const next = new Next(std::move(before), home, std::forward<F>(f));
  Future<typename Next::Result> future{FutureRef<FutureState<typename Next::Result>>(next)};
  next->begin();
  return future;
}

// What co_await waits with, in the coroutine's frame.
template <class T>
class FutureAwaiter final : public FutureCallback {
 public:
  explicit FutureAwaiter(FutureRef<FutureState<T>> state) noexcept : state_(std::move(state)) {}

  [[nodiscard]] bool await_ready() const noexcept { return state_->is_settled(); }

  bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
    suspension_.begin(coroutine);
    if (state_->try_add_callback(*this)) return true;  // and the frame may be gone
    suspension_.withdraw();
    return false;
  }

  T await_resume() {
    if (state_->error() == nullptr) suspension_.check();
    return state_->take();
  }

  void on_settled() noexcept override {
    execute_on(state_->home(), Closure(Resumption(suspension_)));
  }

 private:
  const FutureRef<FutureState<T>> state_;
  Suspension suspension_;
};

}  // namespace detail

template <class T>
class Future {
 public:
  // Nothing to wait for: valid() is false.
  Future() noexcept = default;
  explicit Future(FutureRef<FutureState<T>> state) noexcept : state_(std::move(state)) {}

  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }

  // --- Each of these requires valid(). ---

  [[nodiscard]] bool is_ready() const noexcept { return state().is_settled(); }

  void wait() const { state().wait(std::nullopt); }
  FutureStatus wait_until(Time deadline) const {
    return state().wait(deadline) ? FutureStatus::ready : FutureStatus::pending;
  }
  // Throws InvalidArgument if `duration` is negative.
  FutureStatus wait_for(Duration duration) const { return wait_until(deadline_after(duration)); }

  // Waits, and gives the result away: the future is not valid afterwards.
  T get() {
    const FutureRef<FutureState<T>> state = std::move(state_);
    MUSTER_ASSERT(state, "get() on a Future that is not valid; it was read or moved from");
    state->wait(std::nullopt);
    return state->take();
  }

  // Calls f(result) on the pool of this future when its result is there, or right there if that
  // pool has ended; the new future is for what `f` gives. An exception passes `f` by. This future
  // is not valid afterwards.
  template <class F>
  [[nodiscard]] auto then(F&& f) {
    MUSTER_ASSERT(state_, "then() on a Future that is not valid; it was read or moved from");
    const ExecutorId home = state_->home();
    return detail::continue_with(std::move(state_), home, std::forward<F>(f));
  }

  // The same on another pool.
  template <class Pool, class F>
    requires requires(const Pool& pool) { ExecutorId{pool.executor_id()}; }
  [[nodiscard]] auto then(const Pool& pool, F&& f) {
    MUSTER_ASSERT(state_, "then() on a Future that is not valid; it was read or moved from");
    return detail::continue_with(std::move(state_), pool.executor_id(), std::forward<F>(f));
  }

  // In a coroutine: co_await gives the result away, as get() does, without holding up a thread. The
  // coroutine goes on at once if the result is there; else on the pool of this future, or where the
  // result came from if that pool has ended; and with Stopped if that pool drops it.
  [[nodiscard]] auto operator co_await() noexcept {
    MUSTER_ASSERT(state_, "co_await of a Future that is not valid; it was read or moved from");
    return detail::FutureAwaiter<T>(std::move(state_));
  }

  // The task will not begin, its captures are destroyed, and get() throws Cancelled. False: it has
  // begun already.
  bool cancel() { return state().cancel(); }

  // For code that builds on futures; see when.hpp.
  FutureRef<FutureState<T>> release_state() noexcept { return std::move(state_); }

 private:
  FutureState<T>& state() const noexcept {
    MUSTER_ASSERT(state_, "a Future that is not valid; it was read or moved from");
    return *state_;
  }

  FutureRef<FutureState<T>> state_;
};

}  // namespace muster
