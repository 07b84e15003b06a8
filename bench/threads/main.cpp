// main.cpp: `./dev bench threads`.
#include "support/suite.hpp"
#include "threads/cells.hpp"
#include "threads/memory_probe.hpp"
#include "threads/verdicts.hpp"

namespace muster::bench {
namespace {

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const auto make :
       {post_cells, fork_join_cells, round_trip_cells, idle_cells, sweep_cells, queueing_cells}) {
    const std::vector<Cell> some = make();
    cells.insert(cells.end(), some.begin(), some.end());
  }
  return cells;
}

constexpr Suite kSuite{.name = "threads",
                       .cells = all_cells,
                       .tables = thread_suite_tables,
                       .judge = thread_suite_goals};

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  if (const auto exit_code = muster::bench::run_memory_probe(argc, argv)) return *exit_code;
  return muster::bench::run_suite(muster::bench::kSuite, argc, argv);
}
