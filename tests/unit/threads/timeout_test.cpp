// timeout_test.cpp: tasks that run for too long, and the names of tasks.
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/log.hpp>
#include <muster/thread_pool.hpp>
#include <muster/when.hpp>

#include "support/hold.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::Hold;

class TimeoutIn : public ::testing::TestWithParam<Queueing> {};

INSTANTIATE_TEST_SUITE_P(Both, TimeoutIn, ::testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& parameter) {
                           return parameter.param == Queueing::global ? "global" : "stealing";
                         });

// A task's way to run until it is told to stop.
void until_stopped(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::yield();
}

// The worker lets go of the exception first: TSan does not see how the library counts its holders.
std::string message_of(ThreadPool& pool, Future<void> future) {
  pool.wait_idle();
  try {
    future.get();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

// What reaches on_error.
class Errors {
 public:
  std::function<void(std::exception_ptr)> hook() {
    return [this](std::exception_ptr error) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& exception) {
        const std::lock_guard lock(mutex_);
        messages_.emplace_back(exception.what());
      }
      ++count_;
    };
  }
  std::vector<std::string> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  void wait_for_one() const {
    while (count_ == 0) std::this_thread::yield();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::atomic<int> count_ = 0;
};

TEST_P(TimeoutIn, TheFutureReportsItWhileTheTaskStillRuns) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::atomic<bool> free = false;
  std::atomic<bool> ended = false;
  const Time start = real_clock().now();
  Future<int> future = pool.submit({.timeout = 2ms}, [&] {
    while (!free) std::this_thread::yield();
    ended = true;
    return 1;
  });
  EXPECT_THROW(future.get(), TimedOut);
  EXPECT_GE(real_clock().now() - start, 2ms);
  EXPECT_FALSE(ended);
  free = true;
  EXPECT_EQ(pool.submit([] { return 2; }).get(), 2);
  EXPECT_TRUE(ended);
}

TEST_P(TimeoutIn, ItAsksTheTaskToStop) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const auto capture = std::make_shared<int>(1);
  Future<void> future =
      pool.submit({.timeout = 1ms}, [capture](std::stop_token stop) { until_stopped(stop); });
  EXPECT_THROW(future.get(), TimedOut);
  pool.wait_idle();
  EXPECT_EQ(capture.use_count(), 1);
}

TEST_P(TimeoutIn, TheTaskHearsTheTokenOfItsOptionsToo) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::stop_source source;
  std::atomic<bool> begun = false;
  Future<int> future =
      pool.submit({.timeout = 1h, .stop = source.get_token()}, [&](std::stop_token stop) {
        begun = true;
        until_stopped(stop);
        return 5;
      });
  while (!begun) std::this_thread::yield();
  source.request_stop();
  EXPECT_EQ(future.get(), 5);
}

TEST_P(TimeoutIn, TheTokenOfTheOptionsDoesNotHearOfIt) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::stop_source source;
  Future<void> future = pool.submit({.timeout = 1ms, .stop = source.get_token()},
                                    [](std::stop_token stop) { until_stopped(stop); });
  EXPECT_THROW(future.get(), TimedOut);
  EXPECT_FALSE(source.stop_requested());
}

TEST_P(TimeoutIn, ATaskThatEndsInTimeGivesItsResult) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  const auto capture = std::make_shared<int>(1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(pool.submit({.timeout = 1h}, [i, capture] { return i; }).get(), i);
  }
  Future<void> failing =
      pool.submit({.timeout = 1h}, [capture] { throw std::out_of_range("task"); });
  EXPECT_THROW(failing.get(), std::out_of_range);
  EXPECT_EQ(pool.submit({.timeout = Duration::max()}, [] { return 8; }).get(), 8);
  pool.wait_idle();
  EXPECT_EQ(capture.use_count(), 1);
}

TEST_P(TimeoutIn, ItIsCountedFromTheBeginningAndNotWhileTheTaskWaits) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::atomic<bool> begun = false;
  Future<void> future;
  {
    const Hold hold(pool);
    future = pool.submit({.timeout = 1ms}, [&](std::stop_token stop) {
      begun = true;
      until_stopped(stop);
    });
    EXPECT_EQ(future.wait_for(4ms), FutureStatus::pending);
  }
  EXPECT_THROW(future.get(), TimedOut);
  pool.wait_idle();  // the time may pass before the task gets to its first line
  EXPECT_TRUE(begun);
}

