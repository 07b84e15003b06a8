// mixed_cells.cpp: which strategy serves tasks of mixed length best, on workers that are alike?
#include "balance/cells.hpp"
#include "balance/strategy_race.hpp"

namespace muster::bench {

std::vector<Cell> mixed_cells() {
  return strategy_race_cells({.group = kMixedGroup, .paced_rounds = 10});
}

}  // namespace muster::bench
