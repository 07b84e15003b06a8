// main.cpp: `./dev bench processes`. This program is also that of its workers, of the partner at
// ping-pong, and of the probe of idle workers.
#include <muster/worker_main.hpp>

#include "processes/cells.hpp"
#include "processes/idle_probe.hpp"
#include "processes/ping_pong.hpp"
#include "processes/ring_trip.hpp"
#include "processes/tasks.hpp"
#include "processes/verdicts.hpp"
#include "support/suite.hpp"

namespace muster::bench {
namespace {

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const auto make : {empty_cells, round_trip_cells, echo_cells, start_cells, idle_cells}) {
    const std::vector<Cell> some = make();
    cells.insert(cells.end(), some.begin(), some.end());
  }
  return cells;
}

constexpr Suite kSuite{.name = "processes",
                       .cells = all_cells,
                       .tables = process_suite_tables,
                       .judge = process_suite_goals};

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using namespace muster::bench;
  muster::worker_main(argc, argv, suite_registry());
  if (const auto exit_code = run_ping_pong_partner(argc, argv)) return *exit_code;
  if (const auto exit_code = run_ring_partner(argc, argv)) return *exit_code;
  if (const auto exit_code = run_idle_probe(argc, argv)) return *exit_code;
  return run_suite(kSuite, argc, argv);
}
