// admission_test.cpp: the bound holds for those outside, and back-pressure has two levels.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/admission.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> bad_fields(const AdmissionOptions& options) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(options)) fields.push_back(bad.field);
  return fields;
}

TEST(Admission, HasTheDefaultsThatAreDocumented) {
  const AdmissionOptions options;
  EXPECT_EQ(options.max_queued, 1'048'576U);
  EXPECT_EQ(options.max_queued_per_key, 0U);
  EXPECT_EQ(options.when_full, WhenFull::block);
  EXPECT_FALSE(options.block_timeout);
  EXPECT_TRUE(validate(options).empty());
}

TEST(Admission, EveryBadFieldIsNamedAtOnce) {
  const AdmissionOptions bad{.max_queued = 0,
                             .max_queued_per_key = 1,
                             .when_full = WhenFull::reject,
                             .block_timeout = -1ns,
                             .high_watermark = 1.5,
                             .low_watermark = -0.1};
  EXPECT_EQ(bad_fields(bad),
            (std::vector<std::string>{"max_queued", "max_queued_per_key", "block_timeout",
                                      "block_timeout", "high_watermark", "low_watermark"}));
}

TEST(Admission, OptionsAtTheirLimitsAreValidAndBeyondThemAreNot) {
  struct Case {
    AdmissionOptions options;
    std::vector<std::string> bad;
  };
  const std::vector<Case> cases{
      {{.max_queued = 1}, {}},
      {{.max_queued = std::size_t{1} << 40}, {}},
      {{.max_queued = (std::size_t{1} << 40) + 1}, {"max_queued"}},
      {{.max_queued = 5, .max_queued_per_key = 5}, {}},
      {{.max_queued = 5, .max_queued_per_key = 6}, {"max_queued_per_key"}},
      {{.block_timeout = 1ns}, {}},
      {{.block_timeout = 0ns}, {"block_timeout"}},
      {{.when_full = WhenFull::caller_runs, .block_timeout = 1s}, {"block_timeout"}},
      {{.high_watermark = 1.0, .low_watermark = 0.0}, {}},
      {{.high_watermark = 0.0}, {"high_watermark", "low_watermark"}},
      {{.high_watermark = kNan}, {"high_watermark", "low_watermark"}},
      {{.low_watermark = kNan}, {"low_watermark"}},
      {{.low_watermark = 0.8}, {"low_watermark"}},
      {{.low_watermark = 0.79}, {}},
  };
  for (const Case& each : cases) EXPECT_EQ(bad_fields(each.options), each.bad);
}

TEST(Admission, ATaskWithRoomIsAcceptedAndOneWithoutIsTreatedAsTold) {
  struct Case {
    WhenFull when_full;
    AdmissionAction action;
  };
  for (const Case& each : {Case{WhenFull::block, AdmissionAction::wait},
                           Case{WhenFull::reject, AdmissionAction::reject},
                           Case{WhenFull::drop_oldest, AdmissionAction::drop_oldest},
                           Case{WhenFull::drop_newest, AdmissionAction::drop_newest},
                           Case{WhenFull::caller_runs, AdmissionAction::run_here}}) {
    const AdmissionOptions options{.max_queued = 3, .when_full = each.when_full};
    SCOPED_TRACE(to_string(each.when_full));
    for (const std::size_t queued : {0U, 1U, 2U}) {
      EXPECT_EQ(admit(options, {.queued = queued}, Origin::outside),
                (AdmissionDecision{AdmissionAction::accept, FullQueue::none}));
    }
    for (const std::size_t queued : {3U, 4U, 1000U}) {
      EXPECT_EQ(admit(options, {.queued = queued}, Origin::outside),
                (AdmissionDecision{each.action, FullQueue::pool}));
    }
  }
}

TEST(Admission, WhatWorkersPostIsAlwaysAccepted) {
  for (const WhenFull when_full : {WhenFull::block, WhenFull::reject, WhenFull::drop_oldest,
                                   WhenFull::drop_newest, WhenFull::caller_runs}) {
    const AdmissionOptions options{
        .max_queued = 3, .max_queued_per_key = 2, .when_full = when_full};
    for (const Backlog backlog : {Backlog{3, 0}, Backlog{2, 2}, Backlog{9, 9}}) {
      EXPECT_EQ(admit(options, backlog, Origin::inside).action, AdmissionAction::accept);
    }
  }
}

