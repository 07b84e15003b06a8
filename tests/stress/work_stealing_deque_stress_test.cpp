// work_stealing_deque_stress_test.cpp: one owner, some thieves, and every item taken by one of
// them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/work_stealing_deque.hpp>
#include <muster/sync/backoff.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

// How many items the owner pushes, and how many it tries to pop, before it does the other.
struct Habit {
  std::uint32_t most_pushes;
  std::uint32_t most_pops;
};

class Round {
 public:
  Round(std::uint32_t items, Habit habit)
      : habit_(habit), parcels_(items), ledger_({.producers = 1, .each = items}) {}

  void play(Random& random) {
    const std::uint64_t thieves = 1 + random.below(3);
    SCOPED_TRACE(::testing::Message() << thieves << " thieves");
    {
      Threads threads(random);
      for (std::uint64_t i = 0; i < thieves; ++i) {
        threads.start([this](Random& own) { steal(own); });
      }
      threads.start([this](Random& own) {
        work(own);
        closed_.store(true, relaxed);
      });
    }
    ledger_.expect_every_parcel_once_and_in_order();
    EXPECT_EQ(deque_.thief().size_approx(), 0U);
    EXPECT_EQ(deque_.thief().steal().outcome, StealOutcome::empty);
  }

 private:
  using Deque = WorkStealingDeque<const Parcel*>;

  void work(Random& random) {
    Deque::Owner owner = deque_.owner();
    std::vector<const Parcel*> mine;  // what is in the deque, or stolen from its beginning
    std::uint32_t next = 0;
    while (next < parcels_.size()) {
      for (std::uint64_t i = 1 + random.below(habit_.most_pushes); i > 0; --i) {
        if (next == parcels_.size()) break;
        parcels_[next].pack(0, next);
        mine.push_back(&parcels_[next]);
        owner.push(&parcels_[next++]);
      }
      for (std::uint64_t i = random.below(habit_.most_pops + 1); i > 0; --i) pop(owner, mine);
    }
    while (!mine.empty()) pop(owner, mine);
  }

  // Whatever thieves do, the owner gets what it pushed last, or nothing because all is stolen.
  void pop(Deque::Owner& owner, std::vector<const Parcel*>& mine) {
    const std::optional<const Parcel*> parcel = owner.pop();
    if (!parcel) return mine.clear();
    ledger_.record(**parcel);
    if (mine.empty() || mine.back() != *parcel) ledger_.record_out_of_order();
    if (!mine.empty()) mine.pop_back();
  }

  // A thief sees the items in the order of their pushes, whatever the owner has popped between.
  void steal(Random& random) {
    Deque::Thief thief = deque_.thief();
    Inspector inspector(ledger_, Taking::among_others);
    Backoff backoff;
    std::array<const Parcel*, 16> loot{};
    while (!closed_.load(relaxed)) {
      const std::size_t count =
          random.below(2) == 0 ? steal_one(thief, loot) : steal_some(thief, loot, random);
      for (const Parcel* const parcel : std::span(loot).first(count)) inspector.inspect(*parcel);
      if (count > 0) {
        backoff.reset();
      } else {
        backoff.pause();
      }
    }
  }

  static std::size_t steal_one(Deque::Thief& thief, std::span<const Parcel*> loot) {
    const Steal<const Parcel*> stolen = thief.steal();
    if (stolen.outcome != StealOutcome::taken) return 0;
    loot[0] = stolen.item;
    return 1;
  }

  std::size_t steal_some(Deque::Thief& thief, std::span<const Parcel*> loot, Random& random) {
    const StealBatch batch = thief.steal_half(loot.first(1 + random.below(loot.size())));
    const bool taken = batch.outcome == StealOutcome::taken;
    if (taken != (batch.count > 0)) ledger_.record_out_of_order();
    return batch.count;
  }

  // Fixed at construction.
  const Habit habit_;

  // Written by the owner, read by whoever takes them.
  std::vector<Parcel> parcels_;

  // Any thread.
  Deque deque_{2};
  Ledger ledger_;
  std::atomic<bool> closed_ = false;
};

void stress(std::uint32_t items, Habit habit) {
  StressRun run;
  while (run.next_round()) Round(items, habit).play(run.random());
}

TEST(WorkStealingDequeStress, TheLastItemsGoToOneOfThoseWhoRaceForThem) {
  stress(20'000, {.most_pushes = 2, .most_pops = 3});
}

TEST(WorkStealingDequeStress, EveryItemIsTakenOnceFromEitherEnd) {
  stress(10'000, {.most_pushes = 30, .most_pops = 20});
}

TEST(WorkStealingDequeStress, GrowingUnderTheHandsOfThievesLosesNothing) {
  stress(3'000, {.most_pushes = 3'000, .most_pops = 300});
}

}  // namespace
}  // namespace muster::testing
