// choice_test.cpp: what a load costs, how many workers are looked at, and how well that balances.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/policy/choice.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Loads = std::vector<WorkerLoad>;
using Picks = std::vector<std::size_t>;

// Chooses among made-up loads and counts how many were looked at.
class Chooser {
 public:
  Chooser(BuiltIn strategy, Loads workers) : loads(std::move(workers)), strategy_(strategy) {}

  std::size_t choose(std::optional<std::size_t> idle_hint = std::nullopt) {
    looks = 0;
    return muster::choose(
        strategy_, loads.size(), turn, random,
        [this](std::size_t worker) {
          ++looks;
          return loads.at(worker);
        },
        idle_hint);
  }

  Picks choose_times(std::size_t times) {
    Picks picks;
    for (std::size_t i = 0; i < times; ++i) picks.push_back(choose());
    return picks;
  }

  // Places a task; returns where.
  std::size_t place(std::optional<std::size_t> idle_hint = std::nullopt) {
    const std::size_t worker = choose(idle_hint);
    ++loads[worker].pending;
    loads[worker].idle = false;
    return worker;
  }

  Loads loads;
  Rotation turn;
  Random random = testing::seeded();
  std::size_t looks = 0;

 private:
  const BuiltIn strategy_;
};

Loads with_pending(const std::vector<std::uint32_t>& pending) {
  Loads loads(pending.size());
  for (std::size_t i = 0; i < pending.size(); ++i) {
    loads[i].pending = pending[i];
    loads[i].idle = pending[i] == 0;
  }
  return loads;
}

constexpr BuiltIn kByLoad[] = {BuiltIn::least_used, BuiltIn::least_busy, BuiltIn::least_elu,
                               BuiltIn::fair_share};

TEST(Cost, IsThatOfTheTable) {
  struct Row {
    BuiltIn strategy;
    WorkerLoad load;
    double expected;
  };
  const Row rows[] = {
      {BuiltIn::round_robin, {.pending = 3, .idle = true}, 0},
      {BuiltIn::round_robin, {.pending = 0, .idle = false}, 1},
      {BuiltIn::least_busy, {}, 0},
      {BuiltIn::least_busy, {.pending = 3, .idle = false, .used = 9, .consumed = 1s}, 3},
      {BuiltIn::least_used, {}, 0},
      {BuiltIn::least_used, {.pending = 3, .used = 2.5, .utilisation = 1}, 5.5},
      {BuiltIn::least_elu, {}, 0},
      {BuiltIn::least_elu, {.utilisation = 0.5F}, 1},
      {BuiltIn::least_elu, {.pending = 1, .utilisation = 0.5F}, 3},
      {BuiltIn::least_elu, {.pending = 3}, 3},
      {BuiltIn::least_elu, {.utilisation = 1}, 1023},
      {BuiltIn::least_elu, {.pending = 1, .utilisation = 1}, 2047},
      {BuiltIn::fair_share, {}, 0},
      {BuiltIn::fair_share, {.consumed = 70ns, .average = 10ns}, 70},
      {BuiltIn::fair_share, {.pending = 2, .idle = true, .consumed = 70ns, .average = 10ns}, 90},
      {BuiltIn::fair_share, {.pending = 2, .idle = false, .consumed = 70ns, .average = 10ns}, 100},
      {BuiltIn::fair_share, {.pending = 2, .idle = false}, 3},
      {BuiltIn::fair_share,
       {.pending = 5, .idle = false, .average = 10ns, .estimated = 2, .estimates = 70ns},
       110},
      {BuiltIn::fair_share, {.pending = 1, .estimated = 2, .estimates = 70ns}, 70},
      {BuiltIn::least_elu,
       {.pending = 5, .average = 10ns, .estimated = 2, .estimates = 70ns, .utilisation = 0.5F},
       21},
      {BuiltIn::least_busy, {.pending = 5, .estimated = 2, .estimates = 70ns}, 5},
      {BuiltIn::weighted_round_robin, {.pending = 3, .idle = false}, 0},
      {BuiltIn::interleaved_weighted, {.pending = 3, .idle = false}, 0},
  };
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(cost(row.strategy, row.load), row.expected)
        << to_string(row.strategy) << " pending " << row.load.pending;
  }
}

TEST(Cost, EachPendingTaskMakesAWorkerDearer) {
  for (const BuiltIn strategy : kByLoad) {
    WorkerLoad load{.idle = false, .used = 3, .consumed = 5ms, .utilisation = 1};
    for (int i = 0; i < 100; ++i) {
      const double before = cost(strategy, load);
      ++load.pending;
      EXPECT_GT(cost(strategy, load), before) << to_string(strategy);
    }
  }
}

