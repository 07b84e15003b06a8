// pair_lane_test.cpp: a ring between two, one thread at a time: positions instead of lists.
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

#include "support/ring_memory.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::RingMemory;

constexpr std::uint32_t kSlots = 4;

TaskContents task(std::uint64_t id) {
  TaskContents contents;
  contents.id = id;
  return contents;
}

class PairLaneTest : public ::testing::Test {
 protected:
  void submit(std::uint64_t id) {
    ASSERT_EQ(memory_.producer().submit(task(id)).outcome, SubmitOutcome::submitted);
  }
  // Claims the next and completes it with its id; 0 if there is none.
  std::uint64_t work() {
    const Claim claim = memory_.worker().claim();
    if (claim.outcome != TakeOutcome::taken) return 0;
    const std::uint64_t id = memory_.worker().contents(claim).id;
    EXPECT_EQ(memory_.worker().complete(claim, {.status = static_cast<std::uint32_t>(id)}),
              HandOver::done);
    return id;
  }
  // Collects the next and releases it; its id, or 0.
  std::uint64_t settle() {
    const Settling settling = memory_.supervisor().collect();
    if (settling.outcome != TakeOutcome::taken) return 0;
    const std::uint64_t id = memory_.supervisor().contents(settling).id;
    EXPECT_EQ(memory_.supervisor().result(settling).status, id);
    EXPECT_EQ(memory_.supervisor().release(settling), HandOver::done);
    return id;
  }
  // Takes back the newest; its id, or 0.
  std::uint64_t take_back() {
    const Taken taken = memory_.producer().take_back();
    if (taken.outcome != TakeOutcome::taken) return 0;
    const std::uint64_t id = ring().slot(taken.slot).contents.id;
    EXPECT_EQ(memory_.supervisor().release(taken), HandOver::done);
    return id;
  }
  // What a sweep of the worker finds is released; the ids.
  std::vector<std::uint64_t> sweep() {
    std::vector<std::uint64_t> ids;
    std::array<Settling, 1> found;
    for (;;) {
      const SweepResult swept = memory_.supervisor().sweep(kPairWorker, found);
      for (std::uint32_t i = 0; i < swept.count; ++i) {
        ids.push_back(memory_.supervisor().contents(found[i]).id);
        EXPECT_EQ(memory_.supervisor().retry(found[i]), RetryOutcome::exhausted);
        EXPECT_EQ(memory_.supervisor().delay(found[i]), HandOver::not_held);
        EXPECT_EQ(memory_.supervisor().release(found[i]), HandOver::done);
      }
      if (swept.outcome == SweepOutcome::complete) return ids;
    }
  }
  [[nodiscard]] const SharedRing& ring() const { return memory_.ring(); }

  const RingMemory memory_{{.slots = kSlots, .participants = 2, .parties = RingParties::pair}};
};

TEST_F(PairLaneTest, TasksGoThroughInOrderLapAfterLap) {
  for (std::uint64_t id = 1; id <= 10 * kSlots; id += kSlots) {
    for (std::uint64_t i = 0; i < kSlots; ++i) submit(id + i);
    EXPECT_EQ(memory_.producer().submit(task(99)).outcome, SubmitOutcome::no_room);
    EXPECT_EQ(ring().ready_approx(), kSlots);
    EXPECT_FALSE(ring().has_done());
    for (std::uint64_t i = 0; i < kSlots; ++i) EXPECT_EQ(work(), id + i);
    EXPECT_EQ(work(), 0U);
    EXPECT_EQ(ring().done_approx(), kSlots);
    EXPECT_TRUE(ring().has_done());
    for (std::uint64_t i = 0; i < kSlots; ++i) EXPECT_EQ(settle(), id + i);
    EXPECT_EQ(settle(), 0U);
    EXPECT_EQ(ring().free_approx(), kSlots);
  }
  EXPECT_EQ(ring().damage(), 0U);
}

TEST_F(PairLaneTest, ASlotHasRoomAgainWhenItsTaskIsReleasedAndNotBefore) {
  for (std::uint64_t id = 1; id <= kSlots; ++id) submit(id);
  EXPECT_EQ(work(), 1U);
  EXPECT_EQ(memory_.producer().submit(task(5)).outcome, SubmitOutcome::no_room);
  const Settling settling = memory_.supervisor().collect();
  EXPECT_EQ(memory_.producer().submit(task(5)).outcome, SubmitOutcome::no_room);
  EXPECT_EQ(memory_.supervisor().release(settling), HandOver::done);
  EXPECT_EQ(memory_.producer().submit(task(5)).outcome, SubmitOutcome::submitted);
}

