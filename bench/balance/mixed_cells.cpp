// mixed_cells.cpp: which strategy serves tasks of mixed length best, on workers that are alike?
#include "balance/cells.hpp"
#include "balance/strategy_race.hpp"

namespace muster::bench {

// At 85 %: with less to do there is mostly somebody idle, and any strategy that looks for those
// does nearly as well as any other.
std::vector<Cell> mixed_cells() {
  return strategy_race_cells({.group = kMixedGroup, .load = 0.85, .paced_rounds = 10});
}

}  // namespace muster::bench
