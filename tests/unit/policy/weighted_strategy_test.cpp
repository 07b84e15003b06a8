// weighted_strategy_test.cpp: turns by weight, from the strategies and from their schedules.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/policy/choice.hpp>
#include <muster/policy/weights.hpp>
#include <muster/strategy.hpp>

#include "unit/policy/fake_crew.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::FakeCrew;

FakeCrew crew_with(const std::vector<double>& weights) {
  FakeCrew crew(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) crew[i].weight = weights[i];
  return crew;
}

// "aab" means worker 0, worker 0, worker 1.
std::string turns(Strategy& strategy, FakeCrew& crew, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t worker = strategy.select(crew.workers(), {}).value().worker;
    text += static_cast<char>('a' + static_cast<int>(worker));
  }
  return text;
}

std::vector<double> whole_weights(Random& random) {
  std::vector<double> weights(1 + random.below(16));
  for (double& weight : weights) weight = static_cast<double>(1 + random.below(12));
  return weights;
}

TEST(WeightedRoundRobin, RunsFollowTheWeights) {
  const auto strategy = make_strategy(BuiltIn::weighted_round_robin);
  FakeCrew crew = crew_with({2, 1, 3});
  EXPECT_EQ(turns(*strategy, crew, 12), "aabcccaabccc");
}

TEST(WeightedRoundRobin, ALoadDoesNotMatter) {
  const auto strategy = make_strategy(BuiltIn::weighted_round_robin);
  FakeCrew crew = crew_with({2, 1});
  crew[0].queued = 1000;
  EXPECT_EQ(turns(*strategy, crew, 6), "aabaab");
}

TEST(WeightedRoundRobin, AWorkerThatStopsTakingTasksLosesTheRestOfItsRun) {
  const auto strategy = make_strategy(BuiltIn::weighted_round_robin);
  FakeCrew crew = crew_with({3, 1, 1});
  EXPECT_EQ(turns(*strategy, crew, 1), "a");
  crew[0].state = WorkerState::draining;
  EXPECT_EQ(turns(*strategy, crew, 4), "bcbc");
}

TEST(WeightedRoundRobin, AnExtremeWeightMakesNoEndlessRun) {
  const auto strategy = make_strategy(BuiltIn::weighted_round_robin);
  FakeCrew crew = crew_with({1e300, 1e-300});
  std::size_t turns_of_light = 0;
  for (int i = 0; i < 5000; ++i) turns_of_light += strategy->select(crew.workers(), {})->worker;
  EXPECT_EQ(turns_of_light, 1U);
}

TEST(InterleavedWeighted, TurnsAreSpreadOut) {
  const auto strategy = make_strategy(BuiltIn::interleaved_weighted);
  FakeCrew crew = crew_with({4, 2, 1});
  EXPECT_EQ(turns(*strategy, crew, 14), "abacabaabacaba");
}

TEST(InterleavedWeighted, AWorkerThatWasAwayDoesNotMakeUpForIt) {
  const auto strategy = make_strategy(BuiltIn::interleaved_weighted);
  FakeCrew crew = crew_with({1, 1});
  EXPECT_EQ(turns(*strategy, crew, 2), "ab");
  crew[1].state = WorkerState::warming;
  EXPECT_EQ(turns(*strategy, crew, 20), std::string(20, 'a'));
  crew[1].state = WorkerState::ready;
  const std::string after = turns(*strategy, crew, 10);
  EXPECT_EQ(std::count(after.begin(), after.end(), 'b'), 5) << after;
}

class EveryWeighted : public ::testing::TestWithParam<BuiltIn> {
 protected:
  static TurnOrder order() {
    const bool in_runs = GetParam() == BuiltIn::weighted_round_robin;
    return in_runs ? TurnOrder::in_runs : TurnOrder::interleaved;
  }
};

INSTANTIATE_TEST_SUITE_P(Strategies, EveryWeighted,
                         ::testing::Values(BuiltIn::weighted_round_robin,
                                           BuiltIn::interleaved_weighted));

TEST_P(EveryWeighted, EqualsItsScheduleTurnByTurn) {
  Random random = testing::seeded();
  for (int i = 0; i < 40; ++i) {
    const std::vector<double> weights = whole_weights(random);
    const auto strategy = make_strategy(GetParam());
    FakeCrew crew = crew_with(weights);
    const WeightedSchedule schedule(order(), weights);
    Rotation turn;
    for (std::size_t t = 0; t < 3 * schedule.size(); ++t) {
      ASSERT_EQ(strategy->select(crew.workers(), {})->worker, choose(schedule, turn)) << t;
    }
  }
}

TEST_P(EveryWeighted, SharesFollowTheWeights) {
  Random random = testing::seeded();
  for (int i = 0; i < 5; ++i) {
    std::vector<double> weights(1 + random.below(16));
    for (double& weight : weights) weight = std::pow(10.0, random.real());
    double sum = 0;
    for (const double weight : weights) sum += weight;
    const auto strategy = make_strategy(GetParam());
    FakeCrew crew = crew_with(weights);
    constexpr int kTurns = 3000;
    std::vector<double> counts(weights.size());
    for (int t = 0; t < kTurns; ++t) ++counts[strategy->select(crew.workers(), {})->worker];
    for (std::size_t worker = 0; worker < weights.size(); ++worker) {
      ASSERT_NEAR(counts[worker] / kTurns, weights[worker] / sum, 0.01);
    }
  }
}

TEST_P(EveryWeighted, AWeightThatIsNoneGivesNoTurns) {
  const auto strategy = make_strategy(GetParam());
  FakeCrew crew = crew_with({0, 1, -1, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()});
  EXPECT_EQ(turns(*strategy, crew, 5), "bbbbb");
  crew[1].weight = 0;
  EXPECT_FALSE(strategy->select(crew.workers(), {}).has_value());
}

TEST_P(EveryWeighted, NewWeightsCountAtOnce) {
  const auto strategy = make_strategy(GetParam());
  FakeCrew crew = crew_with({1, 1});
  turns(*strategy, crew, 100);
  crew[1].weight = 4;
  const std::string after = turns(*strategy, crew, 100);
  EXPECT_NEAR(static_cast<double>(std::count(after.begin(), after.end(), 'b')), 80, 2);
}

}  // namespace
}  // namespace muster
