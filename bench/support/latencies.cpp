// latencies.cpp: percentiles by rank, without interpolation.
#include "latencies.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace muster::bench {

double Latencies::percentile_us(double share) const {
  if (times_.empty()) throw std::invalid_argument("no percentile of 0 latencies");
  std::vector<Clock::duration> sorted = times_;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  const std::size_t index = std::clamp(rank, std::size_t{1}, sorted.size()) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(index),
                   sorted.end());
  return std::chrono::duration<double, std::micro>(sorted[index]).count();
}

}  // namespace muster::bench
