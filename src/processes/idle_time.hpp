// idle_time.hpp: how long to look for work or results before one sleeps.
//
// First one spins, then one looks and lets others have the CPU in between: they may be those whom
// one waits for. Who spins next to somebody that shares its CPU holds up both.
//
// Pure.
#pragma once

#include <chrono>

#include <muster/base/clock.hpp>
#include <muster/pool_options.hpp>

namespace muster {

struct IdleTime {
  Duration spinning{};
  Duration yielding{};  // behind that
};

// Of a worker that has no task.
constexpr IdleTime idle_time_of_worker(IdlePolicy policy) noexcept {
  using std::chrono::microseconds;
  switch (policy) {
    case IdlePolicy::power:
      break;
    case IdlePolicy::balanced:
      return {microseconds(2), microseconds(18)};
    case IdlePolicy::latency:
      return {microseconds(100), microseconds(400)};
  }
  return {};
}

// Of whoever waits for a result. Short unless workers are always awake: one that has to be woken
// takes longer, and may be put on the very CPU that this would keep busy.
constexpr IdleTime idle_time_of_waiter(IdlePolicy policy) noexcept {
  using std::chrono::microseconds;
  if (policy == IdlePolicy::balanced) return {microseconds(0), microseconds(2)};
  return idle_time_of_worker(policy);
}

// As long, but the CPU is left to others from the beginning.
constexpr IdleTime without_spinning(const IdleTime& time) noexcept {
  return {Duration::zero(), time.spinning + time.yielding};
}

// One idle spell.
class IdleSpell {
 public:
  IdleSpell(const IdleTime& time, Time now) noexcept
      : spin_until_(now + time.spinning), yield_until_(spin_until_ + time.yielding) {}

  enum class Step { spin, yield, sleep };
  [[nodiscard]] Step next(Time now) const noexcept {
    if (now < spin_until_) return Step::spin;
    return now < yield_until_ ? Step::yield : Step::sleep;
  }

 private:
  Time spin_until_;
  Time yield_until_;
};

}  // namespace muster
