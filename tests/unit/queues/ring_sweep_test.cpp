// ring_sweep_test.cpp: what a participant leaves when it dies in each state, and that one sweep
// brings it back.
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "support/ring_memory.hpp"

namespace muster {
namespace {

using testing::RingMemory;

constexpr ParticipantIndex kSupervisor = 0;
constexpr ParticipantIndex kDead = 1;

TaskContents task(std::uint64_t id) {
  TaskContents contents;
  contents.id = id;
  return contents;
}

// Moves a slot's word as if its owner had died right behind that step.
void die_after(const RingMemory& memory, SlotIndex slot, const SlotWord& word) {
  memory.ring().slot(slot).word.store(word.bits(), relaxed);  // relaxed: alone
}

SweepResult sweep(const RingMemory& memory, std::vector<Settling>& tasks,
                  ParticipantIndex by = kSupervisor, ParticipantIndex dead = kDead) {
  std::array<Settling, 2> found;
  SweepResult all;
  for (;;) {
    const SweepResult result = memory.supervisor(by).sweep(dead, found);
    tasks.insert(tasks.end(), found.begin(), found.begin() + result.count);
    all.count += result.count;
    all.published += result.published;
    if (result.outcome == SweepOutcome::complete) return all;
  }
}

// Every slot is free, and the free ring leads to each once.
void expect_all_free(const RingMemory& memory) {
  const std::uint32_t slots = memory.ring().geometry().slots;
  for (SlotIndex slot = 0; slot < slots; ++slot) {
    EXPECT_EQ(memory.ring().word(slot).state, SlotState::free);
  }
  for (int lap = 0; lap < 5; ++lap) {
    for (std::uint32_t i = 0; i < slots; ++i) {
      EXPECT_EQ(memory.producer().submit(task(i)).outcome, SubmitOutcome::submitted);
    }
    EXPECT_EQ(memory.producer().submit(task(0)).outcome, SubmitOutcome::no_room);
    for (std::uint32_t i = 0; i < slots; ++i) {
      const Claim claim = memory.worker(2).claim();
      ASSERT_EQ(claim.outcome, TakeOutcome::taken);
      EXPECT_EQ(memory.worker(2).contents(claim).id, i);
      EXPECT_EQ(memory.worker(2).complete(claim, {}), HandOver::done);
      EXPECT_EQ(memory.supervisor().release(memory.supervisor().collect()), HandOver::done);
    }
  }
  EXPECT_EQ(memory.ring().damage(), 0U);
}

class RingSweep : public ::testing::Test {
 protected:
  // Settles whatever waits or was found; the ids, in that order.
  std::vector<std::uint64_t> settle_all() {
    std::vector<std::uint64_t> ids;
    for (const Settling& task : tasks_) {
      ids.push_back(memory_.supervisor().contents(task).id);
      EXPECT_EQ(memory_.supervisor().release(task), HandOver::done);
    }
    for (Claim claim = memory_.worker(2).claim(); claim.outcome == TakeOutcome::taken;
         claim = memory_.worker(2).claim()) {
      memory_.worker(2).complete(claim, {});
    }
    for (Settling s = memory_.supervisor().collect(); s.outcome == TakeOutcome::taken;
         s = memory_.supervisor().collect()) {
      ids.push_back(memory_.supervisor().contents(s).id);
      EXPECT_EQ(memory_.supervisor().release(s), HandOver::done);
    }
    return ids;
  }