TEST(Admission, AKeyHasALimitOfItsOwnAndItIsNamedFirst) {
  const AdmissionOptions options{
      .max_queued = 10, .max_queued_per_key = 2, .when_full = WhenFull::drop_oldest};
  const auto full = [&](std::size_t queued, std::size_t queued_of_key) {
    return admit(options, {queued, queued_of_key}, Origin::outside).full;
  };
  EXPECT_EQ(full(9, 1), FullQueue::none);
  EXPECT_EQ(full(2, 2), FullQueue::key);
  EXPECT_EQ(full(10, 1), FullQueue::pool);
  EXPECT_EQ(full(10, 2), FullQueue::key);
}

TEST(Admission, WithoutALimitPerKeyOneKeyMayFillTheQueue) {
  const AdmissionOptions options{.max_queued = 10};
  EXPECT_EQ(admit(options, {9, 9}, Origin::outside).action, AdmissionAction::accept);
}

TEST(Watermarks, LieAtTheirSharesOfTheBound) {
  struct Case {
    std::size_t max_queued;
    double high_share;
    double low_share;
    std::size_t high;
    std::size_t low;
  };
  for (const Case& each : {Case{1'000'000, 0.8, 0.5, 800'000, 500'000},  //
                           Case{10, 0.8, 0.5, 8, 5},                     //
                           Case{10, 0.75, 0.74, 8, 7},                   //
                           Case{10, 1.0, 0.0, 10, 0},                    //
                           Case{1, 0.8, 0.5, 1, 0},                      //
                           Case{1, 0.001, 0.0, 1, 0},                    //
                           Case{100, 0.05, std::nextafter(0.05, 0.0), 5, 4}}) {
    const Watermarks watermarks({.max_queued = each.max_queued,
                                 .high_watermark = each.high_share,
                                 .low_watermark = each.low_share});
    EXPECT_EQ(watermarks.high(), each.high);
    EXPECT_EQ(watermarks.low(), each.low);
  }
}

TEST(Watermarks, BackPressureGoesOnAtTheHighOneAndOffAtTheLowOne) {
  const Watermarks watermarks({.max_queued = 10});
  struct Step {
    std::size_t queued;
    BackPressure after;
  };
  BackPressure state = BackPressure::off;
  for (const Step& step :
       {Step{0, BackPressure::off}, Step{7, BackPressure::off}, Step{8, BackPressure::on},
        Step{7, BackPressure::on}, Step{6, BackPressure::on}, Step{5, BackPressure::off},
        Step{7, BackPressure::off}, Step{100, BackPressure::on}}) {
    state = watermarks.after(state, step.queued);
    EXPECT_EQ(state, step.after) << "at " << step.queued;
  }
}

TEST(Watermarks, BetweenTwoSwitchesTheQueueHasMovedFromOneToTheOther) {
  Random random = testing::seeded();
  for (int round = 0; round < 200; ++round) {
    const double high_share = 0.01 + 0.99 * random.real();
    const AdmissionOptions options{.max_queued = 1 + random.below(1000),
                                   .high_watermark = high_share,
                                   .low_watermark = high_share * 0.999 * random.real()};
    ASSERT_TRUE(validate(options).empty());
    const Watermarks watermarks(options);
    ASSERT_LT(watermarks.low(), watermarks.high());
    ASSERT_LE(watermarks.high(), options.max_queued);
    BackPressure state = BackPressure::off;
    std::size_t queued = 0;
    for (int step = 0; step < 2000; ++step) {
      const std::size_t moved = random.below(1 + options.max_queued / 8) + 1;
      queued = random.chance(0.5) ? queued + moved : queued - std::min(queued, moved);
      const BackPressure after = watermarks.after(state, queued);
      if (after != state) {
        ASSERT_TRUE(after == BackPressure::on ? queued >= watermarks.high()
                                              : queued <= watermarks.low());
      } else {
        ASSERT_FALSE(after == BackPressure::off && queued >= watermarks.high());
        ASSERT_FALSE(after == BackPressure::on && queued <= watermarks.low());
      }
      state = after;
    }
  }
}

}  // namespace
}  // namespace muster
