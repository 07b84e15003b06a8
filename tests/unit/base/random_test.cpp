// random_test.cpp: the sequence is the published one, and its derived values are fair.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

namespace muster {
namespace {

static_assert(std::uniform_random_bit_generator<Random>);

// Loose enough for a fair count, and the seeds are fixed; a biased one is off by far more.
void expect_near(std::uint64_t count, double expected) {
  EXPECT_NEAR(static_cast<double>(count), expected, 0.05 * expected);
}

TEST(Random, TheSequenceIsThatOfThePublishedAlgorithm) {
  // splitmix64 and xoshiro256** computed apart from this code, and checked against other libraries.
  Random from_zero(0);
  EXPECT_EQ(from_zero(), 0x99ec'5f36'cb75'f2b4U);
  EXPECT_EQ(from_zero(), 0xbf6e'1f78'4956'452aU);
  EXPECT_EQ(from_zero(), 0x1a5f'849d'4933'e6e0U);
  EXPECT_EQ(from_zero(), 0x6aa5'94f1'262d'2d2cU);
  EXPECT_EQ(from_zero(), 0xbba5'ad4a'1f84'2e59U);
  Random from_other(1'234'567);
  EXPECT_EQ(from_other(), 0x30a3'a1c3'6360'0467U);
  EXPECT_EQ(from_other(), 0x1940'5f0f'5799'29caU);
}

TEST(Random, TheSameSeedRepeatsAndAnotherDoesNot) {
  Random one(42);
  Random same(42);
  Random other(43);
  EXPECT_EQ(one(), same());
  EXPECT_NE(one(), other());
}

TEST(Random, BelowOneIsAlwaysZero) {
  Random random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, BelowReachesEveryValueEquallyOften) {
  Random random(2);
  std::array<std::uint64_t, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.below(counts.size()));
  for (const std::uint64_t count : counts) expect_near(count, 10'000);
}

TEST(Random, BelowIsFairForHugeBoundsToo) {
  // Without drawing again, the multiples of 3 would come up half of the time.
  Random random(3);
  const std::uint64_t three_quarters = std::uint64_t{3} << 62;
  std::array<std::uint64_t, 3> counts{};
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t drawn = random.below(three_quarters);
    ASSERT_LT(drawn, three_quarters);
    ++counts.at(drawn % 3);
  }
  for (const std::uint64_t count : counts) expect_near(count, 10'000);
}

TEST(Random, RealStaysBelowOneAndFillsTheRange) {
  Random random(4);
  std::array<std::uint64_t, 10> counts{};
  for (int i = 0; i < 100'000; ++i) {
    const double drawn = random.real();
    ASSERT_GE(drawn, 0.0);
    ASSERT_LT(drawn, 1.0);
    ++counts.at(static_cast<std::size_t>(drawn * 10));
  }
  for (const std::uint64_t count : counts) expect_near(count, 10'000);
}

TEST(Random, ChanceHitsAsOftenAsItsProbability) {
  Random random(5);
  std::uint64_t hits = 0;
  for (int i = 0; i < 40'000; ++i) {
    hits += random.chance(0.25) ? 1 : 0;
    EXPECT_FALSE(random.chance(0.0));
    EXPECT_TRUE(random.chance(1.0));
  }
  expect_near(hits, 10'000);
}

TEST(Random, ShuffleKeepsTheItemsAndMakesEveryOrderEquallyLikely) {
  Random random(6);
  std::array<std::uint64_t, 6> counts{};
  const std::vector<std::array<int, 3>> orders = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                                  {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
  for (int i = 0; i < 30'000; ++i) {
    std::array<int, 3> items = {1, 2, 3};
    random.shuffle(std::span<int>(items));
    const auto order = std::ranges::find(orders, items);
    ASSERT_NE(order, orders.end());
    ++counts.at(static_cast<std::size_t>(order - orders.begin()));
  }
  for (const std::uint64_t count : counts) expect_near(count, 5'000);
}

TEST(Random, ShufflingNothingIsHarmless) {
  Random random(7);
  random.shuffle(std::span<int>());
}

TEST(Random, SplitGivesAStreamOfItsOwnThatTheSeedRepeats) {
  Random parent(8);
  Random again(8);
  Random first = parent.split();
  Random second = parent.split();
  const std::uint64_t drawn = first();
  EXPECT_EQ(again.split()(), drawn);
  EXPECT_NE(second(), drawn);
  EXPECT_NE(parent(), drawn);
}

}  // namespace
}  // namespace muster
