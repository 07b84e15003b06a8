// tally.hpp: counts the tasks that have run, for one store of each of them.
//
// Every thread counts on a cache line of its own; whoever wants to know adds them up. It is the
// same for all contenders and knows nothing of any, so no pool's own way to wait for its tasks is
// in the measured time.
//
// Thread safety: any thread counts; one waits.
// Lifetime: longer than the pool's, whose tasks count here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster::bench {

// Threads that count at the same time; the largest sweep needs less than half.
inline constexpr std::size_t kMostSeats = 256;

// A number below kMostSeats that no other living thread has.
std::size_t take_seat();

inline std::size_t seat_of_this_thread() {
  static constexpr std::size_t kNone = kMostSeats;
  constinit thread_local std::size_t seat = kNone;
  if (seat == kNone) [[unlikely]]
    seat = take_seat();
  return seat;
}

class Tally {
 public:
  // The last thing a task does.
  void add_one() {
    Atomic<std::uint64_t>& mine = counts_[seat_of_this_thread()].value;
    const std::uint64_t before = mine.load(relaxed);  // relaxed: only this thread writes it
    mine.store(before + 1, release);                  // sync(task-counted): pairs with sum()
  }

  // What the counted tasks did before is visible to whoever asks.
  [[nodiscard]] std::uint64_t sum() const;

  // Until so many tasks have counted. Looks every now and then and sleeps in between, since the
  // workers need the CPU. Ends the program if nothing moves for long, or if there were more.
  void wait_for(std::uint64_t tasks) const;

 private:
  // Each by its thread.
  std::array<CacheAligned<Atomic<std::uint64_t>>, kMostSeats> counts_{};
};

}  // namespace muster::bench
