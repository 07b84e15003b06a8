// task_allocation_test.cpp: what posting and submitting a task allocates.
#include <cstdint>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

#include "support/allocation_count.hpp"
#include "support/hold.hpp"

namespace muster {
namespace {

using testing::allocation_count;
using testing::Hold;

TEST(TaskAllocation, APriorityAloneCostsNoAllocation) {
  ThreadPool pool({.workers = 1});
  const Hold hold(pool);
  const auto allocations = [](const auto& call) {
    const std::uint64_t before = allocation_count();
    call();
    return allocation_count() - before;
  };
  std::uint64_t words[6] = {};  // 48 bytes, as many as a closure holds
  const auto task = [words] { (void)words; };
  for (int i = 0; i < 5; ++i) pool.post({.priority = 5}, task);  // the heap has room afterwards
  EXPECT_EQ(allocations([&] { pool.post(task); }), 0U);
  EXPECT_EQ(allocations([&] { pool.post({}, task); }), 0U);
  EXPECT_EQ(allocations([&] { pool.post({.priority = 5}, task); }), 0U);
  EXPECT_EQ(allocations([&] { (void)pool.submit(task); }), 1U);
  EXPECT_EQ(allocations([&] { (void)pool.submit({.priority = 5}, task); }), 1U);
  EXPECT_EQ(allocations([&] { pool.post({.deadline = Time::max()}, task); }), 1U);
}

}  // namespace
}  // namespace muster
