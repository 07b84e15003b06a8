// thread_pool_test.cpp: tasks from outside and inside, futures, and waiting on a worker.
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

namespace muster {
namespace {

class ThreadPoolIn : public ::testing::TestWithParam<Queueing> {};

INSTANTIATE_TEST_SUITE_P(Both, ThreadPoolIn,
                         ::testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& parameter) {
                           return parameter.param == Queueing::global ? "global" : "stealing";
                         });

TEST_P(ThreadPoolIn, EachPostedTaskRunsOnce) {
  for (const unsigned workers : {1U, 2U, 7U}) {
    ThreadPool pool({.workers = workers, .queueing = GetParam()});
    std::vector<std::atomic<int>> runs(5000);
    for (std::atomic<int>& run : runs) pool.post([&run] { ++run; });
    pool.wait_idle();
    for (const std::atomic<int>& run : runs) ASSERT_EQ(run, 1);
  }
}

TEST_P(ThreadPoolIn, FuturesGiveTheirResults) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  std::vector<Future<int>> futures;
  for (int i = 0; i < 1000; ++i) futures.push_back(pool.submit([i] { return i * i; }));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(futures[static_cast<std::size_t>(i)].get(), i * i);
  Future<void> failing = pool.submit([] { throw std::out_of_range("task"); });
  EXPECT_THROW(failing.get(), std::out_of_range);
}

// Each copy, not a move, does this.
template <class OnCopy>
struct Copied {
  OnCopy on_copy;
  std::atomic<int>& runs;

  Copied(OnCopy copy, std::atomic<int>& count) : on_copy(copy), runs(count) {}
  Copied(const Copied& other) noexcept(noexcept(on_copy())) : Copied(other.on_copy, other.runs) {
    on_copy();
  }
  Copied(Copied&& other) noexcept : Copied(other.on_copy, other.runs) {}
  Copied& operator=(const Copied&) = delete;
  Copied& operator=(Copied&&) = delete;
  ~Copied() = default;
  void operator()() const { ++runs; }
};

TEST_P(ThreadPoolIn, ACallableMayThrowOrPostWhileATaskCopiesIt) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::atomic<int> runs = 0;
  pool.run([&] {
    const Copied throwing([] { throw std::out_of_range("copy"); }, runs);
    EXPECT_THROW(pool.post(throwing), std::out_of_range);
    const Copied posting([&]() noexcept { pool.post([&runs] { runs += 10; }); }, runs);
    pool.post(posting);
    pool.post(posting);
  });
  pool.wait_idle();
  EXPECT_EQ(runs, 22);
}

TEST_P(ThreadPoolIn, TasksMayPostTasks) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  std::atomic<int> runs = 0;
  struct Tree {
    ThreadPool& pool;
    std::atomic<int>& runs;
    void grow(int depth) const {
      ++runs;
      if (depth == 0) return;
      pool.post([*this, depth] { grow(depth - 1); });
      pool.post([*this, depth] { grow(depth - 1); });
    }
  };
  pool.post([&] { Tree{pool, runs}.grow(10); });
  pool.wait_idle();
  EXPECT_EQ(runs, 2047);
  EXPECT_EQ(pool.stats().submitted, 2047U);
  EXPECT_EQ(pool.stats().completed, 2047U);
}

TEST_P(ThreadPoolIn, AWorkerMayWaitForATaskOfTheSamePool) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const int sum = pool.run([&] {
    Future<int> one = pool.submit([&] { return pool.submit([] { return 1; }).get() + 1; });
    Future<int> other = pool.submit([] { return 3; });
    return one.get() + other.get();
  });
  EXPECT_EQ(sum, 5);
}

// The other task is the newest when the wait begins, and must not be run by the worker that waits.
TEST(ThreadPool, AWaitingWorkerStartsNothingElse) {
  ThreadPool pool({.workers = 1});
  bool waiting = false;
  bool intruded = false;
  Future<void> outer = pool.submit([&] {
    Future<int> awaited = pool.submit([] { return 1; });
    pool.post([&] { intruded = waiting; });
    waiting = true;
    EXPECT_EQ(awaited.get(), 1);
    waiting = false;
  });
  outer.get();
  pool.wait_idle();
  EXPECT_FALSE(intruded);
}

TEST_P(ThreadPoolIn, RunCallsPlainlyOnAWorkerOfThePool) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  EXPECT_FALSE(pool.is_inside());
  pool.run([&] {
    EXPECT_TRUE(pool.is_inside());
    const std::thread::id here = std::this_thread::get_id();
    EXPECT_EQ(pool.run([] { return std::this_thread::get_id(); }), here);
  });
}

TEST(ThreadPool, OnePoolsWorkersAreOutsideOfAnother) {
  ThreadPool first({.workers = 1});
  ThreadPool second({.workers = 1});
  first.run([&] {
    EXPECT_FALSE(second.is_inside());
    EXPECT_EQ(second.submit([] { return 2; }).get(), 2);
  });
}

