// ring_extents_test.cpp: extents from allocation to release, one thread at a time. What deaths
// leave is in extent_sweep_test.cpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "support/ring_memory.hpp"

namespace muster {
namespace {

using testing::RingMemory;

constexpr ParticipantIndex kManager = 0;
constexpr ParticipantIndex kWorker = 1;
constexpr RingGeometry kGeometry{.slots = 2, .participants = 3, .extents = 3, .extent_bytes = 128};

constexpr std::span<const std::byte> kNothing;

class RingExtentsTest : public ::testing::Test {
 protected:
  // An extent that `by` holds, full of `value`.
  Tag filled(ParticipantIndex by, int value) {
    const Allocated extent = memory_.extents(by).allocate();
    EXPECT_EQ(extent.outcome, TakeOutcome::taken);
    std::ranges::fill(memory_.extents(by).memory(extent.tag), static_cast<std::byte>(value));
    return extent.tag;
  }

  static TaskContents task_in(Tag extent, std::uint32_t bytes) {
    TaskContents contents;
    contents.extent = extent;
    contents.payload_bytes = bytes;
    return contents;
  }

  // Claims a task and completes it with a result in an extent; collected.
  Settling worked(int value, std::uint32_t bytes) {
    const Claim claim = memory_.worker().claim();
    EXPECT_EQ(claim.outcome, TakeOutcome::taken);
    TaskResult result;
    result.extent = filled(kWorker, value);
    result.payload_bytes = bytes;
    EXPECT_EQ(memory_.worker().complete(claim, result), HandOver::done);
    return memory_.supervisor().collect();
  }

  static bool holds_only(std::optional<std::span<const std::byte>> bytes, int value) {
    return bytes && std::ranges::all_of(*bytes, [&](std::byte byte) {
             return byte == static_cast<std::byte>(value);
           });
  }

  [[nodiscard]] std::uint64_t free_extents() const { return memory_.ring().free_extents_approx(); }

