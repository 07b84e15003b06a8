// timer_test.cpp: timers of a pool, on real threads and in real time.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

#include "support/hold.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::Hold;

class TimerIn : public ::testing::TestWithParam<Queueing> {};

INSTANTIATE_TEST_SUITE_P(Both, TimerIn, ::testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& parameter) {
                           return parameter.param == Queueing::global ? "global" : "stealing";
                         });

Time now() {
  return real_clock().now();
}

// This process's threads of that name.
int count_threads(const std::string& name) {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(thread.path() / "comm"), found);
    if (found == name) ++count;
  }
  return count;
}

void wait_until_queued(const ThreadPool& pool) {
  while (pool.stats().submitted < 2) std::this_thread::yield();
}

std::string field_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.bad_fields()[0].field;
  }
  return "none";
}

TEST_P(TimerIn, ATaskRunsOnAWorkerNotBeforeItsDelay) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  for (const Duration delay : {0ns, 1ns, Duration(3ms)}) {
    std::promise<std::pair<Time, bool>> ran;
    const Time start = now();
    pool.after(delay, [&] { ran.set_value({now(), pool.is_inside()}); });
    const auto [time, inside] = ran.get_future().get();
    EXPECT_GE(time - start, delay);
    EXPECT_TRUE(inside);
  }
}

TEST_P(TimerIn, TheFirstDueRunsFirstWheneverItWasStarted) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::promise<void> all;
  std::string order;
  pool.after(1h, [&] { order += 'x'; });
  pool.after(6ms, [&] {
    order += 'c';
    all.set_value();
  });
  pool.after(2ms, [&] { order += 'a'; });
  pool.after(4ms, [&] { order += 'b'; });
  all.get_future().get();
  EXPECT_EQ(order, "abc");
}

TEST_P(TimerIn, TicksComeNotBeforeTheirTimeAndDoNotDrift) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  constexpr Duration kPeriod = 1ms;
  std::vector<Time> times;
  std::promise<void> done;
  const Time start = now();
  Timer tick = pool.every(kPeriod, [&] {
    times.push_back(now());
    if (times.size() == 5) done.set_value();
  });
  done.get_future().get();
  EXPECT_TRUE(tick.cancel());
  pool.wait_idle();
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_GE(times[i] - start, kPeriod * (i + 1)) << i;
  }
}

TEST_P(TimerIn, RunsNeverOverlapAlsoIfTheyTakeLong) {
  ThreadPool pool({.workers = 3, .queueing = GetParam()});
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  int runs = 0;
  std::promise<void> done;
  Timer tick = pool.every(100us, [&] {
    most = std::max(most.load(), ++inside);
    for (const Time end = now() + 1ms; now() < end;) std::this_thread::yield();
    if (++runs == 5) done.set_value();
    --inside;
  });
  done.get_future().get();
  tick.cancel();
  pool.wait_idle();
  EXPECT_EQ(most, 1);
}

TEST_P(TimerIn, ATickThatThrowsGoesToOnErrorAndTheTicksGoOn) {
  std::atomic<int> errors = 0;
  ThreadPool pool({.workers = 1, .queueing = GetParam(), .on_error = [&](std::exception_ptr error) {
                     EXPECT_THROW(std::rethrow_exception(error), std::out_of_range);
                     ++errors;
                   }});
  int runs = 0;
  std::promise<void> done;
  Timer tick = pool.every(100us, [&] {
    if (++runs == 3) done.set_value();
    throw std::out_of_range("tick");
  });
  done.get_future().get();
  tick.cancel();
  pool.wait_idle();
  EXPECT_EQ(errors, runs);
  EXPECT_EQ(pool.stats().workers[0].failed, static_cast<unsigned>(runs));
}

TEST_P(TimerIn, ATaskMayEndItsOwnTicks) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  const auto capture = std::make_shared<int>(1);
  int runs = 0;
  std::promise<void> done;
  std::promise<Timer> own;
  Timer tick = pool.every(
      100us, [&, capture, timer = std::shared_future<Timer>(own.get_future())]() mutable {
        if (++runs < 3) return;
        EXPECT_TRUE(Timer(timer.get()).cancel());
        done.set_value();
      });
  own.set_value(tick);
  done.get_future().get();
  pool.wait_idle();
  EXPECT_FALSE(tick.is_active());
  EXPECT_FALSE(tick.cancel());
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(capture.use_count(), 1);
}

TEST_P(TimerIn, CancelDestroysTheCapturesOfATaskThatWaitsForAWorker) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const auto capture = std::make_shared<int>(1);
  std::atomic<bool> ran = false;
  {
    const Hold hold(pool);
    Timer timer = pool.after(0ns, [&, capture] { ran = true; });
    wait_until_queued(pool);
    EXPECT_TRUE(timer.cancel());
    EXPECT_EQ(capture.use_count(), 1);
    EXPECT_FALSE(timer.cancel());
  }
  pool.wait_idle();
  EXPECT_FALSE(ran);
}

TEST_P(TimerIn, CancelMayDestroyTheHandleItself) {
  struct Service {
    Timer tick;
  };
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  auto service = std::make_shared<Service>();
  const std::weak_ptr<Service> gone = service;
  service->tick = pool.every(1h, [service] {});
  Timer& tick = service->tick;
  service.reset();
  EXPECT_TRUE(tick.cancel());
  EXPECT_TRUE(gone.expired());
}

