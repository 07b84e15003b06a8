// scaling_test.cpp: what each policy decides, and what limits and cooldowns leave of it.
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/scaling.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> bad_fields(const ScalingOptions& options) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(options)) fields.push_back(bad.field);
  return fields;
}

ScalingOptions always(int change) {
  return {.policy = ScalingPolicy::custom,
          .max_workers = 100,
          .custom = [change](const ScalingInput&) { return change; }};
}

TEST(ScalingOptions, HaveTheDefaultsThatAreDocumented) {
  const ScalingOptions options;
  EXPECT_TRUE(validate(options).empty());
  EXPECT_EQ(options.policy, ScalingPolicy::ratio);
  EXPECT_EQ(options.min_workers, 1U);
  EXPECT_EQ(options.max_workers, 8U);
  EXPECT_EQ(options.check_every, 1s);
  EXPECT_EQ(options.scale_up_cooldown, 5s);
  EXPECT_EQ(options.scale_down_cooldown, 5s);
}

TEST(ScalingOptions, EveryBadFieldIsNamedAtOnce) {
  ScalingOptions bad{.policy = ScalingPolicy::custom,
                     .min_workers = 0,
                     .max_workers = 2000,
                     .check_every = 0s,
                     .scale_up_cooldown = -1s,
                     .scale_down_cooldown = -1s,
                     .ratio = {0, -1s, 0, 0},
                     .depth = {50, 5, -1s, 0, 0},
                     .predictive = {0s, -1, 0s, -1s}};
  const std::vector<std::string> fields{
      "min_workers",
      "max_workers",
      "check_every",
      "scale_up_cooldown",
      "scale_down_cooldown",
      "ratio.scale_up_threshold",
      "ratio.scale_down_idle_timeout",
      "ratio.scale_up_step",
      "ratio.scale_down_step",
      "depth.scale_down_delay",
      "depth.scale_up_step",
      "depth.scale_down_step",
      "predictive.horizon",
      "predictive.smoothing",
      "predictive.scale_down_delay",
      "predictive.headroom",
      "custom",
  };
  EXPECT_EQ(bad_fields(bad), fields);
  try {
    const Scaler scaler(bad);
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.bad_fields().size(), fields.size());
  }
}

TEST(ScalingOptions, ThatContradictEachOtherAreRefused) {
  EXPECT_EQ(bad_fields({.min_workers = 9, .max_workers = 8}),
            std::vector<std::string>{"min_workers"});
  EXPECT_EQ(bad_fields({.min_workers = 8, .max_workers = 8}), std::vector<std::string>{});
  EXPECT_EQ(bad_fields({.custom = [](const ScalingInput&) { return 0; }}),
            std::vector<std::string>{"custom"});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(bad_fields({.ratio = {.scale_up_threshold = nan}, .predictive = {.headroom = nan}}),
            (std::vector<std::string>{"ratio.scale_up_threshold", "predictive.headroom"}));
}

struct Case {
  ScalingInput input;
  int change;
};

void expect_changes(const ScalingOptions& options, const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    Scaler scaler(options);
    const ScalingDecision decision = scaler.decide(each.input);
    EXPECT_EQ(decision.change, each.change)
        << each.input.workers << " workers, " << each.input.active << " active, "
        << each.input.queued << " queued: " << decision.reason;
    EXPECT_FALSE(decision.reason.empty());
  }
}

