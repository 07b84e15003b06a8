// burst_test.cpp: how long bursts take that are placed before any of their tasks has begun, if
// nobody steals.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/policy/choice.hpp>
#include <muster/policy/recent_work.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWorkers = 8;
constexpr int kBurst = 200;
constexpr int kBursts = 20;

// Workers in numbers only: each runs its tasks one after the other, and the next burst comes when
// all are done.
class Bursts {
 public:
  explicit Bursts(BuiltIn strategy) : strategy_(strategy) {}

  // How long one takes on average. `task_time` of a random task.
  Duration run(Random random, const std::function<Duration(Random&)>& task_time) {
    Duration sum{};
    for (int i = 0; i < kBursts; ++i) {
      const Duration took = run_one(random, task_time);
      now_ += took;
      sum += took;
    }
    return sum / kBursts;
  }

 private:
  Duration run_one(Random& random, const std::function<Duration(Random&)>& task_time) {
    recent_.update(now_, totals_);
    std::vector<WorkerLoad> loads;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      loads.push_back(recent_.load(i));
      loads.back().average = averages_[i];
    }
    share_average(loads);
    std::vector<Duration> ends(kWorkers);
    for (int i = 0; i < kBurst; ++i) {
      const auto load_of = [&](std::size_t each) { return loads[each]; };
      const std::size_t worker = choose(strategy_, kWorkers, turn_, random_, load_of);
      ++loads[worker].pending;
      loads[worker].idle = false;
      const Duration time = task_time(random);
      ends[worker] += time;
      ++totals_[worker].done;
      totals_[worker].busy += time;
      Duration& average = averages_[worker];
      average = average == Duration::zero() ? time : average + (time - average) / 16;
    }
    return *std::max_element(ends.begin(), ends.end());
  }

  const BuiltIn strategy_;
  Time now_ = Time{} + 1h;
  RecentWork recent_;
  Rotation turn_;
  Random random_{1};
  std::vector<RecentWork::Totals> totals_ = std::vector<RecentWork::Totals>(kWorkers);
  std::vector<Duration> averages_ = std::vector<Duration>(kWorkers);
};

// Of several runs.
double times_round_robin(BuiltIn strategy, const std::function<Duration(Random&)>& task_time) {
  Random random = testing::seeded();
  Duration sum{};
  Duration round_robin{};
  for (int i = 0; i < 6; ++i) {
    const Random tasks = random.split();
    sum += Bursts(strategy).run(tasks, task_time);
    round_robin += Bursts(BuiltIn::round_robin).run(tasks, task_time);
  }
  return static_cast<double>(sum.count()) / static_cast<double>(round_robin.count());
}

constexpr BuiltIn kByTime[] = {BuiltIn::least_elu, BuiltIn::fair_share};

TEST(Bursts, OfEqualTasksTakeNoLongerThanInTurn) {
  for (const BuiltIn strategy : kByTime) {
    EXPECT_LE(times_round_robin(strategy, [](Random&) { return 1ms; }), 1) << to_string(strategy);
  }
}

TEST(Bursts, OfTasksThatAreAlikeTakeHardlyLongerThanInTurn) {
  const auto alike = [](Random& random) { return Duration(800'000 + random.below(400'000)); };
  EXPECT_LE(times_round_robin(BuiltIn::fair_share, alike), 1.05);
  // Bursts leave no pause, and next to full utilisation a small difference weighs much.
  EXPECT_LE(times_round_robin(BuiltIn::least_elu, alike), 1.2);
}

// From 0.1 to 10 ms, with a heavy tail. What workers did before differs by chance, and to make up
// for that costs something; but how long their tasks took says nothing about the next ones.
TEST(Bursts, OfUnlikeTasksTakeLittleLongerThanInTurn) {
  const auto heavy_tailed = [](Random& random) {
    const double root = 1 - 0.9 * random.real();
    return Duration(static_cast<Duration::rep>(100'000 / (root * root)));
  };
  for (const BuiltIn strategy : kByTime) {
    EXPECT_LE(times_round_robin(strategy, heavy_tailed), 1.2) << to_string(strategy);
  }
}

TEST(Bursts, AreSpreadEvenlyHoweverLongTheLastTasksOfWorkersTook) {
  Random random = testing::seeded();
  for (int i = 0; i < 100; ++i) {
    std::vector<WorkerLoad> loads(kWorkers, WorkerLoad{.consumed = 10ms, .utilisation = 0.5F});
    for (WorkerLoad& load : loads) load.average = Duration(random.below(10'000'000));
    share_average(loads);
    Rotation turn;
    for (int task = 0; task < kBurst; ++task) {
      const auto load_of = [&](std::size_t each) { return loads[each]; };
      WorkerLoad& chosen = loads[choose(BuiltIn::fair_share, kWorkers, turn, random, load_of)];
      ++chosen.pending;
      chosen.idle = false;
    }
    for (const WorkerLoad& load : loads) ASSERT_EQ(load.pending, kBurst / kWorkers);
  }
}

}  // namespace
}  // namespace muster
