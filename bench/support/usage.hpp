// usage.hpp: what this process has used so far, by the kernel's account, its waiting threads
// included.
#pragma once

#include <cstdint>

namespace muster::bench {

struct Usage {
  double wall_seconds = 0;
  double cpu_seconds = 0;              // user and system, of all threads
  std::uint64_t context_switches = 0;  // voluntary and involuntary, of all threads
};

Usage usage_now();

// The same for the calling thread alone.
Usage own_usage_now();

inline Usage operator-(const Usage& later, const Usage& earlier) {
  return {.wall_seconds = later.wall_seconds - earlier.wall_seconds,
          .cpu_seconds = later.cpu_seconds - earlier.cpu_seconds,
          .context_switches = later.context_switches - earlier.context_switches};
}

}  // namespace muster::bench
