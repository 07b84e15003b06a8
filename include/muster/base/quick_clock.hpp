// quick_clock.hpp: the steady clock at half its price, for those who look very often.
//
// Where the kernel itself keeps time by a counter of the CPU that runs evenly and alike on all of
// them (x86: clocksource "tsc"; arm64: its system counter), that is read directly. Each thread
// compares it with the steady clock anew every 10 ms, when it looks; its speed is known to all from
// a millisecond after the first look on, or when it is told. Until then, and elsewhere, it is the
// steady clock that is read.
//
// It is at most a microsecond off the steady clock, and 10 more in the 10 ms after the kernel has
// changed the speed of that or the machine was asleep; so two looks may seem to be in the wrong
// order, by as much.
//
// Thread safety: any function from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>

namespace muster {

[[gnu::hot]] MUSTER_API Time quick_now() noexcept;

// What a counter says about the time, from how it compared with a clock before. A value of the
// looking thread's; no clock, no counter.
class TickScale {
 public:
  // How long a comparison holds, and how long two are apart at least to tell the counter's speed:
  // long enough that what they are off by makes half a microsecond until the next one.
  static constexpr Duration kHolds{10'000'000};
  static constexpr Duration kApart{1'000'000};

  // Both at the same moment.
  struct Moment {
    std::uint64_t ticks = 0;
    Time time{};
  };

  // Nanoseconds a tick, times 2^32; 0: unknown.
  using Speed = std::uint64_t;

  // Begins again from here. Gives the speed since the last comparison, if that is neither too near
  // nor so far away that the machine may have been asleep.
  MUSTER_API std::optional<Speed> compare(const Moment& now) noexcept;

  // So near that another comparison would not tell the speed.
  [[nodiscard]] bool is_too_early(Time now) const noexcept {
    return last_.ticks != 0 && now - last_.time < kApart;
  }

  // None: time for another comparison.
  [[nodiscard]] std::optional<Time> at(std::uint64_t ticks, Speed speed) const noexcept {
    const std::uint64_t passed = ticks - last_.ticks;
    if (passed >= max_ticks_) [[unlikely]]
      return std::nullopt;
    return last_.time + Duration(static_cast<Duration::rep>(passed * speed >> 32U));
  }

  // Lets a comparison hold as long as it may at that speed.
  // Requires: the speed is known, and there was a comparison.
  void hold(Speed speed) noexcept {
    max_ticks_ = static_cast<std::uint64_t>(kHolds.count()) * (std::uint64_t{1} << 32U) / speed;
  }

 private:
  Moment last_;
  std::uint64_t max_ticks_ = 0;  // since then: none
};

// For another process of this machine, which need not find out then. 0: not known yet.
[[nodiscard]] MUSTER_API TickScale::Speed counter_speed() noexcept;
MUSTER_API void tell_counter_speed(TickScale::Speed speed) noexcept;

}  // namespace muster
