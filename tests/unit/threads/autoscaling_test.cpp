// autoscaling_test.cpp: pools that add and remove workers by themselves, in the time of a
// simulation; what decides is tested with the policies.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/log.hpp>
#include <muster/simulation.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

// A pool in a world of its own, and what it did, at which second.
class Scaled {
 public:
  explicit Scaled(const ScalingOptions& scaling, unsigned workers = 1,
                  Queueing queueing = Queueing::stealing)
      : pool_({.workers = workers,
               .scaling = scaling,
               .on_scaling =
                   [this](const ScalingChange& change) {
                     changes_.push_back(change);
                     seconds_.push_back(static_cast<int>((world_.now() - Time{}) / 1s));
                   },
               .queueing = queueing,
               .timing = Timing::full,
               .max_spare_workers = 0,
               .simulation = &world_}) {}

  void post(int tasks, Duration time) {
    for (int i = 0; i < tasks; ++i) pool_.post([this, time] { world_.run_for(time); });
  }

  Simulation& world() { return world_; }
  ThreadPool& pool() { return pool_; }
  [[nodiscard]] const std::vector<ScalingChange>& changes() const { return changes_; }
  [[nodiscard]] const std::vector<int>& seconds() const { return seconds_; }

 private:
  Simulation world_{7};
  std::vector<ScalingChange> changes_;
  std::vector<int> seconds_;
  ThreadPool pool_;
};

ScalingOptions custom(std::function<int(const ScalingInput&)> function) {
  ScalingOptions options{
      .policy = ScalingPolicy::custom, .scale_up_cooldown = 0s, .scale_down_cooldown = 0s};
  options.custom = std::move(function);
  return options;
}

TEST(Autoscaling, ByRatioItAddsWhenTasksWaitAndRemovesWhenWorkersIdle) {
  for (const Queueing queueing : {Queueing::stealing, Queueing::global}) {
    Scaled scaled({.max_workers = 3}, 1, queueing);
    scaled.post(100, 1s);
    scaled.world().run_for(10s);
    ASSERT_GE(scaled.changes().size(), 2U);
    EXPECT_EQ(scaled.changes()[0].added, 1U);
    EXPECT_EQ(scaled.changes()[0].total, 2U);
    EXPECT_EQ(scaled.seconds()[0], 1);
    EXPECT_EQ(scaled.seconds()[1], 6) << "after the cooldown";
    EXPECT_NE(scaled.changes()[0].reason.find("tasks per worker"), std::string::npos);
    scaled.pool().wait_idle();
    EXPECT_EQ(scaled.pool().worker_count(), 3U);
    scaled.world().run_for(29s);
    EXPECT_EQ(scaled.pool().worker_count(), 3U);
    scaled.world().run_for(2s);
    EXPECT_EQ(scaled.pool().worker_count(), 2U);
    EXPECT_NE(scaled.changes().back().reason.find("idle for"), std::string::npos);
    scaled.world().run_for(5s);
    EXPECT_EQ(scaled.pool().worker_count(), 1U);
    scaled.world().run_for(1h);
    EXPECT_EQ(scaled.pool().worker_count(), 1U);
    const PoolSnapshot::Scaling seen = scaled.pool().snapshot().scaling;
    EXPECT_EQ(seen.ups, 2U);
    EXPECT_EQ(seen.downs, 2U);
    EXPECT_EQ(seen.current, 1U);
  }
}

TEST(Autoscaling, ByDepthItAddsTenWhenMoreThanFiftyWait) {
  Scaled scaled({.policy = ScalingPolicy::depth, .max_workers = 20});
  scaled.post(52, 1s);
  scaled.world().run_for(1s);
  ASSERT_EQ(scaled.changes().size(), 1U);
  EXPECT_EQ(scaled.changes()[0].added, 10U);
  scaled.pool().wait_idle();
  scaled.world().run_for(2min);
  EXPECT_EQ(scaled.pool().worker_count(), 1U);
}

