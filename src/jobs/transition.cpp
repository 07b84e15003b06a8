// transition.cpp: completed, once more, or dead.
#include "jobs/transition.hpp"

#include <exception>

namespace muster {
namespace {

std::optional<Duration> delay_after(const RetryOptions& retry, const Failure& failure,
                                    double luck) {
  try {
    return delay_before_retry(retry, failure, luck);
  } catch (...) {
    return std::nullopt;
  }
}

// Delays may be as long as the clock goes.
WallTime later(WallTime now, Duration delay) {
  const auto rounded = std::chrono::duration_cast<WallTime::duration>(delay);
  return rounded > WallTime::max() - now ? WallTime::max() : now + rounded;
}

}  // namespace

Transition after_attempt(const RetryOptions& retry, const AttemptOutcome& outcome,
                         const Attempted& attempted) {
  if (!outcome.failure) {
    return {.state = JobState::completed, .attempts = attempted.attempts};
  }
  const unsigned attempts = attempted.attempts + 1;
  std::optional<Duration> delay;
  if (outcome.is_retryable) {
    delay = delay_after(retry, {.kind = *outcome.failure, .attempt = attempts}, attempted.luck);
  }
  if (!delay) return {.state = JobState::dead, .attempts = attempts};
  return {.run_at = later(attempted.now, *delay), .attempts = attempts};
}

}  // namespace muster
