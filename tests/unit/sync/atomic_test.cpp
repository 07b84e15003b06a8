// atomic_test.cpp: Atomic answers as std::atomic does, and costs no more.
#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>

#include <muster/sync/atomic.hpp>

namespace muster {
namespace {

static_assert(sizeof(Atomic<std::uint32_t>) == sizeof(std::atomic<std::uint32_t>));
static_assert(sizeof(Atomic<void*>) == sizeof(std::atomic<void*>));

TEST(Atomic, StartsAtZeroOrAtWhatItIsGiven) {
  const Atomic<int> zero;
  const Atomic<int> seven = 7;
  EXPECT_EQ(zero.load(relaxed), 0);
  EXPECT_EQ(seven.load(relaxed), 7);
}

TEST(Atomic, ReadModifyWritesReturnTheValueBefore) {
  Atomic<std::uint64_t> word = 0b0110;
  EXPECT_EQ(word.fetch_or(0b0001, relaxed), 0b0110U);
  EXPECT_EQ(word.fetch_and(0b0101, relaxed), 0b0111U);
  EXPECT_EQ(word.fetch_add(3, relaxed), 0b0101U);
  EXPECT_EQ(word.fetch_sub(2, relaxed), 8U);
  EXPECT_EQ(word.exchange(42, relaxed), 6U);
  EXPECT_EQ(word.load(relaxed), 42U);
}

TEST(Atomic, CountsWrapAround) {
  Atomic<std::uint32_t> word = 0;
  EXPECT_EQ(word.fetch_sub(1, relaxed), 0U);
  EXPECT_EQ(word.fetch_add(1, relaxed), 0xffff'ffffU);
  EXPECT_EQ(word.load(relaxed), 0U);
}

TEST(Atomic, AnExchangeThatFailsTellsTheValueFound) {
  Atomic<int> word = 5;
  int expected = 4;
  EXPECT_FALSE(word.compare_exchange_strong(expected, 9, relaxed, relaxed));
  EXPECT_EQ(expected, 5);
  EXPECT_TRUE(word.compare_exchange_strong(expected, 9, relaxed, relaxed));
  EXPECT_EQ(word.load(relaxed), 9);
}

TEST(Atomic, AWeakExchangeSucceedsWhenRepeated) {
  Atomic<int> word = 5;
  int expected = 5;
  while (!word.compare_exchange_weak(expected, 6, relaxed, relaxed)) ASSERT_EQ(expected, 5);
  EXPECT_EQ(word.load(relaxed), 6);
}

}  // namespace
}  // namespace muster
