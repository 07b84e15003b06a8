// warm_up_test.cpp: new workers get no task before they are warm.
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/thread_pool.hpp>

#include "unit/threads/resized_pool.hpp"

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

class WarmUpOf : public ResizedPool {};
INSTANTIATE_TEST_SUITE_P(All, WarmUpOf, every_kind(), name_of);

TEST_P(WarmUpOf, AWarmingWorkerGetsNoTask) {
  std::atomic<bool> is_warm = false;
  options_.warm_up.prepare = [&](unsigned worker) {
    if (worker == 1) is_warm.wait(false);
  };
  make(1);
  pool_->resize(2);
  EXPECT_EQ(pool_->worker_count(), 2U);
  wait_until([&] { return visits_.count("+1") == 1; });
  EXPECT_EQ(pool_->snapshot().workers.at(1).state, WorkerState::warming);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(pool_->run([] { return worker_here; }), 0U);
  is_warm = true;
  is_warm.notify_all();
  wait_until([&] { return pool_->snapshot().workers.at(1).state != WorkerState::warming; });
  std::latch both(2);
  for (int i = 0; i < 2; ++i) pool_->post([&] { both.arrive_and_wait(); });
  pool_->wait_idle();
}

TEST_P(WarmUpOf, TheConstructorWaitsForItsWorkersToWarmUp) {
  std::atomic<int> warm = 0;
  options_.warm_up.prepare = [&](unsigned) { ++warm; };
  make(3);
  EXPECT_EQ(warm, 3);
}

TEST_P(WarmUpOf, WhatTheWarmUpPostsIsRun) {
  std::atomic<int> ran = 0;
  std::atomic<ThreadPool*> pool = nullptr;
  options_.warm_up.prepare = [&](unsigned worker) {
    if (worker != 0) pool.load()->post([&] { ++ran; });
  };
  make(1);
  pool = pool_.get();
  pool_->resize(4);
  wait_until([&] { return ran == 3; });
  pool_->wait_idle();
}

TEST_P(WarmUpOf, AStopDoesNotWaitForTheWarmUpTime) {
  options_.start = Start::lazy;
  options_.warm_up.at_least = 1h;
  make(1);
  std::atomic<int> ran = 0;
  std::atomic<int> accepted = 1;
  std::jthread poster([&] {  // waits for the first worker
    try {
      pool_->post([&] { ++ran; });
    } catch (const Stopped&) {
      accepted = 0;
    }
  });
  wait_until([&] { return visits_.count("+0") == 1; });
  pool_->stop();
  poster.join();
  EXPECT_EQ(ran, accepted);
}

TEST(WarmUp, LastsAsLongAsItIsTold) {
  Simulation world(1);
  ThreadPool pool({.workers = 1, .warm_up = {.at_least = 10s}, .simulation = &world});
  EXPECT_EQ(world.now(), Time{} + 10s);
  pool.resize(2);
  world.run_for(10s - 1ns);
  EXPECT_EQ(pool.snapshot().workers[1].state, WorkerState::warming);
  for (int i = 0; i < 100; ++i) pool.post([] {});
  world.run_for(0s);
  EXPECT_EQ(pool.stats().workers[1].completed, 0U);
  world.run_for(1ns);
  for (int i = 0; i < 100; ++i) pool.post([] {});
  world.run_for(0s);
  EXPECT_GT(pool.stats().workers[1].completed, 10U);
}

TEST(WarmUp, OneThatIsNoLongerWantedLeavesWithoutATask) {
  Simulation world(1);
  ThreadPool pool({.workers = 1, .warm_up = {.at_least = 10s}, .simulation = &world});
  pool.resize(2);
  pool.resize(1);
  for (int i = 0; i < 100; ++i) pool.post([] {});
  world.run_for(1h);
  EXPECT_EQ(pool.snapshot().workers[1].state, WorkerState::terminated);
  EXPECT_EQ(pool.stats().workers[1].completed, 0U);
}

}  // namespace
}  // namespace muster::testing
