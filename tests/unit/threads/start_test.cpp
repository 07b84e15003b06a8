// start_test.cpp: when threads are started, and that pools come and go.
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/join.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

TEST(Start, AnEagerPoolHasAllItsWorkersAtOnce) {
  const ThreadPool pool({.workers = 5});
  EXPECT_EQ(pool.stats().workers.size(), 5U);
}

class LazyStart : public testing::TestWithParam<Queueing> {};
INSTANTIATE_TEST_SUITE_P(Both, LazyStart, testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& tested) {
                           return tested.param == Queueing::global ? "global" : "stealing";
                         });

TEST_P(LazyStart, StartsNobodyBeforeTheFirstTask) {
  std::atomic<int> started = 0;
  {
    ThreadPool pool({.workers = 4,
                     .queueing = GetParam(),
                     .start = Start::lazy,
                     .on_worker_start = [&](unsigned) { ++started; }});
    EXPECT_TRUE(pool.stats().workers.empty());
    EXPECT_EQ(pool.worker_count(), 4U);
    pool.wait_idle();
  }
  EXPECT_EQ(started, 0);
}

TEST_P(LazyStart, RunsWhatIsPosted) {
  ThreadPool pool({.workers = 4, .queueing = GetParam(), .start = Start::lazy});
  EXPECT_EQ(pool.run([] { return 3; }), 3);
  EXPECT_EQ(pool.submit({.priority = 5}, [] { return 4; }).get(), 4);
  EXPECT_GE(pool.stats().workers.size(), 1U);
}

TEST_P(LazyStart, AnUrgentTaskStartsAWorkerToo) {
  ThreadPool pool({.workers = 4, .queueing = GetParam(), .start = Start::lazy});
  EXPECT_EQ(pool.submit({.priority = -5}, [] { return 4; }).get(), 4);
}

TEST_P(LazyStart, StartsAllIfAllAreNeededAtOnce) {
  ThreadPool pool({.workers = 4, .queueing = GetParam(), .start = Start::lazy});
  std::latch all_there(4);
  for (int i = 0; i < 4; ++i) pool.post([&] { all_there.arrive_and_wait(); });
  pool.wait_idle();
  EXPECT_EQ(pool.stats().workers.size(), 4U);
}

TEST_P(LazyStart, TasksThatPostTasksStartWorkers) {
  ThreadPool pool({.workers = 3, .queueing = GetParam(), .start = Start::lazy});
  std::latch all_there(3);
  pool.post([&] {
    for (int i = 0; i < 2; ++i) pool.post([&] { all_there.arrive_and_wait(); });
    all_there.arrive_and_wait();
  });
  pool.wait_idle();
  EXPECT_EQ(pool.stats().workers.size(), 3U);
}

// The first side goes on until the second one has begun, on a worker that has to be started.
TEST(Start, AForkStartsALazyWorker) {
  ThreadPool pool({.workers = 2, .start = Start::lazy});
  std::atomic<bool> taken = false;
  pool.run([&] {
    join(
        [&] {
          while (!taken) join([] { std::this_thread::yield(); }, [] {});
        },
        [&] { taken = true; });
  });
  EXPECT_EQ(pool.stats().workers.size(), 2U);
}

TEST(Start, HundredsOfPoolsLiveAtOnce) {
  std::vector<std::unique_ptr<ThreadPool>> pools;
  std::atomic<int> ran = 0;
  for (int i = 0; i < 200; ++i) {
    pools.push_back(std::make_unique<ThreadPool>(ThreadPoolOptions{.workers = 2}));
    pools.back()->post([&] { ++ran; });
  }
  pools.clear();
  EXPECT_EQ(ran, 200);
}

}  // namespace
}  // namespace muster
