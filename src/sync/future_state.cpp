// future_state.cpp: waiting, settling and giving up.
#include <algorithm>
#include <chrono>
#include <string>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>
#include <muster/sync/backoff.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/dropping.hpp>
#include <muster/sync/futex.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/player.hpp>

namespace muster {

namespace {

// Before a waiter sleeps: about a microsecond, enough for an answer from somebody who is awake.
// Whoever has to be woken takes several, and may be put on the very CPU that this would keep busy.
// Four if the pool's workers are always awake: sleeping costs more than most answers are late by.
constexpr unsigned kLooks = looks(24);
constexpr unsigned kLooksIfAlert = looks(96);

// How long a worker sleeps before it looks again for something it can do: a continuation may have
// become ready whose pool has no other worker left. Much longer if it is stood in for.
constexpr std::chrono::milliseconds kHelpAgain{1};
constexpr std::chrono::milliseconds kHelpAgainStoodIn{64};

// Stands in a list of callbacks that have been called.
FutureCallback* called() noexcept {
  static struct final : FutureCallback {
    void on_settled() noexcept override {}
  } mark;
  return &mark;
}

}  // namespace

Time deadline_after(Duration duration) {
  if (duration < Duration::zero()) {
    throw InvalidArgument({.field = "duration",
                           .value = std::to_string(duration.count()) + " ns",
                           .rule = "must not be negative"});
  }
  return later(current_time(), duration);
}

FutureCallback::~FutureCallback() = default;

Escort::~Escort() = default;

FutureStateBase::~FutureStateBase() = default;

bool FutureStateBase::wait(std::optional<Time> deadline) {
  if (is_settled()) return true;
  const Time last = deadline.value_or(Time::max());
  const bool is_worker = current_employer != nullptr;
  if (is_worker) help();
  if (current_player != nullptr) {
    return current_player->play_until([this] { return is_settled(); }, last,
                                      "waiting for a future");
  }
  attend(*this, last);
  if (is_settled()) return true;
  const unsigned most = alertness_of(home_) == Alertness::high ? kLooksIfAlert : kLooks;
  for (unsigned look = 0; look < most; ++look) {
    if (is_settled()) return true;
    spin_pause();
  }
  if (is_orphaned(home_)) {
    throw Stopped("the task will not end: its pool belongs to the parent of this process");
  }
  if (!is_worker) return sleep(last);
  if (sleep(std::min(last, real_clock().now() + kHelpAgain))) return true;
  const BlockingRegion region;  // begun late: most waits are short
  const Duration pause =
      region.cover() == Employer::Cover::stood_in ? kHelpAgainStoodIn : kHelpAgain;
  while (real_clock().now() < last) {
    help();
    if (sleep(std::min(last, real_clock().now() + pause))) return true;
  }
  return is_settled();
}

bool FutureStateBase::sleep(Time deadline) {
  const std::optional<Time> until =
      deadline == Time::max() ? std::nullopt : std::optional(deadline);
  for (;;) {
    std::uint32_t seen = pending;
    // sync(settled): as in is_settled(). relaxed: looked at again when woken.
    if (!phase_.compare_exchange_strong(seen, awaited, relaxed, acquire) && seen == settled) {
      return true;
    }
    if (futex_wait(phase_, awaited, until) == FutexOutcome::timed_out) return is_settled();
  }
}

void FutureStateBase::settle() noexcept {
  // sync(settled): pairs with is_settled() and wait().
  const std::uint32_t before = phase_.exchange(settled, release);
  MUSTER_DEBUG_ASSERT(before != settled);  // once
  if (before == awaited) futex_wake_all(phase_);
  // sync(callbacks): pairs with try_add_callback(), both ways: what was added is seen here, and
  // what was settled is seen by whoever comes later.
  FutureCallback* newest = callbacks_.exchange(called(), acq_rel);
  FutureCallback* oldest = nullptr;
  while (newest != nullptr) {
    FutureCallback* const next = newest->next_.get();
    newest->next_.set(oldest);
    oldest = std::exchange(newest, next);
  }
  while (oldest != nullptr) std::exchange(oldest, oldest->next_.get())->on_settled();
}

bool FutureStateBase::try_add_callback(FutureCallback& callback) noexcept {
  FutureCallback* newest = callbacks_.load(acquire);  // sync(callbacks)
  do {
    if (newest == called()) return false;
    callback.next_.set(newest);
    // sync(callbacks): release for settle(), acquire to see what was settled.
  } while (!callbacks_.compare_exchange_weak(newest, &callback, release, acquire));
  return true;
}

bool FutureStateBase::cancel() {
  // relaxed: a look, to make no message in vain.
  if (claim_.load(relaxed) == kClaimed) return false;
  std::exception_ptr error =
      std::make_exception_ptr(Cancelled(describe() + " was cancelled before it began"));
  if (!end_unrun(std::move(error))) return false;
  stir();
  return true;
}

void FutureStateBase::abandon(std::exception_ptr error) noexcept {
  (void)end_unrun(std::move(error));
}

// False: somebody else has claimed it.
bool FutureStateBase::end_unrun(std::exception_ptr error) noexcept {
  const std::uintptr_t before = claim_.exchange(kClaimed, relaxed);  // relaxed: as in claim()
  if (before == kClaimed) return false;
  drop_task();
  settle_with(std::move(error));
  if (before != kUnclaimed) escort_of(before).end(error_.get());
  return true;
}

bool FutureStateBase::set_escort(Escort& escort) noexcept {
  std::uintptr_t before = kUnclaimed;
  // sync(escort): pairs with the load in escort_of(). relaxed: nothing is read if it fails.
  return claim_.compare_exchange_strong(before, reinterpret_cast<std::uintptr_t>(&escort), release,
                                        relaxed);
}

bool FutureStateBase::withdraw_escort(Escort& escort) noexcept {
  auto before = reinterpret_cast<std::uintptr_t>(&escort);
  // relaxed: the escort is as it was.
  return claim_.compare_exchange_strong(before, kUnclaimed, relaxed, relaxed);
}

Escort& FutureStateBase::escort_of(std::uintptr_t claimed) const noexcept {
  (void)claim_.load(acquire);  // sync(escort): what was done before set_escort() is visible
  // NOLINTNEXTLINE(performance-no-int-to-ptr): see set_escort()
  return *reinterpret_cast<Escort*>(claimed);
}

// When run() returns the task is settled, also if that was by its timeout.
void FutureStateBase::run_escorted(Escort& escort) noexcept {
  escort.begin();
  run();
  escort.end(error_.get());
}

void FutureStateBase::drop_reference() noexcept {
  // sync(last-reference): pairs with the load below in whoever comes last.
  if (references_.fetch_sub(1, release) != 1) return;
  (void)references_.load(acquire);  // sync(last-reference): what others did with it comes before
  delete this;
}

QueuedTask::~QueuedTask() {
  if (!state_ || state_->is_settled()) return;
  state_->abandon(Dropping::error_for(state_->describe(), state_->name()));
}

}  // namespace muster
