// main.cpp: `./dev bench queues`. Measures, prints tables and verdicts, keeps a report.
//
// Exits with 0 whatever the figures say, unless --require; with 1 if a contender loses an item,
// with 2 if it does not understand its command line.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <regex>
#include <stdexcept>

#include "queues/cells.hpp"
#include "queues/verdicts.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace muster::bench {
namespace {

const std::string kSuite = "queues";
constexpr int kBadCommandLine = 2;

std::vector<Cell> wanted_cells(const SuiteOptions& options) {
  std::vector<Cell> cells = queue_cells();
  const std::vector<Cell> more = deque_cells();
  cells.insert(cells.end(), more.begin(), more.end());
  cells = filter_cells(cells, options.filter);
  if (cells.empty()) {
    throw std::invalid_argument("--filter \"" + options.filter + "\" matches nothing; see --list");
  }
  return cells;
}

void list(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    for (const Contender& contender : cell.contenders) {
      std::cout << cell.group << ' ' << cell.name << '/' << contender.name << '\n';
    }
  }
}

int measure(const SuiteOptions& options, const std::vector<Cell>& cells, const Setting& setting) {
  print_setting(std::cout, setting, options.rounds);
  const std::vector<CellResult> results = run_rounds(cells, options.rounds);
  for (const GroupTable& table : queue_suite_tables()) print_group(std::cout, results, table);
  std::cout << "Medians; in brackets the interquartile range as a share of the median.\n"
               "Ratios are medians of the ratios of each round; above 1 the first is faster.\n\n";

  const std::vector<Goal> goals = queue_suite_goals(results);
  print_goals(std::cout, goals);
  const auto path = write_report({setting, options.rounds, results, goals}, options.json);
  std::cout << "\nreport   " << path.string() << '\n';
  const bool required = options.goals == SuiteOptions::Goals::required;
  return required && !all_hold(goals) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  const Setting setting = describe_setting(kSuite, argc, argv);
  const SuiteOptions options = parse_options(argc, argv);
  if (options.action == SuiteOptions::Action::help) {
    std::cout << help_text(kSuite);
    return EXIT_SUCCESS;
  }
  const std::vector<Cell> cells = wanted_cells(options);
  if (options.action == SuiteOptions::Action::list) {
    list(cells);
    return EXIT_SUCCESS;
  }
  return measure(options, cells, setting);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  try {
    return muster::bench::run(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << '\n';
    return muster::bench::kBadCommandLine;
  } catch (const std::regex_error& error) {
    std::cerr << "--filter is no regular expression: " << error.what() << '\n';
    return muster::bench::kBadCommandLine;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
