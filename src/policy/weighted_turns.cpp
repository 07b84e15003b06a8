// weighted_turns.cpp: a table of turns, made anew when those it was made for have changed.
#include <algorithm>
#include <cmath>

#include <muster/policy/weighted_turns.hpp>

namespace muster {

std::vector<double> WeightedTurns::weights(std::size_t workers, const RecentWork& recent) const {
  constexpr double kFinest = 1.0 / 16;
  std::vector<double> weights = given_;
  if (weights.empty()) {
    weights = recent.weights();
    for (double& each : weights) each = std::max(std::round(each / kFinest) * kFinest, kFinest);
  }
  weights.resize(workers, 1);
  return weights;
}

std::size_t WeightedTurns::next(BuiltIn strategy, std::size_t workers, const RecentWork& recent) {
  const bool is_stale = are_measured() && round_ != recent.round();
  if (!schedule_ || workers_ != workers || is_stale) {
    const TurnOrder order =
        strategy == BuiltIn::weighted_round_robin ? TurnOrder::in_runs : TurnOrder::interleaved;
    schedule_.emplace(order, weights(workers, recent));
    round_ = recent.round();
    workers_ = workers;
  }
  return choose(*schedule_, turn_);
}

}  // namespace muster