// 100 tasks a second of 100 ms each keep ten busy.
TEST(Autoscaling, ByPredictionItHasAsManyAsTheLoadNeeds) {
  Scaled scaled({.policy = ScalingPolicy::predictive, .max_workers = 32});
  for (int i = 0; i < 300; ++i) {
    scaled.post(10, 100ms);
    scaled.world().run_for(100ms);
  }
  EXPECT_GE(scaled.pool().worker_count(), 10U);
  const auto is_predicted = [](const ScalingChange& change) {
    return change.reason.find("workers needed") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(scaled.changes().begin(), scaled.changes().end(), is_predicted));
  scaled.pool().wait_idle();
  scaled.world().run_for(10min);
  EXPECT_LE(scaled.pool().worker_count(), 2U);
}

// What becomes of a pool that has much to do, then little, then nothing.
using History = std::vector<std::pair<int, unsigned>>;  // second, workers
History history_with(ScalingPolicy policy, const std::function<void(ScalingOptions&)>& set) {
  ScalingOptions options{.policy = policy, .max_workers = 12};
  set(options);
  Scaled scaled(options, 3);
  scaled.post(60, 500ms);
  scaled.world().run_for(10s);
  for (int i = 0; i < 10; ++i) {
    scaled.post(1, 1s);
    scaled.world().run_for(1s);
  }
  scaled.pool().wait_idle();
  scaled.world().run_for(2min);
  History history;
  for (std::size_t i = 0; i < scaled.changes().size(); ++i) {
    history.emplace_back(scaled.seconds()[i], scaled.changes()[i].total);
  }
  return history;
}

TEST(Autoscaling, EveryNumberOfAPolicyMakesADifference) {
  struct Row {
    const char* name;
    ScalingPolicy policy;
    std::function<void(ScalingOptions&)> set;
  };
  constexpr auto kRatio = ScalingPolicy::ratio;
  constexpr auto kDepth = ScalingPolicy::depth;
  constexpr auto kPredictive = ScalingPolicy::predictive;
  const Row rows[] = {
      {"min_workers", kRatio, [](auto& each) { each.min_workers = 2; }},
      {"max_workers", kRatio, [](auto& each) { each.max_workers = 4; }},
      {"check_every", kRatio, [](auto& each) { each.check_every = 3s; }},
      {"scale_up_cooldown", kRatio, [](auto& each) { each.scale_up_cooldown = 2s; }},
      {"scale_down_cooldown", kRatio, [](auto& each) { each.scale_down_cooldown = 20s; }},
      {"scale_up_threshold", kRatio, [](auto& each) { each.ratio.scale_up_threshold = 20; }},
      {"scale_down_idle_timeout", kRatio,
       [](auto& each) { each.ratio.scale_down_idle_timeout = 60s; }},
      {"scale_up_step", kRatio, [](auto& each) { each.ratio.scale_up_step = 2; }},
      {"scale_down_step", kRatio, [](auto& each) { each.ratio.scale_down_step = 2; }},
      {"scale_up_depth", kDepth, [](auto& each) { each.depth.scale_up_depth = 70; }},
      {"scale_down_busy", kDepth, [](auto& each) { each.depth.scale_down_busy = 1; }},
      {"depth.scale_down_delay", kDepth, [](auto& each) { each.depth.scale_down_delay = 1s; }},
      {"depth.scale_up_step", kDepth, [](auto& each) { each.depth.scale_up_step = 3; }},
      {"depth.scale_down_step", kDepth, [](auto& each) { each.depth.scale_down_step = 1; }},
      {"horizon", kPredictive, [](auto& each) { each.predictive.horizon = 40s; }},
      {"headroom", kPredictive, [](auto& each) { each.predictive.headroom = 5; }},
      {"smoothing", kPredictive, [](auto& each) { each.predictive.smoothing = 60s; }},
      {"predictive.scale_down_delay", kPredictive,
       [](auto& each) { each.predictive.scale_down_delay = 5s; }},
  };
  std::map<ScalingPolicy, History> usual;
  for (const ScalingPolicy policy : {kRatio, kDepth, kPredictive}) {
    usual[policy] = history_with(policy, [](auto&) {});
  }
  for (const Row& row : rows) {
    EXPECT_NE(history_with(row.policy, row.set), usual[row.policy]) << row.name;
  }
}

