// suite.hpp: a suite of benchmarks as a program: measures, prints tables and verdicts, keeps a
// report.
//
// Exits with 0 whatever the figures say, unless --require; with 1 if a contender loses an item,
// with 2 if it does not understand its command line.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "goals.hpp"
#include "rounds.hpp"
#include "table.hpp"

namespace muster::bench {

struct Suite {
  const char* name;
  std::vector<Cell> (*cells)();
  std::vector<GroupTable> (*tables)();
  std::vector<Goal> (*judge)(std::span<const CellResult> results);

  // Adds pictures to the report that was written. Null: there are none.
  void (*draw)(std::span<const CellResult> results, const std::filesystem::path& report) = nullptr;
};

// What main() does and returns.
int run_suite(const Suite& suite, int argc, char** argv);

}  // namespace muster::bench
