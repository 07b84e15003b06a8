// shared_ring_test.cpp: a task's way through the ring, one thread at a time. What deaths leave is
// in ring_sweep_test.cpp, how memory is refused in shared_ring_attach_test.cpp.
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

#include "support/ring_memory.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::RingMemory;

TaskContents task(std::uint64_t id) {
  TaskContents contents;
  contents.id = id;
  return contents;
}

// Claims, completes, collects and releases one; its id.
std::uint64_t run_one(const RingMemory& memory) {
  const Claim claim = memory.worker().claim();
  EXPECT_EQ(claim.outcome, TakeOutcome::taken);
  EXPECT_EQ(memory.worker().complete(claim, {}), HandOver::done);
  const Settling settling = memory.supervisor().collect();
  EXPECT_EQ(settling.outcome, TakeOutcome::taken);
  const std::uint64_t id = memory.supervisor().contents(settling).id;
  EXPECT_EQ(memory.supervisor().release(settling), HandOver::done);
  return id;
}

TEST(SharedRing, ATaskArrivesWithAllThatItIs) {
  const RingMemory memory({.slots = 4, .participants = 2});
  TaskContents contents{.priority = -3,
                        .flags = 9,
                        .payload_bytes = 2,
                        .timestamp = 77,
                        .method = 5,
                        .id = 123'456'789'012};
  contents.payload[0] = std::byte{1};
  contents.payload[1] = std::byte{2};
  ASSERT_EQ(memory.producer().submit(contents).outcome, SubmitOutcome::submitted);

  const Claim claim = memory.worker().claim();
  ASSERT_EQ(claim.outcome, TakeOutcome::taken);
  const TaskContents& seen = memory.worker().contents(claim);
  EXPECT_EQ(seen.priority, -3);
  EXPECT_EQ(seen.timestamp, 77U);
  EXPECT_EQ(seen.method, 5U);
  EXPECT_EQ(seen.id, 123'456'789'012U);
  EXPECT_EQ(seen.payload, contents.payload);
  EXPECT_EQ(claim.word.attempt, 1) << "the first attempt is counted when it is claimed";

  TaskResult result{.status = 3, .payload_bytes = 1};
  result.payload[0] = std::byte{9};
  ASSERT_EQ(memory.worker().complete(claim, result), HandOver::done);
  const Settling settling = memory.supervisor().collect();
  ASSERT_EQ(settling.outcome, TakeOutcome::taken);
  EXPECT_EQ(memory.supervisor().result(settling).status, 3U);
  EXPECT_EQ(memory.supervisor().result(settling).payload, result.payload);
  EXPECT_EQ(memory.supervisor().contents(settling).id, seen.id) << "the task outlives its result";
  EXPECT_EQ(memory.supervisor().release(settling), HandOver::done);
  EXPECT_EQ(memory.ring().damage(), 0U);
}

// Version 1 took the first task of all for an empty cell.
TEST(SharedRing, PriorityZeroInSlotZeroIsATaskLikeAnyOther) {
  const RingMemory memory({.slots = 1, .participants = 2});
  const Submitted submitted = memory.producer().submit(task(0));
  ASSERT_EQ(submitted.outcome, SubmitOutcome::submitted);
  EXPECT_EQ(submitted.place.slot, 0U);
  EXPECT_EQ(memory.worker().claim().outcome, TakeOutcome::taken);
}

TEST(SharedRing, AnEmptyRingHasNothingToClaimOrToCollect) {
  const RingMemory memory({.slots = 2, .participants = 2});
  EXPECT_EQ(memory.worker().claim().outcome, TakeOutcome::empty);
  EXPECT_EQ(memory.supervisor().collect().outcome, TakeOutcome::empty);
}

TEST(SharedRing, ThereIsRoomForAsManyTasksAsSlotsAndNoMore) {
  const RingMemory memory({.slots = 3, .participants = 2});
  for (std::uint64_t id = 0; id < 3; ++id) {
    EXPECT_EQ(memory.producer().submit(task(id)).outcome, SubmitOutcome::submitted);
  }
  EXPECT_EQ(memory.ring().ready_approx(), 3U);
  EXPECT_EQ(memory.ring().free_approx(), 0U);
  EXPECT_EQ(memory.producer().submit(task(3)).outcome, SubmitOutcome::no_room);
  EXPECT_EQ(run_one(memory), 0U);
  EXPECT_EQ(memory.producer().submit(task(3)).outcome, SubmitOutcome::submitted);
}

TEST(SharedRing, APayloadThatDoesNotFitIntoASlotIsRefused) {
  const RingMemory memory({.slots = 1, .participants = 2});
  TaskContents large;
  large.payload_bytes = kInlinePayload + 1;
  EXPECT_EQ(memory.producer().submit(large).outcome, SubmitOutcome::too_large);
  EXPECT_EQ(memory.ring().free_approx(), 1U);
  large.payload_bytes = kInlinePayload;
  EXPECT_EQ(memory.producer().submit(large).outcome, SubmitOutcome::submitted);
}

TEST(SharedRing, TasksComeOutInTheOrderTheyWentInOverManyLaps) {
  Random random = testing::seeded();
  for (const std::uint32_t slots : {1U, 2U, 3U, 8U}) {
    const RingMemory memory({.slots = slots, .participants = 2});
    std::deque<std::uint64_t> expected;
    for (std::uint64_t id = 0; id < 20'000; ++id) {
      if (random.below(2) == 0) {
        const SubmitOutcome outcome = memory.producer().submit(task(id)).outcome;
        EXPECT_EQ(outcome == SubmitOutcome::submitted, expected.size() < slots);
        if (outcome == SubmitOutcome::submitted) expected.push_back(id);
      } else if (!expected.empty()) {
        ASSERT_EQ(run_one(memory), expected.front());
        expected.pop_front();
      } else {
        EXPECT_EQ(memory.worker().claim().outcome, TakeOutcome::empty);
      }
    }
    EXPECT_EQ(memory.ring().damage(), 0U);
  }
}

TEST(SharedRing, ABatchGoesInAndComesOutInOrder) {
  const RingMemory memory({.slots = 5, .participants = 2});
  std::array<TaskContents, 7> tasks{};
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i] = task(i);
  std::array<TaskPlace, 7> places{};
  const BatchSubmitted batch = memory.producer().submit_batch(tasks, places);
  EXPECT_EQ(batch.count, 5U);
  EXPECT_EQ(batch.outcome, SubmitOutcome::no_room);
  std::array<Claim, 3> claims;
  EXPECT_EQ(memory.worker().claim_batch(claims), 3U);
  for (std::uint64_t id = 0; id < 3; ++id) {
    EXPECT_EQ(memory.worker().contents(claims[id]).id, id);
    EXPECT_EQ(claims[id].slot, places[id].slot);
  }
  EXPECT_EQ(memory.worker().claim_batch(claims), 2U);
  EXPECT_EQ(memory.worker().claim_batch(claims), 0U);
}

TEST(SharedRing, ATaskThatWasCalledOffSaysSoToWhoeverHasIt) {
  const RingMemory memory({.slots = 2, .participants = 2});
  const TaskPlace before = memory.producer().submit(task(0)).place;
  EXPECT_EQ(memory.producer().cancel(before), CancelOutcome::cancelled);
  const Claim first = memory.worker().claim();
  ASSERT_EQ(first.outcome, TakeOutcome::taken) << "it still goes its way";
  EXPECT_TRUE(first.word.cancelled);

  const TaskPlace later = memory.producer().submit(task(1)).place;
  const Claim second = memory.worker().claim();
  EXPECT_FALSE(memory.worker().cancelled(second));
  EXPECT_EQ(memory.producer().cancel(later), CancelOutcome::cancelled);
  EXPECT_TRUE(memory.worker().cancelled(second));
  EXPECT_EQ(memory.worker().complete(second, {}), HandOver::done) << "the flag fences nobody";
  EXPECT_EQ(memory.producer().cancel(later), CancelOutcome::too_late);
}

TEST(SharedRing, ASlotsNextTaskIsNotCalledOffInPlaceOfItsLast) {
  const RingMemory memory({.slots = 1, .participants = 2});
  const TaskPlace last = memory.producer().submit(task(0)).place;
  run_one(memory);
  ASSERT_EQ(memory.producer().submit(task(1)).outcome, SubmitOutcome::submitted);
  EXPECT_EQ(memory.producer().cancel(last), CancelOutcome::too_late);
  EXPECT_FALSE(memory.worker().claim().word.cancelled);
}

TEST(SharedRing, ATaskCanBeTriedAgainAtOnceOrLaterUntilItsAttemptsAreUsedUp) {
  const RingMemory memory({.slots = 1, .participants = 2});
  ASSERT_EQ(memory.producer().submit(task(7)).outcome, SubmitOutcome::submitted);
  for (unsigned attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    const Claim claim = memory.worker().claim();
    ASSERT_EQ(claim.outcome, TakeOutcome::taken);
    EXPECT_EQ(claim.word.attempt, attempt);
    memory.worker().complete(claim, {.status = attempt});
    Settling settling = memory.supervisor().collect();
    EXPECT_EQ(memory.supervisor().result(settling).status, attempt);
    if (attempt % 2 == 0) {
      EXPECT_EQ(memory.supervisor().delay(settling), HandOver::done);
      EXPECT_EQ(memory.worker().claim().outcome, TakeOutcome::empty);
    }
    const RetryOutcome outcome = memory.supervisor().retry(settling);
    if (attempt < kMaxAttempts) {
      EXPECT_EQ(outcome, RetryOutcome::retried);
    } else {
      EXPECT_EQ(outcome, RetryOutcome::exhausted);
      EXPECT_EQ(memory.supervisor().release(settling), HandOver::done);
    }
  }
  EXPECT_EQ(memory.ring().free_approx(), 1U);
}

TEST(SharedRing, ACellThatNoRunLeavesMakesTakersGiveUpAndCount) {
  const RingMemory memory({.slots = 1, .participants = 2});
  // relaxed: alone. The head is at position 2, cycle 1; a cycle of 5 is neither it nor the last.
  auto* cells = reinterpret_cast<Atomic<std::uint64_t>*>(
      memory.span().data() + layout_of(memory.ring().geometry()).ready_cells);
  cells[0].store(RingEntry{5, 0}.bits(), relaxed);
  EXPECT_EQ(memory.worker().claim().outcome, TakeOutcome::contended);
  EXPECT_EQ(memory.ring().contended(), 1U);
}

TEST(SharedRing, AnEntryThatNamesNoSlotIsPassedAndCounted) {
  const RingMemory memory({.slots = 2, .participants = 2});
  auto* cells = reinterpret_cast<Atomic<std::uint64_t>*>(
      memory.span().data() + layout_of(memory.ring().geometry()).ready_cells);
  cells[0].store(RingEntry{1, 2}.bits(), relaxed);  // relaxed: alone
  EXPECT_EQ(memory.worker().claim().outcome, TakeOutcome::empty);
  EXPECT_EQ(memory.ring().damage(), 1U);
}

TEST(SharedRing, WhoSleepsForWorkIsWokenByASubmit) {
  const RingMemory memory({.slots = 2, .participants = 70});
  const SharedSleepers sleepers = memory.ring().sleepers(Awaited::work);
  const auto ticket = sleepers.announce(69);
  EXPECT_EQ(sleepers.asleep_approx(), 1U);
  std::thread publisher([&] { static_cast<void>(memory.producer().submit(task(0))); });
  EXPECT_EQ(sleepers.park(ticket, kForever), SleepOutcome::woken);
  publisher.join();
  EXPECT_EQ(sleepers.asleep_approx(), 0U);
}

TEST(SharedRing, ASleepEndsWithItsTime) {
  const RingMemory memory({.slots = 2, .participants = 2});
  const SharedSleepers sleepers = memory.ring().sleepers(Awaited::results);
  EXPECT_EQ(sleepers.park(sleepers.announce(1), 1), SleepOutcome::timed_out);
  EXPECT_EQ(sleepers.asleep_approx(), 0U);
}

TEST(SharedRing, AWakeGoesToOneWhoWaitsForThatAndIsPassedOnIfItWasNotNeeded) {
  const RingMemory memory({.slots = 2, .participants = 4});
  const SharedSleepers work = memory.ring().sleepers(Awaited::work);
  const SharedSleepers room = memory.ring().sleepers(Awaited::room);
  const auto waits_for_room = room.announce(0);
  const auto first = work.announce(1);
  const auto second = work.announce(2);
  EXPECT_EQ(work.wake(1), 1U);
  EXPECT_EQ(room.asleep_approx(), 1U);
  EXPECT_EQ(work.asleep_approx(), 1U);
  work.withdraw(first);  // it was picked and found something by itself
  EXPECT_EQ(work.asleep_approx(), 0U);
  EXPECT_EQ(work.park(second, kForever), SleepOutcome::woken);
  room.withdraw(waits_for_room);
}

TEST(SharedRing, AnIndexBelongsToOneAtATime) {
  const RingMemory memory({.slots = 1, .participants = 2});
  EXPECT_TRUE(memory.ring().occupy(1, 4711));
  EXPECT_FALSE(memory.ring().occupy(1, 4712));
  EXPECT_EQ(memory.ring().occupant(1), 4711U);
  memory.ring().vacate(1);
  EXPECT_TRUE(memory.ring().occupy(1, 4712));
}

TEST(SharedRing, AWorkersFiguresAddUp) {
  const RingMemory memory({.slots = 1, .participants = 2});
  memory.worker().record({.busy_ns = 30, .idle_ns = 70});
  memory.worker().record({.busy_ns = 20, .idle_ns = 80});
  memory.worker().set_state(3);
  WorkerFigures& figures = memory.ring().participant(1).figures;
  EXPECT_EQ(figures.id, 1U);
  EXPECT_EQ(figures.state.load(relaxed), 3);
  EXPECT_EQ(figures.tasks.load(relaxed), 2U);
  EXPECT_EQ(figures.busy_ns.load(relaxed), 50U);
  EXPECT_EQ(figures.idle_ns.load(relaxed), 150U);
  EXPECT_FLOAT_EQ(figures.utilisation.load(relaxed), 25);
}

}  // namespace
}  // namespace muster