TEST(RatioScaling, AddsAtTwoTasksPerWorkerAndRemovesWhatIdlesForHalfAMinute) {
  expect_changes({}, {
                         {{.workers = 4, .active = 4, .queued = 4}, 1},
                         {{.workers = 4, .active = 4, .queued = 3}, 0},
                         {{.workers = 4, .active = 4, .queued = 400}, 1},
                         {{.workers = 4, .active = 3, .idle = 1, .longest_idle = 30s}, -1},
                         {{.workers = 4, .idle = 4, .longest_idle = 1h}, -1},
                         {{.workers = 4, .active = 3, .idle = 1, .longest_idle = 29'999ms}, 0},
                         {{.workers = 4, .queued = 1, .idle = 4, .longest_idle = 1h}, 0},
                         {{.workers = 4, .active = 4, .longest_idle = 1h}, 0},
                     });
}

TEST(RatioScaling, FollowsItsOptions) {
  const ScalingOptions options{.ratio = {.scale_up_threshold = 0.5,
                                         .scale_down_idle_timeout = 1s,
                                         .scale_up_step = 3,
                                         .scale_down_step = 2}};
  expect_changes(options, {
                              {{.workers = 4, .active = 2}, 3},
                              {{.workers = 4, .active = 1, .idle = 3, .longest_idle = 1s}, -2},
                              {{.workers = 4, .active = 1, .idle = 1, .longest_idle = 1s}, -1},
                          });
}

TEST(DepthScaling, AddsTenAboveFifty) {
  expect_changes({.policy = ScalingPolicy::depth, .max_workers = 100},
                 {
                     {{.workers = 20, .active = 20, .queued = 51}, 10},
                     {{.workers = 20, .active = 20, .queued = 50}, 0},
                     {{.workers = 20, .active = 20, .queued = 0}, 0},
                 });
  expect_changes({.policy = ScalingPolicy::depth,
                  .max_workers = 100,
                  .depth = {.scale_up_depth = 7, .scale_up_step = 2}},
                 {{{.workers = 20, .active = 20, .queued = 8}, 2}});
}

TEST(DepthScaling, WithoutADelayItRemovesFiveAsSoonAsFewerThanFiveAreBusy) {
  expect_changes(
      {.policy = ScalingPolicy::depth, .max_workers = 100, .depth = {.scale_down_delay = 0s}},
      {
          {{.workers = 20, .active = 4, .idle = 16}, -5},
          {{.workers = 20, .active = 5, .idle = 15}, 0},
          {{.workers = 20, .active = 4, .queued = 1, .idle = 16}, 0},
          {{.workers = 7, .active = 4, .idle = 3}, -3},
          {{.workers = 4, .active = 4}, 0},
      });
  expect_changes({.policy = ScalingPolicy::depth,
                  .max_workers = 100,
                  .depth = {.scale_down_busy = 9, .scale_down_delay = 0s, .scale_down_step = 2}},
                 {{{.workers = 20, .active = 8, .idle = 12}, -2}});
}

TEST(DepthScaling, RemovesWhatWasNotBusyForTheWholeDelay) {
  Scaler scaler({.policy = ScalingPolicy::depth, .max_workers = 100});
  const auto decide = [&](int second, std::size_t active) {
    return scaler
        .decide({.now = Time(std::chrono::seconds(second)),
                 .workers = 8,
                 .active = active,
                 .idle = 8 - active})
        .change;
  };
  EXPECT_EQ(decide(0, 1), 0);
  EXPECT_EQ(decide(10, 5), 0) << "begins anew";
  EXPECT_EQ(decide(11, 1), 0);
  EXPECT_EQ(decide(20, 4), 0);
  EXPECT_EQ(decide(40, 0), 0);
  EXPECT_EQ(decide(41, 0), -4) << "four were busy at second 20";
  EXPECT_EQ(decide(50, 0), 0) << "the delay begins anew";
  EXPECT_EQ(decide(80, 0), -5);
}

TEST(Scaler, StaysBetweenItsLimits) {
  const ScalingOptions up{.policy = ScalingPolicy::custom,
                          .min_workers = 2,
                          .max_workers = 10,
                          .custom = [](const ScalingInput&) { return 7; }};
  expect_changes(up, {{{.workers = 2}, 7}, {{.workers = 5}, 5}, {{.workers = 10}, 0}});
  ScalingOptions down = up;
  down.custom = [](const ScalingInput&) { return std::numeric_limits<int>::min(); };
  expect_changes(down, {{{.workers = 10}, -8}, {{.workers = 3}, -1}, {{.workers = 2}, 0}});
}

TEST(Scaler, MendsANumberOutsideItsLimitsWithoutACooldown) {
  Scaler scaler({.min_workers = 2, .max_workers = 4});
  EXPECT_EQ(scaler.decide({.now = Time(1s), .workers = 0}).change, 2);
  EXPECT_EQ(scaler.decide({.now = Time(1s), .workers = 1}).change, 1);
  EXPECT_EQ(scaler.decide({.now = Time(1s), .workers = 9}).change, -5);
  EXPECT_EQ(scaler.decide({.now = Time(1s), .workers = 5}).change, -1);
}

TEST(Scaler, AddsAgainAfterTheCooldown) {
  Scaler scaler(always(1));
  EXPECT_EQ(scaler.decide({.now = Time(10s), .workers = 1}).change, 1);
  EXPECT_EQ(scaler.decide({.now = Time(14'999ms), .workers = 2}).change, 0);
  EXPECT_EQ(scaler.decide({.now = Time(15s), .workers = 2}).change, 1);
}

TEST(Scaler, RemovesAgainAfterTheCooldown) {
  Scaler scaler(always(-1));
  EXPECT_EQ(scaler.decide({.now = Time(10s), .workers = 9}).change, -1);
  EXPECT_EQ(scaler.decide({.now = Time(14'999ms), .workers = 8}).change, 0);
  EXPECT_EQ(scaler.decide({.now = Time(15s), .workers = 8}).change, -1);
}

TEST(Scaler, AddingDoesNotWaitForTheCooldownOfRemovingNorTheOtherWayRound) {
  int wish = 1;
  Scaler scaler({.policy = ScalingPolicy::custom,
                 .max_workers = 100,
                 .scale_up_cooldown = 100s,
                 .scale_down_cooldown = 10s,
                 .custom = [&](const ScalingInput&) { return wish; }});
  EXPECT_EQ(scaler.decide({.now = Time(10s), .workers = 5}).change, 1);
  wish = -1;
  EXPECT_EQ(scaler.decide({.now = Time(11s), .workers = 6}).change, -1);
  EXPECT_EQ(scaler.decide({.now = Time(20s), .workers = 5}).change, 0);
  EXPECT_EQ(scaler.decide({.now = Time(21s), .workers = 5}).change, -1);
  wish = 1;
  EXPECT_EQ(scaler.decide({.now = Time(109s), .workers = 4}).change, 0);
  EXPECT_EQ(scaler.decide({.now = Time(110s), .workers = 4}).change, 1);
}

TEST(Scaler, WhatACustomFunctionThrowsComesOutAndChangesNothing) {
  bool throws = true;
  Scaler scaler({.policy = ScalingPolicy::custom, .custom = [&](const ScalingInput&) {
                   if (throws) throw std::runtime_error("no figures");
                   return 1;
                 }});
  EXPECT_THROW((void)scaler.decide({.now = Time(1s), .workers = 1}), std::runtime_error);
  throws = false;
  EXPECT_EQ(scaler.decide({.now = Time(2s), .workers = 1}).change, 1);
}

// A predictive scaler that is asked once a second, with tasks of 100 ms.
class PredictiveScalingTest : public ::testing::Test {
 protected:
  ScalingDecision second(std::uint64_t rate, std::size_t workers, std::size_t queued = 0) {
    now_ += 1s;
    arrivals_ += rate;
    return scaler_.decide({.now = now_,
                           .workers = workers,
                           .active = workers / 2,
                           .queued = queued,
                           .idle = workers - workers / 2,
                           .arrivals = arrivals_,
                           .completions = completions_,
                           .average_task_time = task_time_});
  }

  // Workers after so many seconds, each decision carried out.
  std::size_t settle(int seconds, std::uint64_t rate, std::size_t workers) {
    for (int i = 0; i < seconds; ++i) {
      workers = static_cast<std::size_t>(static_cast<int>(workers) + second(rate, workers).change);
    }
    return workers;
  }

  void begin(const PredictiveScaling& predictive) {
    scaler_ =
        Scaler({.policy = ScalingPolicy::predictive, .max_workers = 100, .predictive = predictive});
  }

  Scaler scaler_{{.policy = ScalingPolicy::predictive, .max_workers = 100}};
  Time now_{};
  std::uint64_t arrivals_ = 0;
  std::uint64_t completions_ = 1;
  Duration task_time_ = 100ms;
};

// Nine are busy all the time, and the square root of nine is three.
TEST_F(PredictiveScalingTest, HasTheBusyWorkersAndTheirSquareRoot) {
  EXPECT_EQ(settle(10, 90, 1), 12U);
  EXPECT_EQ(second(90, 12).change, 0);
}

// 200 that wait, at 100 ms, are two workers for ten seconds.
TEST_F(PredictiveScalingTest, AddsForWhatWaits) {
  settle(20, 90, 12);
  EXPECT_EQ(second(90, 12, 200).change, 2);
}

// 100 per second, then 10 more each second up to 250, which is work for 25.
TEST_F(PredictiveScalingTest, AddsForWhatWillComeWithinTheHorizon) {
  const auto workers_with = [&](Duration horizon) {
    begin({.horizon = horizon});
    std::size_t workers = settle(60, 100, 14);
    EXPECT_EQ(workers, 14U);
    for (std::uint64_t rate = 110; rate <= 250; rate += 10) workers = settle(1, rate, workers);
    return workers;
  };
  const std::size_t none_ahead = workers_with(1ns);
  EXPECT_LT(none_ahead, 25U + 5U);
  EXPECT_GT(workers_with(10s), none_ahead + 3);
  EXPECT_GT(workers_with(20s), none_ahead + 6);
}

TEST_F(PredictiveScalingTest, WithLongerSmoothingItNoticesLater) {
  const auto workers_with = [&](Duration smoothing) {
    begin({.smoothing = smoothing});
    return settle(5, 250, settle(60, 100, 14));
  };
  EXPECT_GT(workers_with(2s), workers_with(10s) + 5);
}

TEST_F(PredictiveScalingTest, WithoutHeadroomItHasTheBusyWorkersOnly) {
  begin({.headroom = 0});
  EXPECT_EQ(settle(10, 90, 1), 9U);
  begin({.headroom = 2});
  EXPECT_EQ(settle(10, 90, 1), 15U);
}

TEST_F(PredictiveScalingTest, RemovesAfterAsLongAsItIsTold) {
  begin({.scale_down_delay = 20s});
  EXPECT_EQ(settle(20, 90, 30), 30U);
  EXPECT_LT(settle(1, 90, 30), 16U);
}

TEST_F(PredictiveScalingTest, RemovesWhatWasNotNeededForAMinute) {
  settle(20, 90, 30);
  std::size_t workers = settle(40, 90, 30);
  EXPECT_EQ(workers, 30U);
  workers = settle(5, 90, 30);
  EXPECT_LT(workers, 16U);
  EXPECT_GE(workers, 12U) << "chance may want a few more than twelve";
}

TEST_F(PredictiveScalingTest, AShortNeedKeepsWorkersForAnotherMinute) {
  settle(50, 90, 30);
  settle(20, 260, 30);
  EXPECT_EQ(settle(59, 90, 30), 30U);
}

TEST_F(PredictiveScalingTest, DecidesByRatioUntilATaskHasEnded) {
  completions_ = 0;
  EXPECT_EQ(settle(3, 1000, 4), 4U);
  EXPECT_EQ(second(1000, 4, 6).change, 1);
}

// A pool that times one task in 64 may have run 63 without knowing how long they take.
TEST_F(PredictiveScalingTest, DecidesByRatioUntilATaskWasTimed) {
  task_time_ = Duration::zero();
  EXPECT_EQ(settle(3, 1000, 4), 4U);
  EXPECT_EQ(second(1000, 4, 6).change, 1);
}

TEST_F(PredictiveScalingTest, AddsWhenThePoolStaysOverloadedAgainstThePrediction) {
  settle(20, 10, 5);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(second(10, 5, 8).change, 0) << "after " << i << " s";
  EXPECT_EQ(second(10, 5, 8).change, 1);
}

TEST_F(PredictiveScalingTest, AnOverloadThatPassesDoesNotAdd) {
  settle(20, 10, 5);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(second(10, 5, i % 9 == 0 ? 0 : 8).change, 0);
}

TEST(Scaler, AFunctionOfYoursLooksAtThePool) {
  const ScalingOptions scaling{
      .policy = ScalingPolicy::custom,
      .custom = [](const ScalingInput& pool) { return pool.queued > 9 ? 2 : 0; }};
  EXPECT_EQ(Scaler(scaling).decide({.workers = 1, .queued = 9}).change, 0);
  EXPECT_EQ(Scaler(scaling).decide({.workers = 1, .queued = 10}).change, 2);
}

}  // namespace
}  // namespace muster