TEST(StartingLoad, IsTheLeastOfTheOthersWithNothingPending) {
  const Loads others{
      {.pending = 5, .idle = false, .used = 9, .consumed = 3ms, .utilisation = 0.5F},
      {.pending = 7, .idle = false, .used = 8, .consumed = 4ms, .utilisation = 0.7F},
      {.pending = 9, .idle = false, .used = 10, .consumed = 5ms, .utilisation = 0.9F}};
  const WorkerLoad load = starting_load(others);
  EXPECT_EQ(load.pending, 0U);
  EXPECT_TRUE(load.idle);
  EXPECT_EQ(load.used, 8);
  EXPECT_EQ(load.consumed, 3ms);
  EXPECT_EQ(load.utilisation, 0.5F);
}

TEST(StartingLoad, IsNothingForTheFirst) {
  const WorkerLoad load = starting_load({});
  EXPECT_EQ(load.used, 0);
  EXPECT_EQ(load.consumed, 0ms);
}

TEST(UsualTime, IsTheMeanOfTheEstimatesIfNothingElseIsKnown) {
  Loads loads{{.estimated = 1, .estimates = 2ms}, {}, {.estimated = 2, .estimates = 7ms}};
  EXPECT_EQ(usual_time(loads), 3ms);
  loads[1].average = 1ms;
  EXPECT_EQ(usual_time(loads), 1ms);
}

TEST(UsualTime, IsTheMeanOfWhatIsKnown) {
  EXPECT_EQ(usual_time({}), 0ms);
  EXPECT_EQ(usual_time(Loads(2)), 0ms);
  EXPECT_EQ(usual_time(Loads{{.average = 2ms}, {}, {.average = 4ms}}), 3ms);
}

TEST(Choose, EqualsComeInTurn) {
  for (const BuiltIn strategy : kBuiltIns) {
    Chooser chooser(strategy, Loads(3));
    EXPECT_EQ(chooser.choose_times(7), (Picks{0, 1, 2, 0, 1, 2, 0})) << to_string(strategy);
  }
}

TEST(Choose, EqualsComeInTurnAlsoIfOthersStandBetweenThem) {
  Chooser chooser(BuiltIn::least_busy, with_pending({1, 5, 1, 1}));
  EXPECT_EQ(chooser.choose_times(5), (Picks{0, 2, 3, 0, 2}));
}

TEST(Choose, TheBestOfSixteenIsAlwaysFound) {
  Random random = testing::seeded();
  for (int i = 0; i < 1000; ++i) {
    Loads loads(1 + random.below(kLookAtAll));
    for (WorkerLoad& load : loads) {
      load = {.pending = static_cast<std::uint32_t>(random.below(9)),
              .idle = random.chance(0.3),
              .used = 10 * random.real(),
              .consumed = Duration(random.below(1000)),
              .average = Duration(random.below(100)),
              .utilisation = static_cast<float>(random.real())};
    }
    for (const BuiltIn strategy : kBuiltIns) {
      Chooser chooser(strategy, loads);
      chooser.turn.next = random.below(20);
      const std::size_t picked = chooser.choose();
      ASSERT_LT(picked, loads.size());
      for (const WorkerLoad& load : loads) {
        ASSERT_LE(cost(strategy, loads[picked]), cost(strategy, load)) << to_string(strategy);
      }
    }
  }
}

TEST(Choose, LooksNoFurtherThanAtAWorkerThatCannotBeBeaten) {
  for (const BuiltIn strategy : {BuiltIn::round_robin, BuiltIn::least_busy, BuiltIn::least_elu}) {
    Chooser few(strategy, with_pending({1, 1, 0, 1, 1, 0, 1}));
    EXPECT_EQ(few.choose(), 2U);
    EXPECT_EQ(few.looks, 3U) << to_string(strategy);
    Chooser many(strategy, Loads(500));
    many.choose();
    EXPECT_EQ(many.looks, 1U) << to_string(strategy);
  }
}

