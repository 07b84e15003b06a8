// timer.hpp: a task that a pool runs later, or again and again.
//
//     muster::Timer reminder = pool.after(100ms, remind);
//     muster::Timer tick = pool.every(1s, [&] { sample(); });
//     tick.cancel();
//
// `after` runs its task on the pool once, not before the delay has passed.
//
// `every` runs it first after one period and then at a fixed rate, measured from the start, so that
// it does not drift. Runs never overlap: the ticks that pass while one still waits or runs are left
// out, and nothing is made up for. An exception goes to the pool's on_error, and the ticks go on.
//
// The pool's stop() drops the timers that are not due and destroys what they have captured; a task
// whose time had come, and was posted, is run. wait_idle() does not wait for timers that are not
// due. A pool has one thread for all its timers, from the first one on; the tasks run on workers.
//
// Thread safety: any member from any thread, also from inside the timer's own task. As ever, a
// handle that one thread assigns to is not to be read by another meanwhile.
// Lifetime: a handle may be copied, and outlives the pool without harm. Dropping it cancels
// nothing.
#pragma once

#include <memory>
#include <utility>

#include <muster/base/api.hpp>

namespace muster {

class TimerState;

class MUSTER_API Timer {
 public:
  // Names no timer: nothing to cancel.
  Timer() noexcept = default;
  explicit Timer(std::shared_ptr<TimerState> state) noexcept : state_(std::move(state)) {}

  // True: because of this call the task will not run, or not again. What it has captured is
  // destroyed at once, or if it is running when it ends.
  bool cancel() noexcept;

  // Whether the task will run, or run again, if nobody cancels it.
  [[nodiscard]] bool is_active() const noexcept;

 private:
  std::shared_ptr<TimerState> state_;
};

}  // namespace muster
