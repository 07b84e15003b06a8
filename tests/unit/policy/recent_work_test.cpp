// recent_work_test.cpp: RecentWork forgets at one pace for all, and treats newcomers fairly.
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/recent_work.hpp>

namespace muster {
namespace {

using std::chrono::milliseconds;
using Totals = RecentWork::Totals;

constexpr Time at(int ms) {
  return Time{} + std::chrono::hours(1) + milliseconds(ms);
}

TEST(RecentWork, TellsWhatWasDoneSinceTheFirstUpdate) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{0, milliseconds(500)}, {0, milliseconds(0)}});
  recent.update(at(80), std::vector<Totals>{{9, milliseconds(560)}, {0, milliseconds(20)}});
  EXPECT_EQ(recent.load(0).used, 9);
  EXPECT_EQ(recent.load(0).consumed, milliseconds(60));
  EXPECT_EQ(recent.load(1).consumed, milliseconds(20));
}

TEST(RecentWork, AfterEachRoundWhatWasBeforeCountsLess) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{0, {}}});
  recent.update(at(50), std::vector<Totals>{{100, milliseconds(50)}});
  recent.update(at(250), std::vector<Totals>{{100, milliseconds(50)}});
  EXPECT_NEAR(recent.load(0).used, 49, 1e-6);  // two rounds later: 0.7 * 0.7
  EXPECT_NEAR(static_cast<double>(recent.load(0).consumed.count()), 24.5e6, 1);
}

TEST(RecentWork, ANewWorkerBeginsWithTheLeastOfTheOthers) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{0, {}}, {0, {}}});
  recent.update(at(50), std::vector<Totals>{{10, milliseconds(30)}, {40, milliseconds(50)}});
  recent.update(at(60),
                std::vector<Totals>{{10, milliseconds(30)}, {40, milliseconds(50)}, {7, {}}});
  EXPECT_EQ(recent.load(2).used, 10);
  EXPECT_EQ(recent.load(2).consumed, milliseconds(30));
}

TEST(RecentWork, WhatCameSinceTheLastUpdateCanBeAdded) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{5, milliseconds(5)}});
  const WorkerLoad load = recent.load(0, {8, milliseconds(9)});
  EXPECT_EQ(load.used, 3);
  EXPECT_EQ(load.consumed, milliseconds(4));
  EXPECT_EQ(recent.load(0, {4, milliseconds(4)}).used, 0);
  EXPECT_EQ(recent.load(1, {8, milliseconds(9)}).used, 0);
}

TEST(RecentWork, IsDueEvery10MsAndWhenSomebodyHasCome) {
  RecentWork recent;
  EXPECT_TRUE(recent.is_due(at(0), 1));
  recent.update(at(0), std::vector<Totals>{{0, {}}});
  EXPECT_FALSE(recent.is_due(at(9), 1));
  EXPECT_TRUE(recent.is_due(at(10), 1));
  EXPECT_TRUE(recent.is_due(at(0), 2));
  EXPECT_FALSE(recent.is_due(at(0), 0));
}

TEST(RecentWork, AWorkerThatIsGoneIsForgotten) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{0, {}}, {0, {}}});
  recent.update(at(50), std::vector<Totals>{{5, {}}, {9, {}}});
  recent.update(at(60), std::vector<Totals>{{5, {}}});
  EXPECT_EQ(recent.load(1).used, 0);
  recent.update(at(70), std::vector<Totals>{{5, {}}, {9, {}}});
  EXPECT_EQ(recent.load(1).used, 5);  // as one that is new
}

TEST(RecentWork, TotalsThatSeemToGoBackCountAsStandingStill) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{10, milliseconds(10)}});
  recent.update(at(10), std::vector<Totals>{{9, milliseconds(4)}});
  EXPECT_EQ(recent.load(0).used, 0);
  recent.update(at(20), std::vector<Totals>{{11, milliseconds(12)}});
  EXPECT_EQ(recent.load(0).used, 1);
  EXPECT_EQ(recent.load(0).consumed, milliseconds(2));
}

TEST(RecentWork, WeightsFollowHowFastWorkersAre) {
  RecentWork recent;
  recent.update(at(0), std::vector<Totals>{{0, {}}, {0, {}}});
  for (int round = 1; round <= 10; ++round) {
    const auto done = static_cast<std::uint64_t>(round) * 300;
    recent.update(at(round * 100), std::vector<Totals>{{done, milliseconds(90) * round},
                                                       {done / 3, milliseconds(90) * round}});
  }
  const std::vector<double> weights = recent.weights();
  ASSERT_EQ(weights.size(), 2U);
  EXPECT_NEAR(weights[0] / weights[1], 3, 0.01);
}

}  // namespace
}  // namespace muster
