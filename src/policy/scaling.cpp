// scaling.cpp: what each policy wishes for, and what limits and cooldowns leave of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <muster/policy/scaling.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

template <class... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 128> written{};
  (void)std::snprintf(written.data(), written.size(), format, values...);
  return written.data();
}

ScalingOptions checked(const ScalingOptions& options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  return options;
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double load(const ScalingInput& input) {
  const std::size_t workers = std::max<std::size_t>(1, input.workers);
  return static_cast<double>(input.queued + input.active) / static_cast<double>(workers);
}

// Never removes a worker that has something to do.
int up_to_idle(const ScalingInput& input, std::size_t step) {
  return -static_cast<int>(std::min(step, input.idle));
}

std::size_t whole_workers(double needed) {
  return static_cast<std::size_t>(std::ceil(std::min(needed, 1e6)));
}

int difference(std::size_t wanted, std::size_t workers) {
  return static_cast<int>(wanted) - static_cast<int>(workers);
}

}  // namespace

Scaler::Scaler(const ScalingOptions& options)
    : options_(checked(options)), trend_(options.predictive.smoothing) {}

ScalingDecision Scaler::decide(const ScalingInput& input) {
  if (input.workers < options_.min_workers) {
    return taken(input.now, {difference(options_.min_workers, input.workers),
                             text("fewer than min_workers, %zu", options_.min_workers)});
  }
  if (input.workers > options_.max_workers) {
    return taken(input.now, {difference(options_.max_workers, input.workers),
                             text("more than max_workers, %zu", options_.max_workers)});
  }
  ScalingDecision wished = wish(input);
  if (wished.change == 0) return wished;
  const char* const hindrance = hindrance_of(input, wished.change);
  if (hindrance != nullptr) return {0, hindrance + wished.reason};
  wished.change = std::clamp(wished.change, difference(options_.min_workers, input.workers),
                             difference(options_.max_workers, input.workers));
  return taken(input.now, std::move(wished));
}

// Why nothing may change now; nullptr if it may.
const char* Scaler::hindrance_of(const ScalingInput& input, int change) const {
  const auto is_cooling = [&](std::optional<Time> last, Duration cooldown) {
    return last && input.now - *last < cooldown;
  };
  if (change > 0) {
    if (input.workers == options_.max_workers) return "has max_workers; ";
    if (is_cooling(last_up_, options_.scale_up_cooldown)) return "has just added workers; ";
  } else {
    if (input.workers == options_.min_workers) return "has min_workers; ";
    if (is_cooling(last_down_, options_.scale_down_cooldown)) return "has just removed workers; ";
  }
  return nullptr;
}

ScalingDecision Scaler::taken(Time now, ScalingDecision decision) {
  (decision.change > 0 ? last_up_ : last_down_) = now;
  return decision;
}

ScalingDecision Scaler::wish(const ScalingInput& input) {
  switch (options_.policy) {
    case ScalingPolicy::ratio:
      return wish_by_ratio(input);
    case ScalingPolicy::depth:
      return wish_by_depth(input);
    case ScalingPolicy::predictive:
      return wish_by_prediction(input);
    case ScalingPolicy::custom:
      return {options_.custom(input), "custom"};
  }
  return {};
}

ScalingDecision Scaler::wish_by_ratio(const ScalingInput& input) const {
  const RatioScaling& ratio = options_.ratio;
  const double tasks_per_worker = load(input);
  if (tasks_per_worker >= ratio.scale_up_threshold) {
    return {
        static_cast<int>(ratio.scale_up_step),
        text("%.2g tasks per worker, %.2g allowed", tasks_per_worker, ratio.scale_up_threshold)};
  }
  if (input.queued == 0 && input.idle > 0 && input.longest_idle >= ratio.scale_down_idle_timeout) {
    return {up_to_idle(input, ratio.scale_down_step),
            text("a worker was idle for %.3g s", seconds(input.longest_idle))};
  }
  return {0, text("%.2g tasks per worker", tasks_per_worker)};
}

