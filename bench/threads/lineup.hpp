// lineup.hpp: one contender for each of several pools, all doing the same.
#pragma once

#include <cstdint>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

// Workers of every pool, except in a sweep.
inline constexpr unsigned kWorkers = 2;

template <class... Pools>
struct Lineup {
  // `run` is a template over the pool: []<class Pool>(std::uint64_t items) -> Sample.
  template <class Run>
  static std::vector<Contender> all(const Run& run) {
    return {Contender{Pools::kName, [run](std::uint64_t items) {
                        return run.template operator()<Pools>(items);
                      }}...};
  }
};

}  // namespace muster::bench
