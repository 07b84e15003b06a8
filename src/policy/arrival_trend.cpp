// arrival_trend.cpp: the rate of arrivals, and its slope if there is one.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <muster/policy/arrival_trend.hpp>

namespace muster {
namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ArrivalTrend::ArrivalTrend(Duration smoothing)
    : quick_time_(seconds(smoothing)), slow_time_(3 * quick_time_) {}

void ArrivalTrend::observe(Time now, std::uint64_t arrivals) {
  if (last_ && now <= last_->time) return;
  if (last_) {
    const double passed = seconds(now - last_->time);
    const double rate = static_cast<double>(arrivals - last_->arrivals) / passed;
    if (!quick_) {
      quick_ = slow_ = rate;
    } else {
      *quick_ += (1 - std::exp(-passed / quick_time_)) * (rate - *quick_);
      slow_ += (1 - std::exp(-passed / slow_time_)) * (rate - slow_);
    }
  }
  last_ = {.time = now, .arrivals = arrivals};
}

double ArrivalTrend::rate() const {
  // On a slope the slow average lags behind by its time constant.
  return std::max(0.0, slow_ + slope() * slow_time_);
}

double ArrivalTrend::rate_after(Duration ahead) const {
  return rate() + std::max(0.0, slope()) * seconds(ahead);
}

double ArrivalTrend::rate_noise() const {
  return std::sqrt(slow_ / (2 * slow_time_));
}

// Chance alone sets the two averages apart. What it may explain if tasks come independently at a
// steady rate is taken off; so there is no step between none and some.
double ArrivalTrend::slope() const {
  if (!quick_) return 0;
  const double distance = *quick_ - slow_;
  const double variance =
      slow_ * (1 / (2 * quick_time_) + 1 / (2 * slow_time_) - 2 / (quick_time_ + slow_time_));
  const double beyond_chance = std::max(0.0, std::abs(distance) - kChance * std::sqrt(variance));
  return std::copysign(beyond_chance, distance) / (slow_time_ - quick_time_);
}

}  // namespace muster
