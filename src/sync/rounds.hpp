// rounds.hpp: many who wait for something that is done for all of them at once, round by round.
//
//     rounds.await(round, is_done);   // who asked; in this round or, if it was full, a later one
//     is_done.store(true, release);   // who does it: for each of the round,
//     rounds.end(round);              // then for all, by one call of the kernel
//
// Those of even rounds sleep at another word than those of odd ones, so that whoever waits for the
// next round is not woken by this one.
//
// Thread safety: await() by any; end() by one at a time, with 1, 2, 3 and so on.
// Ordering: what was done before is_done was set is seen by who awaits it.
// Why nobody sleeps for ever: who finds the word at its round, or beyond, sees the flags of that
// round, since end() comes after them; if its own is not set it is in a later one, and looks at the
// other word. Who finds it before its round sleeps only if it still is, and end() wakes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <muster/sync/atomic.hpp>
#include <muster/sync/futex.hpp>

namespace muster {

class Rounds {
 public:
  void await(std::uint32_t round, const Atomic<bool>& is_done) noexcept {
    for (;;) {
      Atomic<std::uint32_t>& ended = ended_[round % 2];
      const std::uint32_t last = ended.load(acquire);  // sync(round-ended): pairs with end()
      // sync(round-done): pairs with the store of whoever does it.
      if (is_done.load(acquire)) return;
      if (static_cast<std::int32_t>(last - round) >= 0) {
        round = last + 1;
      } else {
        (void)futex_wait(ended, last, std::nullopt);
      }
    }
  }

  void end(std::uint32_t round) noexcept {
    Atomic<std::uint32_t>& ended = ended_[round % 2];
    ended.store(round, release);  // sync(round-ended): pairs with the load in await()
    futex_wake_all(ended);
  }

 private:
  // Any thread.
  std::array<Atomic<std::uint32_t>, 2> ended_{};  // the last even one, the last odd one
};

}  // namespace muster
