// extent_sweep_test.cpp: what becomes of extents when those who have them die, step by step.
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "support/ring_memory.hpp"

namespace muster {
namespace {

using testing::RingMemory;

constexpr ParticipantIndex kSupervisor = 0;
constexpr ParticipantIndex kDead = 1;
constexpr ParticipantIndex kOther = 2;
constexpr RingGeometry kGeometry{.slots = 2, .participants = 4, .extents = 3, .extent_bytes = 64};

class ExtentSweep : public ::testing::Test {
 protected:
  Tag allocate(ParticipantIndex by) {
    const Allocated extent = memory_.extents(by).allocate();
    EXPECT_EQ(extent.outcome, TakeOutcome::taken);
    return extent.tag;
  }

  static TaskContents task_in(Tag extent) {
    TaskContents contents;
    contents.id = 5;
    contents.extent = extent;
    contents.payload_bytes = 64;
    return contents;
  }

  // Moves a word as if its owner had died right behind that step.
  void set_slot(SlotIndex slot, const SlotWord& word) {
    memory_.ring().slot(slot).word.store(word.bits(), relaxed);  // relaxed: alone
  }
  void set_extent(Tag extent, const SlotWord& word) {
    words()[extent_of(extent)].store(word.bits(), relaxed);  // relaxed: alone
  }
  [[nodiscard]] SlotWord word_of(Tag extent) const {
    return SlotWord::from_bits(words()[extent_of(extent)].load(relaxed));  // relaxed: alone
  }
  [[nodiscard]] const SlotWords& words() const { return memory_.ring().free_extents().words(); }

  static std::size_t bytes_in(std::optional<std::span<const std::byte>> bytes) {
    return bytes.value_or(std::span<const std::byte>{}).size();
  }

  // Sweeps, and says what was found; at most two tasks here.
  SweepResult sweep(ParticipantIndex dead = kDead) {
    return memory_.supervisor().sweep(dead, found_);
  }

  // Every extent is free, and the ring leads to each once.
  void expect_all_free() {
    std::set<Tag> seen;
    for (std::uint32_t i = 0; i < kGeometry.extents; ++i) seen.insert(allocate(kOther));
    EXPECT_EQ(seen.size(), kGeometry.extents);
    EXPECT_EQ(memory_.extents(kOther).allocate().outcome, TakeOutcome::empty);
    EXPECT_EQ(memory_.ring().damage(), 0U);
  }

