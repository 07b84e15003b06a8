// polite_wait.hpp: what every contender's threads do when they find a queue full or empty.
//
// Spin a little, since the other side is probably running; then give the CPU away on every try,
// since with more threads than CPUs the other side probably is not. The same for all contenders,
// and apart from muster's own Backoff, so that tuning the library does not change the conditions of
// the race.
//
// Thread safety: each thread has its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include <muster/sync/atomic.hpp>

namespace muster::bench {

enum class Waited { spun, yielded };

class PoliteWait {
 public:
  // After a try that failed.
  Waited wait() {
    ++failures_;
    if (failures_ <= kSpins) {
      spin_pause();
      return Waited::spun;
    }
    std::this_thread::yield();
    if (failures_ % kFailuresPerLook == 0) give_up_if_stuck();
    return Waited::yielded;
  }

  // After a try that succeeded.
  void reset() { failures_ = 0; }

 private:
  // About a microsecond: less than a context switch, more than a cache miss.
  static constexpr std::uint32_t kSpins = 16;

  // Reading the clock is too dear to do on every failure.
  static constexpr std::uint32_t kFailuresPerLook = 1U << 16;

  // Ends the program if nothing has come or gone for long: the contender lost an item.
  void give_up_if_stuck();

  // Owner thread only.
  std::uint32_t failures_ = 0;
  std::chrono::steady_clock::time_point stuck_since_{};
};

}  // namespace muster::bench