TEST_F(PairLaneTest, WhatNobodyHasBegunIsTakenBackNewestFirst) {
  for (std::uint64_t lap = 0; lap < 20; ++lap) {
    for (std::uint64_t id = 1; id <= kSlots; ++id) submit(id);
    EXPECT_EQ(work(), 1U);
    EXPECT_EQ(take_back(), 4U);
    EXPECT_EQ(take_back(), 3U);
    submit(5);
    EXPECT_EQ(work(), 2U);
    EXPECT_EQ(take_back(), 5U);
    EXPECT_EQ(take_back(), 0U) << "all that are left were begun";
    EXPECT_EQ(work(), 0U);
    EXPECT_EQ(settle(), 1U);
    EXPECT_EQ(settle(), 2U);
    EXPECT_EQ(settle(), 0U);
    EXPECT_EQ(ring().free_approx(), kSlots);
  }
  EXPECT_EQ(ring().damage(), 0U);
}

TEST_F(PairLaneTest, ThereIsNothingToTakeBackBeforeTheFirstTask) {
  EXPECT_EQ(memory_.producer().take_back().outcome, TakeOutcome::empty);
}

TEST_F(PairLaneTest, WhoClaimsATaskSeesThatItWasCalledOff) {
  const Submitted submitted = memory_.producer().submit(task(1));
  EXPECT_EQ(memory_.producer().cancel(submitted.place), CancelOutcome::cancelled);
  const Claim claim = memory_.worker().claim();
  ASSERT_EQ(claim.outcome, TakeOutcome::taken);
  EXPECT_TRUE(memory_.worker().cancelled(claim));
  EXPECT_EQ(memory_.worker().complete(claim, {.status = 1}), HandOver::done);
  EXPECT_EQ(memory_.producer().cancel(submitted.place), CancelOutcome::too_late);
  EXPECT_EQ(settle(), 1U);
}

// The flag is lost, which is what coming too late means.
TEST_F(PairLaneTest, CallingOffWhatIsBeingCompletedDoesNoHarm) {
  const Submitted submitted = memory_.producer().submit(task(1));
  const Claim claim = memory_.worker().claim();
  EXPECT_EQ(memory_.producer().cancel(submitted.place), CancelOutcome::cancelled);
  EXPECT_EQ(memory_.worker().complete(claim, {.status = 1}), HandOver::done);
  EXPECT_EQ(settle(), 1U);
  EXPECT_EQ(ring().damage(), 0U);
}

TEST_F(PairLaneTest, WhatADeadWorkerHadIsSweptAndItsSuccessorGoesOn) {
  for (std::uint64_t lap = 0; lap < 3 * kSlots; ++lap) {
    ASSERT_TRUE(ring().occupy(kPairWorker, 1));
    for (std::uint64_t id = 1; id <= kSlots; ++id) submit(id);
    EXPECT_EQ(work(), 1U);
    EXPECT_EQ(memory_.worker().claim().outcome, TakeOutcome::taken);
    EXPECT_EQ(sweep(), std::vector<std::uint64_t>{2});
    EXPECT_EQ(ring().occupant(kPairWorker), 0U);
    EXPECT_EQ(work(), 3U);
    EXPECT_EQ(settle(), 1U);
    EXPECT_EQ(settle(), 3U) << "the dead one's turn is passed";
    EXPECT_EQ(work(), 4U);
    EXPECT_EQ(settle(), 4U);
    EXPECT_EQ(ring().free_approx(), kSlots);
  }
  EXPECT_EQ(ring().damage(), 0U);
}

// The slot of what was swept has another task before anybody has collected.
TEST_F(PairLaneTest, WhatWasSweptIsPassedAlsoIfItsSlotIsUsedAtOnce) {
  for (std::uint64_t id = 1; id <= kSlots; ++id) submit(id);
  EXPECT_EQ(memory_.worker().claim().outcome, TakeOutcome::taken);
  EXPECT_EQ(sweep(), std::vector<std::uint64_t>{1});
  submit(5);
  EXPECT_EQ(memory_.producer().submit(task(6)).outcome, SubmitOutcome::no_room);
  for (std::uint64_t id = 2; id <= 5; ++id) EXPECT_EQ(work(), id);
  for (std::uint64_t id = 2; id <= 5; ++id) EXPECT_EQ(settle(), id);
  EXPECT_EQ(ring().damage(), 0U);
}

