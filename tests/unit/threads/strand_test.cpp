// strand_test.cpp: one at a time, in order, also when tasks throw, post, or are dropped.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/strand.hpp>

namespace muster {
namespace {

TEST(Strand, RunsItsTasksInOrderAndOneAtATime) {
  ThreadPool pool({.workers = 4});
  Strand strand(pool);
  std::vector<int> order;  // unguarded on purpose
  for (int i = 0; i < 1000; ++i) strand.post([&order, i] { order.push_back(i); });
  pool.wait_idle();
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Strand, KeepsEachProducersOrder) {
  ThreadPool pool({.workers = 2});
  Strand strand(pool);
  std::vector<std::vector<int>> seen(3);
  {
    std::vector<std::jthread> producers;
    for (std::size_t producer = 0; producer < 3; ++producer) {
      producers.emplace_back([&, producer] {
        for (int i = 0; i < 300; ++i)
          strand.post([&, producer, i] { seen[producer].push_back(i); });
      });
    }
  }
  pool.wait_idle();
  for (const std::vector<int>& own : seen) {
    ASSERT_EQ(own.size(), 300U);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(own[static_cast<std::size_t>(i)], i);
  }
}

TEST(Strand, KnowsItsInside) {
  ThreadPool pool({.workers = 1});
  Strand strand(pool);
  Strand other(pool);
  EXPECT_FALSE(strand.is_inside());
  strand.post([&] {
    EXPECT_TRUE(strand.is_inside());
    EXPECT_FALSE(other.is_inside());
  });
  pool.wait_idle();
}

TEST(Strand, ATaskMayPostToItsOwnStrand) {
  ThreadPool pool({.workers = 2});
  Strand strand(pool);
  std::vector<int> order;
  strand.post([&] {
    strand.post([&] { order.push_back(2); });
    order.push_back(1);
  });
  pool.wait_idle();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Strand, GoesOnAfterATaskThatThrows) {
  std::atomic<int> errors = 0;
  ThreadPool pool({.workers = 1, .on_error = [&](std::exception_ptr) { ++errors; }});
  Strand strand(pool);
  int runs = 0;
  for (int i = 0; i < 10; ++i) {
    strand.post([&, i] {
      ++runs;
      if (i % 2 == 0) throw std::runtime_error("even");
    });
  }
  pool.wait_idle();
  EXPECT_EQ(runs, 10);
  EXPECT_EQ(errors, 5);
}

TEST(Strand, LetsOthersHaveTheirTurn) {
  ThreadPool pool({.workers = 1});
  Strand strand(pool);
  std::atomic<bool> other_ran = false;
  struct Again {
    Strand& strand;
    std::atomic<bool>& done;
    void operator()() const {
      if (!done) strand.post(*this);
    }
  };
  strand.post(Again{strand, other_ran});
  pool.post([&] { other_ran = true; });
  pool.wait_idle();
  EXPECT_TRUE(other_ran);
}

TEST(Strand, WhatWasPostedRunsAlsoAfterItsEnd) {
  ThreadPool pool({.workers = 1});
  int runs = 0;
  {
    Strand strand(pool);
    for (int i = 0; i < 100; ++i) strand.post([&] { ++runs; });
  }
  pool.stop();
  EXPECT_EQ(runs, 100);
}

TEST(Strand, ADiscardingStopDropsItsTasks) {
  ThreadPool pool({.workers = 1});
  Strand strand(pool);
  std::atomic<bool> held = false;
  std::atomic<bool> free = false;
  const auto capture = std::make_shared<int>(1);
  pool.post([&] {
    held = true;
    while (!free) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) strand.post([capture] {});
  EXPECT_FALSE(pool.stop({.mode = Stop::discard, .timeout = Duration(1)}));
  free = true;
  pool.stop();
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_THROW(strand.post([] {}), Stopped);
}

}  // namespace
}  // namespace muster