TEST_P(TimeoutIn, ALateResultIsDestroyedByTheWorker) {
  struct Result {
    std::unique_ptr<std::atomic<std::thread::id>, void (*)(std::atomic<std::thread::id>*)> mark;
  };
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::atomic<std::thread::id> destroyed_by;
  std::atomic<bool> free = false;
  const std::thread::id worker = pool.run([] { return std::this_thread::get_id(); });
  Future<Result> future = pool.submit({.timeout = 1ms}, [&] {
    while (!free) std::this_thread::yield();
    return Result{{&destroyed_by, [](auto* mark) { *mark = std::this_thread::get_id(); }}};
  });
  future.wait();
  free = true;
  pool.wait_idle();
  EXPECT_EQ(destroyed_by.load(), worker);
  EXPECT_THROW(future.get(), TimedOut);
}

TEST_P(TimeoutIn, APostedTaskReachesOnErrorAtOnceAndOnlyOnce) {
  Errors errors;
  ThreadPool pool({.workers = 1, .queueing = GetParam(), .on_error = errors.hook()});
  std::atomic<bool> free = false;
  pool.post({.timeout = 1ms, .name = "resize"}, [&](std::stop_token stop) {
    until_stopped(stop);
    while (!free) std::this_thread::yield();
    throw std::out_of_range("late");
  });
  errors.wait_for_one();
  free = true;
  pool.wait_idle();
  EXPECT_EQ(errors.messages(),
            std::vector<std::string>{"task \"resize\" had not ended 0.001 s after it began"});
  EXPECT_EQ(pool.stats().workers[0].failed, 1U);
  EXPECT_EQ(pool.stats().completed, 1U);
}

// The task ends as soon as it is told to stop, while the timer thread has still to report.
TEST_P(TimeoutIn, WhoWaitsForIdlenessFindsEveryTimeoutReported) {
  for (int i = 0; i < 20; ++i) {
    Errors errors;
    ThreadPool pool({.workers = 2, .queueing = GetParam(), .on_error = errors.hook()});
    pool.post({.timeout = 10us}, [&](std::stop_token stop) { until_stopped(stop); });
    pool.wait_idle();
    EXPECT_EQ(errors.messages().size(), 1U);
  }
}

TEST_P(TimeoutIn, APostedTaskInTimeReportsWhatItThrows) {
  Errors errors;
  ThreadPool pool({.workers = 1, .queueing = GetParam(), .on_error = errors.hook()});
  pool.post({.timeout = 1h}, [] { throw std::out_of_range("in time"); });
  pool.wait_idle();
  EXPECT_EQ(errors.messages(), std::vector<std::string>{"in time"});
  EXPECT_EQ(pool.stats().workers[0].failed, 1U);
}

TEST_P(TimeoutIn, StillHoldsWhileThePoolStops) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::vector<Future<void>> futures;
  {
    Hold hold(pool);
    for (int i = 0; i < 3; ++i) {
      futures.push_back(
          pool.submit({.timeout = 1ms}, [](std::stop_token stop) { until_stopped(stop); }));
    }
    EXPECT_EQ(pool.stop({.timeout = 0ns}).unfinished, 4U);
  }
  EXPECT_TRUE(pool.stop());
  for (Future<void>& future : futures) EXPECT_THROW(future.get(), TimedOut);
}

TEST_P(TimeoutIn, WhatFollowsRunsOnWorkersAlsoWhileThePoolStops) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  for (const bool stops : {false, true}) {
    std::vector<Future<void>> slow;
    std::atomic<bool> begun = false;
    slow.push_back(pool.submit({.timeout = 2ms}, [&](std::stop_token stop) {
      begun = true;
      until_stopped(stop);
    }));
    Future<bool> on_worker =
        when_any(std::move(slow)).then([&](const AnyReady<void>&) { return pool.is_inside(); });
    while (!begun) std::this_thread::yield();
    if (stops) pool.stop();
    EXPECT_TRUE(on_worker.get());
  }
}

TEST_P(TimeoutIn, ATaskThatWaitsRunsTheTimedTaskItself) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  EXPECT_EQ(pool.run([&] { return pool.submit({.timeout = 1h}, [] { return 3; }).get(); }), 3);
  EXPECT_THROW(pool.run([&] {
    pool.submit({.timeout = 1ms}, [](std::stop_token stop) { until_stopped(stop); }).get();
  }),
               TimedOut);
}

