// thread_pool_stop_test.cpp: stopping runs what was accepted, refuses the rest, and never hangs.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

namespace muster {
namespace {

class StoppingIn : public ::testing::TestWithParam<Queueing> {};

INSTANTIATE_TEST_SUITE_P(Both, StoppingIn, ::testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& parameter) {
                           return parameter.param == Queueing::global ? "global" : "stealing";
                         });

TEST_P(StoppingIn, RunsAllThatWasAcceptedAndWhatThatPosts) {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool({.workers = 2, .queueing = GetParam()});
    for (int i = 0; i < 1000; ++i) {
      pool.post([&] {
        ++runs;
        pool.post([&] { ++runs; });
      });
    }
    pool.stop();
    EXPECT_EQ(runs, 2000);
  }
  EXPECT_EQ(runs, 2000);
}

TEST_P(StoppingIn, TwiceIsHarmlessAlsoFromTwoThreads) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  std::jthread other([&] { pool.stop(); });
  pool.stop();
  pool.stop();
}

TEST_P(StoppingIn, AfterwardsPostThrowsAndSubmitGivesAFutureWithStopped) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  pool.stop();
  EXPECT_THROW(pool.post([] {}), Stopped);
  const auto capture = std::make_shared<int>(1);
  Future<int> future = pool.submit([capture] { return *capture; });
  EXPECT_THROW(future.get(), Stopped);
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_THROW(pool.run([] { return 1; }), Stopped);
  pool.wait_idle();
}

TEST_P(StoppingIn, FromAWorkerIsRefusedAndSoIsWaitingForIdleness) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  pool.run([&] {
    EXPECT_THROW(pool.stop(), WouldDeadlock);
    EXPECT_THROW(pool.wait_idle(), WouldDeadlock);
  });
}

TEST_P(StoppingIn, APoolThatNeverHadATaskEnds) {
  for (int i = 0; i < 50; ++i) const ThreadPool pool({.workers = 3, .queueing = GetParam()});
}

TEST_P(StoppingIn, WhatIsPostedMeanwhileIsRunOrRefused) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool({.workers = 2, .queueing = GetParam()});
    std::atomic<int> accepted = 0;
    std::atomic<int> ran = 0;
    std::vector<std::jthread> posters;
    for (int i = 0; i < 3; ++i) {
      posters.emplace_back([&] {
        try {
          for (;;) {
            pool.post([&] { ++ran; });
            ++accepted;
          }
        } catch (const Stopped&) {
        }
      });
    }
    while (accepted < 100) std::this_thread::yield();
    pool.stop();
    posters.clear();
    EXPECT_EQ(ran, accepted);
  }
}

// The first task holds the only worker until the pool has been told to stop.
TEST_P(StoppingIn, DiscardingDropsWhatHasNotBegun) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::atomic<bool> stopping = false;
  std::atomic<int> runs = 0;
  const auto capture = std::make_shared<int>(1);
  pool.post([&] {
    ++runs;
    while (!stopping) std::this_thread::yield();
  });
  while (runs == 0) std::this_thread::yield();
  std::vector<Future<void>> futures;
  for (int i = 0; i < 10; ++i) futures.push_back(pool.submit([&, capture] { ++runs; }));
  for (int i = 0; i < 10; ++i) pool.post([&, capture] { ++runs; });
  const StopResult first = pool.stop({.mode = Stop::discard, .timeout = Duration(1)});
  EXPECT_FALSE(first);
  EXPECT_EQ(first.unfinished, 21U);
  stopping = true;
  EXPECT_TRUE(pool.stop());
  EXPECT_EQ(runs, 1);
  for (Future<void>& future : futures) EXPECT_THROW(future.get(), Stopped);
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_EQ(pool.stats().workers[0].dropped, 20U);
}

TEST_P(StoppingIn, ATimeoutGivesUpWaitingButNotTheTasks) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  std::atomic<bool> free = false;
  Future<int> held = pool.submit([&] {
    while (!free) std::this_thread::yield();
    return 5;
  });
  EXPECT_THROW(pool.stop({.timeout = Duration(-1)}), InvalidArgument);
  const StopResult result = pool.stop({.timeout = std::chrono::milliseconds(1)});
  EXPECT_EQ(result.unfinished, 1U);
  EXPECT_THROW(pool.post([] {}), Stopped);
  free = true;
  EXPECT_TRUE(pool.stop());
  EXPECT_EQ(held.get(), 5);
}

TEST_P(StoppingIn, FuturesOutliveThePool) {
  Future<int> future;
  {
    ThreadPool pool({.workers = 1, .queueing = GetParam()});
    future = pool.submit([] { return 9; });
  }
  EXPECT_EQ(future.get(), 9);
}

}  // namespace
}  // namespace muster
