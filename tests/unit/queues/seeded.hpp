// seeded.hpp: random operations that repeat: the same on every run, others on demand.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include <muster/base/random.hpp>

namespace muster::testing {

// Seeded by MUSTER_SEED, or by a fixed number if that is not set; prints which.
inline Random seeded() {
  const char* const chosen = std::getenv("MUSTER_SEED");
  const std::uint64_t seed = chosen != nullptr ? std::stoull(chosen) : 20'240'229;
  std::cout << "seed " << seed << " (MUSTER_SEED chooses another)\n";
  return Random(seed);
}

}  // namespace muster::testing