  RingMemory memory_{kGeometry};
};

TEST_F(RingExtentsTest, EachIsMemoryOfItsOwnAtACacheLine) {
  std::set<std::byte*> places;
  for (int i = 0; i < 3; ++i) {
    const std::span<std::byte> memory = memory_.extents(kManager).memory(filled(kManager, i));
    ASSERT_EQ(memory.size(), 128U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine, 0U);
    EXPECT_GE(memory.data(), memory_.span().data());
    EXPECT_LE(memory.data() + memory.size(), memory_.span().data() + memory_.span().size());
    for (std::byte* const other : places) EXPECT_GE(std::abs(other - memory.data()), 128);
    places.insert(memory.data());
  }
}

TEST_F(RingExtentsTest, ThereAreAsManyAsTheGeometrySaysAndNoMoreUntilOneIsFreed) {
  std::array<Tag, 3> held{};
  for (Tag& extent : held) extent = filled(kManager, 1);
  EXPECT_EQ(free_extents(), 0U);
  EXPECT_EQ(memory_.extents(kWorker).allocate().outcome, TakeOutcome::empty);
  EXPECT_EQ(memory_.extents(kManager).free(held[1]), HandOver::done);
  EXPECT_EQ(free_extents(), 1U);
  EXPECT_EQ(memory_.extents(kWorker).allocate().outcome, TakeOutcome::taken);
}

TEST_F(RingExtentsTest, WithoutExtentsThereIsNoneToAllocate) {
  const RingMemory memory({.slots = 1, .participants = 2});
  EXPECT_EQ(memory.extents(0).allocate().outcome, TakeOutcome::empty);
  EXPECT_TRUE(memory.extents(0).memory(extent_tag(SlotWord{}, 0)).empty());
  EXPECT_EQ(memory.producer().submit(task_in(extent_tag(SlotWord{}, 0), 0)).outcome,
            SubmitOutcome::not_held);
}

TEST_F(RingExtentsTest, NoTagIsEverZeroOverManyLives) {
  const RingMemory memory({.slots = 1, .participants = 1, .extents = 1, .extent_bytes = 64});
  for (int life = 0; life < 3000; ++life) {
    const Allocated extent = memory.extents(0).allocate();
    ASSERT_EQ(extent.outcome, TakeOutcome::taken);
    ASSERT_NE(extent.tag, 0U);
    ASSERT_EQ(memory.extents(0).free(extent.tag), HandOver::done);
  }
  EXPECT_EQ(memory.ring().damage(), 0U);
}

TEST_F(RingExtentsTest, OnlyItsHolderMayFreeItAndOnlyOnce) {
  const Tag extent = filled(kManager, 1);
  EXPECT_EQ(memory_.extents(kWorker).free(extent), HandOver::not_held);
  EXPECT_EQ(memory_.extents(kManager).free(extent), HandOver::done);
  EXPECT_EQ(memory_.extents(kManager).free(extent), HandOver::not_held);
  while (memory_.extents(kManager).allocate().outcome == TakeOutcome::taken) {
  }
  EXPECT_EQ(memory_.extents(kManager).free(extent), HandOver::not_held) << "that was another life";
  EXPECT_EQ(free_extents(), 0U);
}

TEST_F(RingExtentsTest, ATagThatNamesNoExtentHasNoMemoryAndCannotBeFreed) {
  const Tag real = filled(kManager, 1);
  for (const Tag wrong : {Tag{0}, Tag{1}, real + 3, real ^ 1U << 19, ~Tag{0}}) {
    EXPECT_TRUE(memory_.extents(kManager).memory(wrong).empty()) << wrong;
    EXPECT_EQ(memory_.extents(kManager).free(wrong), HandOver::not_held) << wrong;
  }
}

TEST_F(RingExtentsTest, APayloadAndAResultGoOverInPlaceAndAreFreedWithTheSlot) {
  const Tag payload = filled(kManager, 7);
  ASSERT_EQ(memory_.producer().submit(task_in(payload, 100)).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker().claim();
  ASSERT_EQ(claim.outcome, TakeOutcome::taken);
  const auto seen = memory_.worker().payload(claim).value_or(kNothing);
  EXPECT_TRUE(holds_only(seen, 7));
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(seen.data(), memory_.extents(kManager).memory(payload).data()) << "in place";

  const TaskResult result{.status = 4, .payload_bytes = 128, .extent = filled(kWorker, 8)};
  ASSERT_EQ(memory_.worker().complete(claim, result), HandOver::done);
  const Settling settling = memory_.supervisor().collect();
  EXPECT_TRUE(holds_only(memory_.supervisor().payload(settling), 7));
  const auto answer = memory_.supervisor().result_payload(settling).value_or(kNothing);
  EXPECT_TRUE(holds_only(answer, 8));
  EXPECT_EQ(answer.size(), 128U);
  EXPECT_EQ(free_extents(), 1U);
  EXPECT_EQ(memory_.supervisor().release(settling), HandOver::done);
  EXPECT_EQ(free_extents(), 3U);
  EXPECT_EQ(memory_.ring().damage(), 0U);
}

TEST_F(RingExtentsTest, WhatIsInlineIsReadThroughTheSameDoors) {
  TaskContents contents;
  contents.payload_bytes = 2;
  contents.payload.fill(std::byte{3});
  ASSERT_EQ(memory_.producer().submit(contents).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker().claim();
  const auto seen = memory_.worker().payload(claim).value_or(kNothing);
  EXPECT_TRUE(holds_only(seen, 3));
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(memory_.worker().complete(claim, {}), HandOver::done);
  const Settling settling = memory_.supervisor().collect();
  const auto answer = memory_.supervisor().result_payload(settling);
  EXPECT_TRUE(answer.has_value() && answer->empty());
  EXPECT_EQ(memory_.supervisor().keep_result(settling), 0U) << "there is none";
}

TEST_F(RingExtentsTest, WhatIsTooLargeOrNotHeldIsRefusedAndStaysWhoseItWas) {
  const Tag extent = filled(kManager, 1);
  EXPECT_EQ(memory_.producer().submit(task_in(extent, 129)).outcome, SubmitOutcome::too_large);
  EXPECT_EQ(memory_.producer(2).submit(task_in(extent, 1)).outcome, SubmitOutcome::not_held);
  EXPECT_EQ(memory_.ring().free_approx(), 2U) << "no slot was taken";
  ASSERT_EQ(memory_.producer().submit(task_in(extent, 128)).outcome, SubmitOutcome::submitted);
  EXPECT_EQ(memory_.producer().submit(task_in(extent, 128)).outcome, SubmitOutcome::not_held)
      << "it is the first task's now";
  EXPECT_EQ(memory_.extents(kManager).free(extent), HandOver::not_held);
}

TEST_F(RingExtentsTest, AProducerThatFindsNoRoomKeepsItsExtent) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(memory_.producer().submit({}).outcome, SubmitOutcome::submitted);
  }
  const Tag extent = filled(kManager, 1);
  EXPECT_EQ(memory_.producer().submit(task_in(extent, 1)).outcome, SubmitOutcome::no_room);
  EXPECT_EQ(memory_.extents(kManager).free(extent), HandOver::done);
}

TEST_F(RingExtentsTest, AResultThatIsTooLargeOrNotHeldIsRefusedAndTheTaskStaysClaimed) {
  ASSERT_EQ(memory_.producer().submit({}).outcome, SubmitOutcome::submitted);
  const Claim claim = memory_.worker().claim();
  const Tag others = filled(kManager, 1);
  const Tag own = filled(kWorker, 2);
  EXPECT_EQ(memory_.worker().complete(claim, {.payload_bytes = kInlineResult + 1}),
            HandOver::too_large);
  EXPECT_EQ(memory_.worker().complete(claim, {.payload_bytes = 129, .extent = own}),
            HandOver::too_large);
  EXPECT_EQ(memory_.worker().complete(claim, {.payload_bytes = 128, .extent = others}),
            HandOver::not_held);
  EXPECT_EQ(memory_.worker().complete(claim, {.payload_bytes = 128, .extent = own}),
            HandOver::done);
}

TEST_F(RingExtentsTest, AKeptResultOutlivesItsSlotUntilItIsFreed) {
  ASSERT_EQ(memory_.producer().submit({}).outcome, SubmitOutcome::submitted);
  const Settling settling = worked(9, 50);
  const auto bytes = memory_.supervisor().result_payload(settling);
  const Tag kept = memory_.supervisor().keep_result(settling);
  ASSERT_NE(kept, 0U);
  EXPECT_EQ(memory_.supervisor().keep_result(settling), 0U) << "there is none any more";
  EXPECT_EQ(memory_.supervisor().release(settling), HandOver::done);
  EXPECT_EQ(free_extents(), 2U);
  for (int i = 0; i < 2; ++i) filled(kWorker, 1);
  EXPECT_TRUE(holds_only(bytes, 9));
  EXPECT_EQ(memory_.extents(kManager).free(kept), HandOver::done);
  EXPECT_EQ(free_extents(), 1U);
}

TEST_F(RingExtentsTest, ATaskThatIsTriedAgainKeepsItsPayloadAndLosesItsResult) {
  ASSERT_EQ(memory_.producer().submit(task_in(filled(kManager, 5), 128)).outcome,
            SubmitOutcome::submitted);
  for (int attempt = 1; attempt <= 4; ++attempt) {
    Settling settling = worked(attempt, 10);
    EXPECT_TRUE(holds_only(memory_.supervisor().result_payload(settling), attempt));
    EXPECT_EQ(free_extents(), 1U);
    if (attempt % 2 == 0) {
      EXPECT_EQ(memory_.supervisor().delay(settling), HandOver::done);
    }
    EXPECT_EQ(memory_.supervisor().retry(settling), RetryOutcome::retried);
    EXPECT_EQ(free_extents(), 2U);
  }
  const Claim claim = memory_.worker().claim();
  EXPECT_TRUE(holds_only(memory_.worker().payload(claim), 5));
  EXPECT_EQ(memory_.worker().complete(claim, {}), HandOver::done);
  EXPECT_EQ(memory_.supervisor().release(memory_.supervisor().collect()), HandOver::done);
  EXPECT_EQ(free_extents(), 3U);
}

TEST_F(RingExtentsTest, ABatchTakesItsExtentsAlong) {
  std::array<TaskContents, 3> tasks{};
  for (TaskContents& task : tasks) task = task_in(filled(kManager, 6), 30);
  EXPECT_EQ(memory_.producer().submit_batch(tasks).count, 2U);
  EXPECT_EQ(memory_.extents(kManager).free(tasks[0].extent), HandOver::not_held);
  EXPECT_EQ(memory_.extents(kManager).free(tasks[2].extent), HandOver::done);
}

TEST_F(RingExtentsTest, ASizeOrAPlaceThatLiesShowsNothingAndIsDamage) {
  ASSERT_EQ(memory_.producer().submit(task_in(filled(kManager, 5), 10)).outcome,
            SubmitOutcome::submitted);
  const Settling settling = worked(6, 10);
  TaskContents& contents = memory_.ring().slot(settling.slot).contents;
  TaskResult& result = memory_.ring().result(settling.slot);
  const Tag real = contents.extent;

  contents.payload_bytes = 129;
  EXPECT_FALSE(memory_.supervisor().payload(settling).has_value());
  EXPECT_FALSE(memory_.worker().payload(settling).has_value());
  result.payload_bytes = ~std::uint32_t{0};
  EXPECT_FALSE(memory_.supervisor().result_payload(settling).has_value());
  contents.extent = real + 3;  // beyond the last
  contents.payload_bytes = 1;
  EXPECT_FALSE(memory_.supervisor().payload(settling).has_value());
  contents.extent = 0;
  contents.payload_bytes = kInlinePayload + 1;
  EXPECT_FALSE(memory_.supervisor().payload(settling).has_value());
  EXPECT_EQ(memory_.ring().damage(), 5U);

  contents.extent = result.extent;  // attached, but as something else
  contents.payload_bytes = 1;
  EXPECT_FALSE(memory_.supervisor().payload(settling).has_value());
}

TEST_F(RingExtentsTest, WhoWaitsForRoomIsWokenByAnExtentThatIsFreed) {
  const Tag extent = filled(kManager, 1);
  const SharedSleepers room = memory_.ring().sleepers(Awaited::room);
  const auto first = room.announce(1);
  const auto second = room.announce(2);
  EXPECT_EQ(memory_.extents(kManager).free(extent), HandOver::done);
  EXPECT_EQ(room.asleep_approx(), 0U) << "both: one of them may wait for a slot";
  EXPECT_EQ(room.park(first, kForever), SleepOutcome::woken);
  EXPECT_EQ(room.park(second, kForever), SleepOutcome::woken);
}

// Two thousand tasks through a few extents, in both directions at once.
TEST_F(RingExtentsTest, NothingIsLeftOverAfterManyTasks) {
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(memory_.producer().submit(task_in(filled(kManager, i), 128)).outcome,
              SubmitOutcome::submitted);
    const Settling settling = worked(i + 1, 128);
    ASSERT_TRUE(holds_only(memory_.supervisor().payload(settling), i));
    ASSERT_TRUE(holds_only(memory_.supervisor().result_payload(settling), i + 1));
    ASSERT_EQ(memory_.supervisor().release(settling), HandOver::done);
    ASSERT_EQ(free_extents(), 3U);
  }
  EXPECT_EQ(memory_.ring().damage(), 0U);
}

}  // namespace
}  // namespace muster
