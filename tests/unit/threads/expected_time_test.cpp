// expected_time_test.cpp: strategies that look at times expect something of each task that they
// place. Mostly in the time of a simulation, in which a task takes exactly as long as it says.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/strategy.hpp>
#include <muster/thread_pool.hpp>

#include "support/held_workers.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::HeldWorkers;
using Queued = std::vector<std::uint64_t>;

// Nobody steals, and all tasks are timed.
class TimedPool {
 public:
  explicit TimedPool(unsigned workers, std::uint64_t seed = 7)
      : world_(seed),
        pool_({.workers = workers,
               .stealing = {.enabled = false},
               .timing = Timing::full,
               .simulation = &world_}) {}

  // One after the other on one worker.
  void run_on(std::size_t worker, int tasks, Duration time) {
    pool_.set_strategy(strategy_from(
        "always",
        [worker](std::span<const WorkerInfo>, const TaskInfo&) { return std::optional(worker); }));
    for (int i = 0; i < tasks; ++i) pool_.post([this, time] { world_.run_for(time); });
    pool_.wait_idle();
  }

  [[nodiscard]] Queued queued() const {
    Queued queued;
    for (const ThreadPoolStats::Worker& each : pool_.stats().workers) queued.push_back(each.queued);
    return queued;
  }

  ThreadPool& pool() { return pool_; }
  Simulation& world() { return world_; }

 private:
  Simulation world_;
  ThreadPool pool_;
};

void nothing() {}

// A key that belongs to this worker.
std::string key_of(ThreadPool& pool, unsigned worker) {
  for (int i = 0;; ++i) {
    std::string key = "key " + std::to_string(i);
    if (pool.workers_for(key).at(0) == worker) return key;
  }
}

TEST(ExpectedTime, ABurstIsSharedEvenlyHoweverLongTheLastTasksOfWorkersTook) {
  TimedPool timed(2);
  timed.run_on(0, 1, 20ms);
  timed.run_on(1, 20, 1ms);
  timed.pool().set_strategy(BuiltIn::fair_share);
  for (int i = 0; i < 40; ++i) timed.pool().post(nothing);
  EXPECT_EQ(timed.queued(), (Queued{20, 20}));
}

constexpr BuiltIn kByTime[] = {BuiltIn::least_elu, BuiltIn::fair_share};

TEST(ExpectedTime, ATaskIsChargedItsEstimate) {
  for (const BuiltIn strategy : kByTime) {
    TimedPool timed(2);
    timed.pool().set_strategy(strategy);
    timed.pool().post({.estimated_duration = 10ms}, nothing);
    for (int i = 0; i < 10; ++i) timed.pool().post({.estimated_duration = 1ms}, nothing);
    const auto [least, most] = std::minmax({timed.queued()[0], timed.queued()[1]});
    EXPECT_LE(least, 2U) << to_string(strategy);
    EXPECT_EQ(least + most, 11U);
  }
}

TEST(ExpectedTime, WithoutAnEstimateATaskIsChargedTheAverage) {
  for (const BuiltIn strategy : kByTime) {
    TimedPool timed(2);
    timed.run_on(0, 10, 1ms);
    timed.run_on(1, 10, 1ms);
    timed.pool().set_strategy(strategy);
    timed.pool().post({.estimated_duration = 10ms}, nothing);
    for (int i = 0; i < 20; ++i) timed.pool().post(nothing);
    const auto [least, most] = std::minmax({timed.queued()[0], timed.queued()[1]});
    EXPECT_GE(least, 5U) << to_string(strategy);
    EXPECT_LE(least, 7U) << to_string(strategy);
    EXPECT_EQ(least + most, 21U);
  }
}

TEST(ExpectedTime, AnEstimateIsForgottenWhenItsTaskHasEnded) {
  for (const BuiltIn strategy : kByTime) {
    TimedPool timed(2);
    timed.pool().set_strategy(strategy);
    timed.pool().post({.estimated_duration = 24h}, [&] { timed.world().run_for(1ms); });
    timed.pool().wait_idle();
    for (int i = 0; i < 20; ++i) timed.pool().post(nothing);
    for (const std::uint64_t queued : timed.queued())
      EXPECT_NEAR(static_cast<double>(queued), 10, 1);
  }
}

// What a strategy of the user's sees of the workers' estimates.
class Estimates {
 public:
  struct Of {
    std::uint32_t tasks = 0;
    Duration time{};
    bool operator==(const Of&) const = default;
  };

  // Places everything with worker 0.
  std::shared_ptr<Strategy> strategy() {
    return strategy_from("first", [this](auto workers, const TaskInfo&) {
      seen_.clear();
      for (const WorkerInfo& each : workers) seen_.push_back({each.estimated, each.estimated_time});
      return std::optional<std::size_t>(0);
    });
  }

  // Posts a task for the sake of the look.
  const std::vector<Of>& seen(ThreadPool& pool) {
    pool.post(nothing);
    return seen_;
  }

 private:
  std::vector<Of> seen_;
};
using Seen = std::vector<Estimates::Of>;

