// scaling_simulation_test.cpp: the scaler follows a load without going to and fro.
//
// Tasks of 100 ms on average. Prints the figures that docs/design/scaling.md quotes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "unit/policy/load_simulation.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::Load;
using testing::LoadSimulation;
using testing::SimulatedRun;

constexpr std::array kPolicies{ScalingPolicy::ratio, ScalingPolicy::depth,
                               ScalingPolicy::predictive};
constexpr int kRuns = 4;

// What the runs with one policy came to: the worst of them, but for means.
struct Figures {
  double peak_wait = 0;
  double mean_wait = 0;
  double mean_workers = 0;
  std::size_t most_workers = 0;
  int reversals = 0;
};

Figures simulate(const char* name, ScalingOptions options, const Load& load) {
  options.max_workers = 32;
  Random seeds = testing::seeded();
  Figures figures;
  for (int i = 0; i < kRuns; ++i) {
    const SimulatedRun run = LoadSimulation(options, load, seeds()).run();
    figures.peak_wait = std::max(figures.peak_wait, run.peak_wait);
    figures.mean_wait += run.mean_wait / kRuns;
    figures.mean_workers += run.worker_seconds / load.seconds / kRuns;
    figures.most_workers = std::max(figures.most_workers, run.most_workers);
    figures.reversals = std::max(figures.reversals, run.reversals());
  }
  std::printf(
      "%-8s %-10s  wait %5.2f s at most, %5.3f s on average; workers %2zu at most, %4.1f on "
      "average; %d reversals\n",
      name, to_string(options.policy).data(), figures.peak_wait, figures.mean_wait,
      figures.most_workers, figures.mean_workers, figures.reversals);
  return figures;
}

// Each begins with one worker and a load that comes from nothing, which is a change like another.

TEST(ScalingSimulation, ASteadyLoadIsNotAnsweredToAndFro) {
  for (const ScalingPolicy policy : kPolicies) {
    for (const double rate : {12.0, 42.0}) {
      const Load load{.rate = [=](double) { return rate; }, .peak_rate = rate, .seconds = 900};
      EXPECT_LE(simulate("steady", {.policy = policy}, load).reversals, 1) << to_string(policy);
    }
  }
}

// Why depth has its delay: without, it removes workers until the rest is too busy, and adds ten.
TEST(ScalingSimulation, WithoutItsDelayDepthGoesToAndFroAtASmallLoad) {
  const Load load{.rate = [](double) { return 25; }, .peak_rate = 25, .seconds = 900};
  const ScalingOptions options{.policy = ScalingPolicy::depth,
                               .depth = {.scale_down_delay = Duration::zero()}};
  EXPECT_GT(simulate("no delay", options, load).reversals, 20);
}

// Five tasks in two seconds, of a second each, so any ten seconds differ from the next. The idle
// timeout of ratio is no match for that; its figures are printed only.
TEST(ScalingSimulation, SeldomTasksMakePredictionReverseSeldom) {
  const Load load{
      .rate = [](double) { return 2.5; }, .peak_rate = 2.5, .seconds = 900, .task_seconds = 1};
  for (const ScalingPolicy policy : kPolicies) {
    const Figures figures = simulate("seldom", {.policy = policy}, load);
    if (policy == ScalingPolicy::predictive) {
      EXPECT_LE(figures.reversals, 3);
    }
  }
}

TEST(ScalingSimulation, AStepUpAndAStepDownAreOneReversalEachAtMost) {
  const Load load{
      .rate = [](double second) { return second >= 100 && second < 400 ? 120.0 : 20.0; },
      .peak_rate = 120,
      .seconds = 700};
  for (const ScalingPolicy policy : kPolicies) {
    const Figures figures = simulate("step", {.policy = policy}, load);
    EXPECT_LE(figures.reversals, 3) << to_string(policy);
    EXPECT_GE(figures.most_workers, 12U) << to_string(policy);
  }
}

// From a load for one worker to one for twelve within half a minute.
const Load kRamp{
    .rate = [](double second) { return 10 + 110 * std::clamp((second - 60) / 30, 0.0, 1.0); },
    .peak_rate = 120,
    .seconds = 400,
    .begin = 60};

TEST(ScalingSimulation, ARampIsOneReversalAtMost) {
  for (const ScalingPolicy policy : kPolicies) {
    EXPECT_LE(simulate("ramp", {.policy = policy}, kRamp).reversals, 1) << to_string(policy);
  }
}

TEST(ScalingSimulation, OnARampPredictionHalvesTheLongestWait) {
  const Figures ratio = simulate("ramp", {.policy = ScalingPolicy::ratio}, kRamp);
  const Figures predictive = simulate("ramp", {.policy = ScalingPolicy::predictive}, kRamp);
  EXPECT_LE(predictive.peak_wait, ratio.peak_wait / 2);
}

// Two periods of ten minutes: it turns four times.
TEST(ScalingSimulation, ASineIsOneReversalPerTurnAtMost) {
  const Load load{
      .rate = [](double second) { return 70 - 60 * std::cos(second * 2 * std::numbers::pi / 600); },
      .peak_rate = 130,
      .seconds = 1200};
  for (const ScalingPolicy policy : kPolicies) {
    const Figures figures = simulate("sine", {.policy = policy}, load);
    EXPECT_LE(figures.reversals, 4 + 1) << to_string(policy);
    EXPECT_GE(figures.reversals, 1) << to_string(policy) << " should come down again";
  }
}

}  // namespace
}  // namespace muster
