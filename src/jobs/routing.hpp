// routing.hpp: which instance of a job pool a job belongs to.
//
// A key belongs to one instance, and when the number of instances changes from n to m only those
// keys move that have to: a share of |n - m| / max(n, m). Nothing about instances is stored with a
// job but the turn that it had, so a pool may be reopened with another concurrency at any time.
//
// Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

// A partition key, as it is looked up: 64 bits of it. Two keys that share them share their order,
// too, which harms nobody.
using PartitionHash = std::uint64_t;

[[nodiscard]] PartitionHash partition_hash(std::string_view key) noexcept;

// Requires: instances > 0.
[[nodiscard]] std::uint32_t instance_of(PartitionHash partition, std::uint32_t instances) noexcept;

// Of a job without a key, by the turn that it was given when it was enqueued.
[[nodiscard]] constexpr std::uint32_t instance_of_turn(std::uint32_t turn,
                                                       std::uint32_t instances) noexcept {
  return turn % instances;
}

}  // namespace muster
