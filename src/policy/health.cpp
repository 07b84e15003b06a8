// health.cpp: from silence to a decision.
#include <algorithm>
#include <string>
#include <utility>

#include <muster/policy/health.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

// However long nobody looked, so many heartbeats may have been missed because of the worker.
constexpr int kMostHeartbeatsPerLook = 2;
constexpr int kHeartbeatsBeforeWarning = 2;

// Sums of such times do not overflow.
constexpr Duration kLongest = std::chrono::hours(24 * 365);

}  // namespace

std::vector<BadField> validate(const HealthOptions& options) {
  std::vector<BadField> bad;
  const auto check = [&bad](bool is_good, const char* field, Duration value, std::string rule) {
    if (is_good && value <= kLongest) return;
    if (is_good) rule = "must be at most a year";
    bad.push_back({.field = field, .value = option_text(value), .rule = std::move(rule)});
  };
  check(options.heartbeat > Duration::zero(), "heartbeat", options.heartbeat,
        "must be more than 0");
  // Divided, for a heartbeat that is out of range must not overflow.
  check(options.warning / kHeartbeatsBeforeWarning >= options.heartbeat, "warning", options.warning,
        "must be at least two heartbeats of " + option_text(options.heartbeat));
  check(options.zombie > options.warning, "zombie", options.zombie,
        "must be more than warning, " + option_text(options.warning));
  check(options.busy_zombie >= options.zombie, "busy_zombie", options.busy_zombie,
        "must be at least zombie, " + option_text(options.zombie));
  check(options.terminate_grace >= Duration::zero(), "terminate_grace", options.terminate_grace,
        "must be at least 0");
  return bad;
}

std::string_view to_string(HealthAction action) {
  switch (action) {
    case HealthAction::none:
      return "none";
    case HealthAction::warn:
      return "warn";
    case HealthAction::recovered:
      return "recovered";
    case HealthAction::terminate:
      return "terminate";
    case HealthAction::kill:
      return "kill";
  }
  return "unknown";
}

HealthAction Health::look(const VitalSigns& signs, Time now) noexcept {
  const Duration passed = std::clamp<Duration>(now - last_look_, Duration::zero(),
                                               options_.heartbeat * kMostHeartbeatsPerLook);
  last_look_ = std::max(now, last_look_);
  const VitalSigns before = last_;
  last_ = signs;
  silence_ = signs.beats != before.beats ? Duration::zero() : silence_ + passed;
  switch (phase_) {
    case Phase::well:
    case Phase::late:
      return look_at_living(signs, before);
    case Phase::ending:
      return look_at_ending(signs, passed);
    case Phase::killed:
      break;
  }
  return HealthAction::none;
}

HealthAction Health::look_at_living(const VitalSigns& signs, const VitalSigns& before) noexcept {
  if (silence_ == Duration::zero()) {
    if (phase_ == Phase::well) return HealthAction::none;
    phase_ = Phase::well;
    return HealthAction::recovered;
  }
  const bool something_speaks_for_it = signs.dumps_core || signs.cpu_time > before.cpu_time;
  if (silence_ >= (something_speaks_for_it ? options_.busy_zombie : options_.zombie)) {
    phase_ = Phase::ending;
    is_zombie_ = true;
    return HealthAction::terminate;
  }
  if (phase_ == Phase::late || silence_ < options_.warning) return HealthAction::none;
  phase_ = Phase::late;
  return HealthAction::warn;
}

// A core that is being dumped would be cut short.
HealthAction Health::look_at_ending(const VitalSigns& signs, Duration passed) noexcept {
  ending_for_ += passed;
  const bool waits_for_core =
      signs.dumps_core && ending_for_ < options_.busy_zombie + options_.terminate_grace;
  if (ending_for_ < options_.terminate_grace || waits_for_core) return HealthAction::none;
  phase_ = Phase::killed;
  return HealthAction::kill;
}

void Health::expect_end() noexcept {
  if (phase_ == Phase::well || phase_ == Phase::late) phase_ = Phase::ending;
}

}  // namespace muster