TEST(Autoscaling, ACustomPolicySeesThePoolAndIsFollowed) {
  std::vector<ScalingInput> seen;
  int wish = 0;
  Scaled scaled(custom([&](const ScalingInput& input) {
                  seen.push_back(input);
                  return std::exchange(wish, 0);
                }),
                2);
  scaled.world().run_for(1s);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].now, Time{} + 1s);
  EXPECT_EQ(seen[0].workers, 2U);
  EXPECT_EQ(seen[0].active, 0U);
  EXPECT_EQ(seen[0].idle, 2U);
  EXPECT_EQ(seen[0].longest_idle, 1s);
  EXPECT_EQ(seen[0].arrivals, 0U);
  wish = 3;
  scaled.post(8, 2s);
  scaled.world().run_for(1s);
  EXPECT_EQ(scaled.pool().worker_count(), 5U);
  ASSERT_GE(seen.size(), 2U);
  EXPECT_EQ(seen[1].active, 2U);
  EXPECT_EQ(seen[1].queued, 6U);
  EXPECT_EQ(seen[1].idle, 0U);
  EXPECT_EQ(seen[1].arrivals, 8U);
  EXPECT_EQ(seen[1].completions, 0U);
  scaled.pool().wait_idle();
  wish = -4;
  scaled.world().run_for(1s);
  EXPECT_EQ(scaled.pool().worker_count(), 1U);
  EXPECT_EQ(seen.back().completions, 8U);
  EXPECT_GE(seen.back().average_task_time, 2s);
  EXPECT_EQ(scaled.changes().back().removed, 4U);
  EXPECT_EQ(scaled.changes().back().reason, "custom");
}

TEST(Autoscaling, LooksAsOftenAsItIsTold) {
  int looks = 0;
  ScalingOptions options = custom([&](const ScalingInput&) {
    ++looks;
    return 0;
  });
  options.check_every = 250ms;
  Scaled scaled(options);
  scaled.world().run_for(10s);
  EXPECT_EQ(looks, 40);
}

TEST(Autoscaling, WhatACustomPolicyThrowsIsLoggedAndItIsAskedAgain) {
  std::string logged;
  const LogHook before = set_log_hook([&](const LogRecord& record) { logged += record.message; });
  {
    int looks = 0;
    Scaled scaled(custom([&](const ScalingInput&) -> int {
      ++looks;
      if (looks == 1) throw std::runtime_error("no such table");
      if (looks == 2) throw 42;
      return looks == 3 ? 1 : 0;
    }));
    scaled.world().run_for(5s);
    EXPECT_EQ(looks, 5);
    EXPECT_EQ(scaled.pool().worker_count(), 2U);
  }
  set_log_hook(before);
  EXPECT_NE(logged.find("no such table"), std::string::npos) << logged;
  EXPECT_NE(logged.find("no std::exception"), std::string::npos) << logged;
}

TEST(Autoscaling, ASnapshotTellsHowManyUpsOrDownsCameInARow) {
  int wish = 1;
  Scaled scaled(custom([&](const ScalingInput&) { return wish; }));
  scaled.world().run_for(3500ms);
  EXPECT_EQ(scaled.pool().snapshot().scaling.consecutive_ups, 3U);
  EXPECT_EQ(scaled.pool().snapshot().scaling.consecutive_downs, 0U);
  wish = -1;
  scaled.world().run_for(2s);
  const PoolSnapshot::Scaling seen = scaled.pool().snapshot().scaling;
  EXPECT_EQ(seen.ups, 3U);
  EXPECT_EQ(seen.downs, 2U);
  EXPECT_EQ(seen.consecutive_ups, 0U);
  EXPECT_EQ(seen.consecutive_downs, 2U);
  EXPECT_EQ(seen.current, 2U);
}

TEST(Autoscaling, GoesOnFromWhatResizeHasMade) {
  std::vector<std::size_t> seen;
  Scaled scaled(custom([&](const ScalingInput& input) {
    seen.push_back(input.workers);
    return 1;
  }));
  scaled.pool().resize(5);
  scaled.world().run_for(2s);
  EXPECT_EQ(seen, (std::vector<std::size_t>{5, 6}));
  EXPECT_EQ(scaled.pool().worker_count(), 7U);
}

