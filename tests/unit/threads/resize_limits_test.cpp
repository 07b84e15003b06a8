// resize_limits_test.cpp: what resize() refuses, whom it tells, and pools that are resized in other
// ways: lazy, pinned, simulated.
#include <chrono>
#include <latch>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(ResizeLimits, ANumberOutsideIsRefusedByName) {
  ThreadPool pool({.workers = 2, .max_workers = 4});
  for (const unsigned bad : {0U, 5U}) {
    try {
      pool.resize(bad);
      FAIL() << bad << " was accepted";
    } catch (const InvalidArgument& error) {
      ASSERT_EQ(error.bad_fields().size(), 1U);
      EXPECT_EQ(error.bad_fields()[0].field, "workers");
      EXPECT_EQ(error.bad_fields()[0].value, std::to_string(bad));
      EXPECT_NE(error.bad_fields()[0].rule.find("from 1 to 4"), std::string::npos);
    }
  }
  EXPECT_EQ(pool.worker_count(), 2U);
  pool.resize(4);
  pool.resize(1);
}

TEST(ResizeLimits, WithScalingItsLimitsHold) {
  ThreadPool pool({.workers = 2, .scaling = ScalingOptions{.min_workers = 2, .max_workers = 3}});
  EXPECT_THROW(pool.resize(1), InvalidArgument);
  EXPECT_THROW(pool.resize(4), InvalidArgument);
  pool.resize(3);
  EXPECT_EQ(pool.worker_count(), 3U);
}

TEST(ResizeLimits, UnlessToldOtherwiseThereCanBe32) {
  ThreadPool pool({.workers = 2});
  pool.resize(32);
  EXPECT_THROW(pool.resize(33), InvalidArgument);
  ThreadPool large({.workers = 40});
  EXPECT_THROW(large.resize(41), InvalidArgument);
}

// A bound is kept by counting every task or, if it is as large as this, by a look when rings are
// full. More workers must not make such a bound be passed unseen.
TEST(ResizeLimits, ABoundThatNobodyCountsLimitsTheDefault) {
  ThreadPool pool({.workers = 2, .admission = {.max_queued = 4096}});
  pool.resize(4);
  EXPECT_THROW(pool.resize(5), InvalidArgument);
}

TEST(ResizeLimits, AfterStopItThrowsStopped) {
  ThreadPool pool({.workers = 2});
  pool.stop();
  EXPECT_THROW(pool.resize(3), Stopped);
  EXPECT_EQ(pool.worker_count(), 2U);
}

std::string text_of(const News& news) {
  if (const auto* up = std::get_if<ScaledUp>(&news)) {
    return "up " + std::to_string(up->added) + " =" + std::to_string(up->total) + up->reason;
  }
  if (const auto* down = std::get_if<ScaledDown>(&news)) {
    return "down " + std::to_string(down->removed) + " =" + std::to_string(down->total) +
           down->reason;
  }
  if (const auto* added = std::get_if<WorkerAdded>(&news)) {
    return "added " + std::to_string(added->worker);
  }
  const auto* const removed = std::get_if<WorkerRemoved>(&news);
  return removed != nullptr ? "removed " + std::to_string(removed->worker) : "something else";
}

TEST(ResizeNews, HookNoticesAndSnapshotTellOfIt) {
  std::vector<std::string> told;
  ThreadPool pool({.workers = 1, .on_scaling = [&](const ScalingChange& change) {
                     told.push_back("+" + std::to_string(change.added) + " -" +
                                    std::to_string(change.removed) + " =" +
                                    std::to_string(change.total) + " " + change.reason);
                   }});
  NoticeStream notices = pool.notices();
  pool.resize(3);
  pool.resize(3);
  pool.resize(2);
  EXPECT_EQ(told, (std::vector<std::string>{"+2 -0 =3 resize", "+0 -1 =2 resize"}));
  std::multiset<std::string> seen;
  while (seen.size() < 5) {
    const std::optional<Notice> notice = notices.next(10s);
    ASSERT_TRUE(notice.has_value());
    seen.insert(text_of(notice->news));
  }
  EXPECT_EQ(seen, (std::multiset<std::string>{"up 2 =3resize", "down 1 =2resize", "added 1",
                                              "added 2", "removed 2"}));
  const PoolSnapshot snapshot = pool.snapshot();
  EXPECT_EQ(snapshot.scaling.ups, 1U);
  EXPECT_EQ(snapshot.scaling.downs, 1U);
  EXPECT_EQ(snapshot.scaling.current, 2U);
  ASSERT_EQ(snapshot.workers.size(), 3U);
  EXPECT_EQ(snapshot.workers[2].id, 2U);
  EXPECT_EQ(snapshot.workers[2].state, WorkerState::terminated);
}

