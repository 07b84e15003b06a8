// extent_word_test.cpp: what a word says of an extent, and that no tag of one is 0.
#include <cstdint>

#include <gtest/gtest.h>

#include <muster/queues/extent_word.hpp>

namespace muster {
namespace {

constexpr SlotWord kHeld{SlotState::writing, false, 0, 3, 0x12'3456'7890};

TEST(ExtentWord, AnAttachedOneNamesItsSlotAndItsUse) {
  for (const SlotIndex slot : {SlotIndex{0}, SlotIndex{1}, SlotIndex{0xffff}, kMaxSlots - 1}) {
    for (const ExtentUse use : {ExtentUse::payload, ExtentUse::result}) {
      const SlotWord word = attached(kHeld, {slot, use});
      EXPECT_EQ(SlotWord::from_bits(word.bits()), word);
      EXPECT_EQ(word.generation, kHeld.generation);
      EXPECT_TRUE(is_attached(word, {slot, use}));
      EXPECT_FALSE(is_attached(word, {slot ^ 1, use}));
      EXPECT_FALSE(is_attached(word, {slot ^ 0x2'0000, use}));
    }
    EXPECT_FALSE(
        is_attached(attached(kHeld, {slot, ExtentUse::payload}), {slot, ExtentUse::result}));
  }
}

TEST(ExtentWord, OneThatIsAttachedIsHeldByNobodyWhateverItsSlot) {
  for (SlotIndex slot = 0; slot < 10; ++slot) {
    for (ParticipantIndex by = 0; by < 10; ++by) {
      EXPECT_FALSE(is_held(attached(kHeld, {slot, ExtentUse::payload}), by));
      EXPECT_FALSE(is_held(attached(kHeld, {slot, ExtentUse::result}), by));
    }
  }
  EXPECT_TRUE(is_held(kHeld, 3));
  EXPECT_FALSE(is_held(kHeld, 4));
  EXPECT_FALSE(is_attached(kHeld, {3, ExtentUse::payload}));
  EXPECT_FALSE(is_attached(SlotWord{}, {0, ExtentUse::payload}));
}

TEST(ExtentWord, ItsTagIsTheSameHeldAndAttachedAndAnotherInTheNextLife) {
  SlotWord next_life = kHeld;
  ++next_life.generation;
  EXPECT_EQ(extent_tag(kHeld, 7), extent_tag(attached(kHeld, {9, ExtentUse::result}), 7));
  EXPECT_NE(extent_tag(kHeld, 7), extent_tag(next_life, 7));
  EXPECT_NE(extent_tag(kHeld, 7), extent_tag(kHeld, 8));
  EXPECT_EQ(extent_of(extent_tag(kHeld, kMaxSlots - 1)), kMaxSlots - 1);
}

TEST(ExtentWord, NoTagIsZero) {
  SlotWord word = kHeld;
  for (word.generation = 0; word.generation < 3000; ++word.generation) {
    EXPECT_NE(extent_tag(word, 0), 0U);
    EXPECT_TRUE(is_extent_tag(extent_tag(word, 0)));
  }
  EXPECT_FALSE(is_extent_tag(0));
}

}  // namespace
}  // namespace muster
