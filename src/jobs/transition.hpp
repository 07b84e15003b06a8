// transition.hpp: what becomes of a job when an attempt has ended.
//
// The only place where that is decided. Pure: no clock, no store.
#pragma once

#include <optional>
#include <string>

#include <muster/base/clock.hpp>
#include <muster/jobs/job.hpp>
#include <muster/policy/retry.hpp>

namespace muster {

// How an attempt ended.
struct AttemptOutcome {
  std::optional<FailureKind> failure = {};  // none: it went well
  std::string what = {};                    // of the failure
  bool is_retryable = true;                 // as the pool's own function says
};

struct Transition {
  JobState state = JobState::available;  // available: there is another attempt
  WallTime run_at{};                     // of which the time is this
  unsigned attempts = 0;                 // that have failed so far
};

// `attempts` had failed before this one. `luck` is from 0 to 1, and decides the jitter. A function
// of delays that throws ends the job: it would be tried for ever otherwise.
struct Attempted {
  unsigned attempts = 0;
  WallTime now{};
  double luck = 0;
};
[[nodiscard]] Transition after_attempt(const RetryOptions& retry, const AttemptOutcome& outcome,
                                       const Attempted& attempted);

}  // namespace muster
