// process_pool_waiting_test.cpp: who waits for a result collects for others, and leaves all the
// same.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>
#include <muster/thread_pool.hpp>
#include <muster/when.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

// Whenever the collector has taken one result, the next is there already: what follows each asks
// for another and takes its time. Ends by itself.
class EndlessResults {
 public:
  explicit EndlessResults(ProcessPool& pool) : pool_(pool) {}

  void begin(int after_ms) { follow(pool_.call<Bytes>("sleep_ms", after_ms)); }
  void stop() { stops_ = true; }

  [[nodiscard]] int count() const { return count_; }

 private:
  void follow(Future<Bytes> result) {
    (void)std::move(result).then([this](const Bytes&) {
      ++count_;
      if (stops_ || Clock::now() > end_) return;
      Future<Bytes> next = pool_.call<Bytes>("sleep_ms", 0);
      pause_for(5ms);
      follow(std::move(next));
    });
  }

  ProcessPool& pool_;
  const Clock::time_point end_ = Clock::now() + 5s;
  std::atomic<bool> stops_ = false;
  std::atomic<int> count_ = 0;
};

// How long `wait` takes while results come without end.
Clock::duration time_of(ProcessPool& pool, const std::function<void()>& wait) {
  await_ready(pool, 2);
  EndlessResults results(pool);
  results.begin(20);
  const Clock::time_point began = Clock::now();
  wait();
  const Clock::duration taken = Clock::now() - began;
  EXPECT_GT(results.count(), 0) << "none came while it waited";
  results.stop();
  (void)pool.stop({.mode = Stop::discard});
  return taken;
}

TEST(ProcessPoolWaiting, ADeadlineIsKeptWhileResultsKeepComing) {
  ProcessPool pool({.workers = 2});
  Future<Bytes> slow = pool.call<Bytes>("hang");
  FutureStatus status = FutureStatus::ready;
  EXPECT_LT(time_of(pool, [&] { status = slow.wait_for(60ms); }), 2s);
  EXPECT_EQ(status, FutureStatus::pending);
}

TEST(ProcessPoolWaiting, WhoHasItsResultLeavesWhileOthersKeepComing) {
  ProcessPool pool({.workers = 2});
  Future<Bytes> mine = pool.call<Bytes>("sleep_ms", 60);
  EXPECT_LT(time_of(pool, [&] { mine.get(); }), 2s);
}

// Both results are collected at once, by a clerk who is held up until they are there: the second
// is in the hands of the very thread that waits for it.
TEST(ProcessPoolWaiting, WhatFollowsATaskMayWaitForOneThatWasCollectedWithIt) {
  ProcessPool pool({.workers = 1, .prefetch = 4});
  std::atomic<bool> is_held_up = false;
  std::atomic<bool> go_on = false;
  auto hold_up = pool.call<int>("sum", 1, 1).then([&](int) {
    is_held_up = true;
    while (!go_on) pause_for(1ms);
  });
  while (!is_held_up) pause_for(1ms);
  Future<int> first = pool.call<int>("sum", 1, 2);
  Future<int> second = pool.call<int>("sum", 2, 2);
  auto seen = std::move(first).then([&](int) { return second.wait_for(5s); });
  const Future<Bytes> last = pool.call<Bytes>("hang");
  const auto runs_the_last = [&] { return pool.worker_status(0)->task == 4; };
  while (!runs_the_last()) pause_for(1ms);
  go_on = true;
  EXPECT_EQ(seen.get(), FutureStatus::ready);
  (void)pool.stop({.mode = Stop::discard});
}

// The collector itself waits for several, in what follows a task: nobody else would collect them.
TEST(ProcessPoolWaiting, WhatFollowsATaskMayWaitForAllOfSeveral) {
  ProcessPool pool({.workers = 2});
  auto seen = pool.call<int>("sum", 1, 1).then([&](int) {
    std::vector<Future<Bytes>> later;
    later.push_back(pool.call<Bytes>("sleep_ms", 20));
    later.push_back(pool.call<Bytes>("sleep_ms", 1));
    return when_all(later).wait_for(20s);
  });
  EXPECT_EQ(seen.get(), FutureStatus::ready);
}

TEST(ProcessPoolWaiting, WhatFollowsATaskMayWaitForTheFirstOfSeveral) {
  ProcessPool pool({.workers = 2});
  auto seen = pool.call<int>("sum", 1, 1).then([&](int) {
    std::vector<Future<int>> later;
    later.push_back(pool.call<int>("hang"));
    later.push_back(pool.call<int>("sum", 2, 2));
    later.push_back(std::move(later[1]).then([](int sum) { return sum; }));
    std::swap(later[1], later[2]);
    later.pop_back();
    return when_any(later).get().index;
  });
  EXPECT_EQ(seen.get(), 1U);
  (void)pool.stop({.mode = Stop::discard});
}

// How long it takes to leave, four times, when what is waited for is settled elsewhere while one
// sits in the pool for a task that hangs. The pool looks every second in any case.
Clock::duration time_to_leave(const std::function<void(Future<int> hanging)>& wait) {
  ProcessPool pool({.workers = 1});
  await_ready(pool, 1);
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < 4; ++i) wait(pool.call<int>("hang"));
  const Clock::duration taken = Clock::now() - began;
  (void)pool.stop({.mode = Stop::discard});
  return taken;
}

TEST(ProcessPoolWaiting, WhoWaitsForTheFirstOfSeveralIsCalledByOthers) {
  ThreadPool threads({.workers = 1});
  const auto wait = [&](Future<int> hanging) {
    std::vector<Future<int>> both;
    both.push_back(std::move(hanging));
    both.push_back(threads.submit([] {
      pause_for(50ms);
      return 1;
    }));
    EXPECT_EQ(when_any(both).get().index, 1U);
  };
  EXPECT_LT(time_to_leave(wait), 2s);
}

TEST(ProcessPoolWaiting, WhoWaitsForSeveralLeavesIfThatIsCancelled) {
  const auto wait = [](Future<int> hanging) {
    auto all = when_all(hanging);
    std::thread canceller([&] {
      pause_for(50ms);
      EXPECT_TRUE(all.cancel());
    });
    all.wait();
    canceller.join();
    EXPECT_THROW((void)all.get(), Cancelled);
  };
  EXPECT_LT(time_to_leave(wait), 2s);
}

// It looks at the rings without the pool's mutex, also at those of workers that are dead by now.
TEST(ProcessPoolWaiting, WhoSpinsGetsItsResultThoughWorkersDieMeanwhile) {
  ProcessPool pool({.workers = 2,
                    .retry = at_once(10),
                    .respawn = {.deaths_after_ready = 1000},
                    .idle = IdlePolicy::latency});
  for (int i = 0; i < 50; ++i) {
    auto dies = pool.call<int>("die_until", 3U);
    for (int j = 0; j < 20; ++j) EXPECT_EQ(pool.exec("echo", "here").get().text(), "here");
    EXPECT_EQ(dies.get(), 3);
  }
}

}  // namespace
}  // namespace muster
