// routing.cpp: jump consistent hashing (Lamping and Veach, 2014).
#include "jobs/routing.hpp"

#include <xxhash.h>

namespace muster {

PartitionHash partition_hash(std::string_view key) noexcept {
  return XXH3_64bits(key.data(), key.size());
}

// The key jumps from bucket to bucket, ever farther, and stays in the last one that there is. Which
// jumps it makes does not depend on how many there are.
std::uint32_t instance_of(PartitionHash partition, std::uint32_t instances) noexcept {
  constexpr std::uint64_t kMultiplier = 2862933555777941757;
  constexpr double kRange = 2147483648.0;  // of the upper 31 bits
  std::uint64_t state = partition;
  std::uint64_t bucket = 0;
  for (std::uint64_t next = 0; next < instances;) {
    bucket = next;
    state = state * kMultiplier + 1;
    const double share = kRange / static_cast<double>((state >> 33U) + 1);
    next = static_cast<std::uint64_t>(static_cast<double>(bucket + 1) * share);
  }
  return static_cast<std::uint32_t>(bucket);
}

}  // namespace muster
