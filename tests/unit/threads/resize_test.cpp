// resize_test.cpp: pools that grow and shrink by hand: who comes, who leaves, and that no task is
// lost or delayed by it.
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <muster/join.hpp>
#include <muster/thread_pool.hpp>

#include "unit/threads/resized_pool.hpp"

namespace muster::testing {
namespace {

class Resize : public ResizedPool {};
INSTANTIATE_TEST_SUITE_P(All, Resize, every_kind(), name_of);

TEST_P(Resize, NewWorkersRunTasks) {
  make(1);
  pool_->resize(4);
  EXPECT_EQ(pool_->worker_count(), 4U);
  std::latch all(4);
  for (int i = 0; i < 4; ++i) pool_->post([&] { all.arrive_and_wait(); });
  pool_->wait_idle();
  EXPECT_EQ(pool_->stats().total_workers, 4U);
}

// Nothing is posted that could wake them.
TEST_P(Resize, SleepingWorkersLeave) {
  make(4);
  if (GetParam() != Kind::global) {
    wait_until([&] { return pool_->stats().sleeping_workers == 4; });
  }
  pool_->resize(1);
  EXPECT_EQ(pool_->worker_count(), 1U);
  wait_until([&] { return visits_.count("-1") + visits_.count("-2") + visits_.count("-3") == 3; });
  EXPECT_EQ(visits_.count("-0"), 0U);
  EXPECT_EQ(pool_->stats().total_workers, 1U);
  EXPECT_EQ(pool_->run([] { return worker_here; }), 0U);
}

TEST_P(Resize, WorkersThatLeftComeAgain) {
  make(2);
  for (int i = 0; i < 20; ++i) {
    pool_->resize(1);
    EXPECT_EQ(pool_->run([] { return 7; }), 7);
    pool_->resize(2);
    std::latch both(2);
    for (int j = 0; j < 2; ++j) pool_->post([&] { both.arrive_and_wait(); });
    pool_->wait_idle();
  }
  pool_->stop();
  EXPECT_EQ(visits_.count("+1"), visits_.count("-1"));
  EXPECT_EQ(visits_.count("+0"), 1U);
  const ThreadPoolStats stats = pool_->stats();
  EXPECT_EQ(stats.submitted, 60U);
  EXPECT_EQ(stats.completed, 60U);
}

TEST_P(Resize, OneThatComesAgainHasANewThread) {
  make(2);
  pool_->resize(1);
  wait_until([&] { return visits_.count("-1") == 1; });
  pool_->resize(2);
  wait_until([&] { return visits_.count("+1") == 2; });
  auto held = hold_all();
  for (const auto& each : held) each->free();
}

// The worker that leaves is in the middle of a task that does not end.
TEST_P(Resize, WhatWaitsWithOneThatLeavesIsRunByOthers) {
  make(2);
  auto held = hold_all();
  std::atomic<int> ran = 0;
  std::atomic<int> elsewhere = 0;
  for (int i = 0; i < 100; ++i) {
    pool_->post([&] {
      if (worker_here != 0) ++elsewhere;
      ++ran;
    });
  }
  pool_->resize(1);
  EXPECT_EQ(pool_->snapshot().workers.at(1).state, WorkerState::draining);
  held[0]->free();
  wait_until([&] { return ran == 100; });
  EXPECT_EQ(elsewhere, 0);
  EXPECT_FALSE(held[1]->has_ended());
  held[1]->free();
  wait_until([&] { return visits_.count("-1") == 1; });
  pool_->wait_idle();
  EXPECT_EQ(pool_->stats().submitted, 102U) << "handed over is not submitted again";
}

// More than its ring holds.
TEST_P(Resize, ALongQueueIsHandedOverWhole) {
  make(3);
  auto held = hold_all();
  std::atomic<int> ran = 0;
  constexpr int kTasks = 20'000;
  for (int i = 0; i < kTasks; ++i) pool_->post([&] { ++ran; });
  pool_->resize(1);
  held[0]->free();
  wait_until([&] { return ran == kTasks; });
  for (const auto& each : held) each->free();
  pool_->wait_idle();
  EXPECT_EQ(pool_->stats().submitted, kTasks + 3U);
  EXPECT_EQ(pool_->stats().completed, kTasks + 3U);
}

TEST_P(Resize, TasksFromOutsideGoToThoseWhoStay) {
  make(3);
  auto held = hold_all();
  pool_->resize(1);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 30; ++i) pool_->post([&] { ++ran; });
  held[0]->free();
  wait_until([&] { return ran == 30; });
  for (const auto& each : held) each->free();
}

// It is to leave, but its thread lives as long as its task, and so do the tasks that this posts.
TEST(ResizeStealing, OthersTakeWhatTheLastTaskOfALeavingWorkerPosts) {
  Visits visits;
  ThreadPoolOptions options{.workers = 2};
  visits.install(options);
  ThreadPool pool(options);
  std::atomic<bool> is_resized = false;
  std::atomic<int> ran = 0;
  std::latch both(2);
  const auto body = [&] {
    both.arrive_and_wait();
    if (worker_here == 0) return;
    is_resized.wait(false);
    for (int i = 0; i < 10; ++i) pool.post([&] { ran += worker_here == 0 ? 1 : 1000; });
    while (ran != 10) std::this_thread::yield();  // the other one runs them meanwhile
  };
  pool.post(body);
  pool.post(body);
  wait_until([&] { return both.try_wait() && pool.stats().sleeping_workers == 1; });
  pool.resize(1);
  is_resized = true;
  is_resized.notify_all();
  pool.wait_idle();
  EXPECT_EQ(ran, 10);
}

TEST(ResizeStealing, AForkOfALeavingWorkerIsTakenByOthers) {
  Visits visits;
  ThreadPoolOptions options{.workers = 2};
  visits.install(options);
  ThreadPool pool(options);
  std::latch both(2);
  std::atomic<bool> is_taken = false;
  const auto body = [&] {
    both.arrive_and_wait();
    if (worker_here == 0) return;
    pool.resize(1);
    join(
        [&] {
          while (!is_taken) join([] { std::this_thread::yield(); }, [] {});
        },
        [&] { is_taken = true; });
  };
  pool.post(body);
  pool.post(body);
  pool.wait_idle();
  EXPECT_TRUE(is_taken);
}

TEST_P(Resize, WhatTheLastTaskPostsIsRunAfterIt) {
  make(2);
  Held held;
  std::latch both(2);
  std::atomic<int> ran = 0;
  const auto body = [&] {
    both.arrive_and_wait();
    if (worker_here == 0) return;
    held.hold([&] {
      for (int i = 0; i < 10; ++i) pool_->post([&] { ++ran; });
    });
  };
  pool_->post(body);
  pool_->post(body);
  held.wait_until_held();
  pool_->resize(1);
  held.free();
  wait_until([&] { return ran == 10 && visits_.count("-1") == 1; });
  pool_->wait_idle();
}

TEST_P(Resize, AWorkerWhoseTasksGoOnForEverLeaves) {
  make(2);
  std::atomic<bool> goes_on = true;
  std::function<void()> again = [&] {
    if (goes_on) pool_->post([&] { again(); });
  };
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    pool_->post([&] {
      both.arrive_and_wait();
      again();
    });
  }
  both.wait();
  pool_->resize(1);
  wait_until([&] { return visits_.count("-1") == 1; });
  goes_on = false;
  pool_->wait_idle();
}

