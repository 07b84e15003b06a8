// tag_ring_test.cpp: a ring by itself: what fits in, and what is there to take, lap after lap.
#include <array>

#include <gtest/gtest.h>

#include <muster/queues/tag_ring.hpp>

namespace muster {
namespace {

constexpr std::uint32_t kCapacity = 4;

// Of one slot, whose word fits none of the tags that are put unless a test says so.
class TagRingTest : public testing::Test {
 protected:
  TagRingTest() { ring_.format(); }

  // Entries that nobody can take: they are passed by.
  void put_stale(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(ring_.put(kStale), PutOutcome::put);
  }
  TakeOutcome take() { return ring_.take(SlotState::ready, 0).outcome; }

  static constexpr Tag kStale = 0;

  RingEnds ends_{};
  std::array<Atomic<std::uint64_t>, kCapacity> cells_{};
  Atomic<std::uint64_t> word_ = 0;
  Atomic<std::uint64_t> damage_ = 0;
  const TagRing ring_{{.ends = &ends_,
                       .cells = cells_.data(),
                       .capacity = kCapacity,
                       .words = {reinterpret_cast<std::byte*>(&word_), sizeof(word_), 1},
                       .damage = &damage_}};
};

TEST_F(TagRingTest, NeverOverwritesWhatNobodyHasPassed) {
  for (std::uint64_t lap = 0; lap < 10; ++lap) {
    put_stale(kCapacity);
    EXPECT_EQ(ring_.size_approx(), kCapacity);
    EXPECT_EQ(ring_.put(kStale), PutOutcome::refused) << "lap " << lap;
    EXPECT_EQ(damage_.load(relaxed), lap + 1);  // relaxed: one thread
    EXPECT_EQ(take(), TakeOutcome::empty);
    EXPECT_EQ(ring_.size_approx(), 0U);
  }
}

// Laps that do not begin where the ring does.
TEST_F(TagRingTest, HasRoomAsSoonAsSomethingWasPassed) {
  for (std::uint32_t lap = 0; lap < 20; ++lap) {
    put_stale(kCapacity - 1);
    EXPECT_EQ(take(), TakeOutcome::empty);
  }
  EXPECT_EQ(damage_.load(relaxed), 0U);  // relaxed: one thread
}

TEST_F(TagRingTest, SaysWhetherThereIsAnEntry) {
  for (std::uint32_t lap = 0; lap < 10; ++lap) {
    EXPECT_FALSE(ring_.has_entry());
    put_stale(1);
    EXPECT_TRUE(ring_.has_entry());
    put_stale(1);
    EXPECT_EQ(take(), TakeOutcome::empty);
  }
  EXPECT_FALSE(ring_.has_entry());
}

}  // namespace
}  // namespace muster
