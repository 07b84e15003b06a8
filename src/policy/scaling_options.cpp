// scaling_options.cpp: which options make sense.
#include <cmath>

#include <muster/policy/scaling.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxWorkers = 1024;

using BadFields = std::vector<BadField>;

void check_step(BadFields& bad, const char* field, std::size_t step) {
  if (step >= 1 && step <= kMaxWorkers) return;
  bad.push_back({.field = field,
                 .value = std::to_string(step),
                 .rule = "must be from 1 to " + std::to_string(kMaxWorkers)});
}

void check_positive(BadFields& bad, const char* field, Duration duration) {
  if (duration > Duration::zero()) return;
  bad.push_back({.field = field, .value = option_text(duration), .rule = "must be more than 0"});
}

void check_not_negative(BadFields& bad, const char* field, Duration duration) {
  if (duration >= Duration::zero()) return;
  bad.push_back({.field = field, .value = option_text(duration), .rule = "must be 0 or more"});
}

void check_limits(BadFields& bad, const ScalingOptions& options) {
  check_step(bad, "min_workers", options.min_workers);
  check_step(bad, "max_workers", options.max_workers);
  if (options.min_workers > options.max_workers) {
    bad.push_back({.field = "min_workers",
                   .value = std::to_string(options.min_workers),
                   .rule = "must be at most max_workers, " + std::to_string(options.max_workers)});
  }
  check_positive(bad, "check_every", options.check_every);
  check_not_negative(bad, "scale_up_cooldown", options.scale_up_cooldown);
  check_not_negative(bad, "scale_down_cooldown", options.scale_down_cooldown);
}

void check_predictive(BadFields& bad, const PredictiveScaling& predictive) {
  check_positive(bad, "predictive.horizon", predictive.horizon);
  check_positive(bad, "predictive.smoothing", predictive.smoothing);
  check_not_negative(bad, "predictive.scale_down_delay", predictive.scale_down_delay);
  // Written so that a NaN fails.
  if (!(predictive.headroom >= 0 && predictive.headroom <= 100)) {
    bad.push_back({.field = "predictive.headroom",
                   .value = option_text(predictive.headroom),
                   .rule = "must be from 0 to 100"});
  }
}

}  // namespace

std::string_view to_string(ScalingPolicy policy) {
  switch (policy) {
    case ScalingPolicy::ratio:
      return "ratio";
    case ScalingPolicy::depth:
      return "depth";
    case ScalingPolicy::predictive:
      return "predictive";
    case ScalingPolicy::custom:
      return "custom";
  }
  return "unknown";
}

std::vector<BadField> validate(const ScalingOptions& options) {
  BadFields bad;
  check_limits(bad, options);
  if (!(options.ratio.scale_up_threshold > 0 && std::isfinite(options.ratio.scale_up_threshold))) {
    bad.push_back({.field = "ratio.scale_up_threshold",
                   .value = option_text(options.ratio.scale_up_threshold),
                   .rule = "must be a number more than 0"});
  }
  check_not_negative(bad, "ratio.scale_down_idle_timeout", options.ratio.scale_down_idle_timeout);
  check_step(bad, "ratio.scale_up_step", options.ratio.scale_up_step);
  check_step(bad, "ratio.scale_down_step", options.ratio.scale_down_step);
  check_not_negative(bad, "depth.scale_down_delay", options.depth.scale_down_delay);
  check_step(bad, "depth.scale_up_step", options.depth.scale_up_step);
  check_step(bad, "depth.scale_down_step", options.depth.scale_down_step);
  check_predictive(bad, options.predictive);
  if ((options.policy == ScalingPolicy::custom) != static_cast<bool>(options.custom)) {
    bad.push_back({.field = "custom",
                   .value = options.custom ? "given" : "empty",
                   .rule = options.custom ? "must be empty unless policy is custom"
                                          : "must be given if policy is custom"});
  }
  return bad;
}

}  // namespace muster
