// gate.cpp: counting, and waiting for room.
#include "threads/gate.hpp"

#include <algorithm>
#include <chrono>

namespace muster {
namespace {

// If tasks are not counted, nobody tells when there is room. The bound is large then, and takes
// longer than this to be worked off.
constexpr std::chrono::milliseconds kLookAgain{1};

}  // namespace

bool Gate::try_enter() noexcept {
  std::uint64_t seen = word_.load(relaxed);  // relaxed: a count, as all accesses to it
  do {
    if (seen % kThread >= options_.max_queued) return false;
    // relaxed: as above.
  } while (!word_.compare_exchange_weak(seen, seen + kTask, relaxed, relaxed));
  note(seen % kThread + 1);
  return true;
}

void Gate::make_room() noexcept {
  // relaxed: those who wait for room do so under the mutex.
  const std::uint64_t before = word_.fetch_sub(kTask, relaxed);
  note(before % kThread - 1);
  if (before < kThread) return;
  const MutexLock lock(mutex_);
  if (options_.max_queued_per_key == 0) {
    room_.notify_one();
  } else {
    room_.notify_all();  // each waits for room of its own key
  }
}

bool Gate::wait(const std::function<bool()>& has_room, Time deadline) {
  word_.fetch_add(kThread, relaxed);  // relaxed: before has_room() looks at the same word
  bool entered = false;
  {
    const MutexLock lock(mutex_);
    while (!(entered = !closed_ && has_room()) && !closed_ && real_clock().now() < deadline) {
      const Time look_again = is_counted_ ? Time::max() : real_clock().now() + kLookAgain;
      const Time until = std::min(deadline, look_again);
      if (until == Time::max()) {
        room_.wait(mutex_);
      } else {
        room_.wait_until(mutex_, until);
      }
    }
    if (!entered) room_.notify_one();  // the notice for this one, if there was one, is another's
  }
  word_.fetch_sub(kThread, relaxed);  // relaxed: too many notices do no harm
  return entered;
}

// What was counted may be out of date by now; if it is counted exactly, it is looked at again.
void Gate::switch_over(std::size_t queued) noexcept {
  const MutexLock lock(switch_mutex_);
  const BackPressure before = back_pressure();
  if (is_counted_) queued = word_.load(relaxed) % kThread;  // relaxed: a count
  const BackPressure after = watermarks_.after(before, queued);
  if (after == before) return;
  state_.store(after, relaxed);  // relaxed: written under the mutex
  on_switch_(after, queued);
}

PoolSnapshot::BackPressure Gate::figures() const noexcept {
  const auto read = [](const Atomic<std::uint64_t>& counter) {
    return counter.load(relaxed);  // relaxed: a count
  };
  return {.rejected = read(counters_.rejected),
          .dropped_oldest = read(counters_.dropped_oldest),
          .dropped_newest = read(counters_.dropped_newest),
          .blocked = read(counters_.blocked),
          .block_timeouts = read(counters_.block_timeouts),
          .caller_ran = read(counters_.caller_ran),
          .is_on = back_pressure() == BackPressure::on};
}

void Gate::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  room_.notify_all();
}

}  // namespace muster
