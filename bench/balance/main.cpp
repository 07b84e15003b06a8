// main.cpp: `./dev bench balance`.
#include <utility>
#include <vector>

#include "balance/cells.hpp"
#include "balance/plots.hpp"
#include "balance/verdicts.hpp"
#include "support/suite.hpp"

namespace {

std::vector<muster::bench::Cell> all_cells() {
  using namespace muster::bench;
  std::vector<Cell> cells;
  for (const auto make :
       {select_cells, flood_cells, mixed_cells, slow_worker_cells, affinity_cells, scaling_cells}) {
    for (Cell& each : make()) cells.push_back(std::move(each));
  }
  return cells;
}

constexpr muster::bench::Suite kSuite{.name = "balance",
                                      .cells = all_cells,
                                      .tables = muster::bench::balance_suite_tables,
                                      .judge = muster::bench::balance_suite_goals,
                                      .draw = muster::bench::draw_balance_plots};

}  // namespace

int main(int argc, char** argv) {
  return muster::bench::run_suite(kSuite, argc, argv);
}
