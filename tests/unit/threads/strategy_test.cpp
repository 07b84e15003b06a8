// strategy_test.cpp: which worker of a ThreadPool gets a task from outside.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
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

void nothing() {}

void post(ThreadPool& pool, int tasks) {
  for (int i = 0; i < tasks; ++i) pool.post(nothing);
}

// Spends this time at work.
void burn(Duration time) {
  const Time until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

std::shared_ptr<Strategy> always(std::size_t worker) {
  return strategy_from("always", [worker](std::span<const WorkerInfo>, const TaskInfo&) {
    return std::optional(worker);
  });
}

// One after the other, so that none is pending when the next is placed.
void post_singly(ThreadPool& pool, int tasks) {
  for (int i = 0; i < tasks; ++i) {
    pool.post(nothing);
    pool.wait_idle();
  }
}

// Nobody steals, so what was placed stays where it is.
ThreadPoolOptions placing(unsigned workers, StrategyChoice strategy = BuiltIn::least_busy) {
  ThreadPoolOptions options{.workers = workers, .strategy = std::move(strategy)};
  options.stealing.enabled = false;
  return options;
}

TEST(PoolStrategy, IsLeastBusyUnlessTold) {
  ThreadPool pool({.workers = 1});
  EXPECT_EQ(pool.strategy(), "least-busy");
}

TEST(PoolStrategy, LeastBusyFillsUpTheShortestQueue) {
  HeldWorkers held(placing(3));
  held.pool().set_strategy(always(1));
  post(held.pool(), 10);
  EXPECT_EQ(held.queued(), (Queued{0, 10, 0}));
  held.pool().set_strategy(BuiltIn::least_busy);
  post(held.pool(), 14);
  EXPECT_EQ(held.queued(), (Queued{7, 10, 7}));
  post(held.pool(), 12);
  EXPECT_EQ(held.queued(), (Queued{12, 12, 12}));
}

TEST(PoolStrategy, RoundRobinTakesTurnsWhateverWaits) {
  HeldWorkers held(placing(3));
  held.pool().set_strategy(always(1));
  post(held.pool(), 10);
  held.pool().set_strategy("round-robin");
  post(held.pool(), 12);
  EXPECT_EQ(held.queued(), (Queued{4, 14, 4}));
}

TEST(PoolStrategy, RoundRobinPrefersTheIdle) {
  HeldWorkers held(placing(3, BuiltIn::round_robin));
  held.free(2);
  for (int i = 0; i < 10; ++i) {
    held.wait_until_asleep(1);
    held.pool().post(nothing);
  }
  held.wait_until_asleep(1);
  EXPECT_EQ(held.queued(), (Queued{0, 0, 0}));
}

TEST(PoolStrategy, LeastUsedTurnsToThoseWhoHaveDoneLess) {
  ThreadPool pool(placing(2, always(0)));
  for (int i = 0; i < 10; ++i) {  // so many that a slow machine does not forget them too soon
    post(pool, 1000);
    pool.wait_idle();
  }
  pool.set_strategy(BuiltIn::least_used);
  post_singly(pool, 20);
  EXPECT_EQ(pool.stats().workers.at(1).completed, 20U);
}

TEST(PoolStrategy, FairShareTurnsToThoseWhoHaveWorkedLess) {
  ThreadPool pool(placing(2, always(0)));
  pool.post([] { burn(60ms); });
  pool.wait_idle();
  pool.set_strategy(BuiltIn::fair_share);
  post_singly(pool, 20);
  EXPECT_EQ(pool.stats().workers.at(1).completed, 20U);
}

TEST(PoolStrategy, LeastEluTurnsToThoseWhoHaveBeenBusyLess) {
  ThreadPool pool(placing(2, always(0)));
  for (int i = 0; i < 4; ++i) pool.submit([] { burn(15ms); }).get();
  pool.wait_idle();
  pool.set_strategy(BuiltIn::least_elu);
  post_singly(pool, 20);
  EXPECT_EQ(pool.stats().workers.at(1).completed, 20U);
}

// A task that runs counts before it ends.
TEST(PoolStrategy, LeastEluSeesHowLongARunningTaskHasRun) {
  ThreadPoolOptions options = placing(2, BuiltIn::least_elu);
  options.timing = Timing::full;
  HeldWorkers held(options);
  held.free(1);
  burn(50ms);
  for (int i = 0; i < 20; ++i) {
    held.wait_until_asleep(1);
    held.pool().post(nothing);
  }
  held.wait_until_asleep(1);
  EXPECT_EQ(held.queued(), (Queued{0, 0}));
}

TEST(PoolStrategy, WeightedOnesShareByTheWeightsGiven) {
  for (const BuiltIn strategy : {BuiltIn::weighted_round_robin, BuiltIn::interleaved_weighted}) {
    ThreadPoolOptions options = placing(3);
    options.weights = {3, 1, 0.5};
    HeldWorkers held(options);
    held.pool().set_strategy(strategy);
    post(held.pool(), 90);
    EXPECT_EQ(held.queued(), (Queued{60, 20, 10})) << to_string(strategy);
    const PoolSnapshot snapshot = held.pool().snapshot();
    EXPECT_EQ(snapshot.workers.at(0).weight, 3);
    EXPECT_EQ(snapshot.workers.at(2).weight, 0.5);
  }
}

TEST(PoolStrategy, InterleavedTurnsAreSpreadOut) {
  const auto longest_run = [](BuiltIn strategy) {
    ThreadPoolOptions options = placing(3);
    options.weights = {3, 3, 1};
    std::vector<unsigned> order;
    HeldWorkers held(options);
    held.pool().set_strategy(strategy);
    held.free_all();
    held.wait_until_asleep(3);
    for (int i = 0; i < 21; ++i) {
      held.pool().submit([&] { order.push_back(HeldWorkers::here()); }).get();
    }
    int longest = 0;
    int run = 0;
    for (const unsigned worker : order) {
      run = worker == 0 ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    return longest;
  };
  EXPECT_EQ(longest_run(BuiltIn::weighted_round_robin), 3);
  EXPECT_EQ(longest_run(BuiltIn::interleaved_weighted), 1);
}

TEST(PoolStrategy, MeasuredWeightsFollowTheSpeedOfRecentWork) {
  ThreadPool pool(placing(2, strategy_from("by name", [](auto, const TaskInfo& task) {
                            return std::optional<std::size_t>(task.name == "slow" ? 1 : 0);
                          })));
  for (int i = 0; i < 12; ++i) {
    pool.submit({.name = "slow"}, [] { burn(20ms); }).get();
    pool.submit({.name = "quick"}, nothing).get();
  }
  pool.wait_idle();
  pool.reset_stats();
  pool.set_strategy(BuiltIn::weighted_round_robin);
  post_singly(pool, 110);
  const ThreadPoolStats stats = pool.stats();
  EXPECT_GT(stats.workers[0].completed, 3 * stats.workers[1].completed);
}

// Remembers what it was told, and chooses as it is told.
class Witness : public Strategy {
 public:
  std::string_view name() const override { return "witness"; }
  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& task) override {
    infos.assign(workers.begin(), workers.end());
    task_name = task.name;
    key = task.affinity.value_or("");
    tasks.push_back(task);
    if (on_select) on_select();
    return answer ? std::optional(Selection{*answer, "because"}) : std::nullopt;
  }
  void on_task_complete(std::size_t worker, Duration duration) override {
    ended[worker].push_back(duration);
    ++ended_count;
  }
  void reset() override { ++resets; }

  std::optional<std::size_t> answer = 0;
  std::function<void()> on_select;
  std::vector<WorkerInfo> infos;
  std::vector<TaskInfo> tasks;
  std::string task_name;
  std::string key;
  std::map<std::size_t, std::vector<Duration>> ended;
  std::atomic<int> ended_count = 0;
  int resets = 0;
};

TEST(PoolStrategy, YoursSeesTheWorkersAndTheTask) {
  const auto witness = std::make_shared<Witness>();
  HeldWorkers held(placing(2));
  held.pool().set_strategy(witness);
  EXPECT_EQ(witness->resets, 1);
  post(held.pool(), 3);
  held.pool().post({.name = "resize", .estimated_duration = 7ms}, nothing);
  EXPECT_EQ(held.queued(), (Queued{4, 0}));
  ASSERT_EQ(witness->infos.size(), 2U);
  EXPECT_EQ(witness->infos[0].queued, 3U);
  EXPECT_EQ(witness->infos[0].active, 1U);
  EXPECT_EQ(witness->infos[0].state, WorkerState::busy);
  EXPECT_EQ(witness->infos[1].id, 1U);
  EXPECT_EQ(witness->task_name, "resize");
  EXPECT_EQ(witness->tasks.back().estimated_duration, 7ms);
  EXPECT_EQ(witness->tasks.back().id, witness->tasks.front().id + 3);
}

TEST(PoolStrategy, YoursIsAskedForTasksWhoseKeySaysOnlyWhereTheyWaitAtFirst) {
  const auto witness = std::make_shared<Witness>();
  HeldWorkers held(placing(2));
  held.pool().set_strategy(witness);
  const unsigned home = held.pool().workers_for("user 1", 1).front();
  witness->answer = 1 - home;
  const TaskOptions loose{
      .priority = 3, .affinity = "user 1", .affinity_class = AffinityClass::none};
  held.pool().post(loose, nothing);
  ASSERT_EQ(witness->tasks.size(), 1U);
  EXPECT_EQ(witness->tasks[0].priority, 3);
  EXPECT_EQ(witness->key, "user 1");
  EXPECT_EQ(held.queued()[1 - home], 1U);

  witness->answer.reset();  // then the key decides
  held.pool().post(loose, nothing);
  EXPECT_EQ(held.queued()[home], 1U);
  EXPECT_EQ(held.pool().stats().strategy_fallbacks, 1U);

  held.pool().post({.affinity = "user 1"}, nothing);
  EXPECT_EQ(held.queued()[home], 2U);
  EXPECT_EQ(witness->tasks.size(), 2U) << "not asked for one that belongs to its worker";
}

TEST(PoolStrategy, YoursIsToldOfEachTaskThatEnds) {
  const auto witness = std::make_shared<Witness>();
  witness->answer = 1;
  ThreadPool pool(placing(2, witness));
  pool.post([] { burn(3ms); });
  post(pool, 99);
  pool.stop();
  ASSERT_EQ(witness->ended_count, 100);
  ASSERT_EQ(witness->ended[1].size(), 100U);
  EXPECT_GE(witness->ended[1].front(), 3ms);
  EXPECT_EQ(pool.stats().strategy_fallbacks, 0U);
}

TEST(PoolStrategy, IfYoursHasNoUsableAnswerThePoolChoosesAndCountsIt) {
  const auto witness = std::make_shared<Witness>();
  HeldWorkers held(placing(2));
  held.pool().set_strategy(witness);
  witness->answer = std::nullopt;
  post(held.pool(), 4);
  EXPECT_EQ(held.queued(), (Queued{2, 2}));
  witness->answer = 2;  // there is none
  post(held.pool(), 4);
  witness->on_select = [] { throw std::runtime_error("no idea"); };
  post(held.pool(), 4);
  witness->on_select = [] { throw 1; };
  post(held.pool(), 4);
  EXPECT_EQ(held.queued(), (Queued{8, 8}));
  EXPECT_EQ(held.pool().stats().strategy_fallbacks, 16U);
  held.pool().reset_stats();
  EXPECT_EQ(held.pool().stats().strategy_fallbacks, 0U);
}

TEST(PoolStrategy, YoursMayPostToItsOwnPool) {
  const auto witness = std::make_shared<Witness>();
  std::atomic<int> runs = 0;
  ThreadPool pool(placing(2, witness));
  witness->on_select = [&] { pool.post([&] { ++runs; }); };
  pool.post([&] { ++runs; });
  pool.wait_idle();
  EXPECT_EQ(runs, 2);
}

TEST(PoolStrategy, YoursMayNotChangeTheStrategyWhileItIsAsked) {
  const auto witness = std::make_shared<Witness>();
  bool refused = false;
  ThreadPool pool(placing(2, witness));
  witness->on_select = [&] {
    try {
      pool.set_strategy(BuiltIn::round_robin);
    } catch (const WouldDeadlock&) {
      refused = true;
    }
  };
  pool.submit(nothing).get();
  EXPECT_TRUE(refused);
}

TEST(PoolStrategy, YoursMayNotWaitForItsPoolWhileItIsAsked) {
  const auto witness = std::make_shared<Witness>();
  ThreadPool pool(placing(2, witness));
  witness->on_select = [&] {
    EXPECT_THROW(pool.stop(), WouldDeadlock);
    EXPECT_THROW(pool.wait_idle(), WouldDeadlock);
  };
  pool.submit(nothing).get();
  EXPECT_EQ(pool.stats().strategy_fallbacks, 0U);
}

// Each posts to the other's pool.
TEST(PoolStrategy, YoursMayPostToAPoolWhoseStrategyPostsToItsOwn) {
  const auto one = std::make_shared<Witness>();
  const auto other = std::make_shared<Witness>();
  ThreadPool first(placing(1, one));
  ThreadPool second(placing(1, other));
  one->on_select = [&] { second.post(nothing); };
  other->on_select = [&] { first.post(nothing); };
  first.post(nothing);
  first.wait_idle();
  second.wait_idle();
  EXPECT_EQ(first.stats().completed, 2U);
  EXPECT_EQ(second.stats().completed, 1U);
}

TEST(PoolStrategy, IsFoundByItsRegisteredName) {
  static const bool is_registered = [] {  // for good, also if the test is repeated
    register_strategy("last", [] {
      return strategy_from("last", [](std::span<const WorkerInfo> workers, const TaskInfo&) {
        return std::optional(workers.size() - 1);
      });
    });
    return true;
  }();
  ASSERT_TRUE(is_registered);
  HeldWorkers held(placing(3));
  held.pool().set_strategy("last");
  EXPECT_EQ(held.pool().strategy(), "last");
  post(held.pool(), 5);
  EXPECT_EQ(held.queued(), (Queued{0, 0, 5}));
}

TEST(PoolStrategy, AChangeIsNoticed) {
  ThreadPool pool({.workers = 1});
  NoticeStream notices = pool.notices();
  pool.set_strategy(BuiltIn::fair_share);
  const std::optional<Notice> notice = notices.try_next();
  ASSERT_TRUE(notice);
  EXPECT_EQ(std::get<StrategyChanged>(notice->news),
            (StrategyChanged{.from = "least-busy", .to = "fair-share"}));
}

TEST(PoolStrategy, InASimulationTheSeedDecidesBetweenEquals) {
  const auto placed = [](std::uint64_t seed) {
    Simulation world(seed);
    ThreadPoolOptions options = placing(3);
    options.simulation = &world;
    ThreadPool pool(options);
    post(pool, 30);
    Queued queued;
    for (const auto& each : pool.stats().workers) queued.push_back(each.queued);
    return queued;
  };
  EXPECT_EQ(placed(1), (Queued{10, 10, 10}));
  EXPECT_EQ(placed(1), placed(1));
}

TEST(PoolStrategy, MoreWorkersThanItLooksAtAllGetTasks) {
  HeldWorkers held(placing(40));
  post(held.pool(), 4000);
  const Queued queued = held.queued();
  EXPECT_GT(*std::min_element(queued.begin(), queued.end()), 60U);
  EXPECT_LT(*std::max_element(queued.begin(), queued.end()), 140U);
}

TEST(PoolStrategy, BadChoicesAreNamedTogether) {
  ThreadPoolOptions options;
  options.strategy = "fastest";
  options.weights = {1, 0};
  try {
    ThreadPool pool(options);
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) {
    ASSERT_EQ(error.bad_fields().size(), 2U);
    EXPECT_EQ(error.bad_fields()[0].field, "strategy");
    EXPECT_EQ(error.bad_fields()[1].field, "weights[1]");
  }
  ThreadPool pool({.workers = 1, .timing = Timing::off});
  EXPECT_THROW(pool.set_strategy(std::shared_ptr<Strategy>()), InvalidArgument);
  EXPECT_THROW(pool.set_strategy(BuiltIn::fair_share), InvalidArgument);
  EXPECT_THROW(pool.set_strategy(BuiltIn::least_elu), InvalidArgument);
  EXPECT_THROW(pool.set_strategy(BuiltIn::interleaved_weighted), InvalidArgument);
  EXPECT_EQ(pool.strategy(), "least-busy");
  EXPECT_THROW(ThreadPool({.queueing = Queueing::global, .strategy = BuiltIn::least_used}),
               InvalidArgument);
}

}  // namespace
}  // namespace muster
