// future_state.cpp: waiting, settling and giving up.
#include <string>

#include <muster/error.hpp>
#include <muster/sync/futex.hpp>
#include <muster/sync/future_state.hpp>

namespace muster {

namespace {

// Before a waiter sleeps: a few microseconds, as long as it takes to fall asleep and be woken.
constexpr unsigned kLooks = 100;

}  // namespace

constinit thread_local bool waits_run_tasks = false;

Time deadline_after(Duration duration) {
  if (duration < Duration::zero()) {
    throw InvalidArgument({.field = "duration",
                           .value = std::to_string(duration.count()) + " ns",
                           .rule = "must not be negative"});
  }
  const Time now = real_clock().now();
  return duration > Time::max() - now ? Time::max() : now + duration;
}

FutureStateBase::~FutureStateBase() = default;

bool FutureStateBase::wait(std::optional<Time> deadline) {
  if (waits_run_tasks) run_if_unclaimed();
  for (unsigned look = 0; look < kLooks; ++look) {
    if (is_settled()) return true;
    spin_pause();
  }
  for (;;) {
    std::uint32_t seen = pending;
    // sync(settled): as in is_settled(). relaxed: looked at again when woken.
    if (!phase_.compare_exchange_strong(seen, awaited, relaxed, acquire) && seen == settled) {
      return true;
    }
    if (futex_wait(phase_, awaited, deadline) == FutexOutcome::timed_out) return is_settled();
  }
}

void FutureStateBase::settle() noexcept {
  // sync(settled): pairs with is_settled() and wait().
  if (phase_.exchange(settled, release) == awaited) futex_wake_all(phase_);
}

bool FutureStateBase::cancel() {
  if (!claim()) return false;
  drop_task();
  settle_with(std::make_exception_ptr(Cancelled("the task was cancelled before it began")));
  return true;
}

void FutureStateBase::abandon(std::exception_ptr error) noexcept {
  if (!claim()) return;
  drop_task();
  settle_with(std::move(error));
}

void FutureStateBase::drop_reference() noexcept {
  // sync(last-reference): pairs with the load below in whoever comes last.
  if (references_.fetch_sub(1, release) != 1) return;
  (void)references_.load(acquire);  // sync(last-reference): what others did with it comes before
  delete this;
}

QueuedTask::~QueuedTask() {
  if (!state_ || state_->is_settled()) return;
  state_->abandon(
      std::make_exception_ptr(Stopped("the task was dropped before it began: its pool stopped")));
}

}  // namespace muster
