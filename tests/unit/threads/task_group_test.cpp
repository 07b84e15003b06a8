// task_group_test.cpp: groups from outside and inside, their errors, and stopping under them.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <muster/task_group.hpp>

namespace muster {
namespace {

TEST(TaskGroup, WaitingForNothingReturnsAtOnce) {
  ThreadPool pool({.workers = 1});
  TaskGroup group(pool);
  group.wait();
  group.wait();
}

TEST(TaskGroup, AllItsTasksAreDoneAfterwards) {
  for (const unsigned workers : {1U, 3U}) {
    ThreadPool pool({.workers = workers});
    TaskGroup group(pool);
    std::atomic<int> runs = 0;
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < 100; ++i) group.run([&] { ++runs; });
      group.wait();
      EXPECT_EQ(runs, round * 100);
    }
  }
}

TEST(TaskGroup, TasksMayAddTasks) {
  ThreadPool pool({.workers = 2});
  TaskGroup group(pool);
  std::atomic<int> runs = 0;
  for (int i = 0; i < 20; ++i) {
    group.run([&] {
      ++runs;
      group.run([&] { ++runs; });
    });
  }
  group.wait();
  EXPECT_EQ(runs, 40);
}

TEST(TaskGroup, MayBeWaitedForOnTheOnlyWorker) {
  ThreadPool pool({.workers = 1});
  const int sum = pool.run([&] {
    std::atomic<int> runs = 0;
    TaskGroup outer(pool);
    for (int i = 0; i < 5; ++i) {
      outer.run([&] {
        TaskGroup inner(pool);
        for (int k = 0; k < 5; ++k) inner.run([&] { ++runs; });
        inner.wait();
      });
    }
    outer.wait();
    return runs.load();
  });
  EXPECT_EQ(sum, 25);
}

TEST(TaskGroup, AWaitingWorkerRunsNoOtherTasks) {
  ThreadPool pool({.workers = 1});
  bool waiting = false;
  bool intruded = false;
  pool.run([&] {
    TaskGroup group(pool);
    group.run([] {});
    pool.post([&] { intruded = waiting; });
    waiting = true;
    group.wait();
    waiting = false;
  });
  pool.wait_idle();
  EXPECT_FALSE(intruded);
}

TEST(TaskGroup, TheFirstErrorComesOutOfWaitOnce) {
  ThreadPool pool({.workers = 1});
  TaskGroup group(pool);
  std::atomic<int> runs = 0;
  group.run([] { throw std::out_of_range("first"); });
  group.run([] { throw std::runtime_error("second"); });
  group.run([&] { ++runs; });
  EXPECT_THROW(group.wait(), std::out_of_range);
  EXPECT_EQ(runs, 1) << "the others have run";
  group.wait();
}

TEST(TaskGroup, ItsEndWaitsForItsTasks) {
  ThreadPool pool({.workers = 2});
  std::atomic<int> runs = 0;
  {
    TaskGroup group(pool);
    for (int i = 0; i < 50; ++i) group.run([&] { ++runs; });
  }
  EXPECT_EQ(runs, 50);
}

TEST(TaskGroup, AStoppedPoolTakesNoTasks) {
  ThreadPool pool({.workers = 1});
  TaskGroup group(pool);
  pool.stop();
  const auto capture = std::make_shared<int>(1);
  EXPECT_THROW(group.run([capture] {}), Stopped);
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_THROW(group.wait(), Stopped);
}

TEST(TaskGroup, WhatAStopDiscardsIsReportedAndDoesNotHang) {
  ThreadPool pool({.workers = 1});
  TaskGroup group(pool);
  std::atomic<bool> held = false;
  std::atomic<bool> free = false;
  std::atomic<int> runs = 0;
  pool.post([&] {
    held = true;
    while (!free) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) group.run([&] { ++runs; });
  EXPECT_FALSE(pool.stop({.mode = Stop::discard, .timeout = Duration(1)}));
  free = true;
  pool.stop();
  EXPECT_THROW(group.wait(), Stopped);
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace muster
