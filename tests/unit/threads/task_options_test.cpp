// task_options_test.cpp: priorities in exact order, deadlines and stop tokens before the start.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/thread_pool.hpp>

#include "support/hold.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::Hold;

class TaskOptionsIn : public ::testing::TestWithParam<Queueing> {};

INSTANTIATE_TEST_SUITE_P(Both, TaskOptionsIn,
                         ::testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& parameter) {
                           return parameter.param == Queueing::global ? "global" : "stealing";
                         });

TEST_P(TaskOptionsIn, HigherPrioritiesRunFirstAndEqualsInTheirOrder) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::string order;
  {
    const Hold hold(pool);
    const auto note = [&](char name) { return [&order, name] { order += name; }; };
    pool.post({.priority = -5}, note('x'));
    pool.post({.priority = 1}, note('c'));
    pool.post(note('m'));
    pool.post({.priority = 10}, note('a'));
    pool.post({.priority = -1}, note('w'));
    pool.post({.priority = 1}, note('d'));
    pool.post({.priority = 10}, note('b'));
    pool.post({.priority = -5}, note('y'));
    pool.post({.priority = 32767}, note('A'));
    pool.post({.priority = -32768}, note('z'));
  }
  pool.wait_idle();
  EXPECT_EQ(order, "Aabcdmwxyz");
  EXPECT_EQ(pool.stats().submitted, 11U);
  EXPECT_EQ(pool.stats().completed, 11U);
}

TEST_P(TaskOptionsIn, PrioritiesOutOfRangeAreRefused) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  for (const int priority : {32768, -32769, 1 << 30}) {
    try {
      pool.post({.priority = priority}, [] {});
      FAIL() << priority << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.bad_fields()[0].field, "priority");
      EXPECT_EQ(error.bad_fields()[0].value, std::to_string(priority));
    }
    EXPECT_THROW((void)pool.submit({.priority = priority}, [] { return 1; }), InvalidArgument);
  }
}

TEST_P(TaskOptionsIn, ATaskThatHasNotBegunByItsDeadlineNeverRuns) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const Time now = real_clock().now();
  bool ran = false;
  const auto capture = std::make_shared<int>(1);
  Future<void> late = pool.submit({.deadline = now - 1ns}, [&ran, capture] { ran = true; });
  EXPECT_THROW(late.get(), Expired);
  EXPECT_FALSE(ran);
  EXPECT_EQ(pool.submit({.deadline = now + 1h}, [] { return 3; }).get(), 3);
  pool.wait_idle();
  EXPECT_EQ(capture.use_count(), 1);
}

TEST_P(TaskOptionsIn, AStopThatWasRequestedBeforeKeepsATaskFromBeginning) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::stop_source source;
  bool ran = false;
  Future<void> future;
  {
    const Hold hold(pool);
    future = pool.submit({.stop = source.get_token()}, [&ran] { ran = true; });
    source.request_stop();
  }
  EXPECT_THROW(future.get(), Cancelled);
  EXPECT_FALSE(ran);
}

TEST_P(TaskOptionsIn, ATaskMaySeeItsStopToken) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::stop_source source;
  std::atomic<bool> begun = false;
  Future<int> future = pool.submit({.stop = source.get_token()}, [&](std::stop_token stop) {
    begun = true;
    while (!stop.stop_requested()) std::this_thread::yield();
    return 9;
  });
  while (!begun) std::this_thread::yield();
  source.request_stop();
  EXPECT_EQ(future.get(), 9);
}

TEST_P(TaskOptionsIn, WhatAPostedTaskMayNotDoReachesOnError) {
  std::atomic<int> errors = 0;
  ThreadPool pool({.workers = 1, .queueing = GetParam(), .on_error = [&](std::exception_ptr error) {
                     EXPECT_THROW(std::rethrow_exception(error), Expired);
                     ++errors;
                   }});
  pool.post({.deadline = real_clock().now() - 1s}, [] {});
  pool.wait_idle();
  EXPECT_EQ(errors, 1);
}

TEST_P(TaskOptionsIn, StoppingRunsWhatWasRankedToo) {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool({.workers = 2, .queueing = GetParam()});
    for (int i = -50; i < 50; ++i) pool.post({.priority = i}, [&] { ++runs; });
  }
  EXPECT_EQ(runs, 100);
}

TEST_P(TaskOptionsIn, ASleepingWorkerIsWokenForAnyPriority) {
  ThreadPool pool({.workers = 2, .queueing = GetParam(), .idle = IdlePolicy::power});
  for (const int priority : {-1, 1, 0}) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(pool.submit({.priority = priority}, [i] { return i; }).get(), i);
    }
  }
}

TEST_P(TaskOptionsIn, ARangeMayShareOptions) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::vector<std::function<int()>> tasks(3, [] { return 4; });
  for (Future<int>& future : pool.submit_bulk({.priority = 2}, tasks)) EXPECT_EQ(future.get(), 4);
}

// The one worker is held while tasks come over some seconds: 'c' has 6 steps and no time, 'a' five
// seconds, 'd' five seconds and a step less, 'b' two steps and two seconds, later than 'd'.
std::string order_of_tasks(std::optional<Duration> aging, Queueing queueing) {
  Simulation world(1);
  ThreadPool pool({.workers = 1,
                   .queueing = queueing,
                   .priority_aging = aging,
                   .max_spare_workers = 0,
                   .simulation = &world});
  std::string order;
  pool.run([&] {
    pool.post([&] { order += 'a'; });
    pool.post({.priority = -1}, [&] { order += 'd'; });
    world.run_for(3s);
    pool.post({.priority = 2}, [&] { order += 'b'; });
    world.run_for(2s);
    pool.post({.priority = 6}, [&] { order += 'c'; });
  });
  pool.wait_idle();
  return order;
}

TEST_P(TaskOptionsIn, AgingLetsTasksOvertakeThoseThatCameMuchLater) {
  EXPECT_EQ(order_of_tasks(std::nullopt, GetParam()), "cbad");
  EXPECT_EQ(order_of_tasks(1s, GetParam()), "cadb");
}

TEST_P(TaskOptionsIn, WithAgingEverythingRunsAsUsual) {
  ThreadPool pool({.workers = 2, .queueing = GetParam(), .priority_aging = 10ms});
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) {
    pool.post({.priority = i % 3 - 1}, [&] {
      pool.post([&] { ++ran; });
      ++ran;
    });
  }
  pool.wait_idle();
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(pool.stats().completed, 200U);
}

TEST(ThreadPoolOptions, AnAgingOutOfRangeIsRefused) {
  EXPECT_EQ(validate({.priority_aging = 0s}).at(0).field, "priority_aging");
  EXPECT_EQ(validate({.priority_aging = -1s}).at(0).field, "priority_aging");
  EXPECT_EQ(validate({.priority_aging = 48h}).at(0).field, "priority_aging");
  EXPECT_TRUE(validate({.priority_aging = 24h}).empty());
}

}  // namespace
}  // namespace muster
