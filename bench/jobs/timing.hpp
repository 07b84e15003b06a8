// timing.hpp: how long something took, and how a sample says so.
#pragma once

#include <chrono>
#include <cstdint>

#include "support/rounds.hpp"

namespace muster::bench {

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double per_second(std::uint64_t jobs, double seconds) {
  return static_cast<double>(jobs) / seconds;
}

inline double per_job(std::uint64_t total, std::uint64_t jobs) {
  return static_cast<double>(total) / static_cast<double>(jobs);
}

// Speed first, then whatever else the cell has columns for.
inline Sample speed_sample(std::uint64_t jobs, double seconds, std::vector<double> others) {
  Sample sample{.items = jobs, .seconds = seconds, .figures = {per_second(jobs, seconds)}};
  sample.figures.insert(sample.figures.end(), others.begin(), others.end());
  return sample;
}

}  // namespace muster::bench
