// snapshot_test.cpp: a pool's figures. In a simulation, where time passes only when told to.
#include <array>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

ThreadPoolOptions alone_in(Simulation& world, Timing timing) {
  return {.workers = 1, .timing = timing, .max_spare_workers = 0, .simulation = &world};
}

void expect_near(Duration seen, Duration expected) {
  EXPECT_NEAR(static_cast<double>(seen.count()), static_cast<double>(expected.count()),
              static_cast<double>(expected.count()) / 100);
}

TEST(Snapshot, TellsHowLongTasksWaitAndRun) {
  Simulation world(1);
  ThreadPool pool(alone_in(world, Timing::full));
  for (int i = 0; i < 4; ++i) pool.post([&] { world.run_for(10ms); });
  pool.wait_idle();
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.latency.run.count(), 4U);
  expect_near(seen.latency.run.percentile(50).value(), 10ms);
  EXPECT_EQ(seen.latency.queue_wait.count(), 4U);
  EXPECT_LT(seen.latency.queue_wait.min().value(), 1us);
  expect_near(seen.latency.queue_wait.max().value(), 30ms);
  expect_near(seen.throughput.average_latency, 25ms);
  EXPECT_DOUBLE_EQ(seen.throughput.tasks_per_second, 100);
  ASSERT_EQ(seen.workers.size(), 1U);
  expect_near(seen.workers[0].average_task_time, 10ms);
  expect_near(seen.workers[0].last_task_time, 10ms);
  EXPECT_NEAR(seen.workers[0].utilisation, 1, 0.01);
}

TEST(Snapshot, RatesAreThoseOfTheWindow) {
  Simulation world(1);
  ThreadPoolOptions options = alone_in(world, Timing::full);
  options.snapshot_window = 100ms;
  ThreadPool pool(options);
  for (int i = 0; i < 8; ++i) pool.post([&] { world.run_for(10ms); });
  pool.wait_idle();
  (void)pool.snapshot();
  pool.post([&] { world.run_for(20ms); });
  pool.wait_idle();
  world.run_for(80ms);
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_DOUBLE_EQ(seen.throughput.tasks_per_second, 10);
  expect_near(seen.throughput.average_latency, 20ms);
  EXPECT_NEAR(seen.workers.at(0).utilisation, 0.2, 0.01);
  EXPECT_EQ(seen.latency.run.count(), 9U) << "counts go on";
}

TEST(Snapshot, WhoeverTakesOneLeavesTheOthersTheirFigures) {
  Simulation world(1);
  ThreadPool pool(alone_in(world, Timing::full));
  pool.post([&] { world.run_for(300ms); });
  pool.wait_idle();
  world.run_for(900ms);  // a third of it was within the last second
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_NEAR(seen.workers.at(0).utilisation, 0.1, 0.01);
  for (int i = 0; i < 3; ++i) {
    const PoolSnapshot again = pool.snapshot();
    EXPECT_EQ(again.workers.at(0).utilisation, seen.workers.at(0).utilisation);
    EXPECT_EQ(again.throughput.tasks_per_second, seen.throughput.tasks_per_second);
  }
}

TEST(Snapshot, TheWindowHasLimits) {
  for (const Duration bad : {Duration(-1s), Duration(999us), Duration(61min)}) {
    EXPECT_EQ(validate({.snapshot_window = bad}).at(0).field, "snapshot_window");
  }
  for (const Duration good : {Duration(1ms), Duration(1h)}) {
    EXPECT_TRUE(validate({.snapshot_window = good}).empty());
  }
}

TEST(Snapshot, ATaskThatStillRunsKeepsItsWorkerBusy) {
  Simulation world(1);
  ThreadPoolOptions options = alone_in(world, Timing::full);
  options.workers = 2;
  ThreadPool pool(options);
  world.run_for(1s);
  double utilisation = 0;
  pool.post([&] {
    world.run_for(250ms);
    for (const PoolSnapshot::Worker& worker : pool.snapshot().workers) {
      utilisation += worker.utilisation;
    }
  });
  pool.wait_idle();
  EXPECT_NEAR(utilisation, 0.25, 0.01);
}

TEST(Snapshot, WhatPassesBetweenTwoTasksIsNoRunTime) {
  ThreadPool pool({.workers = 1, .timing = Timing::full});
  pool.run([] {});
  const Time until = Time::clock::now() + 5ms;
  while (Time::clock::now() < until) std::this_thread::yield();
  pool.run([] {});
  pool.wait_idle();
  EXPECT_EQ(pool.snapshot().latency.run.count(), 2U);
  EXPECT_LT(pool.snapshot().latency.run.max().value(), 5ms);
}

TEST(Snapshot, TasksInARowTakeAsLongAsTheyAllDo) {
  ThreadPool pool({.workers = 1, .timing = Timing::full});
  Time began{};
  Time ended{};
  pool.run([&] {
    for (int i = 0; i < 1000; ++i) {
      pool.post([&, i] {
        if (i == 999) began = Time::clock::now();  // newest first
        if (i == 0) ended = Time::clock::now();
      });
    }
  });
  pool.wait_idle();
  const Duration all = std::chrono::duration_cast<Duration>(pool.snapshot().latency.run.sum());
  EXPECT_GT(all, (ended - began) / 2) << "no time is lost between them";
}