  RingMemory memory_{{.slots = 3, .participants = 4}};
  std::vector<Settling> tasks_;
};

TEST_F(RingSweep, WhatWasBeingWrittenIsASlotAgainAndNoTask) {
  ASSERT_EQ(memory_.ring().free().take(SlotState::free, kDead).outcome, TakeOutcome::taken);
  EXPECT_EQ(sweep(memory_, tasks_).count, 0U);
  expect_all_free(memory_);
}

TEST_F(RingSweep, AReadyTaskThatIsInNoRingIsPublished) {
  const Taken taken = memory_.ring().free().take(SlotState::free, kDead);
  memory_.ring().slot(taken.slot).contents = task(5);
  die_after(memory_, taken.slot, taken.word.moved(SlotState::ready, kDead));
  EXPECT_EQ(memory_.worker(2).claim().outcome, TakeOutcome::empty);
  EXPECT_EQ(sweep(memory_, tasks_).published, 1U);
  EXPECT_EQ(settle_all(), std::vector<std::uint64_t>{5});
  expect_all_free(memory_);
}

TEST_F(RingSweep, AReadyTaskThatIsInItsRingIsNotPublishedTwice) {
  ASSERT_EQ(memory_.producer(kDead).submit(task(5)).outcome, SubmitOutcome::submitted);
  EXPECT_EQ(sweep(memory_, tasks_).published, 0U);
  EXPECT_EQ(memory_.ring().ready_approx(), 1U);
  EXPECT_EQ(settle_all(), std::vector<std::uint64_t>{5});
  expect_all_free(memory_);
}

TEST_F(RingSweep, AClaimedTaskIsHandedToWhoeverSweepsAndCanBeTriedAgain) {
  ASSERT_EQ(memory_.producer().submit(task(5)).outcome, SubmitOutcome::submitted);
  const Claim lost = memory_.worker(kDead).claim();
  ASSERT_EQ(sweep(memory_, tasks_).count, 1U);
  EXPECT_EQ(tasks_[0].word.state, SlotState::claimed);
  EXPECT_EQ(tasks_[0].word.attempt, 1) << "the attempt was counted";
  EXPECT_EQ(memory_.supervisor().contents(tasks_[0]).id, 5U);
  EXPECT_EQ(memory_.worker(kDead).complete(lost, {}), HandOver::fenced)
      << "one who was only taken for dead changes nothing any more";
  EXPECT_EQ(memory_.supervisor().retry(tasks_[0]), RetryOutcome::retried);
  tasks_.clear();
  EXPECT_EQ(settle_all(), std::vector<std::uint64_t>{5});
  expect_all_free(memory_);
}

TEST_F(RingSweep, ADoneTaskKeepsItsResult) {
  ASSERT_EQ(memory_.producer().submit(task(5)).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker(kDead).claim();
  memory_.ring().result(claim.slot).status = 9;
  die_after(memory_, claim.slot, claim.word.moved(SlotState::done, kDead));
  EXPECT_EQ(memory_.supervisor().collect().outcome, TakeOutcome::empty);
  const SweepResult result = sweep(memory_, tasks_);
  EXPECT_EQ(result.count, 0U) << "it is not run again";
  EXPECT_EQ(result.published, 1U);
  const Settling settling = memory_.supervisor().collect();
  ASSERT_EQ(settling.outcome, TakeOutcome::taken);
  EXPECT_EQ(memory_.supervisor().result(settling).status, 9U);
  memory_.supervisor().release(settling);
  expect_all_free(memory_);
}

TEST_F(RingSweep, ASlotThatWasFreedButNotPublishedComesBack) {
  const Taken taken = memory_.ring().free().take(SlotState::free, kDead);
  die_after(memory_, taken.slot, {SlotState::free, false, 0, kDead, taken.word.generation});
  EXPECT_EQ(sweep(memory_, tasks_).published, 1U);
  expect_all_free(memory_);
}

TEST_F(RingSweep, WhatADeadSupervisorHadInHandGoesToTheNext) {
  for (std::uint64_t id = 0; id < 2; ++id) {
    ASSERT_EQ(memory_.producer().submit(task(id)).outcome, SubmitOutcome::submitted);
    const Claim claim = memory_.worker(2).claim();
    memory_.worker(2).complete(claim, {});
  }
  const RingSupervisor first = memory_.supervisor(3);
  ASSERT_EQ(first.collect().outcome, TakeOutcome::taken);
  Settling delayed = first.collect();
  ASSERT_EQ(first.delay(delayed), HandOver::done);
  ASSERT_EQ(sweep(memory_, tasks_, kSupervisor, 3).count, 2U);
  EXPECT_EQ(tasks_[0].word.state, SlotState::settling);
  EXPECT_EQ(tasks_[1].word.state, SlotState::delayed);
  EXPECT_EQ(settle_all(), (std::vector<std::uint64_t>{0, 1}));
  expect_all_free(memory_);
}

// A sweeper that dies in between must not turn what was never accepted into a task.
TEST_F(RingSweep, WhatWasBeingWrittenIsNoTaskForTheSecondSweeperEither) {
  const Taken taken = memory_.ring().free().take(SlotState::free, kDead);
  die_after(memory_, taken.slot, taken.word.moved(SlotState::writing, 3));
  EXPECT_EQ(sweep(memory_, tasks_, kSupervisor, 3).count, 0U);
  expect_all_free(memory_);
}

TEST_F(RingSweep, SweepingTwiceChangesNothing) {
  ASSERT_EQ(memory_.producer().submit(task(5)).outcome, SubmitOutcome::submitted);
  static_cast<void>(memory_.worker(kDead).claim());
  ASSERT_EQ(sweep(memory_, tasks_).count, 1U);
  const SweepResult again = sweep(memory_, tasks_);
  EXPECT_EQ(again.count, 0U);
  EXPECT_EQ(again.published, 0U);
  EXPECT_EQ(settle_all(), std::vector<std::uint64_t>{5});
  expect_all_free(memory_);
}

TEST_F(RingSweep, TheDeadOnesIndexIsFreeAndItsBitsAreClearedAtTheEnd) {
  ASSERT_TRUE(memory_.ring().occupy(kDead, 4711));
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    static_cast<void>(memory_.ring().sleepers(awaited).announce(kDead));
  }
  sweep(memory_, tasks_);
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    EXPECT_EQ(memory_.ring().sleepers(awaited).asleep_approx(), 0U);
  }
  EXPECT_EQ(memory_.ring().occupant(kDead), 0U);
}

TEST_F(RingSweep, EverybodyIsWokenWhateverTheirBits) {
  const SharedSleepers work = memory_.ring().sleepers(Awaited::work);
  const auto ticket = work.announce(2);
  work.forget(2);  // as by a waker that died before it woke us
  sweep(memory_, tasks_);
  EXPECT_EQ(work.park(ticket, kForever), SleepOutcome::woken);
}

TEST(RingSweepOfMany, SlotsBeyondOnePassAreSettlingToo) {
  const RingMemory memory({.slots = 9000, .participants = 3});
  std::uint32_t orphans = 0;
  for (std::uint32_t i = 0; i < 9000; ++i) {
    const Taken taken = memory.ring().free().take(SlotState::free, kDead);
    memory.ring().slot(taken.slot).contents = task(taken.slot);
    const SlotWord ready = taken.word.moved(SlotState::ready, kDead);
    die_after(memory, taken.slot, ready);
    if (i % 3 != 0) {
      memory.ring().ready().put(tag_of(ready, taken.slot));
    } else {
      ++orphans;
    }
  }
  std::vector<Settling> tasks;
  EXPECT_EQ(sweep(memory, tasks).published, orphans);
  std::vector<bool> seen(9000);
  for (std::uint32_t i = 0; i < 9000; ++i) {
    const Claim claim = memory.worker(2).claim();
    ASSERT_EQ(claim.outcome, TakeOutcome::taken);
    EXPECT_FALSE(seen[claim.slot]);
    seen[claim.slot] = true;
  }
  EXPECT_EQ(memory.worker(2).claim().outcome, TakeOutcome::empty);
}

}  // namespace
}  // namespace muster