TEST_P(TimeoutIn, WhatTheStopCallsMayWaitForATaskOfTheOnlyWorker) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::atomic<int> answer = 0;
  Future<void> future = pool.submit({.timeout = 1ms}, [&](std::stop_token stop) {
    const std::stop_callback callback(stop, [&] { answer = pool.submit([] { return 6; }).get(); });
    until_stopped(stop);
  });
  EXPECT_THROW(future.get(), TimedOut);
  pool.wait_idle();
  EXPECT_EQ(answer, 6);
}

TEST_P(TimeoutIn, OnErrorMayNotStopThePoolNorWaitForIdleness) {
  std::atomic<int> refused = 0;
  std::unique_ptr<ThreadPool> pool;
  const auto try_all = [&](std::exception_ptr) {
    try {
      pool->stop();
    } catch (const WouldDeadlock&) {
      ++refused;
    }
    try {
      pool->wait_idle();
    } catch (const WouldDeadlock&) {
      ++refused;
    }
  };
  pool = std::make_unique<ThreadPool>(
      ThreadPoolOptions{.workers = 1, .queueing = GetParam(), .on_error = try_all});
  pool->post({.timeout = 1ms}, [](std::stop_token stop) { until_stopped(stop); });
  pool->wait_idle();
  EXPECT_EQ(refused, 2);
}

TEST(Timeout, MustBeMoreThanNothing) {
  ThreadPool pool({.workers = 1});
  for (const Duration timeout : {0ns, -1ns}) {
    try {
      pool.post({.timeout = timeout}, [] {});
      FAIL() << timeout.count() << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.bad_fields()[0].field, "timeout");
      EXPECT_EQ(error.bad_fields()[0].value, std::to_string(timeout.count()) + " ns");
    }
    EXPECT_THROW((void)pool.submit({.timeout = timeout}, [] { return 1; }), InvalidArgument);
  }
  EXPECT_EQ(pool.stats().submitted, 0U);
}

TEST(TaskName, StandsInWhatErrorsSay) {
  ThreadPool pool({.workers = 1});
  std::stop_source stopped;
  stopped.request_stop();
  const Time past = real_clock().now() - 1ns;
  const auto task = [] {};
  EXPECT_EQ(message_of(pool, pool.submit({.deadline = past, .name = "resize"}, task)),
            "task \"resize\" had not begun by its deadline");
  EXPECT_EQ(message_of(pool, pool.submit({.deadline = past}, task)),
            "the task had not begun by its deadline");
  EXPECT_EQ(message_of(pool, pool.submit({.stop = stopped.get_token(), .name = "resize"}, task)),
            "task \"resize\" was cancelled before it began: a stop was requested");
  EXPECT_EQ(message_of(pool, pool.submit({.timeout = 1ms, .name = "resize"}, until_stopped)),
            "task \"resize\" had not ended 0.001 s after it began");
  Future<void> cancelled;
  {
    const Hold hold(pool);
    cancelled = pool.submit({.name = "resize"}, task);
    EXPECT_TRUE(cancelled.cancel());
  }
  EXPECT_EQ(message_of(pool, std::move(cancelled)),
            "task \"resize\" was cancelled before it began");
  pool.stop();
  EXPECT_EQ(message_of(pool, pool.submit({.name = "resize"}, task)),
            "task \"resize\" was dropped before it began: its pool stopped");
}

TEST(TaskName, StandsInTheLogIfAPostedTaskThrows) {
  std::vector<std::string> lines;
  const LogHook before =
      set_log_hook([&](const LogRecord& record) { lines.emplace_back(record.message); });
  {
    ThreadPool pool({.workers = 1});
    pool.post({.name = "resize"}, [] { throw std::out_of_range("pixel"); });
    pool.wait_idle();
    pool.post({}, [] { throw std::out_of_range("pixel"); });
    pool.wait_idle();
    pool.post({.name = "resize"}, [] { throw 7; });
    pool.wait_idle();
    EXPECT_EQ(pool.stats().workers[0].failed, 3U);
  }
  set_log_hook(before);
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "posted task \"resize\" failed: pixel", "a posted task failed: pixel",
                "posted task \"resize\" failed: it threw something that is no std::exception"}));
}

}  // namespace
}  // namespace muster
