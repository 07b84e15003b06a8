// cells.hpp: every question this suite asks, with the strategies that answer it.
//
// Group "select": nanoseconds to choose a worker among few and many, none of which is idle.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

inline constexpr const char* kSelectGroup = "select";
inline constexpr std::size_t kWorkerCounts[] = {8, 64, 512};

// What a cell of this many workers is called.
inline std::string among(std::size_t workers) {
  return std::to_string(workers) + " workers";
}

std::vector<Cell> select_cells();

}  // namespace muster::bench
