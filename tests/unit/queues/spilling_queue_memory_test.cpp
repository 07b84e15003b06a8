// spilling_queue_memory_test.cpp: a spilling queue when there is no memory for a chunk.
#include <new>

#include <gtest/gtest.h>

#include <muster/queues/spilling_queue.hpp>

#include "support/failing_news.hpp"

namespace muster {
namespace {

// Its chunks are aligned, too.
struct alignas(64) Aligned {
  int number = 0;
};

TEST(SpillingQueue, WithoutMemoryForAChunkItGoesOnAsBefore) {
  SpillingQueue<Aligned> queue(2);
  for (int i = 0; i < 2; ++i) queue.push({i});
  for (int i = 0; i < 2; ++i) {
    testing::fail_aligned_news(1);
    EXPECT_THROW(queue.push({2}), std::bad_alloc);
  }
  EXPECT_EQ(queue.pushed_approx(), 2U);
  queue.push({2});
  for (int i = 0; i < 3; ++i) {
    Aligned item;
    ASSERT_NE(queue.try_pop(item), SpillPop::empty);
    EXPECT_EQ(item.number, i);
  }
}

}  // namespace
}  // namespace muster