  RingMemory memory_{kGeometry};
  std::array<Settling, 3> found_;
};

TEST_F(ExtentSweep, WhatTheDeadOneHeldIsFreeAgain) {
  allocate(kDead);
  allocate(kDead);
  const SweepResult swept = sweep();
  EXPECT_EQ(swept.extents, 2U);
  EXPECT_EQ(swept.count, 0U);
  EXPECT_EQ(sweep().extents, 0U) << "and only once";
  expect_all_free();
}

TEST_F(ExtentSweep, WhatOthersHoldStaysTheirs) {
  const Tag extent = allocate(kOther);
  EXPECT_EQ(sweep().extents, 0U);
  EXPECT_EQ(memory_.extents(kOther).free(extent), HandOver::done);
  expect_all_free();
}

TEST_F(ExtentSweep, OneThatWasFreedButNotPublishedComesBack) {
  const Tag extent = allocate(kDead);
  set_extent(extent, {SlotState::free, false, 0, kDead, word_of(extent).generation});
  EXPECT_EQ(memory_.ring().free_extents_approx(), 2U);
  EXPECT_EQ(sweep().published, 1U);
  expect_all_free();
}

TEST_F(ExtentSweep, OneThatWasFreedAndPublishedIsNotPublishedTwice) {
  EXPECT_EQ(memory_.extents(kDead).free(allocate(kDead)), HandOver::done);
  EXPECT_EQ(sweep().published, 0U);
  expect_all_free();
}

// Submit, behind each of its steps.

TEST_F(ExtentSweep, AReferenceToAnExtentThatIsNotAttachedYetIsIgnored) {
  const Tag extent = allocate(kDead);
  const Taken slot = memory_.ring().free().take(SlotState::free, kDead);
  memory_.ring().slot(slot.slot).contents = task_in(extent);
  const SweepResult swept = sweep();
  EXPECT_EQ(swept.extents, 1U) << "as held";
  EXPECT_EQ(swept.count, 0U);
  expect_all_free();
}

TEST_F(ExtentSweep, WhatIsAttachedToASlotThatIsNoTaskYetIsFreedWithIt) {
  const Tag extent = allocate(kDead);
  const Taken slot = memory_.ring().free().take(SlotState::free, kDead);
  memory_.ring().slot(slot.slot).contents = task_in(extent);
  set_extent(extent, attached(word_of(extent), {slot.slot, ExtentUse::payload}));
  const SweepResult swept = sweep();
  EXPECT_EQ(swept.extents, 0U) << "with its slot";
  EXPECT_EQ(swept.count, 0U);
  EXPECT_EQ(memory_.ring().free_approx(), 2U);
  expect_all_free();
}

TEST_F(ExtentSweep, ATaskThatWasAcceptedKeepsItsPayload) {
  const Tag extent = allocate(kDead);
  ASSERT_EQ(memory_.producer(kDead).submit(task_in(extent)).outcome, SubmitOutcome::submitted);
  EXPECT_EQ(sweep().extents, 0U);
  const Claim claim = memory_.worker(kOther).claim();
  EXPECT_EQ(bytes_in(memory_.worker(kOther).payload(claim)), 64U);
  EXPECT_EQ(memory_.worker(kOther).complete(claim, {}), HandOver::done);
  EXPECT_EQ(memory_.supervisor().release(memory_.supervisor().collect()), HandOver::done);
  expect_all_free();
}

// A reference that is left from an earlier life of the slot names an extent that is another's now.
TEST_F(ExtentSweep, AnOldReferenceFreesNothingThoughTheTagFitsAgain) {
  const Taken slot = memory_.ring().free().take(SlotState::free, kDead);
  const Tag extent = allocate(kOther);
  ASSERT_EQ(memory_.producer(kOther).submit(task_in(extent)).outcome, SubmitOutcome::submitted);
  memory_.ring().slot(slot.slot).contents = task_in(extent);  // as if 1024 lives had passed
  sweep();
  const Claim claim = memory_.worker(kOther).claim();
  ASSERT_TRUE(memory_.worker(kOther).payload(claim).has_value());
  EXPECT_EQ(memory_.worker(kOther).complete(claim, {}), HandOver::done);
  EXPECT_EQ(memory_.supervisor().release(memory_.supervisor().collect()), HandOver::done);
  expect_all_free();
}

// Nor of the slot's own payload, by a reference that is left from an earlier result.
TEST_F(ExtentSweep, AnOldResultsReferenceDoesNotFreeThePayload) {
  const Tag extent = allocate(kSupervisor);
  ASSERT_EQ(memory_.producer().submit(task_in(extent)).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker(kDead).claim();
  memory_.ring().result(claim.slot).extent = extent;  // as if 1024 lives had passed
  ASSERT_EQ(sweep().count, 1U);
  EXPECT_EQ(memory_.supervisor().keep_result(found_[0]), 0U);
  EXPECT_EQ(memory_.supervisor().retry(found_[0]), RetryOutcome::retried);
  const Claim next = memory_.worker(kOther).claim();
  EXPECT_TRUE(memory_.worker(kOther).payload(next).has_value());
  EXPECT_EQ(memory_.worker(kOther).complete(next, {}), HandOver::done);
  EXPECT_EQ(memory_.supervisor().release(memory_.supervisor().collect()), HandOver::done);
  expect_all_free();
}

// Complete, behind each of its steps.

TEST_F(ExtentSweep, AResultThatWasNotHandedInIsFreedByWhoeverDecidesAboutTheTask) {
  for (const bool was_attached : {false, true}) {
    for (const bool again : {false, true}) {
      ASSERT_EQ(memory_.producer().submit(task_in(allocate(kSupervisor))).outcome,
                SubmitOutcome::submitted);
      const Claim claim = memory_.worker(kDead).claim();
      const Tag extent = allocate(kDead);
      memory_.ring().result(claim.slot) = {.payload_bytes = 1, .extent = extent};
      if (was_attached) {
        set_extent(extent, attached(word_of(extent), {claim.slot, ExtentUse::result}));
      }
      const SweepResult swept = sweep();
      EXPECT_EQ(swept.extents, was_attached ? 0U : 1U);
      ASSERT_EQ(swept.count, 1U);
      if (again) {
        EXPECT_EQ(memory_.supervisor().retry(found_[0]), RetryOutcome::retried);
        EXPECT_EQ(memory_.ring().free_extents_approx(), 2U) << "the payload stays";
        const Claim next = memory_.worker(kOther).claim();
        EXPECT_TRUE(memory_.worker(kOther).payload(next).has_value());
        EXPECT_EQ(memory_.worker(kOther).complete(next, {}), HandOver::done);
        found_[0] = memory_.supervisor().collect();
      }
      EXPECT_EQ(memory_.supervisor().release(found_[0]), HandOver::done);
      EXPECT_EQ(memory_.ring().free_extents_approx(), 3U);
    }
  }
  expect_all_free();
}

TEST_F(ExtentSweep, AResultThatWasHandedInStays) {
  ASSERT_EQ(memory_.producer().submit({}).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker(kDead).claim();
  const TaskResult result{.payload_bytes = 3, .extent = allocate(kDead)};
  ASSERT_EQ(memory_.worker(kDead).complete(claim, result), HandOver::done);
  EXPECT_EQ(sweep().extents, 0U);
  const Settling settling = memory_.supervisor().collect();
  EXPECT_EQ(bytes_in(memory_.supervisor().result_payload(settling)), 3U);
  EXPECT_EQ(memory_.supervisor().release(settling), HandOver::done);
  expect_all_free();
}

// Keep and release, behind each of their steps.

TEST_F(ExtentSweep, WhatADeadSupervisorKeptIsFreedAndGoneForItsHeir) {
  ASSERT_EQ(memory_.producer().submit({}).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker(kOther).claim();
  const TaskResult result{.payload_bytes = 3, .extent = allocate(kOther)};
  ASSERT_EQ(memory_.worker(kOther).complete(claim, result), HandOver::done);
  const RingSupervisor first = memory_.supervisor(kDead);
  ASSERT_NE(first.keep_result(first.collect()), 0U);
  const SweepResult swept = sweep();
  EXPECT_EQ(swept.extents, 1U);
  ASSERT_EQ(swept.count, 1U);
  EXPECT_FALSE(memory_.supervisor().result_payload(found_[0]).has_value());
  EXPECT_EQ(memory_.supervisor().release(found_[0]), HandOver::done);
  expect_all_free();
}

TEST_F(ExtentSweep, AReleaseThatWasBegunIsCarriedOnByTheHeir) {
  ASSERT_EQ(memory_.producer().submit(task_in(allocate(kSupervisor))).outcome,
            SubmitOutcome::submitted);
  const Claim claim = memory_.worker(kOther).claim();
  const TaskResult result{.payload_bytes = 3, .extent = allocate(kOther)};
  ASSERT_EQ(memory_.worker(kOther).complete(claim, result), HandOver::done);
  const Settling settling = memory_.supervisor(kDead).collect();
  const Tag payload = memory_.supervisor(kDead).contents(settling).extent;
  set_extent(payload, {SlotState::free, false, 0, kDead, word_of(payload).generation});
  const SweepResult swept = sweep();
  EXPECT_EQ(swept.published, 1U);
  ASSERT_EQ(swept.count, 1U);
  EXPECT_FALSE(memory_.supervisor().payload(found_[0]).has_value());
  EXPECT_TRUE(memory_.supervisor().result_payload(found_[0]).has_value());
  EXPECT_EQ(memory_.supervisor().release(found_[0]), HandOver::done);
  expect_all_free();
}

TEST_F(ExtentSweep, OneWhoWasOnlyTakenForDeadChangesNothingAnyMore) {
  ASSERT_EQ(memory_.producer().submit(task_in(allocate(kSupervisor))).outcome,
            SubmitOutcome::submitted);
  const Claim claim = memory_.worker(kDead).claim();
  const Tag extent = allocate(kDead);
  ASSERT_EQ(sweep().count, 1U);
  EXPECT_EQ(memory_.worker(kDead).complete(claim, {.payload_bytes = 1, .extent = extent}),
            HandOver::fenced);
  EXPECT_EQ(memory_.extents(kDead).free(extent), HandOver::not_held);
  EXPECT_EQ(memory_.supervisor(kDead).release(claim), HandOver::fenced);
  EXPECT_EQ(memory_.supervisor(kDead).retry(claim), RetryOutcome::fenced);
  EXPECT_TRUE(memory_.supervisor().payload(found_[0]).has_value());
  EXPECT_EQ(memory_.supervisor().release(found_[0]), HandOver::done);
  expect_all_free();
}

TEST(ExtentSweepOfMany, ExtentsBeyondOnePassComeBackToo) {
  const RingMemory memory({.slots = 1, .participants = 3, .extents = 9000, .extent_bytes = 64});
  std::uint32_t held = 0;
  std::uint32_t owed = 0;
  for (std::uint32_t i = 0; i < 9000; ++i) {
    const Taken taken = memory.ring().free_extents().take(SlotState::free, kDead);
    ++held;
    if (i % 3 == 0) continue;
    const SlotWord free{SlotState::free, false, 0, kDead, taken.word.generation};
    memory.ring().free_extents().words()[taken.slot].store(free.bits(), relaxed);  // relaxed: alone
    --held;
    if (i % 3 == 1) {
      memory.ring().free_extents().put(tag_of(free, taken.slot));
    } else {
      ++owed;
    }
  }
  std::array<Settling, 1> found;
  const SweepResult swept = memory.supervisor().sweep(kDead, found);
  EXPECT_EQ(swept.published, owed);
  EXPECT_EQ(swept.extents, held);
  std::set<Tag> seen;
  for (Allocated extent = memory.extents(2).allocate(); extent.outcome == TakeOutcome::taken;
       extent = memory.extents(2).allocate()) {
    EXPECT_TRUE(seen.insert(extent.tag).second);
  }
  EXPECT_EQ(seen.size(), 9000U);
}

}  // namespace
}  // namespace muster
