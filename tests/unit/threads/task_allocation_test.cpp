// task_allocation_test.cpp: what tasks and joins allocate, and which thread allocates for workers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>

#include <gtest/gtest.h>

#include <muster/task.hpp>
#include <muster/thread_pool.hpp>

#include "support/allocation_count.hpp"
#include "support/hold.hpp"

namespace muster {
namespace {

using testing::allocated_bytes;
using testing::allocation_count;
using testing::Hold;

template <class Call>
std::uint64_t allocations(const Call& call) {
  const std::uint64_t before = allocation_count();
  call();
  return allocation_count() - before;
}

TEST(TaskAllocation, APriorityAloneCostsNoAllocation) {
  ThreadPool pool({.workers = 1});
  const Hold hold(pool);
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

long fib(int n) {
  if (n < 2) return n;
  auto [a, b] = join([&] { return fib(n - 1); }, [&] { return fib(n - 2); });
  return a + b;
}

TEST(TaskAllocation, JoinsAndLoopsAllocateNothing) {
  ThreadPool pool({.workers = 1});
  long sum = 0;
  EXPECT_EQ(pool.run([&] { return allocations([&] { sum = fib(15); }); }), 0U);
  EXPECT_EQ(sum, 610);
  EXPECT_EQ(pool.run([&] {
    return allocations([&] { pool.parallel_for(0, 1000, [&](std::size_t) { ++sum; }); });
  }),
            0U);
}

TEST(TaskAllocation, ATaskThatPostsAllocatesNothingOnceThereAreSpareLines) {
  ThreadPool pool({.workers = 1});
  pool.run([&] { pool.post([] {}); });
  pool.wait_idle();
  EXPECT_EQ(pool.run([&] { return allocations([&] { pool.post([] {}); }); }), 0U);
}

Task<std::uint64_t> hop(ThreadPool& pool) {
  co_await pool.schedule();
  const std::uint64_t before = allocation_count();
  co_await pool.schedule();
  co_return allocation_count() - before;
}

TEST(TaskAllocation, ACoroutineThatHopsAllocatesNothing) {
  ThreadPool pool({.workers = 1});
  pool.run([&] { pool.post([] {}); });
  pool.wait_idle();
  EXPECT_EQ(sync_wait(hop(pool)), 0U);
}

// The kernel puts memory on the node of whoever touches it first, so the large parts of a worker
// must be made by its own thread.
TEST(TaskAllocation, AWorkersMemoryIsAllocatedByItsOwnThread) {
  const auto allocated_by_caller = [](unsigned workers) {
    std::array<std::uint64_t, 5> by_workers{};
    std::latch started(workers);
    const std::uint64_t before = allocated_bytes();
    const ThreadPool pool({.workers = workers, .on_worker_start = [&](unsigned worker) {
                             by_workers.at(worker) = allocated_bytes();
                             started.count_down();
                           }});
    const std::uint64_t by_caller = allocated_bytes() - before;
    started.wait();
    for (unsigned i = 0; i < workers; ++i) {
      EXPECT_GT(by_workers.at(i), 60'000U);  // the ring of the inbox
    }
    return by_caller;
  };
  const std::uint64_t for_one = allocated_by_caller(1);  // and for what the pool has by itself
  EXPECT_LT(allocated_by_caller(5) - for_one, 10'000U);
}

}  // namespace
}  // namespace muster
