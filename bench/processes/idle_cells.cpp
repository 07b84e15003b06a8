// idle_cells.cpp: a hundred workers that have nothing to do.
#include "processes/cells.hpp"
#include "processes/idle_probe.hpp"

namespace muster::bench {

std::vector<Cell> idle_cells() {
  constexpr unsigned kRounds = 3;  // of several seconds each
  const auto run = [](std::uint64_t /*items*/) -> Sample {
    const IdleCosts costs = probe_idle_costs();
    return {.items = 1,
            .seconds = 1,
            .figures = {costs.cpu_percent, costs.memory_mb, costs.health_pass_ms}};
  };
  return {
      {.group = kIdleGroup,
       .name = "100 workers",
       .contenders = {{kMuster, run}},
       .columns = {{kIdleGroup, kIdleCpu}, {kIdleGroup, kIdleMemory}, {kIdleGroup, kHealthPass}},
       .items = 1,
       .most_rounds = kRounds,
       .warm_up = Cell::WarmUp::none}};
}

}  // namespace muster::bench
