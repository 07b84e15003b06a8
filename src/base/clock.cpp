// clock.cpp: the real clock and the fake one.
#include <string>

#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

class RealClock final : public Clock {
 public:
  Time now() const override { return Time::clock::now(); }
  WallTime wall_now() const override { return WallTime::clock::now(); }
};

}  // namespace

Clock::~Clock() = default;

Clock& real_clock() {
  // Never destroyed: detached threads may ask for the time while the program exits.
  static Clock& clock = *new RealClock;
  return clock;
}

FakeClock::~FakeClock() = default;

Time FakeClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

WallTime FakeClock::wall_now() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

void FakeClock::advance(Duration by) {
  if (by < Duration::zero()) {
    throw InvalidArgument({"by", std::to_string(by.count()) + " ns", "must not be negative"});
  }
  const std::lock_guard lock(mutex_);
  now_ += by;
  wall_ += std::chrono::duration_cast<WallTime::duration>(by);
}

void FakeClock::set_wall(WallTime wall) {
  const std::lock_guard lock(mutex_);
  wall_ = wall;
}

}  // namespace muster
