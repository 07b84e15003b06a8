// transition_test.cpp: every way in which an attempt may end.
#include "jobs/transition.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1000s};

TEST(Transition, WhatWentWellIsCompleted) {
  const Transition after = after_attempt({}, {}, {.attempts = 2, .now = kNow});
  EXPECT_EQ(after.state, JobState::completed);
  EXPECT_EQ(after.attempts, 2U) << "only failures count";
}

TEST(Transition, AFailureIsTriedAgainUntilItsAttemptsAreUsedUp) {
  const RetryOptions retry{.max_attempts = 3, .delay = exponential(1s, 5min), .jitter = 0};
  const AttemptOutcome failed{.failure = FailureKind::error, .what = "no"};
  const Transition first = after_attempt(retry, failed, {.now = kNow});
  EXPECT_EQ(first.state, JobState::available);
  EXPECT_EQ(first.run_at, kNow + 1s);
  EXPECT_EQ(first.attempts, 1U);
  const Transition second = after_attempt(retry, failed, {.attempts = 1, .now = kNow});
  EXPECT_EQ(second.run_at, kNow + 2s);
  const Transition last = after_attempt(retry, failed, {.attempts = 2, .now = kNow});
  EXPECT_EQ(last.state, JobState::dead);
  EXPECT_EQ(last.attempts, 3U);
}

TEST(Transition, WhatIsNotRetryableIsDeadAtOnce) {
  const AttemptOutcome outcome{.failure = FailureKind::error, .is_retryable = false};
  EXPECT_EQ(after_attempt({}, outcome, {}).state, JobState::dead);
}

TEST(Transition, TheKindOfFailureMayEndItToo) {
  const RetryOptions retry{.retry_on = {.crash = false}};
  EXPECT_EQ(after_attempt(retry, {.failure = FailureKind::crash}, {}).state, JobState::dead);
  EXPECT_EQ(after_attempt(retry, {.failure = FailureKind::timeout}, {}).state, JobState::available);
}

TEST(Transition, AFunctionOfDelaysThatThrowsEndsTheJob) {
  const RetryOptions retry{
      .delay = RetryDelay([](unsigned) -> Duration { throw std::runtime_error("no delay"); })};
  EXPECT_EQ(after_attempt(retry, {.failure = FailureKind::error}, {}).state, JobState::dead);
}

TEST(Transition, TheLongestDelayDoesNotWrapAround) {
  const RetryOptions retry{.delay = fixed(Duration::max()), .jitter = 0};
  const Transition after = after_attempt(retry, {.failure = FailureKind::error}, {.now = kNow});
  EXPECT_GT(after.run_at, kNow);
}

}  // namespace
}  // namespace muster
