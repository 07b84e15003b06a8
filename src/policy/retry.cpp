// retry.cpp: the shapes of delays, and who gets another attempt.
#include <algorithm>
#include <string>
#include <utility>

#include <muster/policy/retry.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

// `step` times `factor`, but no more than `longest`; never overflows.
Duration times(Duration step, std::uint64_t factor, Duration longest) {
  if (step <= Duration::zero()) return Duration::zero();
  const auto most = static_cast<std::uint64_t>(longest / step);
  return factor > most ? longest : step * static_cast<Duration::rep>(factor);
}

bool is_worth_another(const RetryOn& retry_on, FailureKind kind) {
  switch (kind) {
    case FailureKind::error:
      return retry_on.error;
    case FailureKind::crash:
      return retry_on.crash;
    case FailureKind::timeout:
      return retry_on.timeout;
  }
  return false;
}

// The longest delay, with jitter, must not wrap round to the past when it is added to now.
constexpr Duration kLongestDelay = std::chrono::hours(24 * 365 * 10);

}  // namespace

std::string_view to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::error:
      return "error";
    case FailureKind::crash:
      return "crash";
    case FailureKind::timeout:
      return "timeout";
  }
  return "unknown";
}

RetryDelay fixed(Duration delay) {
  return {RetryDelay::Shape::fixed, delay, delay};
}

RetryDelay linear(Duration step, Duration longest) {
  return {RetryDelay::Shape::linear, step, longest};
}

RetryDelay exponential(Duration first, Duration longest) {
  return {RetryDelay::Shape::exponential, first, longest};
}

RetryDelay::~RetryDelay() = default;
RetryDelay::RetryDelay(const RetryDelay&) = default;
RetryDelay::RetryDelay(RetryDelay&&) noexcept = default;
RetryDelay& RetryDelay::operator=(const RetryDelay&) = default;
RetryDelay& RetryDelay::operator=(RetryDelay&&) noexcept = default;

Duration RetryDelay::after(unsigned attempt) const {
  constexpr unsigned kMostDoublings = 63;
  const unsigned doublings = std::min(std::max(attempt, 1U) - 1, kMostDoublings);
  Duration delay{};
  switch (shape_) {
    case Shape::fixed:
      delay = step_;
      break;
    case Shape::linear:
      delay = times(step_, std::max(attempt, 1U), longest_);
      break;
    case Shape::exponential:
      delay = times(step_, std::uint64_t{1} << doublings, longest_);
      break;
    case Shape::custom:
      delay = function_(attempt);
      break;
  }
  return std::clamp(delay, Duration::zero(), kLongestDelay);
}

void RetryDelay::check(std::string_view field, std::vector<BadField>& bad) const {
  const std::string name(field);
  if (shape_ == Shape::custom) {
    if (!function_) bad.push_back({name, "empty", "must be a function that can be called"});
    return;
  }
  const auto out_of_range = [](Duration value) {
    return value < Duration::zero() || value > kLongestDelay;
  };
  const std::string rule = "must be from 0 to " + option_text(kLongestDelay);
  if (out_of_range(step_)) bad.push_back({name, option_text(step_), rule});
  if (shape_ == Shape::fixed) return;
  if (out_of_range(longest_)) {
    bad.push_back({name + ".longest", option_text(longest_), rule});
  } else if (longest_ < step_) {
    bad.push_back({name + ".longest", option_text(longest_),
                   "must be at least the first delay, " + option_text(step_)});
  }
}

std::vector<BadField> validate(const RetryOptions& options) {
  std::vector<BadField> bad;
  if (options.max_attempts < 1) {
    bad.push_back({"max_attempts", "0", "must be at least 1: the first one counts"});
  }
  options.delay.check("delay", bad);
  if (!(options.jitter >= 0 && options.jitter <= 1)) {
    bad.push_back({"jitter", option_text(options.jitter), "must be from 0 to 1"});
  }
  return bad;
}

std::optional<Duration> delay_before_retry(const RetryOptions& options, const Failure& failure,
                                           double luck) {
  if (!is_worth_another(options.retry_on, failure.kind)) return std::nullopt;
  if (failure.attempt >= options.max_attempts) return std::nullopt;
  const Duration delay = options.delay.after(failure.attempt);
  const double more = static_cast<double>(delay.count()) * options.jitter * luck;
  return delay + Duration(static_cast<Duration::rep>(more));
}

}  // namespace muster
