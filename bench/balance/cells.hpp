// cells.hpp: every question this suite asks, with the strategies that answer it.
//
// Group "select": nanoseconds to choose a worker among few and many, none of which is idle.
// Group "flood": empty tasks per second through a pool that places them by a strategy.
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

inline constexpr const char* kFloodGroup = "flood";
inline constexpr const char* kInTurn = "in turn";
inline constexpr const char* kInTurnUntimed = "in turn, untimed";
inline constexpr const char* kTimedFully = ", all timed";

inline std::string from_producers(unsigned producers) {
  return std::to_string(producers) + (producers == 1 ? " producer" : " producers");
}

std::vector<Cell> select_cells();
std::vector<Cell> flood_cells();

}  // namespace muster::bench
