// slot_word_test.cpp: what stands in 64 bits comes out again, and how a word changes hands.
#include <cstdint>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/slot_word.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

constexpr std::uint64_t kLastGeneration = SlotWord::kGenerationMask;

TEST(SlotWord, EveryFieldComesOutAsItWentIn) {
  Random random = testing::seeded();
  for (int i = 0; i < 10'000; ++i) {
    const SlotWord word{.state = static_cast<SlotState>(random.below(7)),
                        .cancelled = random.below(2) == 1,
                        .attempt = static_cast<std::uint8_t>(random.below(16)),
                        .owner = static_cast<ParticipantIndex>(random.below(4096)),
                        .generation = random() & kLastGeneration};
    EXPECT_EQ(SlotWord::from_bits(word.bits()), word);
  }
}

TEST(SlotWord, ZeroMemoryIsAFreeSlot) {
  EXPECT_EQ(SlotWord::from_bits(0).state, SlotState::free);
  EXPECT_EQ(SlotWord{}.bits(), 0U);
}

TEST(SlotWord, TakingAFreeSlotBeginsANewLife) {
  const SlotWord free{SlotState::free, false, 0, 3, 41};
  EXPECT_EQ(free.taken(7), (SlotWord{SlotState::writing, false, 0, 7, 42}));
}

TEST(SlotWord, GenerationsBeginAgainAfterTheLast) {
  const SlotWord free{SlotState::free, false, 0, 3, kLastGeneration};
  EXPECT_EQ(free.taken(7).generation, 0U);
  EXPECT_EQ(SlotWord::from_bits(free.taken(7).bits()), free.taken(7));
}

TEST(SlotWord, ClaimingCountsTheAttemptAndKeepsTheCancelFlag) {
  const SlotWord ready{SlotState::ready, true, 2, 3, 5};
  EXPECT_EQ(ready.taken(9), (SlotWord{SlotState::claimed, true, 3, 9, 5}));
}

TEST(SlotWord, TakingADoneSlotIsSettlingIt) {
  const SlotWord done{SlotState::done, false, 1, 3, 5};
  EXPECT_EQ(done.taken(0), (SlotWord{SlotState::settling, false, 1, 0, 5}));
}

TEST(Tag, TellsSlotsAttemptsAndGenerationsApart) {
  const SlotWord word{SlotState::ready, false, 1, 3, 5};
  SlotWord next_attempt = word;
  next_attempt.attempt = 2;
  SlotWord next_life = word;
  next_life.generation = 6;
  EXPECT_EQ(slot_of(tag_of(word, kMaxSlots - 1)), kMaxSlots - 1);
  EXPECT_NE(tag_of(word, 0), tag_of(word, 1));
  EXPECT_NE(tag_of(word, 0), tag_of(next_attempt, 0));
  EXPECT_NE(tag_of(word, 0), tag_of(next_life, 0));
  EXPECT_EQ(tag_of(word, 0), tag_of(word.moved(SlotState::ready, 8), 0))
      << "the owner is not in it";
}

TEST(RingEntry, EveryFieldComesOutAsItWentIn) {
  const RingEntry entry{0xdead'beef, 0x1234'5678};
  EXPECT_EQ(RingEntry::from_bits(entry.bits()).cycle, entry.cycle);
  EXPECT_EQ(RingEntry::from_bits(entry.bits()).tag, entry.tag);
}

}  // namespace
}  // namespace muster
