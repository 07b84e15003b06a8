// lent_blocks_test.cpp: what was lent is not taken again before it came back.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/lent_blocks.hpp>

namespace muster {
namespace {

using Returns = LentBlocks::Returns;

TEST(LentBlocks, AreAllFreeAtFirstAndTakenOnce) {
  std::array<Returns, 4> returns;
  LentBlocks blocks(returns);
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 4; ++i) taken.insert(blocks.take().value());
  EXPECT_EQ(taken, (std::set<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_FALSE(blocks.take());
}

TEST(LentBlocks, OneThatCameBackIsTakenAgainOnce) {
  std::array<Returns, 2> returns;
  LentBlocks blocks(returns);
  for (int lap = 0; lap < 10; ++lap) {
    (void)blocks.take();
    (void)blocks.take();
    EXPECT_FALSE(blocks.take());
    LentBlocks::give_back(returns[1]);
    EXPECT_EQ(blocks.take(), 1U);
    EXPECT_FALSE(blocks.take());
    LentBlocks::give_back(returns[0]);
    LentBlocks::give_back(returns[1]);
  }
}

TEST(LentBlocks, OneThatWasNotLentIsPutBackWithoutAWord) {
  std::array<Returns, 1> returns;
  LentBlocks blocks(returns);
  for (int lap = 0; lap < 3; ++lap) {
    const auto block = blocks.take();
    ASSERT_TRUE(block);
    blocks.put_back(*block);
  }
  EXPECT_EQ(returns[0].load(relaxed), 0U);
}

TEST(LentBlocks, NoWordIsReadWhileOneIsKnownToBeFree) {
  std::array<Returns, 2> returns;
  LentBlocks blocks(returns);
  const auto first = blocks.take();
  ASSERT_TRUE(first);
  LentBlocks::give_back(returns[*first]);
  EXPECT_NE(blocks.take(), first) << "the other was still known to be free";
  EXPECT_EQ(blocks.take(), first);
}

TEST(LentBlocks, WhereThereAreNoneNothingIsTaken) {
  LentBlocks blocks({});
  EXPECT_FALSE(blocks.take());
}

TEST(LentBlocks, CountsMayStartAnywhereAndWrap) {
  std::array<Returns, 1> returns;
  returns[0].store(0xFFFF'FFFF, relaxed);
  LentBlocks blocks(returns);
  EXPECT_EQ(blocks.take(), 0U);
  EXPECT_FALSE(blocks.take());
  LentBlocks::give_back(returns[0]);
  EXPECT_EQ(returns[0].load(relaxed), 0U);
  EXPECT_EQ(blocks.take(), 0U);
  EXPECT_FALSE(blocks.take());
}

TEST(LentBlocks, EqualASetUnderRandomOperations) {
  Random random(20261117);
  std::array<Returns, 7> returns;
  LentBlocks blocks(returns);
  std::vector<std::uint32_t> lent;
  for (int step = 0; step < 20'000; ++step) {
    if (random.below(2) == 0) {
      const auto block = blocks.take();
      ASSERT_EQ(block.has_value(), lent.size() < returns.size());
      if (!block) continue;
      ASSERT_EQ(std::count(lent.begin(), lent.end(), *block), 0);
      lent.push_back(*block);
    } else if (!lent.empty()) {
      const auto place = lent.begin() + static_cast<std::ptrdiff_t>(random.below(lent.size()));
      LentBlocks::give_back(returns[*place]);
      lent.erase(place);
    }
  }
}

}  // namespace
}  // namespace muster
