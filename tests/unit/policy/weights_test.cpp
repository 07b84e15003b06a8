// weights_test.cpp: schedules give everyone their share, evenly; measured weights follow speeds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/policy/weights.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Weights = std::vector<double>;
using Work = MeasuredWeights::Work;

// "aab" means worker 0, worker 0, worker 1.
std::string turns_of(TurnOrder order, const Weights& weights) {
  const WeightedSchedule schedule(order, weights);
  std::string turns;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    turns += static_cast<char>('a' + static_cast<int>(schedule.at(i)));
  }
  return turns;
}

std::vector<double> counts_of(const WeightedSchedule& schedule, std::size_t workers) {
  std::vector<double> counts(workers);
  for (std::size_t i = 0; i < schedule.size(); ++i) ++counts.at(schedule.at(i));
  return counts;
}

// Of all kinds: alike, whole, heavy-tailed, with some far from the rest.
Weights random_weights(Random& random) {
  Weights weights(1 + random.below(64));
  const std::uint64_t kind = random.below(4);
  for (double& weight : weights) {
    switch (kind) {
      case 0:
        weight = 2.5;
        break;
      case 1:
        weight = static_cast<double>(1 + random.below(9));
        break;
      case 2:
        weight = std::pow(10.0, 4 * random.real() - 2);
        break;
      default:
        weight = random.chance(0.1) ? 1000 : 1 + random.real();
    }
  }
  return weights;
}

double sum_of(const Weights& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

TEST(WeightedSchedule, RunsAreAsLongAsTheWeightsSay) {
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {1}), "a");
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {1, 1, 1}), "abc");
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {2, 1}), "aab");
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {1, 3, 2}), "abbbcc");
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {5, 1, 1}), "aaaaabc");
}

TEST(WeightedSchedule, TheLightestHasRunsOfOneAndFractionsAreSavedUp) {
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {2, 3}), "ababb");
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {3, 5}), "ababbabb");
}

TEST(WeightedSchedule, InterleavedTurnsAreSpreadOut) {
  EXPECT_EQ(turns_of(TurnOrder::interleaved, {1}), "a");
  EXPECT_EQ(turns_of(TurnOrder::interleaved, {1, 1, 1}), "abc");
  EXPECT_EQ(turns_of(TurnOrder::interleaved, {2, 1}), "aba");
  EXPECT_EQ(turns_of(TurnOrder::interleaved, {4, 2, 1}), "abacaba");
  EXPECT_EQ(turns_of(TurnOrder::interleaved, {5, 1, 1}), "aabacaa");
}

TEST(WeightedSchedule, OnlyTheProportionsOfWeightsCount) {
  for (const TurnOrder order : {TurnOrder::in_runs, TurnOrder::interleaved}) {
    const std::string turns = turns_of(order, {3, 1, 2});
    EXPECT_EQ(turns_of(order, {6, 2, 4}), turns);
    EXPECT_EQ(turns_of(order, {0.3, 0.1, 0.2}), turns);
    EXPECT_EQ(turns_of(order, {3e300, 1e300, 2e300}), turns);
    EXPECT_EQ(turns_of(order, {3e-300, 1e-300, 2e-300}), turns);
  }
}

TEST(WeightedSchedule, TheSumOfTheLargestWeightsDoesNotOverflow) {
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(turns_of(TurnOrder::in_runs, {largest, largest, largest}), "abc");
}

TEST(WeightedSchedule, TurnsRepeatFromTheBeginning) {
  const WeightedSchedule schedule(TurnOrder::in_runs, Weights{2, 1});
  ASSERT_EQ(schedule.size(), 3U);
  for (std::size_t turn = 0; turn < 30; ++turn) {
    EXPECT_EQ(schedule.at(turn), turn % 3 == 2 ? 1U : 0U) << turn;
  }
}

TEST(WeightedSchedule, NoShareIsOffByAWholeTurn) {
  Random random = testing::seeded();
  for (int i = 0; i < 15; ++i) {
    const Weights weights = random_weights(random);
    for (const TurnOrder order : {TurnOrder::in_runs, TurnOrder::interleaved}) {
      const WeightedSchedule schedule(order, weights);
      ASSERT_LE(schedule.size(), WeightedSchedule::kMostTurns);
      const auto size = static_cast<double>(schedule.size());
      const std::vector<double> counts = counts_of(schedule, weights.size());
      for (std::size_t worker = 0; worker < weights.size(); ++worker) {
        ASSERT_NEAR(counts[worker] / size, weights[worker] / sum_of(weights), 1 / size)
            << "worker " << worker << " of " << weights.size();
      }
    }
  }
}

