// suite.cpp: from the command line to the report.
#include "suite.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <regex>
#include <stdexcept>

#include "options.hpp"
#include "report.hpp"

namespace muster::bench {
namespace {

constexpr int kBadCommandLine = 2;

std::vector<Cell> wanted_cells(const Suite& suite, const SuiteOptions& options) {
  std::vector<Cell> cells = filter_cells(suite.cells(), options.filter);
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

int measure(const Suite& suite, const SuiteOptions& options, const Setting& setting) {
  const std::vector<Cell> cells = wanted_cells(suite, options);
  print_setting(std::cout, setting, options.rounds);
  const std::vector<CellResult> results = run_rounds(cells, options.rounds);
  for (const GroupTable& table : suite.tables()) print_group(std::cout, results, table);
  std::cout << "Medians; in brackets the interquartile range as a share of the median.\n"
               "Ratios are medians of the ratios of each round; above 1 the first is better.\n\n";

  const std::vector<Goal> goals = suite.judge(results);
  print_goals(std::cout, goals);
  const auto path = write_report({setting, options.rounds, results, goals}, options.json);
  std::cout << "\nreport   " << path.string() << '\n';
  if (suite.draw != nullptr) suite.draw(results, path);
  const bool required = options.goals == SuiteOptions::Goals::required;
  return required && !all_hold(goals) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run(const Suite& suite, int argc, char** argv) {
  const Setting setting = describe_setting(suite.name, argc, argv);
  const SuiteOptions options = parse_options(argc, argv);
  switch (options.action) {
    case SuiteOptions::Action::help:
      std::cout << help_text(suite.name);
      return EXIT_SUCCESS;
    case SuiteOptions::Action::list:
      list(wanted_cells(suite, options));
      return EXIT_SUCCESS;
    case SuiteOptions::Action::measure:
      return measure(suite, options, setting);
  }
  return EXIT_FAILURE;
}

}  // namespace

int run_suite(const Suite& suite, int argc, char** argv) {
  try {
    return run(suite, argc, argv);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << '\n';
    return kBadCommandLine;
  } catch (const std::regex_error& error) {
    std::cerr << "--filter is no regular expression: " << error.what() << '\n';
    return kBadCommandLine;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}

}  // namespace muster::bench
