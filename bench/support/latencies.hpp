// latencies.hpp: how long single things took, one by one, and the percentiles of that.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace muster::bench {

class Latencies {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Latencies(std::size_t count) : times_(count) {}

  // Each index by one thread, before anyone asks.
  void put(std::size_t index, Clock::duration time) { times_[index] = time; }

  // The time that `share` of all did not exceed: 0.5 or 0.99.
  [[nodiscard]] double percentile_us(double share) const;

 private:
  std::vector<Clock::duration> times_;
};

}  // namespace muster::bench
