// clock.hpp: where time comes from.
//
// Deciding code takes a Time as a value and never holds a Clock; only edges (a pool, a service) do,
// so that a test or the deterministic mode can put a FakeClock in its place.
//
// Time measures (it never jumps); WallTime names a moment for people and databases, and may jump
// either way when someone sets the system's clock.
//
// Thread safety: every member of every class here may be called from any thread.
// Lifetime: whoever holds a Clock& must not outlive the clock; real_clock() lives for ever.
#pragma once

#include <chrono>
#include <mutex>
#include <type_traits>

#include <muster/base/api.hpp>

namespace muster {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

// `by` from `from`, or the end of time. Requires: not negative.
constexpr Time later(Time from, Duration by) noexcept {
  return by > Time::max() - from ? Time::max() : from + by;
}

static_assert(Time::clock::is_steady);
static_assert(std::is_same_v<Time::duration, Duration>, "time arithmetic never rounds");

class MUSTER_API Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock();

  virtual Time now() const = 0;
  virtual WallTime wall_now() const = 0;
};

// The operating system's clocks.
MUSTER_API Clock& real_clock();

// Stands still until told to move. Both of its times start at their epochs.
class MUSTER_API FakeClock : public Clock {
 public:
  FakeClock() = default;
  ~FakeClock() override;

  Time now() const override;
  WallTime wall_now() const override;

  // Moves both times forward. Throws InvalidArgument if `by` is negative: time never runs back.
  void advance(Duration by);

  // Only the wall jumps, also backwards, as when someone sets the system's clock.
  void set_wall(WallTime wall);

 private:
  // Guarded by mutex_.
  mutable std::mutex mutex_;
  Time now_{};
  WallTime wall_{};
};

}  // namespace muster
