// stealing_test.cpp: what an idle worker takes from others: when, from whom, how many, in which
// order.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/cpu_topology.hpp>
#include <muster/simulation.hpp>
#include <muster/thread_pool.hpp>

#include "support/held_workers.hpp"
#include "support/run_order.hpp"
#include "threads/crew.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

using testing::HeldWorkers;
using testing::RunOrder;

// Sixteen tasks wait, eight with each of two workers; the second is let go.
struct Half {
  std::uint64_t attempts = 0;
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
  return {worker.steal_attempts, worker.successful_steals, worker.tasks_stolen,
          worker.stolen_from.at(0), order.get()};
}

TEST(Stealing, ByDefaultTakesHalfAndFourAtMost) {
  const Half seen = steal_with({});
  EXPECT_EQ(seen.tasks, 8U);
  EXPECT_EQ(seen.from_first, 8U);
  EXPECT_EQ(seen.steals, 4U) << "4, 2, 1, 1";
  EXPECT_GT(seen.attempts, seen.steals) << "the last ones in vain";
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

// Two nodes with two CPUs each.
CpuTopology two_nodes() {
  CpuTopology topology;
  for (unsigned id = 0; id < 4; ++id) {
    topology.cpus.push_back({.id = id, .core = id, .package = id / 2, .node = id / 2});
  }
  topology.nodes = {{.id = 0, .cpus = {0, 1}, .distances = {10, 20}},
                    {.id = 1, .cpus = {2, 3}, .distances = {20, 10}}};
  return topology;
}

// From whom the first of four workers takes its first task, in many worlds; the second is next to
// it, and the last has the most.
std::set<std::size_t> first_victims(VictimChoice victim) {
  std::set<std::size_t> victims;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Simulation world(seed);
    ThreadPoolOptions options{.workers = 4, .max_workers = 4, .max_spare_workers = 0};
    options.stealing.victim = victim;
    options.pinning = Pinning::compact;  // nobody is pinned here, but all know who is near
    options.simulation = &world;
    Crew crew(options, two_nodes());
    for (const auto& [worker, tasks] : {std::pair(1, 2), std::pair(2, 2), std::pair(3, 4)}) {
      for (int i = 0; i < tasks; ++i) {
        crew.worker(static_cast<std::size_t>(worker))->inbox().push(Closure([] {}));
      }
    }
    EXPECT_TRUE(crew.worker(0)->play_one());
    for (std::size_t each = 1; each < 4; ++each) {
      if (crew.worker(0)->stolen_from(each) > 0) victims.insert(each);
    }
  }
  return victims;
}

TEST(Stealing, TurnsToItsNeighbourFirst) {
  EXPECT_EQ(first_victims(VictimChoice::nearest), (std::set<std::size_t>{1}));
}

TEST(Stealing, TurnsToAnyoneIfTheVictimIsRandom) {
  EXPECT_EQ(first_victims(VictimChoice::random), (std::set<std::size_t>{1, 2, 3}));
}

// How often workers look around in vain that all run out of work at the same moment.
std::uint64_t vain_looks(double max_searchers) {
  constexpr unsigned kWorkers = 8;
  std::uint64_t looks = 0;
  ThreadPoolOptions options{.workers = kWorkers, .idle = IdlePolicy::latency};
  options.stealing.max_searchers = max_searchers;
  ThreadPool pool(options);
  for (int i = 0; i < 3; ++i) {
    while (pool.stats().sleeping_workers != kWorkers) std::this_thread::yield();
    pool.reset_stats();
    std::barrier all(kWorkers);
    for (unsigned j = 0; j < kWorkers; ++j) pool.post([&all] { all.arrive_and_wait(); });
    pool.wait_idle();
    while (pool.stats().sleeping_workers != kWorkers) std::this_thread::yield();
    for (const ThreadPoolStats::Worker& each : pool.stats().workers) looks += each.idle_spins;
  }
  return looks;
}

TEST(Stealing, AShareOfTheWorkersSearchesForLong) {
  EXPECT_LT(vain_looks(0.01), vain_looks(1) / 2);
}

TEST(Stealing, AStolenTaskCanBeCancelledAsLongAsItWaits) {
  std::atomic<bool> has_begun = false;
  std::atomic<bool> may_end = false;
  std::atomic<int> runs = 0;
  HeldWorkers held({.workers = 2, .stealing = {.size = StealSize::all, .most = 100}});
  held.pool().set_strategy(
      strategy_from("first", [](auto, const TaskInfo&) { return std::optional<std::size_t>(0); }));
  auto first = held.pool().submit([&] {
    has_begun = true;
    has_begun.notify_all();
    may_end.wait(false);
  });
  auto second = held.pool().submit([&] { ++runs; });
  auto third = held.pool().submit([&] { ++runs; });
  held.free(1);
  has_begun.wait(false);
  EXPECT_EQ(held.queued(), (std::vector<std::uint64_t>{0, 2})) << "with the thief";
  EXPECT_TRUE(second.cancel());
  may_end = true;
  may_end.notify_all();
  third.get();
  first.get();
  EXPECT_THROW(second.get(), Cancelled);
  EXPECT_EQ(runs, 1);
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
