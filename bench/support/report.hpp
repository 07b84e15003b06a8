// report.hpp: keeps a run with everything needed to doubt it: machine, build, command, raw values.
//
// Format 2 is one JSON object, a line per cell. A change of meaning counts kReportFormat up. Format
// 1 had only speeds: "items_per_second" for "values", and no "better".
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "goals.hpp"
#include "options.hpp"
#include "rounds.hpp"

namespace muster::bench {

inline constexpr int kReportFormat = 2;

// Where and how a run took place.
struct Setting {
  std::string suite;
  std::vector<std::string> command;
  std::string commit;  // "-dirty" behind it if the tree had changes, "unknown" outside a clone
  std::string compiler;
  std::string flags;
  std::string kernel;
  std::string cpu;
  unsigned cpus = 0;
  std::string date;  // UTC, 20261116T093000Z
};

Setting describe_setting(const std::string& suite, int argc, char** argv);

void print_setting(std::ostream& out, const Setting& setting, const RoundsOptions& options);

struct Report {
  Setting setting;
  RoundsOptions options;
  std::span<const CellResult> results;
  std::span<const Goal> goals;
};

// Returns the path written: `path`, or if that is empty the one the setting gives.
// Throws std::runtime_error if it cannot be written.
std::filesystem::path write_report(const Report& report, const std::filesystem::path& path);

}  // namespace muster::bench
