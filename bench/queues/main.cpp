// main.cpp: `./dev bench queues`.
#include "queues/cells.hpp"
#include "queues/verdicts.hpp"
#include "support/suite.hpp"

namespace muster::bench {
namespace {

std::vector<Cell> all_cells() {
  std::vector<Cell> cells = queue_cells();
  const std::vector<Cell> more = deque_cells();
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

constexpr Suite kSuite{
    .name = "queues", .cells = all_cells, .tables = queue_suite_tables, .judge = queue_suite_goals};

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  return muster::bench::run_suite(muster::bench::kSuite, argc, argv);
}