TEST(WeightedSchedule, WholeWeightsAreMetExactlyByAShortTable) {
  Random random = testing::seeded();
  for (int i = 0; i < 100; ++i) {
    Weights weights(1 + random.below(32));
    for (double& weight : weights) weight = static_cast<double>(1 + random.below(20));
    const WeightedSchedule schedule(TurnOrder::interleaved, weights);
    ASSERT_LE(static_cast<double>(schedule.size()), sum_of(weights));
    const std::vector<double> counts = counts_of(schedule, weights.size());
    for (std::size_t worker = 0; worker < weights.size(); ++worker) {
      ASSERT_DOUBLE_EQ(counts[worker] * weights[0], counts[0] * weights[worker]);
    }
  }
}

TEST(WeightedSchedule, NobodyIsATurnAheadOrTwoBehindAtAnyMoment) {
  Random random = testing::seeded();
  for (int i = 0; i < 5; ++i) {
    const Weights weights = random_weights(random);
    const WeightedSchedule schedule(TurnOrder::interleaved, weights);
    const std::vector<double> counts = counts_of(schedule, weights.size());
    std::vector<double> so_far(weights.size());
    for (std::size_t turn = 0; turn < schedule.size(); ++turn) {
      ++so_far[schedule.at(turn)];
      const double passed = static_cast<double>(turn + 1) / static_cast<double>(schedule.size());
      for (std::size_t worker = 0; worker < weights.size(); ++worker) {
        const double ahead = so_far[worker] - counts[worker] * passed;
        ASSERT_LT(ahead, 1) << "turn " << turn;
        ASSERT_GT(ahead, -2) << "turn " << turn;
      }
    }
  }
}

TEST(WeightedSchedule, ManyLightWorkersAreNotServedAllAtOnce) {
  Weights weights(61, 1);
  weights[0] = 1000;
  const WeightedSchedule schedule(TurnOrder::interleaved, weights);
  for (std::size_t turn = 1; turn < schedule.size(); ++turn) {
    ASSERT_TRUE(schedule.at(turn - 1) == 0 || schedule.at(turn) == 0) << turn;
  }
}

TEST(WeightedSchedule, NoRunIsLongerThanTheWeightsDemand) {
  Random random = testing::seeded();
  for (int i = 0; i < 100; ++i) {
    const Weights weights = random_weights(random);
    const WeightedSchedule schedule(TurnOrder::in_runs, weights);
    std::vector<double> counts = counts_of(schedule, weights.size());
    double rarest = WeightedSchedule::kMostTurns;
    for (const double count : counts) {
      if (count > 0) rarest = std::min(rarest, count);
    }
    std::size_t run = 0;
    for (std::size_t turn = 1; turn < schedule.size() && weights.size() > 1; ++turn) {
      run = schedule.at(turn) == schedule.at(turn - 1) ? run + 1 : 0;
      ASSERT_LT(static_cast<double>(run), std::ceil(counts[schedule.at(turn)] / rarest));
    }
  }
}

TEST(WeightedSchedule, AsManyWorkersAsTurnsHaveOneEach) {
  const Weights weights(WeightedSchedule::kMostTurns, 0.1);
  const WeightedSchedule schedule(TurnOrder::in_runs, weights);
  ASSERT_EQ(schedule.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) ASSERT_EQ(schedule.at(i), i);
}

TEST(WeightedSchedule, EveryBadWeightIsReported) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  try {
    const WeightedSchedule schedule(TurnOrder::in_runs, Weights{1, 0, -2, infinity, no_number, 3});
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    ASSERT_EQ(error.bad_fields().size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(error.bad_fields()[i].field, "weights[" + std::to_string(i + 1) + "]");
    }
    EXPECT_EQ(error.bad_fields()[1].value, "-2.000000");
    EXPECT_EQ(error.bad_fields()[1].rule, "must be more than 0, and finite");
  }
}

