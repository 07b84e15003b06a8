// weighted_turns_test.cpp: turns by given and by measured weights, while workers come and go.
#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/weighted_turns.hpp>

namespace muster {
namespace {

using std::chrono::milliseconds;
using Turns = std::vector<std::size_t>;

constexpr Time at(int ms) {
  return Time{} + std::chrono::hours(1) + milliseconds(ms);
}

Turns take(WeightedTurns& turns, BuiltIn strategy, std::size_t workers, const RecentWork& recent,
           int count) {
  Turns taken;
  for (int i = 0; i < count; ++i) taken.push_back(turns.next(strategy, workers, recent));
  return taken;
}

// Of two workers the first did twice as many tasks in the same time.
RecentWork with_one_twice_as_fast() {
  RecentWork recent;
  recent.update(at(0), std::vector<RecentWork::Totals>{{0, {}}, {0, {}}});
  recent.update(at(100), std::vector<RecentWork::Totals>{{2000, milliseconds(100)},
                                                         {1000, milliseconds(100)}});
  return recent;
}

TEST(WeightedTurns, GoInRunsOrInterleaved) {
  const RecentWork nothing;
  WeightedTurns turns({3, 1});
  EXPECT_FALSE(turns.are_measured());
  EXPECT_EQ(take(turns, BuiltIn::weighted_round_robin, 2, nothing, 8),
            (Turns{0, 0, 0, 1, 0, 0, 0, 1}));
  turns.reset();
  EXPECT_EQ(take(turns, BuiltIn::interleaved_weighted, 2, nothing, 4), (Turns{0, 0, 1, 0}));
}

TEST(WeightedTurns, AResetBeginsWithTheFirst) {
  const RecentWork nothing;
  WeightedTurns turns({1, 1, 1});
  EXPECT_EQ(take(turns, BuiltIn::weighted_round_robin, 3, nothing, 2), (Turns{0, 1}));
  turns.reset();
  EXPECT_EQ(take(turns, BuiltIn::weighted_round_robin, 3, nothing, 4), (Turns{0, 1, 2, 0}));
}

TEST(WeightedTurns, WhoComesHasAWeightOfOne) {
  const RecentWork nothing;
  WeightedTurns turns({2});
  EXPECT_EQ(turns.weights(2, nothing), (std::vector<double>{2, 1}));
  EXPECT_EQ(take(turns, BuiltIn::weighted_round_robin, 1, nothing, 3), (Turns{0, 0, 0}));
  const Turns both = take(turns, BuiltIn::weighted_round_robin, 2, nothing, 6);
  EXPECT_EQ(std::count(both.begin(), both.end(), 1U), 2);
  EXPECT_EQ(turns.weights(1, nothing), std::vector<double>{2}) << "who left has none";
}

TEST(WeightedTurns, WhoIsFasterHasMoreOfThemOnceItIsKnown) {
  WeightedTurns turns({});
  EXPECT_TRUE(turns.are_measured());
  const RecentWork nothing;
  EXPECT_EQ(take(turns, BuiltIn::weighted_round_robin, 2, nothing, 4), (Turns{0, 1, 0, 1}));
  const RecentWork recent = with_one_twice_as_fast();
  const std::vector<double> weights = turns.weights(2, recent);
  EXPECT_NEAR(weights[0] / weights[1], 2, 0.2);
  const Turns taken = take(turns, BuiltIn::weighted_round_robin, 2, recent, 300);
  EXPECT_NEAR(static_cast<double>(std::count(taken.begin(), taken.end(), 0U)), 200, 10);
}

TEST(WeightedTurns, MeasuredOnesGoInSixteenths) {
  const WeightedTurns turns({});
  for (const double weight : turns.weights(2, with_one_twice_as_fast())) {
    EXPECT_EQ(weight * 16, static_cast<int>(weight * 16));
    EXPECT_GT(weight, 0);
  }
}

}  // namespace
}  // namespace muster