TEST(ExpectedTime, EstimatesOfAllThatWaitsWithAWorkerAddUp) {
  Estimates estimates;
  HeldWorkers held({.workers = 2}, [](ThreadPool& pool, unsigned worker) {
    if (worker == 1) pool.post({.estimated_duration = 1ms}, nothing);
  });
  held.pool().set_strategy(estimates.strategy());
  held.pool().post({.estimated_duration = 2ms}, nothing);
  held.pool().post({.estimated_duration = 3ms}, nothing);
  const std::string key = key_of(held.pool(), 1);
  held.pool().post({.affinity = key, .estimated_duration = 5ms}, nothing);
  EXPECT_EQ(estimates.seen(held.pool()), (Seen{{2, 5ms}, {2, 6ms}}));
  held.free_all();
  held.pool().wait_idle();
  EXPECT_EQ(estimates.seen(held.pool()), (Seen{{}, {}}));
}

TEST(ExpectedTime, TheThiefOfATaskIsChargedForIt) {
  Estimates estimates;
  std::atomic<bool> has_begun = false;
  std::atomic<bool> may_end = false;
  HeldWorkers held({.workers = 2});
  held.pool().set_strategy(estimates.strategy());
  held.pool().post({.estimated_duration = 2ms}, [&] {
    has_begun = true;
    has_begun.notify_all();
    may_end.wait(false);
  });
  held.free(1);
  has_begun.wait(false);
  EXPECT_EQ(estimates.seen(held.pool()), (Seen{{}, {1, 2ms}}));
  may_end = true;
  may_end.notify_all();
  held.free_all();
  held.pool().wait_idle();
}

TEST(ExpectedTime, ATaskThatIsDroppedIsNotChargedForAnyMore) {
  Estimates estimates;
  ThreadPoolOptions options{.workers = 1};
  options.admission = {.max_queued = 2, .when_full = WhenFull::drop_oldest};
  HeldWorkers held(options);
  held.pool().set_strategy(estimates.strategy());
  auto first = held.pool().submit({.estimated_duration = 2ms}, nothing);
  held.pool().post(nothing);
  held.pool().post(nothing);
  EXPECT_THROW(first.get(), Dropped);
  EXPECT_EQ(estimates.seen(held.pool()), (Seen{{}}));
}

// With threads and thieves, where many tasks are planned at a time.
TEST(ExpectedTime, WhatComesWithAnEstimateGoesByNoPlan) {
  Estimates estimates;
  HeldWorkers held({.workers = 2, .strategy = BuiltIn::fair_share});
  for (int i = 0; i < 64; ++i) {
    held.pool().post({.estimated_duration = 100s}, nothing);
    held.pool().post({.estimated_duration = 1s}, nothing);
  }
  held.pool().set_strategy(estimates.strategy());
  const Seen seen = estimates.seen(held.pool());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_LT(std::chrono::abs(seen[0].time - seen[1].time), 200s);
}

TEST(ExpectedTime, AStrategyOfYoursSeesHowLongTasksTookAndWorkersIdle) {
  std::vector<WorkerInfo> seen;
  TimedPool timed(2);
  timed.run_on(0, 3, 10ms);
  timed.run_on(0, 1, 26ms);
  timed.pool().set_strategy(strategy_from("sees", [&](auto workers, const TaskInfo&) {
    seen.assign(workers.begin(), workers.end());
    return std::optional<std::size_t>(1);
  }));
  timed.world().run_for(40ms);
  timed.pool().post(nothing);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].tasks_done, 4U);
  EXPECT_EQ(seen[0].average_task_time, 11ms) << "a sixteenth nearer to the last";
  EXPECT_EQ(seen[0].last_task_time, 26ms);
  EXPECT_EQ(seen[0].idle_time, 40ms);
  EXPECT_NEAR(seen[0].utilisation, 56.0 / 96, 0.001);
  EXPECT_EQ(seen[0].weight, 1);
  EXPECT_EQ(seen[1].tasks_done, 0U);
  EXPECT_EQ(seen[1].average_task_time, 0ms);
  EXPECT_EQ(seen[1].utilisation, 0);
}

// If it began with nothing, it would get all 30, or half of them.
TEST(ExpectedTime, ANewWorkerBeginsWithTheLeastOfWhatOthersHaveBehindThem) {
  for (const BuiltIn strategy : {BuiltIn::least_used, BuiltIn::least_elu, BuiltIn::fair_share}) {
    TimedPool timed(2);
    timed.run_on(0, 30, 1ms);
    timed.run_on(1, 30, 1ms);
    timed.pool().set_strategy(strategy);
    timed.pool().submit(nothing).get();  // so that the past of these two is known by now
    timed.pool().resize(3);
    for (int i = 0; i < 30; ++i) timed.pool().post(nothing);
    const Queued queued = timed.queued();
    ASSERT_EQ(queued.size(), 3U);
    EXPECT_GE(queued[2], 10U) << to_string(strategy);
    EXPECT_LE(queued[2], 12U) << to_string(strategy);
  }
}

}  // namespace
}  // namespace muster