TEST(Autoscaling, AWorkerThatWarmsUpCountsAlready) {
  std::vector<std::size_t> seen;
  Simulation world(3);
  ThreadPool pool({.workers = 1,
                   .scaling = custom([&](const ScalingInput& input) {
                     seen.push_back(input.workers);
                     return input.workers < 2 ? 1 : 0;
                   }),
                   .warm_up = {.at_least = 1min},
                   .simulation = &world});
  world.run_for(10s);
  EXPECT_EQ(pool.worker_count(), 2U);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1U), 1);
}

TEST(Autoscaling, TheDetectedNumberIsKeptWithinItsLimits) {
  EXPECT_EQ(
      ThreadPool({.scaling = ScalingOptions{.min_workers = 7, .max_workers = 7}}).worker_count(),
      7U);
  EXPECT_EQ(ThreadPool({.scaling = ScalingOptions{.max_workers = 1}}).worker_count(), 1U);
  EXPECT_EQ(ThreadPool({.max_workers = 1}).worker_count(), 1U);
}

TEST(Autoscaling, EveryBadFieldIsNamedAtOnce) {
  ScalingOptions scaling{.policy = ScalingPolicy::predictive, .min_workers = 5, .max_workers = 4};
  scaling.check_every = 0s;
  scaling.scale_up_cooldown = -1s;
  const std::vector<BadField> bad = validate(ThreadPoolOptions{.workers = 9,
                                                               .scaling = scaling,
                                                               .max_workers = 3,
                                                               .warm_up = {.at_least = -1ns},
                                                               .timing = Timing::off});
  std::vector<std::string> fields;
  for (const BadField& each : bad) fields.push_back(each.field);
  std::sort(fields.begin(), fields.end());
  EXPECT_EQ(fields, (std::vector<std::string>{"max_workers", "max_workers", "scaling.check_every",
                                              "scaling.min_workers", "scaling.scale_up_cooldown",
                                              "timing", "warm_up.at_least", "workers"}));
  EXPECT_TRUE(validate(ThreadPoolOptions{.workers = 4, .scaling = ScalingOptions{}}).empty());
  EXPECT_EQ(validate(ThreadPoolOptions{.max_workers = 1025}).size(), 1U);
}

// On threads. All workers are busy when it is decided.
TEST(AutoscalingOnThreads, AddsWorkersWhileAllAreBusy) {
  std::atomic<int> begun = 0;
  ThreadPool pool(
      {.workers = 1,
       .scaling = ScalingOptions{.max_workers = 4, .check_every = 1ms, .scale_up_cooldown = 0s}});
  for (int i = 0; i < 10; ++i) {
    pool.post([&] {  // held until four are
      ++begun;
      begun.notify_all();
      for (int seen = begun; seen < 4; seen = begun) begun.wait(seen);
    });
  }
  pool.wait_idle();
  EXPECT_EQ(pool.stats().completed, 10U);
}

TEST(AutoscalingOnThreads, RemovesWorkersThatIdle) {
  ScalingOptions scaling{.max_workers = 4, .check_every = 1ms, .scale_down_cooldown = 0s};
  scaling.ratio.scale_down_idle_timeout = 1ms;
  for (const Queueing queueing : {Queueing::stealing, Queueing::global}) {
    ThreadPool pool({.workers = 4, .scaling = scaling, .queueing = queueing});
    while (pool.stats().total_workers != 1) std::this_thread::yield();
    EXPECT_EQ(pool.run([] { return 5; }), 5);
  }
}

TEST(AutoscalingOnThreads, AStopMayComeAtAnyTime) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran = 0;
    int turn = 0;
    ScalingOptions scaling = custom([&](const ScalingInput&) { return ++turn % 2 == 0 ? 3 : -3; });
    scaling.check_every = 10us;
    ThreadPool pool({.workers = 4, .scaling = scaling});
    for (int i = 0; i < 100 * (round % 4); ++i) pool.post([&] { ++ran; });
    pool.stop();
    EXPECT_EQ(ran, 100 * (round % 4));
  }
}

}  // namespace
}  // namespace muster