TEST_P(Resize, WhatTheExitHookPostsIsRun) {
  std::atomic<int> ran = 0;
  std::atomic<ThreadPool*> pool = nullptr;
  options_.on_worker_exit = [&](unsigned) {
    if (ThreadPool* const still = pool.exchange(nullptr)) still->post([&] { ++ran; });
  };
  make(2);
  pool = pool_.get();
  pool_->resize(1);
  wait_until([&] { return ran == 1; });
  pool_->stop();  // while what the hook refers to is there
}

TEST_P(Resize, ATaskMayResizeItsOwnPool) {
  make(1);
  pool_->run([&] { pool_->resize(5); });
  EXPECT_EQ(pool_->worker_count(), 5U);
  std::latch all(5);
  wait_until([&] { return visits_.size() == 5; });
  for (int i = 0; i < 5; ++i) {
    pool_->post([&] {
      all.arrive_and_wait();
      pool_->resize(1);
    });
  }
  pool_->wait_idle();
  wait_until([&] { return visits_.size() == 9; });
  EXPECT_EQ(visits_.count("-0"), 0U);
}

TEST_P(Resize, FromOneToManyAndBack) {
  options_.max_workers = 64;
  make(1);
  pool_->resize(64);
  std::latch all(64);
  for (int i = 0; i < 64; ++i) pool_->post([&] { all.arrive_and_wait(); });
  pool_->wait_idle();
  pool_->resize(1);
  wait_until([&] { return pool_->stats().total_workers == 1; });
  EXPECT_EQ(pool_->run([] { return worker_here; }), 0U);
  pool_->wait_idle();
  EXPECT_EQ(pool_->stats().completed, 65U);
}

TEST_P(Resize, StoppingWhileWorkersLeaveRunsEverything) {
  for (int round = 0; round < 20; ++round) {
    make(4);
    std::atomic<int> ran = 0;
    for (int i = 0; i < 100; ++i) pool_->post([&] { ++ran; });
    pool_->resize(1 + static_cast<unsigned>(round % 4));
    pool_->stop();
    EXPECT_EQ(ran, 100);
  }
}

}  // namespace
}  // namespace muster::testing
