// stealing_test.cpp: what an idle worker takes from others: when, from whom, how many, in which
// order.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

#include "support/held_workers.hpp"
#include "support/run_order.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

using testing::HeldWorkers;
using testing::RunOrder;

// Sixteen tasks wait, eight with each of two workers; the second is let go.
struct Half {
  std::uint64_t steals = 0;
  std::uint64_t tasks = 0;
  std::uint64_t from_first = 0;
  std::vector<int> order;
};
Half steal_with(const StealingOptions& stealing) {
  RunOrder order;
  HeldWorkers held({.workers = 2, .stealing = stealing});
  held.pool().reset_stats();
  for (int i = 0; i < 16; ++i) held.pool().post([&order, i] { order.add(i); });
  held.free(1);
  held.wait_until_asleep(1);
  const ThreadPoolStats::Worker worker = held.pool().stats().workers.at(1);
  return {worker.successful_steals, worker.tasks_stolen, worker.stolen_from.at(0), order.get()};
}

TEST(Stealing, ByDefaultTakesHalfAndFourAtMost) {
  const Half seen = steal_with({});
  EXPECT_EQ(seen.tasks, 8U);
  EXPECT_EQ(seen.from_first, 8U);
  EXPECT_EQ(seen.steals, 4U) << "4, 2, 1, 1";
  EXPECT_EQ(seen.order.size(), 16U);
}

TEST(Stealing, OneAtATime) {
  const Half seen = steal_with({.size = StealSize::one});
  EXPECT_EQ(seen.tasks, 8U);
  EXPECT_EQ(seen.steals, 8U);
}

TEST(Stealing, AllAtOnceButNoMoreThanTheMost) {
  EXPECT_EQ(steal_with({.size = StealSize::all, .most = 100}).steals, 1U);
  EXPECT_EQ(steal_with({.size = StealSize::all, .most = 3}).steals, 3U);
}

TEST(Stealing, RunsWhatItTookInTheOrderOfItsOptions) {
  StealingOptions stealing{.size = StealSize::all, .most = 100};
  std::vector<int> order = steal_with(stealing).order;
  EXPECT_TRUE(std::is_sorted(order.begin() + 8, order.end()));
  stealing.order = StealingOrder::lifo;
  order = steal_with(stealing).order;
  ASSERT_EQ(order.size(), 16U);
  EXPECT_GE(order[8], 14) << "the newest";
  EXPECT_EQ(order[9], order[8] - 2);  // and so on, but that a worker takes its oldest now and then
}

TEST(Stealing, LeavesShortQueuesAlone) {
  const Half seen = steal_with({.size = StealSize::one, .threshold = 3});
  EXPECT_EQ(seen.tasks, 5U);
  EXPECT_EQ(seen.order.size(), 13U);
}

TEST(Stealing, IsOffIfToldSo) {
  const Half seen = steal_with({.enabled = false});
  EXPECT_EQ(seen.tasks, 0U);
  EXPECT_EQ(seen.order.size(), 8U);
}

TEST(Stealing, WithoutItTheWorkerThatHasTheTaskIsWoken) {
  ThreadPool pool({.workers = 3, .stealing = {.enabled = false}});
  for (int i = 0; i < 12; ++i) {
    while (pool.stats().sleeping_workers != 3) std::this_thread::yield();
    EXPECT_EQ(pool.submit([] {}).wait_for(10s), FutureStatus::ready);
  }
}

TEST(Stealing, WithoutItEveryTaskIsStillRun) {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool({.workers = 3, .stealing = {.enabled = false}});
    for (int i = 0; i < 3000; ++i) {
      pool.post([&] {
        ++runs;
        pool.post([&] { ++runs; });
      });
      if (i % 100 == 0) pool.wait_idle();  // they fall asleep in between
    }
    EXPECT_EQ(pool.submit([&] { return pool.submit([] { return 3; }).get(); }).get(), 3);
    long sum = 0;
    pool.run([&] {
      const auto [a, b] = join([] { return 1; }, [] { return 2; });
      sum = a + b;
    });
    EXPECT_EQ(sum, 3);
  }
  EXPECT_EQ(runs, 6000);
}

TEST(Stealing, WithACooldownAWorkerMayIdleWhileTasksWait) {
  const Half seen = steal_with({.cooldown = std::chrono::hours(1)});
  EXPECT_LE(seen.steals, 1U) << "it may search once";
  EXPECT_LE(seen.order.size(), 12U);
}

TEST(Stealing, GoesOnAfterTheCooldown) {
  std::atomic<int> runs = 0;
  HeldWorkers held({.workers = 2, .stealing = {.cooldown = 1ms}});
  for (int i = 0; i < 16; ++i) held.pool().post([&] { ++runs; });
  held.free(1);
  while (runs != 16) std::this_thread::yield();
}

// Three workers: the first has posted two tasks, the second six; the third is let go. Which of the
// two each of its tasks came from.
std::vector<int> victims_of_third(const StealingOptions& stealing, std::array<int, 2> posted) {
  RunOrder order;
  HeldWorkers held({.workers = 3, .stealing = stealing}, [&](ThreadPool& pool, unsigned worker) {
    if (worker == 2) return;
    for (int i = 0; i < posted[worker]; ++i) {
      pool.post([&order, worker] { order.add(static_cast<int>(worker)); });
    }
  });
  held.free(2);
  held.wait_until_asleep(1);
  return order.get();
}

TEST(Stealing, TurnsToTheBusiestFirst) {
  const std::vector<int> victims = victims_of_third({.victim = VictimChoice::busiest}, {2, 6});
  ASSERT_EQ(victims.size(), 8U);
  EXPECT_EQ(std::vector<int>(victims.begin(), victims.begin() + 4), (std::vector<int>{1, 1, 1, 1}));
}

TEST(Stealing, IfFairDrainsNobodyTwiceWhileAnotherHasTasks) {
  const std::vector<int> victims = victims_of_third({.fair = true}, {4, 4});
  ASSERT_EQ(victims.size(), 8U);
  for (std::size_t i = 1; i < victims.size(); ++i) EXPECT_NE(victims[i], victims[i - 1]);
}

TEST(Stealing, BadOptionsAreNamed) {
  try {
    ThreadPool pool({.stealing = {.most = 0, .cooldown = -1ms, .max_searchers = 0}});
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) {
    ASSERT_EQ(error.bad_fields().size(), 3U);
    EXPECT_EQ(error.bad_fields()[0].field, "stealing.most");
    EXPECT_EQ(error.bad_fields()[1].field, "stealing.cooldown");
    EXPECT_EQ(error.bad_fields()[2].field, "stealing.max_searchers");
  }
}

}  // namespace
}  // namespace muster