TEST_P(TimerIn, DroppingTheHandleCancelsNothing) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::promise<int> ran;
  {
    const Timer timer = pool.after(1ms, [&] { ran.set_value(7); });
  }
  EXPECT_EQ(ran.get_future().get(), 7);
}

TEST_P(TimerIn, TasksMayStartTimersAndCancelThem) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::promise<int> ran;
  pool.post([&] {
    EXPECT_TRUE(pool.after(1h, [] {}).cancel());
    pool.after(1us, [&] { pool.after(1us, [&] { ran.set_value(3); }); });
  });
  EXPECT_EQ(ran.get_future().get(), 3);
}

TEST_P(TimerIn, WaitIdleDoesNotWaitForTimersThatAreNotDue) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const Timer timer = pool.after(1h, [] {});
  pool.wait_idle();
  EXPECT_TRUE(timer.is_active());
}

TEST_P(TimerIn, StopDropsTimersThatAreNotDueAndRefusesMore) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  const auto capture = std::make_shared<int>(1);
  Timer once = pool.after(1h, [capture] {});
  Timer tick = pool.every(1h, [capture] {});
  Timer never = pool.after(Duration::max(), [capture] {});
  EXPECT_EQ(capture.use_count(), 4);
  pool.stop();
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_FALSE(once.is_active() || tick.is_active() || never.is_active());
  EXPECT_FALSE(once.cancel() || tick.cancel() || never.cancel());
  EXPECT_THROW(pool.after(1ms, [capture] {}), Stopped);
  EXPECT_THROW(pool.every(1ms, [capture] {}), Stopped);
  EXPECT_EQ(capture.use_count(), 1);
}

TEST_P(TimerIn, StopRunsTheTaskOfATimerThatWasDue) {
  for (const Stop mode : {Stop::graceful, Stop::discard}) {
    ThreadPool pool({.workers = 1, .queueing = GetParam()});
    const auto capture = std::make_shared<int>(1);
    std::atomic<int> runs = 0;
    {
      Hold hold(pool);
      pool.every(1ns, [&, capture] { ++runs; });
      wait_until_queued(pool);
      EXPECT_FALSE(pool.stop({.mode = mode, .timeout = 0ns}));
    }
    pool.stop();
    EXPECT_EQ(runs, mode == Stop::graceful ? 1 : 0);
    EXPECT_EQ(capture.use_count(), 1);
  }
}

TEST_P(TimerIn, AStopThatLeavesTasksBehindHasStoppedTheTimers) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const auto capture = std::make_shared<int>(1);
  const Hold hold(pool);
  pool.after(1h, [capture] {});
  EXPECT_EQ(pool.stop({.timeout = 0ns}).unfinished, 1U);
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_THROW(pool.after(1ms, [] {}), Stopped);
}

TEST_P(TimerIn, AHandleOutlivesThePool) {
  Timer once;
  Timer tick;
  {
    ThreadPool pool({.workers = 1, .queueing = GetParam()});
    once = pool.after(1h, [] {});
    tick = pool.every(1h, [] {});
  }
  EXPECT_FALSE(once.is_active() || tick.is_active());
  EXPECT_FALSE(once.cancel() || tick.cancel());
}

TEST(Timer, AHandleOfNothingIsHarmless) {
  Timer timer;
  EXPECT_FALSE(timer.is_active());
  EXPECT_FALSE(timer.cancel());
}

TEST(Timer, BadInputIsRefusedByNameAndNothingIsStarted) {
  ThreadPool pool({.workers = 1, .thread_name = "refusing"});
  const std::function<void()> empty;
  EXPECT_EQ(field_of([&] { pool.after(-1ns, [] {}); }), "delay");
  EXPECT_EQ(field_of([&] { pool.every(-1ns, [] {}); }), "period");
  EXPECT_EQ(field_of([&] { pool.every(0ns, [] {}); }), "period");
  EXPECT_EQ(field_of([&] { pool.after(1ns, empty); }), "task");
  EXPECT_EQ(field_of([&] { pool.every(1ns, empty); }), "task");
  EXPECT_EQ(count_threads("refusing-timer"), 0);
  EXPECT_EQ(pool.stats().submitted, 0U);
}

TEST(Timer, AVeryLongDelayIsNever) {
  ThreadPool pool({.workers = 1});
  std::atomic<int> runs = 0;
  Timer never = pool.after(Duration::max(), [&] { ++runs; });
  Timer no_tick = pool.every(Duration::max(), [&] { ++runs; });
  std::promise<void> later;
  pool.after(1ms, [&] { later.set_value(); });
  later.get_future().get();
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(never.cancel());
  EXPECT_TRUE(no_tick.cancel());
}

TEST(Timer, OneThreadServesAllTimersFromTheFirstOneUntilTheStop) {
  ThreadPool pool({.workers = 1, .thread_name = "ticking"});
  pool.submit([] {}).get();
  EXPECT_EQ(count_threads("ticking-timer"), 0);
  std::promise<void> ran;
  pool.after(0ns, [&] { ran.set_value(); });
  pool.after(1h, [] {});
  ran.get_future().get();
  EXPECT_EQ(count_threads("ticking-timer"), 1);
  pool.stop();
  // The kernel lists a thread for a moment after it was joined; one that goes on is listed for
  // ever.
  while (count_threads("ticking-timer") != 0) std::this_thread::yield();
}

}  // namespace
}  // namespace muster
