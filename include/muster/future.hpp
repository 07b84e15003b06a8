// future.hpp: the result of a task, later.
//
//     muster::Future<int> answer = pool.submit([] { return 42; });
//     if (answer.wait_for(10ms) == muster::FutureStatus::ready) use(answer.get());
//
// A task that threw throws again from get(). One that was cancelled, or dropped because its pool
// stopped, throws Cancelled or Stopped from there.
//
// Waiting on a worker of a pool runs the awaited task right there if nobody has begun it; it does
// not start anything else.
//
// Thread safety: a Future belongs to one thread at a time; the task may run on any other.
// Ordering: what the task did is visible after get() or wait() has returned.
// Lifetime: outlives its pool without harm. Dropping a Future does not cancel its task.
#pragma once

#include <optional>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/future_state.hpp>

namespace muster {

enum class FutureStatus { ready, pending };

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

  // The task will not begin, its captures are destroyed, and get() throws Cancelled. False: it has
  // begun already.
  bool cancel() { return state().cancel(); }

 private:
  FutureState<T>& state() const noexcept {
    MUSTER_ASSERT(state_, "a Future that is not valid; it was read or moved from");
    return *state_;
  }

  FutureRef<FutureState<T>> state_;
};

}  // namespace muster