// As if it had died between two steps of claim() and of complete().
TEST_F(PairLaneTest, ASweepDoesWhatADeadWorkerStillOwed) {
  submit(1);
  submit(2);
  submit(3);
  const Claim claim = memory_.worker().claim();
  ring().result(claim.slot).status = 1;
  const SlotWord done = claim.word.moved(SlotState::done, kPairWorker);
  ring().slot(claim.slot).word.store(done.bits(), relaxed);  // relaxed: one thread
  const SlotWord claimed = ring().word(1).taken(kPairWorker);
  ring().slot(1).word.store(claimed.bits(), relaxed);  // relaxed: one thread
  EXPECT_EQ(settle(), 0U);
  EXPECT_EQ(work(), 0U) << "it stands at a task that is claimed";
  EXPECT_EQ(sweep(), std::vector<std::uint64_t>{2});
  EXPECT_EQ(settle(), 1U);
  EXPECT_EQ(work(), 3U);
  EXPECT_EQ(settle(), 3U);
}

TEST_F(PairLaneTest, NonsenseIsDamageAndEnds) {
  submit(1);
  ring().lane().publish_done(0, ring().word(0));  // though nobody has claimed it
  EXPECT_EQ(settle(), 0U);
  EXPECT_EQ(ring().damage(), 1U);
  EXPECT_EQ(settle(), 0U);
  ring().slot(1).word.store(SlotWord{.generation = 7}.bits(), relaxed);  // relaxed: one thread
  EXPECT_EQ(memory_.producer().submit(task(2)).outcome, SubmitOutcome::no_room);
  EXPECT_EQ(ring().damage(), 2U);
}

// Against a queue that everybody understands.
TEST_F(PairLaneTest, EqualsAQueueUnderRandomSteps) {
  Random random = testing::seeded();
  std::deque<std::uint64_t> ready;
  std::deque<std::uint64_t> done;
  std::uint64_t next = 1;
  for (int step = 0; step < 20'000; ++step) {
    switch (random.below(4)) {
      case 0: {
        const bool has_room = ready.size() + done.size() < kSlots;
        const SubmitOutcome outcome = memory_.producer().submit(task(next)).outcome;
        ASSERT_EQ(outcome == SubmitOutcome::submitted, has_room);
        if (has_room) ready.push_back(next++);
        break;
      }
      case 1: {
        const std::uint64_t id = work();
        ASSERT_EQ(id, ready.empty() ? 0 : ready.front());
        if (id != 0) done.push_back(id), ready.pop_front();
        break;
      }
      case 2: {
        const std::uint64_t id = settle();
        ASSERT_EQ(id, done.empty() ? 0 : done.front());
        if (id != 0) done.pop_front();
        break;
      }
      default: {
        const std::uint64_t id = take_back();
        ASSERT_EQ(id, ready.empty() ? 0 : ready.back());
        if (id != 0) ready.pop_back();
      }
    }
  }
  EXPECT_EQ(ring().damage(), 0U);
}

TEST(PairLane, AGeometryThatNoPairCanHaveIsRefused) {
  EXPECT_FALSE(valid({.slots = 4, .participants = 3, .parties = RingParties::pair}));
  EXPECT_FALSE(valid({.slots = 3, .participants = 2, .parties = RingParties::pair}));
  EXPECT_FALSE(valid({.slots = 4, .participants = 2, .parties = RingParties{2}}));
  EXPECT_TRUE(valid({.slots = 1, .participants = 2, .parties = RingParties::pair}));
}

TEST(PairLane, WhoAttachesKnowsThatItIsAPair) {
  const RingMemory memory({.slots = 2, .participants = 2, .parties = RingParties::pair});
  SharedRing ring;
  ASSERT_EQ(ring.attach(memory.span()), AttachOutcome::attached);
  EXPECT_TRUE(ring.is_pair());
  reinterpret_cast<RingHeader*>(memory.span().data())->parties = RingParties::many;
  EXPECT_EQ(ring.attach(memory.span()), AttachOutcome::bad_geometry);
}

}  // namespace
}  // namespace muster
