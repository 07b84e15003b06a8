// main.cpp: `./dev bench balance`.
#include <utility>
#include <vector>

#include "balance/cells.hpp"
#include "balance/verdicts.hpp"
#include "support/suite.hpp"

namespace {

std::vector<muster::bench::Cell> all_cells() {
  std::vector<muster::bench::Cell> cells = muster::bench::select_cells();
  for (muster::bench::Cell& each : muster::bench::flood_cells()) cells.push_back(std::move(each));
  return cells;
}

constexpr muster::bench::Suite kSuite{.name = "balance",
                                      .cells = all_cells,
                                      .tables = muster::bench::balance_suite_tables,
                                      .judge = muster::bench::balance_suite_goals};

}  // namespace

int main(int argc, char** argv) {
  return muster::bench::run_suite(kSuite, argc, argv);
}
