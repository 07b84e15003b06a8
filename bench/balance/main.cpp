// main.cpp: `./dev bench balance`.
#include "balance/cells.hpp"
#include "balance/verdicts.hpp"
#include "support/suite.hpp"

namespace {

constexpr muster::bench::Suite kSuite{.name = "balance",
                                      .cells = muster::bench::select_cells,
                                      .tables = muster::bench::balance_suite_tables,
                                      .judge = muster::bench::balance_suite_goals};

}  // namespace

int main(int argc, char** argv) {
  return muster::bench::run_suite(kSuite, argc, argv);
}