TEST(Choose, LooksAtEightOfManyAndTheHint) {
  for (const BuiltIn strategy : kByLoad) {
    for (const std::size_t workers : {17UL, 64UL, 512UL, 100'000UL}) {
      Chooser chooser(strategy, with_pending(std::vector<std::uint32_t>(workers, 1)));
      chooser.choose();
      EXPECT_EQ(chooser.looks, kLooks);
      chooser.choose(3);
      EXPECT_EQ(chooser.looks, kLooks + 1);
    }
  }
}

TEST(Choose, TheWeightedOnesTakeTurnsWithoutLooking) {
  for (const BuiltIn strategy : {BuiltIn::weighted_round_robin, BuiltIn::interleaved_weighted}) {
    Chooser chooser(strategy, with_pending({1, 0, 1}));
    EXPECT_EQ(chooser.choose_times(4), (Picks{0, 1, 2, 0}));
    EXPECT_EQ(chooser.looks, 0U);
  }
}

TEST(Choose, AnIdleHintIsTaken) {
  Loads loads = with_pending(std::vector<std::uint32_t>(100, 1));
  loads[77] = {};
  for (const BuiltIn strategy : {BuiltIn::round_robin, BuiltIn::least_used, BuiltIn::least_busy,
                                 BuiltIn::least_elu, BuiltIn::fair_share}) {
    Chooser chooser(strategy, loads);
    EXPECT_EQ(chooser.choose(77), 77U) << to_string(strategy);
  }
}

TEST(Choose, AWrongHintDoesNoHarm) {
  Loads loads = with_pending(std::vector<std::uint32_t>(100, 1));
  loads[77].pending = 1000;
  for (const BuiltIn strategy : kBuiltIns) {
    Chooser chooser(strategy, loads);
    EXPECT_NE(chooser.choose(77), 77U) << to_string(strategy);
    EXPECT_LT(chooser.choose(100), 100U);
    EXPECT_LT(chooser.choose(static_cast<std::size_t>(-1)), 100U);
  }
}

TEST(Choose, AWorkerThatLeftIsNotPickedThoughItWasNext) {
  for (const BuiltIn strategy : kBuiltIns) {
    for (const std::size_t workers : {1UL, 5UL, 40UL}) {
      Chooser chooser(strategy, Loads(workers));
      chooser.turn.next = 400;
      EXPECT_LT(chooser.choose(), workers) << to_string(strategy);
    }
  }
}

TEST(Choose, RoundRobinKeepsToItsTurnsAmongMany) {
  Chooser chooser(BuiltIn::round_robin, Loads(40));
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(chooser.choose(), i % 40);
}

TEST(Choose, RoundRobinGoesRoundAmongManyBusyOnes) {
  Chooser chooser(BuiltIn::round_robin, with_pending(std::vector<std::uint32_t>(40, 1)));
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(chooser.choose(), i % 40);
}

TEST(Choose, RoundRobinFindsAnIdleWorkerNearby) {
  std::vector<std::uint32_t> pending(40, 1);
  pending[7] = 0;
  Chooser chooser(BuiltIn::round_robin, with_pending(pending));
  EXPECT_EQ(chooser.choose(), 7U);
  EXPECT_EQ(chooser.choose(), 8U) << "none idle among the next eight";
}

TEST(Choose, ABurstSpreadsOverFewAndMany) {
  for (const BuiltIn strategy : kBuiltIns) {
    for (const std::size_t workers : {8UL, 64UL, 512UL}) {
      Chooser chooser(strategy, Loads(workers));
      constexpr std::uint32_t kEach = 20;
      for (std::size_t i = 0; i < kEach * workers; ++i) chooser.place();
      for (const WorkerLoad& load : chooser.loads) {
        EXPECT_LE(load.pending, kEach + 3) << to_string(strategy) << ", " << workers;
      }
    }
  }
}

TEST(Choose, ABurstSpreadsAlsoAfterAnUnevenPast) {
  for (const BuiltIn strategy : kByLoad) {
    Loads loads(16, WorkerLoad{.used = 3, .consumed = 3ms, .average = 1ms, .utilisation = 0.2F});
    loads[5] = {.used = 0, .consumed = 0ms, .average = 1ms, .utilisation = 0};
    Chooser chooser(strategy, loads);
    for (std::size_t i = 0; i < 160; ++i) chooser.place();
    EXPECT_GE(chooser.loads[5].pending, 10U) << to_string(strategy);
    EXPECT_LE(chooser.loads[5].pending, 14U) << to_string(strategy);
  }
}

TEST(Choose, AllOfManyWorkersAreReached) {
  for (const BuiltIn strategy : kBuiltIns) {
    Chooser chooser(strategy, Loads(100));
    std::set<std::size_t> reached;
    for (int i = 0; i < 300; ++i) reached.insert(chooser.place());
    EXPECT_EQ(reached.size(), 100U) << to_string(strategy);
  }
}

TEST(Choose, AScheduleIsFollowedFromWhereverTheTurnIs) {
  const WeightedSchedule schedule(TurnOrder::in_runs, std::vector<double>{2, 1});
  Rotation turn{.next = 2};
  EXPECT_EQ(choose(schedule, turn), 1U);
  EXPECT_EQ(choose(schedule, turn), 0U);
  turn.next = 1000;
  EXPECT_LT(choose(schedule, turn), 2U);
}

}  // namespace
}  // namespace muster
