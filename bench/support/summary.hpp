// summary.hpp: what many noisy measurements of one thing amount to.
//
// Medians and quartiles, because the noise of a shared machine is one-sided and a mean follows it.
#pragma once

#include <span>
#include <vector>

namespace muster::bench {

struct Summary {
  double median = 0;
  double lower_quartile = 0;
  double upper_quartile = 0;

  // The interquartile range as a share of the median; 0 if that is 0.
  [[nodiscard]] double spread() const;
};

// Needs at least one value.
Summary summarize(std::vector<double> values);

// The summary of numerators[i] / denominators[i]. Two contenders measured in the same round met the
// same noise, so their ratio keeps still while both of them drift.
Summary summarize_ratios(std::span<const double> numerators, std::span<const double> denominators);

}  // namespace muster::bench
