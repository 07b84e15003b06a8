// stable_heap_test.cpp: the highest priority first, the oldest among equals, in O(log n).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/stable_heap.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

constexpr Priority kLowest = std::numeric_limits<Priority>::min();
constexpr Priority kHighest = std::numeric_limits<Priority>::max();

static_assert(std::is_same_v<Priority, std::int16_t>);

std::vector<int> pop_all(StableHeap<int>& heap) {
  std::vector<int> items;
  while (!heap.empty()) items.push_back(heap.pop());
  return items;
}

TEST(StableHeap, IsEmptyAtFirst) {
  const StableHeap<int> heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.size(), 0U);
}

TEST(StableHeap, HigherPrioritiesComeFirst) {
  StableHeap<int> heap;
  for (const int priority : {3, -1, 4, 1, -5, 9, 2, 6}) {
    heap.push(static_cast<Priority>(priority), priority);
  }
  EXPECT_EQ(pop_all(heap), (std::vector{9, 6, 4, 3, 2, 1, -1, -5}));
}

TEST(StableHeap, EqualsComeOutInTheOrderTheyWentIn) {
  StableHeap<int> heap;
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) {
    heap.push(5, i);
    expected.push_back(i);
  }
  EXPECT_EQ(pop_all(heap), expected);
}

TEST(StableHeap, EqualsKeepTheirOrderWhileOthersComeAndGo) {
  StableHeap<int> heap;
  heap.push(0, 1);
  heap.push(0, 2);
  heap.push(7, 100);
  EXPECT_EQ(heap.pop(), 100);
  heap.push(0, 3);
  EXPECT_EQ(heap.pop(), 1);
  heap.push(-7, 200);
  heap.push(0, 4);
  EXPECT_EQ(pop_all(heap), (std::vector{2, 3, 4, 200}));
}

TEST(StableHeap, TheExtremePrioritiesAreInOrderToo) {
  StableHeap<int> heap;
  for (const Priority priority : {Priority{0}, kLowest, kHighest, Priority{-1}, Priority{1}}) {
    heap.push(priority, priority);
  }
  EXPECT_EQ(heap.top_priority(), kHighest);
  EXPECT_EQ(pop_all(heap), (std::vector<int>{kHighest, 1, 0, -1, kLowest}));
}

TEST(StableHeap, TheTopIsWhatPopWillReturn) {
  StableHeap<int> heap;
  heap.push(1, 10);
  heap.push(2, 20);
  heap.push(2, 21);
  EXPECT_EQ(heap.top(), 20);
  EXPECT_EQ(heap.top_priority(), 2);
  EXPECT_EQ(heap.size(), 3U);
  EXPECT_EQ(heap.pop(), 20);
  EXPECT_EQ(heap.top(), 21);
}

TEST(StableHeap, HoldsWhatCanOnlyBeMoved) {
  StableHeap<std::unique_ptr<int>> heap;
  for (int i = 0; i < 10; ++i) heap.push(static_cast<Priority>(i), std::make_unique<int>(i));
  EXPECT_EQ(*heap.top(), 9);
  for (int i = 9; i >= 0; --i) EXPECT_EQ(*heap.pop(), i);
}

TEST(StableHeap, KeepsNothingOfAPoppedItem) {
  StableHeap<std::shared_ptr<int>> heap;
  const auto item = std::make_shared<int>(1);
  heap.push(0, item);
  heap.push(1, item);
  EXPECT_EQ(item.use_count(), 3);
  static_cast<void>(heap.pop());
  EXPECT_EQ(item.use_count(), 2);
}

TEST(StableHeap, EqualsAStablySortedListUnderRandomOperations) {
  struct Entry {
    Priority priority;
    int item;
  };
  Random random = testing::seeded();
  StableHeap<int> heap;
  std::vector<Entry> model;
  int next = 0;
  for (int round = 0; round < 500; ++round) {
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      const auto priority = static_cast<Priority>(static_cast<int>(random.below(7)) - 3);
      heap.push(priority, next);
      const auto behind_equals =
          std::ranges::upper_bound(model, priority, std::ranges::greater{}, &Entry::priority);
      model.insert(behind_equals, {priority, next++});
    }
    const std::size_t pops = std::min<std::size_t>(model.size(), random.below(20));
    for (std::size_t i = 0; i < pops; ++i) {
      ASSERT_EQ(heap.top_priority(), model[i].priority);
      ASSERT_EQ(heap.pop(), model[i].item);
    }
    model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(pops));
    ASSERT_EQ(heap.size(), model.size());
  }
}

// Counts how often items are moved: the work that a heap does per step.
struct Heavy {
  Heavy() = default;
  Heavy(Heavy&&) noexcept { ++moves; }
  Heavy& operator=(Heavy&&) noexcept {
    ++moves;
    return *this;
  }
  static inline std::uint64_t moves = 0;
};

TEST(StableHeap, AnOperationMovesOnlyAFewItemsPerLevel) {
  constexpr std::size_t kSize = 1 << 13;
  const auto most = static_cast<std::uint64_t>(4 * std::log2(kSize) + 8);
  StableHeap<Heavy> heap;
  Heavy::moves = 0;
  // Ascending: each push rises to the top. On average, for now and then all move to a larger array.
  for (std::size_t i = 0; i < kSize; ++i) heap.push(static_cast<Priority>(i), Heavy{});
  EXPECT_LE(Heavy::moves / kSize, most);
  for (std::size_t i = 0; i < kSize; ++i) {
    Heavy::moves = 0;
    static_cast<void>(heap.pop());
    ASSERT_LE(Heavy::moves, most);
  }
}

TEST(StableHeapDeathTest, PoppingOrReadingAnEmptyHeapIsABug) {
  StableHeap<int> heap;
  EXPECT_DEATH(static_cast<void>(heap.pop()), "assertion failed: !entries_.empty\\(\\)");
  EXPECT_DEATH(static_cast<void>(heap.top()), "assertion failed: !entries_.empty\\(\\)");
  EXPECT_DEATH(static_cast<void>(heap.top_priority()), "assertion failed: !entries_.empty\\(\\)");
}

}  // namespace
}  // namespace muster