TEST(ResizeNews, StatsAreThoseOfTheSameWorkerAfterAReset) {
  ThreadPool pool({.workers = 1, .max_spare_workers = 1});
  std::latch other_ran(1);
  pool.run([&] {
    pool.post([&] { other_ran.count_down(); });
    const BlockingRegion region;
    other_ran.wait();
  });
  pool.wait_idle();
  pool.reset_stats();
  pool.resize(2);  // comes between the first worker and the spare
  for (const ThreadPoolStats::Worker& worker : pool.stats().workers) {
    EXPECT_EQ(worker.completed, 0U) << worker.number;
  }
  EXPECT_EQ(pool.stats().workers.back().number, 32U);
}

TEST(ResizeLazy, MoreMayComeWhenTheyAreNeeded) {
  ThreadPool pool({.workers = 1, .start = Start::lazy});
  pool.resize(4);
  EXPECT_EQ(pool.stats().total_workers, 0U);
  std::latch all(4);
  for (int i = 0; i < 4; ++i) pool.post([&] { all.arrive_and_wait(); });
  pool.wait_idle();
  EXPECT_EQ(pool.stats().total_workers, 4U);
}

// All are busy, and nothing more is posted.
TEST(ResizeLazy, WhatWaitsMakesTheNextOnesCome) {
  for (const Queueing queueing : {Queueing::stealing, Queueing::global}) {
    ThreadPool pool({.workers = 1, .queueing = queueing, .start = Start::lazy});
    std::latch both(2);
    pool.post([&] { both.arrive_and_wait(); });
    pool.post([&] { both.arrive_and_wait(); });
    pool.resize(2);
    pool.wait_idle();
  }
}

TEST(ResizePinned, NewWorkersArePinnedToo) {
  ThreadPool pool({.workers = 1, .pinning = Pinning::compact});
  pool.resize(3);
  std::latch all(3);
  for (int i = 0; i < 3; ++i) pool.post([&] { all.arrive_and_wait(); });
  pool.wait_idle();
  pool.resize(1);
  EXPECT_EQ(pool.run([] { return 1; }), 1);
}

TEST(ResizeSimulation, GrowsAndShrinksWithoutThreads) {
  for (const bool steals : {true, false}) {
    Simulation world(5);
    ThreadPool pool({.workers = 1, .stealing = {.enabled = steals}, .simulation = &world});
    pool.resize(3);
    int ran = 0;
    for (int i = 0; i < 300; ++i) pool.post([&] { ++ran; });
    pool.wait_idle();
    ASSERT_EQ(pool.stats().workers.size(), 3U);
    for (const auto& worker : pool.stats().workers) EXPECT_GT(worker.completed, 30U);
    for (int i = 0; i < 300; ++i) pool.post([&] { ++ran; });
    pool.resize(1);
    EXPECT_EQ(pool.snapshot().workers[2].state, WorkerState::terminated);
    EXPECT_EQ(pool.snapshot().workers[0].queued, 300U);
    pool.wait_idle();
    EXPECT_EQ(ran, 600);
    EXPECT_EQ(pool.stats().submitted, 600U);
  }
}

TEST(ResizeSimulation, ATaskThatRemovesItsOwnWorkerGoesOn) {
  Simulation world(5);
  ThreadPool pool({.workers = 4, .simulation = &world});
  int ran = 0;
  for (int i = 0; i < 40; ++i) {
    pool.post([&] {
      pool.resize(1);
      pool.post([&] { ++ran; });
      world.run_for(1s);
      ++ran;
    });
  }
  pool.wait_idle();
  EXPECT_EQ(ran, 80);
  EXPECT_EQ(pool.stats().total_workers - pool.stats().spare_workers, 1U);
}

}  // namespace
}  // namespace muster
