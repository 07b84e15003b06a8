// slow_worker_cells.cpp: which strategy finds out that one of the workers is four times as slow?
#include "balance/cells.hpp"
#include "balance/strategy_race.hpp"

namespace muster::bench {

std::vector<Cell> slow_worker_cells() {
  return strategy_race_cells({.group = kSlowWorkerGroup, .first_worker_slowness = 4});
}

}  // namespace muster::bench
