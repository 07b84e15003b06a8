// strategy_race.hpp: every strategy has to place the same sleeping tasks of mixed length, with and
// without stealing.
#pragma once

#include <string>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

struct StrategyRace {
  std::string group;

  // Of what the workers can do, what is asked of them in the paced cells.
  double load = 0.75;

  // How many times as long as planned tasks take on the first worker.
  double first_worker_slowness = 1;

  // Of the paced cells. The p99 of a few thousand tasks with a heavy tail varies by half from one
  // round to the next, so close results need many.
  unsigned paced_rounds = 3;
};

// Cells named kPaced and kBursts, without and with kStealing. All contenders of a round get the
// same tasks.
std::vector<Cell> strategy_race_cells(const StrategyRace& race);

}  // namespace muster::bench
