// seat.hpp: who takes the results of worker processes out of their rings: one at a time.
//
// A thread that waits for a result takes the seat if it is free, and collects for everybody until
// it has its own; when nobody does, the clerk does, a thread that sleeps until it is called. By the
// bell, which whoever has published something rings.
//
// Thread safety: attend() from any thread; attend_nested() by whoever has the seat; the rest by the
// clerk.
// Design note: docs/design/process_pool.md, "Who collects"; proven in bell.pml and seat_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <muster/base/clock.hpp>
#include <muster/queues/shared_sleepers.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/mutex.hpp>

#include "processes/idle_time.hpp"

namespace muster {

class Seat {
 public:
  // What is collected, by whoever has the seat.
  class Results {
   public:
    [[nodiscard]] virtual bool has_results() const = 0;

    // Racy: is it worth collecting? To be asked again and again, between looks that are sure.
    [[nodiscard]] virtual bool has_results_approx() const = 0;

    virtual std::size_t collect() = 0;  // how many there were

   protected:
    ~Results() = default;
  };

  struct Patience {
    IdleTime idle;           // of a waiter, before it sleeps
    Duration longest_sleep;  // of a waiter: a wake may be missed if a worker has spoilt the bell

    // If the clerk comes twice within this time, or from a nap, and finds many results or has help
    // by others, it is not to be called for one of those times: it comes by itself.
    Duration often;
    Duration nap;
    Duration long_nap;  // with help
  };

  // Both outlive it.
  Seat(const SharedSleepers& bell, Results& results, const Patience& patience) noexcept
      : bell_(bell), results_(results), patience_(patience) {}

  // Whether waiters look again and again, by has_results_approx(), before they sleep.
  [[nodiscard]] bool spins() const noexcept { return patience_.idle.spinning > Duration::zero(); }

  // What a waiter is here for: the result of a task, for the sake of something that may be settled
  // without it, or is that very task.
  struct Errand {
    const FutureStateBase& task;
    const FutureStateBase& goal;
    [[nodiscard]] bool is_done() const noexcept { return task.is_settled() || goal.is_settled(); }
  };

  // Collects until the errand is done or `deadline` has passed, unless another has the seat.
  [[gnu::hot]] void attend(const Errand& errand, Time deadline);
  void attend_nested(const Errand& errand, Time deadline);

  // To be had before the clerk looks whether it is to stop.
  [[nodiscard]] SharedSleepers::Ticket clerk_ticket() const noexcept;

  // Collects what there is, and sleeps until called.
  void serve_as_clerk(const SharedSleepers::Ticket& ticket);

 private:
  [[gnu::hot]] void collect_until_done(const Errand& errand, Time deadline) MUSTER_REQUIRES(mutex_);
  bool look_for_results(unsigned looks) MUSTER_REQUIRES(mutex_);
  void sleep_unless_results(const Errand& errand, std::int64_t longest_ns) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] void leave() MUSTER_REQUIRES(mutex_);

  // Fixed at construction.
  const SharedSleepers& bell_;
  Results& results_;
  const Patience patience_;

  // Held by whoever has the seat.
  Mutex mutex_;
  bool is_napping_ MUSTER_GUARDED_BY(mutex_) = false;  // the clerk: comes soon, uncalled
  Time last_turn_ MUSTER_GUARDED_BY(mutex_){};         // of the clerk

  // Any thread.
  Atomic<bool> has_help_ = false;  // since the clerk last went to nap

  // For the seat. Whoever attends then leaves it to the clerk: one who comes again and again would
  // be back in the seat before the clerk has woken up, time after time.
  Atomic<bool> clerk_waits_ = false;
};

}  // namespace muster
