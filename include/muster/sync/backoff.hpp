// backoff.hpp: what to do between two tries that another thread made fail.
//
// Spins twice as long each time up to a bound, then gives the CPU away, so that a thread which was
// preempted half-way can finish. Each thread has its own.
#pragma once

#include <thread>

#include <muster/sync/atomic.hpp>

namespace muster {

// How often to look at something that others change before going on: `many` times; explored, once,
// for one look shows what many show.
constexpr unsigned looks([[maybe_unused]] unsigned many) noexcept {
#ifdef MUSTER_ATOMICS
  return 1;
#else
  return many;
#endif
}

class Backoff {
 public:
  void pause() noexcept {
    if (round_ <= kSpinRounds) {
      for (unsigned i = 0; i < (1U << round_); ++i) spin_pause();
      ++round_;
    } else {
      std::this_thread::yield();
    }
  }

  // True once pause() has begun to yield: a caller that can sleep should now do so.
  [[nodiscard]] bool exhausted() const noexcept { return round_ > kSpinRounds; }

  void reset() noexcept { round_ = 0; }

 private:
#ifdef MUSTER_ATOMICS
  static constexpr unsigned kSpinRounds = 0;  // explored: one pause shows what many show
#else
  // 1 + 2 + ... + 64 pauses: a few microseconds, about the price of one wake-up.
  static constexpr unsigned kSpinRounds = 6;
#endif

  unsigned round_ = 0;
};

}  // namespace muster