TEST(WeightedSchedule, NoWeightsAndTooManyAreRefused) {
  EXPECT_TRUE(validate_weights(Weights(WeightedSchedule::kMostTurns, 1.0)).empty());
  EXPECT_EQ(validate_weights(Weights{}).size(), 1U);
  const auto bad = validate_weights(Weights(WeightedSchedule::kMostTurns + 1, 1.0));
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0], (BadField{.field = "weights",
                              .value = "4097 numbers",
                              .rule = "must be 1 to 4096 numbers, one for each worker"}));
}

TEST(MeasuredWeights, AreInProportionToSpeed) {
  MeasuredWeights measured;
  measured.record(std::vector<Work>{{.tasks = 30, .busy = 10ms}, {.tasks = 10, .busy = 10ms}});
  const Weights weights = measured.weights();
  ASSERT_EQ(weights.size(), 2U);
  EXPECT_DOUBLE_EQ(weights[0], 1.5);
  EXPECT_DOUBLE_EQ(weights[1], 0.5);
}

TEST(MeasuredWeights, AWorkerThatGetsLessWorkIsNotSlower) {
  MeasuredWeights measured;
  measured.record(std::vector<Work>{{.tasks = 1000, .busy = 100ms}, {.tasks = 10, .busy = 1ms}});
  EXPECT_EQ(measured.weights(), (Weights{1, 1}));
}

TEST(MeasuredWeights, AWorkerWithoutHistoryCountsAsAverage) {
  MeasuredWeights measured;
  EXPECT_TRUE(measured.weights().empty());
  measured.record(std::vector<Work>(3));
  EXPECT_EQ(measured.weights(), (Weights{1, 1, 1}));
  measured.record(
      std::vector<Work>{{.tasks = 30, .busy = 10ms}, {}, {.tasks = 10, .busy = 10ms}, {}});
  const Weights weights = measured.weights();
  EXPECT_EQ(weights[1], 1);
  EXPECT_EQ(weights[3], 1);
  EXPECT_DOUBLE_EQ(weights[0], 1.5);
}

TEST(MeasuredWeights, RecentWorkCountsMore) {
  MeasuredWeights measured;
  for (int i = 0; i < 20; ++i) {
    measured.record(std::vector<Work>{{.tasks = 10, .busy = 10ms}, {.tasks = 90, .busy = 10ms}});
  }
  EXPECT_LT(measured.weights()[0], measured.weights()[1]);
  for (int i = 0; i < 10; ++i) {
    measured.record(std::vector<Work>{{.tasks = 100, .busy = 10ms}, {.tasks = 100, .busy = 10ms}});
  }
  EXPECT_NEAR(measured.weights()[0], 1, 0.05);
}

TEST(MeasuredWeights, AMomentOfSilenceChangesNothingALongOneEverything) {
  MeasuredWeights measured;
  measured.record(std::vector<Work>{{.tasks = 30, .busy = 10ms}, {.tasks = 10, .busy = 10ms}});
  measured.record(std::vector<Work>(2));
  EXPECT_NEAR(measured.weights()[0], 1.5, 1e-9);
  for (int i = 0; i < 20; ++i) measured.record(std::vector<Work>(2));
  EXPECT_EQ(measured.weights(), (Weights{1, 1}));
}

TEST(MeasuredWeights, NobodyIsStarvedByOneBadMeasurement) {
  MeasuredWeights measured;
  measured.record(std::vector<Work>{{.tasks = 1'000'000, .busy = 1ms}, {.tasks = 1, .busy = 10s}});
  EXPECT_EQ(measured.weights()[1], 1 / MeasuredWeights::kMostDeviation);
  EXPECT_TRUE(validate_weights(measured.weights()).empty());
}

TEST(MeasuredWeights, WorkersComeAndGoAtTheEnd) {
  MeasuredWeights measured;
  measured.record(std::vector<Work>{{.tasks = 30, .busy = 10ms}, {.tasks = 10, .busy = 10ms}});
  measured.record(std::vector<Work>(1));
  EXPECT_EQ(measured.weights(), (Weights{1}));
  measured.record(std::vector<Work>(2));
  EXPECT_EQ(measured.weights().at(1), 1) << "its predecessor's past must be gone";
}

}  // namespace
}  // namespace muster
