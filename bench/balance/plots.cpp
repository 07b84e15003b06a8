// plots.cpp: tables with tabs between the columns, and calls of gnuplot.
#include "balance/plots.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "balance/cells.hpp"
#include "balance/course.hpp"
#include "support/summary.hpp"

namespace muster::bench {
namespace {

using std::filesystem::path;

// A table in a file, and how it is drawn.
struct Plot {
  std::string name;     // of its files
  std::string script;   // in bench/balance/plots
  std::string heading;  // of the picture
  std::string table;
  std::string settings = {};  // further ones for the script
};

const CellResult* find(std::span<const CellResult> results, const std::string& group,
                       const std::string& cell) {
  for (const CellResult& result : results) {
    if (result.group == group && result.name == cell) return &result;
  }
  return nullptr;
}

// A row for each strategy. None unless all of it was measured.
std::optional<Plot> plot_of_race(std::span<const CellResult> results, const std::string& group,
                                 const std::string& heading) {
  std::vector<const CellResult*> columns;
  for (const auto& [suffix, arrivals] :
       {std::pair(kWaitSuffix, kPaced), std::pair(kMakespanSuffix, kBursts)}) {
    columns.push_back(find(results, group + suffix, arrivals));
    columns.push_back(find(results, group + suffix, std::string(arrivals) + kStealing));
  }
  if (columns.front() == nullptr) return std::nullopt;
  std::string table;
  for (const Series& row : columns.front()->series) {
    table += row.contender;
    for (const CellResult* column : columns) {
      const Series* series = column == nullptr ? nullptr : column->find(row.contender);
      if (series == nullptr) return std::nullopt;
      table += '\t' + std::to_string(summarize(series->values).median);
    }
    table += '\n';
  }
  std::string name = group;
  for (char& letter : name) letter = letter == ' ' ? '_' : letter;
  return Plot{.name = name, .script = "strategies.gp", .heading = heading, .table = table};
}

// A block for each policy, in the order in which they stand in the tables.
std::optional<Plot> plot_of_load(const std::string& load) {
  std::string table;
  std::string policies;
  unsigned blocks = 0;
  for (const char* policy : {"ratio", "depth", "predictive"}) {
    for (const Course& course : scaling_courses()) {
      if (course.load != load || course.policy != policy) continue;
      for (const Course::Moment& moment : course.moments) {
        table += std::to_string(moment.seconds) + '\t' +
                 std::to_string(moment.arrivals_per_second) + '\t' +
                 std::to_string(moment.workers) + '\n';
      }
      table += "\n\n";
      policies += course.policy + ' ';
      ++blocks;
    }
  }
  if (blocks == 0) return std::nullopt;
  return Plot{.name = "scaling_" + load,
              .script = "scaling.gp",
              .heading = "Scaling: " + load + ", tasks of 2 ms, all times of the policies / 50",
              .table = table,
              .settings = "blocks=" + std::to_string(blocks) + "; policies='" + policies +
                          "'; task=" + std::to_string(scaling_task_seconds())};
}

void write(const path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write \"" + file.string() + "\"; free space");
}

bool draw(const Plot& plot, const path& folder) {
  const path script = path(MUSTER_BENCH_SOURCE_DIR) / "bench/balance/plots" / plot.script;
  const std::string settings = "table='" + (folder / (plot.name + ".dat")).string() + "'; image='" +
                               (folder / (plot.name + ".png")).string() + "'; heading='" +
                               plot.heading + "'; " + plot.settings;
  const std::string command = "gnuplot -e \"" + settings + "\" '" + script.string() + "'";
  return std::system(command.c_str()) == 0;
}

}  // namespace

void draw_balance_plots(std::span<const CellResult> results, const path& report) {
  std::vector<std::optional<Plot>> plots{
      plot_of_race(results, kMixedGroup,
                   "Tasks of mixed length, 8 workers; one by one: busy for 85 % of the time"),
      plot_of_race(
          results, kSlowWorkerGroup,
          "8 workers, one of them four times as slow; one by one: busy for 75 % of the time")};
  for (const char* load : {kStep, kRamp, kSine}) plots.push_back(plot_of_load(load));
  std::erase_if(plots, [](const std::optional<Plot>& plot) { return !plot; });
  if (plots.empty()) return;

  path folder = report;
  folder.replace_extension("plots");
  std::filesystem::create_directories(folder);
  for (const auto& plot : plots) write(folder / (plot->name + ".dat"), plot->table);
  if (std::system("command -v gnuplot >/dev/null") != 0) {
    std::cout << "plots    none: there is no gnuplot (package gnuplot-nox); tables are in "
              << folder.string() << '\n';
    return;
  }
  for (const auto& plot : plots) {
    if (!draw(*plot, folder)) std::cout << "plots    gnuplot could not draw " << plot->name << '\n';
  }
  std::cout << "plots    " << folder.string() << '\n';
}

}  // namespace muster::bench
