// summary.cpp: medians and quartiles by linear interpolation between neighbours.
#include "summary.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace muster::bench {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

}  // namespace

double Summary::spread() const {
  return median == 0 ? 0 : (upper_quartile - lower_quartile) / median;
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("cannot summarize 0 measurements");
  std::sort(values.begin(), values.end());
  return {.median = quantile(values, 0.5),
          .lower_quartile = quantile(values, 0.25),
          .upper_quartile = quantile(values, 0.75)};
}

Summary summarize_ratios(std::span<const double> numerators, std::span<const double> denominators) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(numerators.size(), denominators.size());
  ratios.reserve(rounds);
  for (std::size_t round = 0; round < rounds; ++round) {
    ratios.push_back(numerators[round] / denominators[round]);
  }
  return summarize(std::move(ratios));
}

}  // namespace muster::bench
