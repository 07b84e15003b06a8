// bounded_queue_batch_test.cpp: pushing and popping several items at once.
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/bounded_queue.hpp>

namespace muster {
namespace {

std::vector<int> numbers(int first, std::size_t count) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

// What a pop of up to `most` items finds.
std::vector<int> pop_batch(BoundedQueue<int>& queue, std::size_t most) {
  std::vector<int> out(most);
  out.resize(queue.try_pop_batch(out));
  return out;
}

TEST(BoundedQueueBatch, ComesOutInOrderByBatchesAndOneByOne) {
  BoundedQueue<int> queue(8);
  std::vector<int> items = numbers(0, 6);
  EXPECT_EQ(queue.try_push_batch(items), 6U);
  EXPECT_EQ(queue.size_approx(), 6U);
  EXPECT_EQ(queue.try_pop(), 0);
  EXPECT_EQ(pop_batch(queue, 3), numbers(1, 3));
  EXPECT_EQ(queue.try_pop(), 4);
  EXPECT_EQ(pop_batch(queue, 8), numbers(5, 1));
}

TEST(BoundedQueueBatch, PushesWhatFitsWhenRoomIsShort) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.try_push(0));
  std::vector<int> items = numbers(1, 5);
  EXPECT_EQ(queue.try_push_batch(items), 3U);
  EXPECT_EQ(queue.try_push_batch(items), 0U);
  EXPECT_EQ(pop_batch(queue, 4), numbers(0, 4));
}

TEST(BoundedQueueBatch, PopsWhatIsThere) {
  BoundedQueue<int> queue(4);
  EXPECT_EQ(pop_batch(queue, 4), std::vector<int>{});
  std::vector<int> items = numbers(0, 3);
  EXPECT_EQ(queue.try_push_batch(items), 3U);
  EXPECT_EQ(pop_batch(queue, 4), numbers(0, 3));
  EXPECT_EQ(pop_batch(queue, 4), std::vector<int>{});
}

TEST(BoundedQueueBatch, PopLeavesTheRestOfTheRoomAlone) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.try_push(7));
  std::array<int, 3> out = {-1, -1, -1};
  EXPECT_EQ(queue.try_pop_batch(out), 1U);
  EXPECT_EQ(out, (std::array<int, 3>{7, -1, -1}));
}

TEST(BoundedQueueBatch, ABatchLargerThanTheQueueFillsIt) {
  BoundedQueue<int> queue(4);
  for (int lap = 0; lap < 3; ++lap) {
    std::vector<int> items = numbers(lap * 100, 11);
    EXPECT_EQ(queue.try_push_batch(items), 4U);
    EXPECT_EQ(pop_batch(queue, 11), numbers(lap * 100, 4));
    EXPECT_TRUE(queue.try_push(0));  // so that the next lap begins elsewhere in the ring
    EXPECT_TRUE(queue.try_pop());
  }
}

TEST(BoundedQueueBatch, NothingIsPushedFromAnEmptySpan) {
  BoundedQueue<int> queue(2);
  EXPECT_EQ(queue.try_push_batch({}), 0U) << "into a queue that was never used";
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_EQ(queue.try_push_batch({}), 0U);
  EXPECT_TRUE(queue.try_push(2));
  EXPECT_EQ(queue.try_push_batch({}), 0U) << "into a full queue";
  EXPECT_EQ(pop_batch(queue, 2), numbers(1, 2));
}

TEST(BoundedQueueBatch, NothingIsPoppedIntoAnEmptySpan) {
  BoundedQueue<int> queue(2);
  EXPECT_EQ(queue.try_pop_batch({}), 0U) << "from a queue that was never used";
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_EQ(queue.try_pop_batch({}), 0U);
  EXPECT_EQ(queue.try_pop(), 1);
}

TEST(BoundedQueueBatch, MovesWhatItPushesAndNothingElse) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  std::array<std::unique_ptr<int>, 3> items;
  for (int i = 0; i < 3; ++i) items.at(static_cast<std::size_t>(i)) = std::make_unique<int>(i);
  EXPECT_EQ(queue.try_push_batch(items), 2U);
  EXPECT_EQ(items[0], nullptr);
  EXPECT_EQ(items[1], nullptr);
  ASSERT_NE(items[2], nullptr);
  EXPECT_EQ(*items[2], 2);

  std::array<std::unique_ptr<int>, 2> out;
  EXPECT_EQ(queue.try_pop_batch(out), 2U);
  EXPECT_EQ(*out[0], 0);
  EXPECT_EQ(*out[1], 1);
}

TEST(BoundedQueueBatch, ASlotKeepsNothingOfAPoppedItem) {
  BoundedQueue<std::shared_ptr<int>> queue(2);
  const auto item = std::make_shared<int>(1);
  std::array<std::shared_ptr<int>, 2> items = {item, item};
  EXPECT_EQ(queue.try_push_batch(items), 2U);
  EXPECT_EQ(item.use_count(), 3);
  EXPECT_EQ(queue.try_pop_batch(items), 2U);
  items = {};
  EXPECT_EQ(item.use_count(), 1);
}

TEST(BoundedQueueBatch, TheOrderSurvivesManyLapsOfUnequalBatches) {
  BoundedQueue<int> queue(8);
  int in = 0;
  int out = 0;
  for (std::size_t round = 0; round < 2000; ++round) {
    std::vector<int> items = numbers(in, 1 + round % 5);
    in += static_cast<int>(queue.try_push_batch(items));
    const std::vector<int> popped = pop_batch(queue, 1 + round % 3);
    ASSERT_EQ(popped, numbers(out, popped.size()));
    out += static_cast<int>(popped.size());
  }
  EXPECT_EQ(pop_batch(queue, 8), numbers(out, static_cast<std::size_t>(in - out)));
}

TEST(BoundedQueueBatch, CountsForTheHighWaterSignalOfLaterPushes) {
  BoundedQueue<int> queue({.capacity = 8, .high_water = 4});
  std::vector<int> items = numbers(0, 2);
  EXPECT_EQ(queue.try_push_batch(items), 2U);
  EXPECT_EQ(queue.try_push(2).outcome, PushOutcome::pushed);
  EXPECT_EQ(queue.try_push(3).outcome, PushOutcome::pushed_at_high_water);
  EXPECT_EQ(pop_batch(queue, 2), numbers(0, 2));
  EXPECT_EQ(queue.try_push(4).outcome, PushOutcome::pushed);
}

}  // namespace
}  // namespace muster
