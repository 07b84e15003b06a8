// quick_clock_test.cpp: a counter that tells the time as the steady clock does.
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/quick_clock.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr TickScale::Speed kOne = TickScale::Speed{1} << 32U;  // a nanosecond a tick

// As far off as it may be.
constexpr Duration kError = 1us;

// From before its speed is known until after some comparisons.
void expect_agreement() {
  const Time end = Time::clock::now() + 25ms;
  for (Time before{}; before < end;) {
    before = Time::clock::now();
    const Time quick = quick_now();
    const Time after = Time::clock::now();
    ASSERT_GE(quick, before - kError) << (before - quick).count() << " ns behind";
    ASSERT_LE(quick, after + kError) << (quick - after).count() << " ns ahead";
  }
}

TEST(QuickClock, IsAMicrosecondOffTheSteadyClockAtMost) {
  expect_agreement();
}

TEST(QuickClock, IsSoOnAThreadThatComesLater) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(expect_agreement);
  for (std::thread& each : threads) each.join();
}

TEST(QuickClock, KeepsTheSpeedItIsTold) {
  expect_agreement();
  const TickScale::Speed known = counter_speed();
  tell_counter_speed(0);
  EXPECT_EQ(counter_speed(), known) << "0 tells nothing";
  tell_counter_speed(known + 1);
  EXPECT_EQ(counter_speed(), known + 1);
}

TEST(TickScale, TellsTheSpeedOfTheCounterAfterAWhile) {
  TickScale scale;
  EXPECT_EQ(scale.compare({.ticks = 1000, .time = Time(5s)}), std::nullopt);
  EXPECT_TRUE(scale.is_too_early(Time(5s + 999us)));
  EXPECT_FALSE(scale.is_too_early(Time(5s + 1ms)));
  const std::optional<TickScale::Speed> speed =
      scale.compare({.ticks = 3'001'000, .time = Time(5s + 1ms)});
  ASSERT_TRUE(speed.has_value());
  EXPECT_EQ(*speed, kOne / 3);  // three ticks a nanosecond
}

TEST(TickScale, TellsTheTimeUntilAnotherComparisonIsDue) {
  TickScale scale;
  EXPECT_EQ(scale.at(1000, kOne), std::nullopt);
  (void)scale.compare({.ticks = 1000, .time = Time(5s)});
  scale.hold(kOne * 2);
  EXPECT_EQ(scale.at(1000, kOne * 2), Time(5s));
  EXPECT_EQ(scale.at(4000, kOne * 2), Time(5s + 6us));
  EXPECT_EQ(scale.at(1000 + 4'999'999, kOne * 2), Time(5s + 10ms - 2ns));
  EXPECT_EQ(scale.at(1000 + 5'000'000, kOne * 2), std::nullopt);
}

TEST(TickScale, BeginsAgainIfTheCounterHasGoneBack) {
  TickScale scale;
  (void)scale.compare({.ticks = 1'000'000, .time = Time(5s)});
  scale.hold(kOne);
  EXPECT_EQ(scale.at(999'999, kOne), std::nullopt);
  EXPECT_EQ(scale.compare({.ticks = 7, .time = Time(5s + 20ms)}), std::nullopt);
  scale.hold(kOne);
  EXPECT_EQ(scale.at(8, kOne), Time(5s + 20ms + 1ns));
}

TEST(TickScale, TellsNoSpeedFromASleepOfTheMachine) {
  TickScale scale;
  (void)scale.compare({.ticks = 1000, .time = Time(5s)});
  EXPECT_EQ(scale.compare({.ticks = 2000, .time = Time(2h)}), std::nullopt);
}

}  // namespace
}  // namespace muster