ScalingDecision Scaler::wish_by_depth(const ScalingInput& input) {
  const DepthScaling& depth = options_.depth;
  if (input.queued > depth.scale_up_depth) {
    surplus_.reset();
    return {static_cast<int>(depth.scale_up_step),
            text("%zu tasks wait, %zu allowed", input.queued, depth.scale_up_depth)};
  }
  if (input.queued > 0 || input.active >= depth.scale_down_busy) {
    surplus_.reset();
    return {0, text("%zu tasks wait and %zu workers are busy", input.queued, input.active)};
  }
  const std::optional<std::size_t> enough =
      enough_for(depth.scale_down_delay, input.now, input.active);
  if (!enough || *enough >= input.workers) {
    return {0, text("no task waits and %zu workers are busy", input.active)};
  }
  return {-static_cast<int>(std::min(depth.scale_down_step, input.workers - *enough)),
          text("no task waited and %zu workers were busy at most for %.3g s", *enough,
               seconds(depth.scale_down_delay))};
}

ScalingDecision Scaler::wish_by_prediction(const ScalingInput& input) {
  trend_.observe(input.now, input.arrivals);
  const bool overloaded = stays_overloaded(input);
  // Nothing is known about the time of tasks: none has ended, or none of these was timed.
  if (input.completions == 0 || input.average_task_time == Duration::zero()) {
    return wish_by_ratio(input);
  }

  const PredictiveScaling& predictive = options_.predictive;
  const double rate = trend_.rate_after(predictive.horizon);
  const double needed = workers_for(rate, input);
  const std::size_t wanted = whole_workers(needed);
  if (wanted > input.workers) {
    surplus_.reset();
    return {difference(wanted, input.workers),
            text("%.3g workers needed, for %.4g tasks/s in %.3g s and %zu that wait", needed, rate,
                 seconds(predictive.horizon), input.queued)};
  }
  if (overloaded) {
    surplus_.reset();
    return {static_cast<int>(options_.ratio.scale_up_step),
            text("%.2g tasks per worker, for too long", load(input))};
  }
  const double rate_with_chance = rate + ArrivalTrend::kChance * trend_.rate_noise();
  return wish_for_fewer(input, needed, whole_workers(workers_for(rate_with_chance, input)));
}

double Scaler::workers_for(double rate, const ScalingInput& input) const {
  const double task_time = seconds(input.average_task_time);
  const double busy = rate * task_time;
  const double backlog =
      static_cast<double>(input.queued) * task_time / seconds(options_.predictive.horizon);
  return busy + options_.predictive.headroom * std::sqrt(busy) + backlog;
}

// `enough`: so many that it will not want more for no other reason than chance.
ScalingDecision Scaler::wish_for_fewer(const ScalingInput& input, double needed,
                                       std::size_t enough) {
  const PredictiveScaling& predictive = options_.predictive;
  if (enough >= input.workers) {
    surplus_.reset();
    return {0, text("%.3g workers needed", needed)};
  }
  const std::optional<std::size_t> wanted =
      enough_for(predictive.scale_down_delay, input.now, enough);
  if (!wanted) return {0, text("%.3g workers needed, not for long", needed)};
  return {difference(*wanted, input.workers), text("%zu workers were enough for %.3g s", *wanted,
                                                   seconds(predictive.scale_down_delay))};
}

// The most that were enough at any time of the delay, once it has passed; then it begins anew.
std::optional<std::size_t> Scaler::enough_for(Duration delay, Time now, std::size_t enough) {
  Surplus surplus = surplus_.value_or(Surplus{.since = now, .enough = enough});
  surplus.enough = std::max(surplus.enough, enough);
  if (now - surplus.since < delay) {
    surplus_ = surplus;
    return {};
  }
  surplus_.reset();
  return surplus.enough;
}

// Then the prediction is wrong, for instance since tasks have become longer and none has ended yet.
bool Scaler::stays_overloaded(const ScalingInput& input) {
  if (load(input) < options_.ratio.scale_up_threshold) {
    overloaded_since_.reset();
    return false;
  }
  if (!overloaded_since_) overloaded_since_ = input.now;
  return input.now - *overloaded_since_ >= options_.predictive.horizon;
}

}  // namespace muster
