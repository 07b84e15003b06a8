// roster.hpp: which workers search for work and which sleep, so that neither is one too many.
//
// A worker without work of its own searches for a while, then sleeps. Whoever publishes work wakes
// a sleeper, unless somebody searches: that one will find it. This keeps the publisher away from
// the kernel, and leaves two holes: a searcher who finds something may have been counted on for
// other work too, and so may one who gives up. Both count themselves out first and look afterwards.
//
//     roster.begin_search();
//     if (find_work()) {
//       if (roster.end_search() && more_work()) roster.notify();
//       return run();
//     }
//     const auto ticket = roster.give_up(me);          // no longer a searcher, and seen by wakers
//     if (find_work()) {
//       roster.stay(ticket);
//       if (more_work()) roster.notify();
//       return run();
//     }
//     roster.sleep(ticket);
//
// Promise: work published before notify() is not left waiting while a worker sleeps and nobody
// searches.
//
// Workers that have not been started yet are absent. If nobody searches and nobody sleeps, notify()
// asks for one of them.
//
// Thread safety: notify from any thread; the rest by the worker with that index.
// Design note: docs/design/roster.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/fence.hpp>
#include <muster/sync/parking_lot.hpp>

namespace muster {

class MUSTER_API Roster {
 public:
  // Spares have the numbers from `workers` on, which is how many others there can be. Calls
  // `recruit` from notify() while there are absent workers; it must not throw. Publishers from
  // outside wait longer for workers of high alertness to come back from a task before they wake
  // another. Throws InvalidArgument as ParkingLot does.
  explicit Roster(std::size_t workers, std::size_t spares = 0, std::function<void()> recruit = {},
                  Alertness alertness = Alertness::usual)
      : recruit_(std::move(recruit)),
        alertness_(alertness),
        workers_(workers),
        lot_(workers + spares) {}

  // How many others search already.
  std::size_t begin_search() noexcept;

  // Found something. True if this was the last searcher: if there is more work, call notify().
  [[nodiscard]] bool end_search() noexcept;

  // Found nothing. Look once more, then stay() or sleep().
  [[nodiscard]] ParkingLot::Ticket give_up(std::size_t worker) noexcept;

  // Found something after all. If there is more work, call notify().
  void stay(ParkingLot::Ticket ticket) noexcept;

  // Until woken, or until `deadline`. Search after either outcome.
  ParkOutcome sleep(ParkingLot::Ticket ticket,
                    std::optional<Time> deadline = std::nullopt) noexcept;

  // Call after publishing work. True if a sleeper was woken for it.
  bool notify() noexcept {
    // sync(counted-out): or a searcher could count itself out and miss the work while we count on
    // it; sync(announce-or-publish) for the sleepers; sync(serving-or-pushed) for those who leave.
    full_fence();
    return searching_approx() == 0 && can_wake_or_recruit() && wake_or_recruit();
  }

  // The same for those who are no workers: to wake one costs microseconds, so if another is awake
  // it is given a moment to finish what it does and search.
  bool notify_from_outside() noexcept;

  // For work that only this worker can do.
  bool notify_worker(std::size_t worker) noexcept;

  // How many there are or will be when they are needed, without spares.
  void set_workers(std::size_t workers) noexcept {
    workers_.store(workers, relaxed);  // relaxed: decides how patient publishers are, no more
  }

  // How many of these have not been started.
  void set_absent(std::size_t workers) noexcept {
    absent_.store(workers, relaxed);  // relaxed: who recruits looks again, under a lock
  }

  // Racy: whether whoever publishes work now can count on nobody.
  [[nodiscard]] bool all_busy_approx() const noexcept {
    return searching_approx() == 0 && lot_.empty_approx();
  }

  // For ending: whoever searches or sleeps.
  void wake_all() noexcept { lot_.wake_all(); }
  void wake_one() noexcept { lot_.wake_one(); }

  // Racy.
  [[nodiscard]] std::size_t sleeping_approx() const noexcept { return lot_.parked_approx(); }
  [[nodiscard]] std::size_t searching_approx() const noexcept {
    return searching_.load(relaxed);  // relaxed: racy by contract
  }

 private:
  [[nodiscard]] bool can_wake_or_recruit() const noexcept {
    return !lot_.empty_approx() || absent_.load(relaxed) != 0;  // relaxed: as in set_absent()
  }
  bool wake_or_recruit() noexcept;

  // Fixed at construction.
  const std::function<void()> recruit_;
  const Alertness alertness_;

  // Any thread.
  alignas(kCacheLine) Atomic<std::uint32_t> searching_ = 0;
  Atomic<std::size_t> workers_;  // without spares
  Atomic<std::size_t> absent_ = 0;
  ParkingLot lot_;
};

}  // namespace muster
