// main.cpp: `./dev bench jobs`. This program is also the partner at ping-pong.
#include <algorithm>
#include <iostream>
#include <string_view>
#include <sys/vfs.h>

#include "jobs/cells.hpp"
#include "jobs/sizes.hpp"
#include "jobs/verdicts.hpp"
#include "processes/ping_pong.hpp"
#include "support/suite.hpp"

namespace muster::bench {
namespace {

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const auto make : {enqueue_cells, one_by_one_cells, execute_cells, start_cells,
                          waiting_cells, restart_cells, steady_cells}) {
    const std::vector<Cell> some = make();
    cells.insert(cells.end(), some.begin(), some.end());
  }
  return cells;
}

constexpr Suite kSuite{
    .name = "jobs", .cells = all_cells, .tables = job_suite_tables, .judge = job_suite_goals};

bool is_said(std::string_view option, int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [option](const char* word) { return word == option; });
}

void warn_of_memory_folder() {
  constexpr long kTmpfs = 0x01021994;
  struct statfs folder{};
  const std::string path = std::filesystem::temp_directory_path().string();
  if (statfs(path.c_str(), &folder) == 0 && folder.f_type == kTmpfs) {
    std::cerr << path << " is in memory, where a sync costs nothing; let TMPDIR name a disk\n";
  }
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using namespace muster::bench;
  if (const auto exit_code = run_ping_pong_partner(argc, argv)) return *exit_code;
  if (is_said("--quick", argc, argv)) be_quick();
  warn_of_memory_folder();
  return run_suite(kSuite, argc, argv);
}
