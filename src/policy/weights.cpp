// weights.cpp: shares the turns out, puts them in order, and turns speeds into weights.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <muster/policy/decaying.hpp>
#include <muster/policy/weights.hpp>

namespace muster {
namespace {

using Counts = std::vector<std::size_t>;  // turns of each worker

// Nearer than this to a whole number, a share counts as one: sums of decimal fractions are not
// exact.
constexpr double kRounding = 1e-9;

std::vector<double> shares_of(std::span<const double> weights) {
  // Divided by the largest first: the sum of huge weights must not overflow.
  const double largest = *std::max_element(weights.begin(), weights.end());
  std::vector<double> shares(weights.size());
  std::transform(weights.begin(), weights.end(), shares.begin(),
                 [largest](double weight) { return weight / largest; });
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

bool fits_exactly(std::span<const double> shares, std::size_t turns) {
  return std::all_of(shares.begin(), shares.end(), [turns](double share) {
    const double exact = share * static_cast<double>(turns);
    return exact > 0.5 && std::abs(exact - std::round(exact)) < kRounding * exact;
  });
}

std::size_t fewest_turns(std::span<const double> shares) {
  for (std::size_t turns = shares.size(); turns < WeightedSchedule::kMostTurns; ++turns) {
    if (fits_exactly(shares, turns)) return turns;
  }
  return WeightedSchedule::kMostTurns;
}

// By largest remainders: everyone gets the whole part of what they deserve, and what is left goes
// to those with the largest fractions. So nobody is a whole turn off.
Counts share_out(std::span<const double> shares, std::size_t turns) {
  Counts counts(shares.size());
  std::vector<std::pair<double, std::size_t>> fractions(shares.size());
  std::size_t given = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = shares[i] * static_cast<double>(turns);
    counts[i] = static_cast<std::size_t>(std::floor(exact + kRounding));
    fractions[i] = {static_cast<double>(counts[i]) - exact, i};
    given += counts[i];
  }
  std::sort(fractions.begin(), fractions.end());
  for (std::size_t i = 0; given < turns; ++i, ++given) ++counts[fractions[i].second];
  return counts;
}

// As many rounds as the rarest worker has turns; in each, a run for everyone.
std::vector<std::uint16_t> in_runs(const Counts& counts) {
  std::size_t rounds = WeightedSchedule::kMostTurns;
  for (const std::size_t count : counts) {
    if (count > 0) rounds = std::min(rounds, count);
  }
  std::vector<std::uint16_t> turns;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t run = counts[i] * (round + 1) / rounds - counts[i] * round / rounds;
      turns.insert(turns.end(), run, static_cast<std::uint16_t>(i));
    }
  }
  return turns;
}

// Each turn goes to whoever is furthest behind what they deserve by then. So nobody is ever a whole
// turn ahead, or two behind. In whole numbers, for ties to be ties: of a turn, 1 / turns.
std::vector<std::uint16_t> interleaved(const Counts& counts) {
  const std::size_t turn_count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<std::int64_t> behind(counts.size());
  std::vector<std::uint16_t> turns(turn_count);
  for (std::uint16_t& turn : turns) {
    for (std::size_t i = 0; i < counts.size(); ++i)
      behind[i] += static_cast<std::int64_t>(counts[i]);
    const auto furthest = std::max_element(behind.begin(), behind.end());
    *furthest -= static_cast<std::int64_t>(turn_count);
    turn = static_cast<std::uint16_t>(furthest - behind.begin());
  }
  return turns;
}

}  // namespace

std::vector<BadField> validate_weights(std::span<const double> weights) {
  std::vector<BadField> bad;
  if (weights.empty() || weights.size() > WeightedSchedule::kMostTurns) {
    bad.push_back({.field = "weights",
                   .value = std::to_string(weights.size()) + " numbers",
                   .rule = "must be 1 to " + std::to_string(WeightedSchedule::kMostTurns) +
                           " numbers, one for each worker"});
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0 && std::isfinite(weights[i])) continue;
    bad.push_back({.field = "weights[" + std::to_string(i) + "]",
                   .value = std::to_string(weights[i]),
                   .rule = "must be more than 0, and finite"});
  }
  return bad;
}

WeightedSchedule::WeightedSchedule(TurnOrder order, std::span<const double> weights) {
  if (std::vector<BadField> bad = validate_weights(weights); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  const std::vector<double> shares = shares_of(weights);
  const Counts counts = share_out(shares, fewest_turns(shares));
  turns_ = order == TurnOrder::in_runs ? in_runs(counts) : interleaved(counts);
}

void MeasuredWeights::record(std::span<const Work> work) {
  workers_.resize(work.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    Recent& recent = workers_[i];
    recent.tasks = recent.tasks * Decaying::kKept + static_cast<double>(work[i].tasks);
    recent.busy_ns = recent.busy_ns * Decaying::kKept + static_cast<double>(work[i].busy.count());
  }
}

std::vector<double> MeasuredWeights::weights() const {
  std::vector<double> weights(workers_.size(), 1);
  std::vector<std::size_t> known;
  double sum = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].tasks < 1 || workers_[i].busy_ns <= 0) continue;
    weights[i] = workers_[i].tasks / workers_[i].busy_ns;
    sum += weights[i];
    known.push_back(i);
  }
  const double mean = sum / static_cast<double>(known.size());
  for (const std::size_t i : known) {
    weights[i] = std::clamp(weights[i] / mean, 1 / kMostDeviation, kMostDeviation);
  }
  return weights;
}

}  // namespace muster
