// spilling_queue_memory_test.cpp: a spilling queue when there is no memory for a chunk.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include <muster/queues/spilling_queue.hpp>

namespace {
int aligned_news_to_fail = 0;
}

// Only items that are aligned to more than usual come here: the chunks of such items do.
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (aligned_news_to_fail > 0) {
    --aligned_news_to_fail;
    throw std::bad_alloc();
  }
  const auto step = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(step, (size + step - 1) / step * step);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace muster {
namespace {

struct alignas(64) Aligned {
  int number = 0;
};

TEST(SpillingQueue, WithoutMemoryForAChunkItGoesOnAsBefore) {
  SpillingQueue<Aligned> queue(2);
  for (int i = 0; i < 2; ++i) queue.push({i});
  for (int i = 0; i < 2; ++i) {
    aligned_news_to_fail = 1;
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
