// retry_test.cpp: how often and when an attempt is repeated.
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/retry.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr unsigned kMost = std::numeric_limits<unsigned>::max();

std::vector<Duration> delays(const RetryDelay& delay, unsigned attempts) {
  std::vector<Duration> all;
  for (unsigned attempt = 1; attempt <= attempts; ++attempt) all.push_back(delay.after(attempt));
  return all;
}

std::vector<std::string> bad_fields(const RetryOptions& options) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(options)) fields.push_back(bad.field);
  return fields;
}

TEST(Retry, HasTheDefaultsThatAreDocumented) {
  const RetryOptions options;
  EXPECT_TRUE(validate(options).empty());
  EXPECT_EQ(options.max_attempts, 3U);
  EXPECT_EQ(delays(options.delay, 10),
            (std::vector<Duration>{1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s}));
  EXPECT_EQ(options.jitter, 0.1);
}

TEST(Retry, TheFirstAttemptCounts) {
  const RetryOptions three;
  EXPECT_EQ(delay_before_retry(three, {.attempt = 1}, 0), 1s);
  EXPECT_EQ(delay_before_retry(three, {.attempt = 2}, 0), 2s);
  EXPECT_EQ(delay_before_retry(three, {.attempt = 3}, 0), std::nullopt);
  EXPECT_EQ(delay_before_retry({.max_attempts = 1}, {.attempt = 1}, 0), std::nullopt);
}

TEST(Retry, OnlyTheChosenKindsOfFailureAreRepeated) {
  const auto is_repeated = [](const RetryOn& on, FailureKind kind) {
    return delay_before_retry({.retry_on = on}, {.kind = kind}, 0).has_value();
  };
  for (const FailureKind kind : {FailureKind::error, FailureKind::crash, FailureKind::timeout}) {
    EXPECT_TRUE(is_repeated({}, kind));
    EXPECT_EQ(is_repeated({.error = false}, kind), kind != FailureKind::error);
    EXPECT_EQ(is_repeated({.crash = false}, kind), kind != FailureKind::crash);
    EXPECT_EQ(is_repeated({.timeout = false}, kind), kind != FailureKind::timeout);
  }
}

TEST(Retry, JitterOnlyAddsAndAtMostItsShare) {
  const RetryOptions options{.delay = fixed(10s), .jitter = 0.5};
  EXPECT_EQ(delay_before_retry(options, {}, 0), 10s);
  EXPECT_EQ(delay_before_retry(options, {}, 0.5), 12'500ms);
  EXPECT_EQ(delay_before_retry(options, {}, 1), 15s);
  EXPECT_EQ(delay_before_retry({.delay = fixed(10s), .jitter = 0}, {}, 1), 10s);
}

TEST(Retry, DelaysGrowAsTheirShapeSays) {
  EXPECT_EQ(delays(fixed(3s), 3), (std::vector<Duration>{3s, 3s, 3s}));
  EXPECT_EQ(delays(linear(2s, 5s), 4), (std::vector<Duration>{2s, 4s, 5s, 5s}));
  EXPECT_EQ(delays(exponential(2s, 7s), 4), (std::vector<Duration>{2s, 4s, 7s, 7s}));
  EXPECT_EQ(delays(exponential(0s, 7s), 3), (std::vector<Duration>{0s, 0s, 0s}));
}

TEST(Retry, NoNumberOfAttemptsOverflows) {
  EXPECT_EQ(exponential(1ns, 87'600h).after(kMost), 87'600h);
  EXPECT_EQ(linear(24h, 87'600h).after(kMost), 87'600h);
  const RetryOptions lasting{.max_attempts = kMost, .delay = fixed(87'600h), .jitter = 1};
  const auto delay = delay_before_retry(lasting, {.attempt = kMost - 1}, 1);
  ASSERT_TRUE(delay);
  EXPECT_GT(Time(87'600h) + *delay, Time(*delay)) << "still fits behind now";
}

TEST(Retry, AFunctionDecidesByTheAttemptAndIsKeptInRange) {
  const RetryDelay squares([](unsigned attempt) { return attempt * attempt * 1s; });
  EXPECT_EQ(delays(squares, 3), (std::vector<Duration>{1s, 4s, 9s}));
  EXPECT_EQ(RetryDelay([](unsigned) { return -1s; }).after(1), 0s);
  EXPECT_EQ(RetryDelay([](unsigned) { return Duration::max(); }).after(1), 87'600h);
  const RetryOptions throwing{
      .delay = RetryDelay([](unsigned) -> Duration { throw std::out_of_range("delay"); })};
  EXPECT_THROW((void)delay_before_retry(throwing, {}, 0), std::out_of_range);
}

TEST(Retry, EveryBadFieldIsNamedAtOnce) {
  EXPECT_EQ(bad_fields({.max_attempts = 0, .delay = exponential(-1s, -2s), .jitter = kNan}),
            (std::vector<std::string>{"max_attempts", "delay", "delay.longest", "jitter"}));
  EXPECT_EQ(bad_fields({.delay = linear(2s, 1s), .jitter = 1.5}),
            (std::vector<std::string>{"delay.longest", "jitter"}));
  EXPECT_EQ(bad_fields({.delay = RetryDelay(RetryDelay::Function())}),
            std::vector<std::string>{"delay"});
  EXPECT_EQ(bad_fields({.delay = fixed(100'000h)}), std::vector<std::string>{"delay"});
}

}  // namespace
}  // namespace muster