// The first task blocks its worker until the other tasks have run, wherever they wait.
TEST(ThreadPool, NoTaskWaitsBehindALongOneWhileAWorkerSleeps) {
  ThreadPool pool({.workers = 2, .idle = IdlePolicy::power});
  std::atomic<int> others = 0;
  pool.post([&] {
    for (int i = 0; i < 3; ++i) pool.post([&] { ++others; });
    while (others < 20) std::this_thread::yield();
  });
  for (int i = 0; i < 17; ++i) pool.post([&] { ++others; });
  pool.wait_idle();
  EXPECT_EQ(others, 20);
}

// What posts itself again and again must not keep older tasks from running.
TEST(ThreadPool, ATaskThatPostsItselfStarvesNobody) {
  ThreadPool pool({.workers = 1});
  std::atomic<bool> other_ran = false;
  std::atomic<bool> outside_ran = false;
  struct Again {
    ThreadPool& pool;
    std::atomic<bool>& one;
    std::atomic<bool>& two;
    void operator()() const {
      if (!one || !two) pool.post(*this);
    }
  };
  pool.post([&] {
    pool.post([&] { other_ran = true; });
    Again{pool, other_ran, outside_ran}();
  });
  pool.post([&] { outside_ran = true; });
  pool.wait_idle();
  EXPECT_TRUE(other_ran && outside_ran);
}

TEST(ThreadPool, EachIdlePolicyRunsAndSleeps) {
  for (const IdlePolicy idle : {IdlePolicy::power, IdlePolicy::balanced, IdlePolicy::latency}) {
    ThreadPool pool({.workers = 2, .idle = idle});
    for (int i = 0; i < 100; ++i) ASSERT_EQ(pool.submit([i] { return i; }).get(), i);
    pool.wait_idle();
    while (pool.stats().sleeping_workers < 2) std::this_thread::yield();
    EXPECT_EQ(pool.submit([] { return 5; }).get(), 5);
  }
}

TEST_P(ThreadPoolIn, AWholeRangeIsSubmittedInItsOrder) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  std::vector<std::function<int()>> tasks;
  for (int i = 0; i < 50; ++i) tasks.emplace_back([i] { return i; });
  std::vector<Future<int>> futures = pool.submit_bulk(tasks);
  ASSERT_EQ(futures.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i);
  EXPECT_EQ(pool.submit_bulk(std::move(tasks)).back().get(), 49);
  EXPECT_TRUE(pool.submit_bulk(std::vector<std::function<void()>>()).empty());
}

TEST_P(ThreadPoolIn, StatsBeginAgainAfterAReset) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  for (int i = 0; i < 10; ++i) pool.post([] {});
  pool.wait_idle();
  pool.reset_stats();
  EXPECT_EQ(pool.stats().submitted, 0U);
  EXPECT_EQ(pool.stats().completed, 0U);
  for (int i = 0; i < 3; ++i) pool.post([] {});
  pool.wait_idle();
  EXPECT_EQ(pool.stats().submitted, 3U);
  EXPECT_EQ(pool.stats().workers[0].completed + pool.stats().workers[1].completed, 3U);
}

TEST(ThreadPool, StatsAreExactWhenIdle) {
  ThreadPool pool({.workers = 2});
  for (int i = 0; i < 3000; ++i) pool.post([] {});
  pool.wait_idle();
  const ThreadPoolStats stats = pool.stats();
  EXPECT_EQ(stats.submitted, 3000U);
  EXPECT_EQ(stats.completed, 3000U);
  EXPECT_EQ(stats.queued, 0U);
  EXPECT_EQ(stats.workers.size(), 2U);
  EXPECT_EQ(stats.workers[0].completed + stats.workers[1].completed, 3000U);
  EXPECT_EQ(stats.total_workers, 2U);
  EXPECT_EQ(stats.busy_workers, 0U);
  EXPECT_EQ(stats.idle_workers, 2U);
}

TEST(ThreadPool, StatsCountWhatIsBusyAndWhatWaits) {
  std::latch begun(1);
  std::latch go(1);
  ThreadPool pool({.workers = 1});
  pool.post([&] {
    begun.count_down();
    go.wait();
  });
  begun.wait();
  for (int i = 0; i < 5; ++i) pool.post([] {});
  const ThreadPoolStats stats = pool.stats();
  go.count_down();
  EXPECT_EQ(stats.busy_workers, 1U);
  EXPECT_EQ(stats.idle_workers, 0U);
  EXPECT_EQ(stats.queued, 5U);
  EXPECT_EQ(stats.workers[0].queued, 5U);
  EXPECT_TRUE(stats.workers[0].busy);
  EXPECT_EQ(stats.submitted, 6U);
  EXPECT_EQ(stats.completed, 0U);
}

TEST(ThreadPool, StatsCountSleepsAndWakes) {
  ThreadPool pool({.workers = 1, .idle = IdlePolicy::power});
  for (int i = 0; i < 10; ++i) {
    while (pool.stats().sleeping_workers == 0) std::this_thread::yield();
    pool.run([] {});
  }
  while (pool.stats().sleeping_workers == 0) std::this_thread::yield();
  const ThreadPoolStats::Worker worker = pool.stats().workers[0];
  EXPECT_GE(worker.wakes, 10U);
  EXPECT_LE(worker.wakes, worker.parks);
}

}  // namespace
}  // namespace muster
