// arrival_trend_test.cpp: a slope is told from a steady rate, and from chance.
#include <cmath>
#include <cstdint>
#include <functional>

#include <gtest/gtest.h>

#include <muster/policy/arrival_trend.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Arrivals as they are on average: `arrivals` is a function of the second.
ArrivalTrend after(int seconds, const std::function<double(double)>& arrivals) {
  ArrivalTrend trend(5s);
  for (int second = 0; second <= seconds; ++second) {
    trend.observe(Time(std::chrono::seconds(second)), static_cast<std::uint64_t>(arrivals(second)));
  }
  return trend;
}

TEST(ArrivalTrend, KnowsNothingBeforeTwoObservations) {
  ArrivalTrend trend(5s);
  EXPECT_EQ(trend.rate(), 0);
  trend.observe(Time(1s), 1'000'000);
  EXPECT_EQ(trend.rate_after(10s), 0) << "those may have come at any time before";
  trend.observe(Time(2s), 1'000'100);
  EXPECT_DOUBLE_EQ(trend.rate(), 100);
}

TEST(ArrivalTrend, ASteadyRateIsItselfAlsoLater) {
  const ArrivalTrend trend = after(60, [](double second) { return 500 * second; });
  EXPECT_NEAR(trend.rate(), 500, 0.1);
  EXPECT_NEAR(trend.rate_after(10s), 500, 0.1);
}

// 20 more each second, 2400 after 120 seconds: 200 more in ten seconds. What chance may explain,
// and the half second that an average over the last second is old, make it a little less.
TEST(ArrivalTrend, ASlopeIsContinued) {
  const ArrivalTrend trend = after(120, [](double second) { return 10 * second * second; });
  EXPECT_NEAR(trend.rate(), 2400, 80);
  EXPECT_NEAR(trend.rate_after(10s), 2600, 120);
  EXPECT_GT(trend.rate_after(10s), trend.rate() + 150);
}

TEST(ArrivalTrend, AFallingRateIsNotContinuedButFollowed) {
  const ArrivalTrend trend =
      after(100, [](double second) { return 2400 * second - 10 * second * second; });
  EXPECT_NEAR(trend.rate(), 400, 60);
  EXPECT_EQ(trend.rate_after(10s), trend.rate());
}

TEST(ArrivalTrend, TimesThatAreNotLaterArePassedOver) {
  ArrivalTrend trend(5s);
  trend.observe(Time(1s), 100);
  trend.observe(Time(2s), 200);
  trend.observe(Time(2s), 900);
  trend.observe(Time(1s), 900);
  EXPECT_DOUBLE_EQ(trend.rate(), 100);
  trend.observe(Time(3s), 300);
  EXPECT_DOUBLE_EQ(trend.rate(), 100);
}

TEST(ArrivalTrend, HowOftenItIsAskedDoesNotMatter) {
  ArrivalTrend often(5s);
  for (int i = 0; i <= 1200; ++i) {
    const double second = i / 10.0;
    often.observe(Time(i * 100ms), static_cast<std::uint64_t>(10 * second * second));
  }
  const ArrivalTrend seldom = after(120, [](double second) { return 10 * second * second; });
  EXPECT_NEAR(often.rate(), seldom.rate(), 40);
}

// An hour of independent arrivals at a steady rate.
TEST(ArrivalTrend, ChanceIsNotTakenForASlope) {
  Random random = testing::seeded();
  for (const double rate : {2.0, 20.0, 200.0}) {
    ArrivalTrend trend(5s);
    std::uint64_t arrivals = 0;
    double next = 0;
    double most = 0;
    double squares = 0;
    for (int second = 1; second <= 3600; ++second) {
      for (; next < second; next -= std::log(1 - random.real()) / rate) ++arrivals;
      trend.observe(Time(std::chrono::seconds(second)), arrivals);
      if (second < 60) continue;
      most = std::max(most, trend.rate_after(10s) - trend.rate());
      squares += (trend.rate() - rate) * (trend.rate() - rate) / 3540;
    }
    EXPECT_LT(most, 0.6 * std::sqrt(rate)) << "at " << rate;
    EXPECT_NEAR(std::sqrt(squares), std::sqrt(rate / 30), 0.35 * std::sqrt(rate / 30));
    EXPECT_NEAR(trend.rate_noise(), std::sqrt(rate / 30), 0.35 * std::sqrt(rate / 30));
  }
}

}  // namespace
}  // namespace muster
