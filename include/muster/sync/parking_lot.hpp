// parking_lot.hpp: where workers without work sleep, and how one of them is found.
//
// One bit per worker says "I am about to sleep or asleep"; one futex word per worker is what it
// sleeps on. Going to sleep takes three steps, so that work published meanwhile is never slept
// through:
//
//     auto ticket = lot.announce(me);                 // from here on wakers see me
//     if (look_for_work()) lot.withdraw(ticket);      // changed my mind
//     else lot.park(ticket);                          // sleeps until woken
//
// and whoever publishes work calls wake_one() afterwards. Looking for sleepers costs one fence and
// one load per 64 workers; the system call is made only if somebody sleeps.
//
// Promise: work published before wake_one() is not left waiting while every worker sleeps. Either
// wake_one() wakes somebody, or the look_for_work() of whoever announced meanwhile finds it.
//
// Thread safety: wakers from any thread; announce, withdraw and park by the worker with that index.
// Ordering: a wake orders no memory by itself; the queue that the work comes through does.
// Design note: docs/design/parking_lot.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster {

enum class ParkOutcome { woken, timed_out };

class MUSTER_API ParkingLot {
 public:
  // Throws InvalidArgument unless 1 <= workers <= kMaxWorkers.
  explicit ParkingLot(std::size_t workers);

  static constexpr std::size_t kMaxWorkers = 65'536;

  // Proof of having announced; used up by withdraw or park.
  struct Ticket {
    std::size_t worker;
    std::uint32_t epoch;
  };

  // Says that `worker` will sleep unless it finds work now. Look for work once more after this.
  [[nodiscard]] Ticket announce(std::size_t worker) noexcept;

  // The worker found work after all. A wake that was spent on it meanwhile is passed to another
  // sleeper.
  void withdraw(Ticket ticket) noexcept;

  // Sleeps until woken or until `deadline`. Look for work after either outcome.
  ParkOutcome park(Ticket ticket, std::optional<Time> deadline = std::nullopt) noexcept;

  // Call after publishing one piece of work. True if a sleeper was woken for it.
  bool wake_one() noexcept;

  // The same for work that only this worker can do. False: it is awake, and will look for work
  // before it sleeps.
  bool wake_this(std::size_t worker) noexcept;

  // Wakes every worker, parked or about to park. For stopping.
  void wake_all() noexcept;

  // Racy: whether any worker has announced and was not picked yet.
  [[nodiscard]] bool empty_approx() const noexcept {
    for (std::size_t word = 0; word < words_; ++word) {
      if (parked_[word].value.load(relaxed) != 0) return false;  // relaxed: racy by contract
    }
    return true;
  }

  // Racy: workers that have announced and were not picked yet.
  [[nodiscard]] std::size_t parked_approx() const noexcept;

 private:
  static constexpr std::size_t kBits = 64;

  void wake(std::size_t worker) noexcept;
  bool clear_bit(std::size_t worker) noexcept;

  // Fixed at construction.
  const std::size_t workers_;
  const std::size_t words_;

  // Any thread.
  const std::unique_ptr<CacheAligned<Atomic<std::uint64_t>>[]> parked_;
  const std::unique_ptr<CacheAligned<Atomic<std::uint32_t>>[]> epochs_;
};

}  // namespace muster