TEST(Snapshot, OneTaskIn64StandsForAll) {
  Simulation world(1);
  ThreadPool pool(alone_in(world, Timing::sampled));
  for (int i = 0; i < 640; ++i) pool.post([] {});
  pool.wait_idle();
  PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.latency.run.count(), 640U);
  EXPECT_EQ(seen.latency.queue_wait.count(), 640U);
  pool.run([&] {
    for (int i = 0; i < 640; ++i) pool.post([] {});
  });
  pool.wait_idle();
  seen = pool.snapshot();
  EXPECT_GE(seen.latency.run.count(), 1280U) << "also of those posted from inside";
  EXPECT_LE(seen.latency.run.count(), 1280U + 64);
}

TEST(Snapshot, LongTasksAreAllTimed) {
  Simulation world(1);
  ThreadPool pool(alone_in(world, Timing::sampled));
  for (int i = 0; i < 64; ++i) pool.post([&] { world.run_for(1ms); });
  pool.wait_idle();
  const std::uint64_t before = pool.snapshot().latency.run.count();
  EXPECT_GT(before, 0U);
  for (int i = 0; i < 10; ++i) pool.post([&] { world.run_for(1ms); });
  pool.wait_idle();
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.latency.run.count(), before + 10);
  for (int i = 0; i < 200; ++i) pool.post([] {});
  pool.wait_idle();
  const std::uint64_t quick = pool.snapshot().latency.run.count();
  for (int i = 0; i < 63; ++i) pool.post([] {});
  pool.wait_idle();
  EXPECT_EQ((pool.snapshot().latency.run.count() - quick) % 64, 0U) << "and short ones no longer";
}

TEST(Snapshot, NothingIsTimedIfThatIsOff) {
  Simulation world(1);
  ThreadPool pool(alone_in(world, Timing::off));
  for (int i = 0; i < 200; ++i) pool.post([&] { world.run_for(1ms); });
  pool.wait_idle();
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.latency.run.count(), 0U);
  EXPECT_EQ(seen.latency.queue_wait.count(), 0U);
  EXPECT_EQ(seen.workers.at(0).completed, 200U);
  EXPECT_DOUBLE_EQ(seen.throughput.tasks_per_second, 1000) << "counts are always there";
}

TEST(Snapshot, ACallableThatNeedsAllTheRoomIsTimedWithoutItsWait) {
  Simulation world(1);
  ThreadPool pool(alone_in(world, Timing::full));
  const std::array<char, 48> large = {};
  pool.post([large] { (void)large; });
  pool.wait_idle();
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.latency.run.count(), 1U);
  EXPECT_EQ(seen.latency.queue_wait.count(), 0U);
}

TEST(Snapshot, CountsWhatComesAndGoes) {
  ThreadPool pool({.workers = 2,
                   .admission = {.max_queued = 3, .when_full = WhenFull::reject},
                   .on_error = [](const std::exception_ptr&) {}});
  std::latch begun(2);
  std::latch release(1);
  for (int i = 0; i < 2; ++i) {
    pool.post([&] {
      begun.count_down();
      release.wait();
    });
  }
  begun.wait();
  pool.post([] { throw std::runtime_error("bad"); });
  pool.post({.priority = 1}, [] {});
  pool.post([] {});
  EXPECT_THROW(pool.post([] {}), QueueFull);
  PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.queue.size, 3U);
  EXPECT_EQ(seen.queue.enqueued, 5U);
  EXPECT_EQ(seen.queue.dequeued, 2U);
  EXPECT_EQ(seen.scaling.current, 2U);
  EXPECT_EQ(seen.back_pressure.rejected, 1U);
  EXPECT_TRUE(seen.back_pressure.is_on);
  EXPECT_EQ(seen.workers.at(1).state, WorkerState::busy);
  EXPECT_EQ(seen.workers.at(1).active, 1U);
  release.count_down();
  pool.wait_idle();
  seen = pool.snapshot();
  EXPECT_EQ(seen.queue.size, 0U);
  EXPECT_EQ(seen.workers.at(0).failed + seen.workers.at(1).failed, 1U);
  EXPECT_EQ(seen.workers.at(0).completed + seen.workers.at(1).completed, 5U);
  EXPECT_FALSE(seen.back_pressure.is_on);
}

TEST(Snapshot, StolenTasksAreCounted) {
  ThreadPool pool({.workers = 2});
  std::latch others(10);
  pool.post([&] {
    for (int i = 0; i < 10; ++i) pool.post([&] { others.count_down(); });
    others.wait();  // by the other worker, which has to steal them
  });
  pool.wait_idle();
  EXPECT_GE(pool.snapshot().queue.stolen, 10U);
}

}  // namespace
}  // namespace muster
