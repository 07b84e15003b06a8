// goals.cpp: finds the worst cell of each promise.
#include "goals.hpp"

#include <algorithm>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>

#include "table.hpp"

namespace muster::bench {
namespace {

struct Worst {
  double ratio = 0;
  std::string cell;
};

std::optional<Worst> worst_cell(const RatioGoal& goal, std::span<const CellResult> results) {
  std::optional<Worst> worst;
  for (const CellResult& result : results) {
    if (result.group != goal.group) continue;
    const bool spoken_of = goal.cells.empty() || std::find(goal.cells.begin(), goal.cells.end(),
                                                           result.name) != goal.cells.end();
    if (!spoken_of) continue;
    const std::optional<Summary> found = ratio(result, goal.pair);
    if (found && (!worst || found->median < worst->ratio)) worst = {found->median, result.name};
  }
  return worst;
}

}  // namespace

std::string to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does not hold";
    case Verdict::not_measured:
      return "not measured";
  }
  return "unknown";
}

Goal judge(const RatioGoal& goal, std::span<const CellResult> results) {
  const std::optional<Worst> worst = worst_cell(goal, results);
  if (!worst) return {.claim = goal.claim, .figure = "-", .verdict = Verdict::not_measured};

  const bool kept = goal.bound == RatioGoal::Bound::ahead ? worst->ratio > goal.least
                                                          : worst->ratio >= goal.least;
  std::ostringstream figure;
  figure << std::fixed << std::setprecision(2) << worst->ratio << " x in " << worst->cell;
  return {.claim = goal.claim,
          .figure = figure.str(),
          .verdict = kept ? Verdict::holds : Verdict::does_not_hold};
}

void print_goals(std::ostream& out, std::span<const Goal> goals) {
  Table table({"Goal", "worst cell", "verdict"});
  table.add_rule();
  for (const Goal& goal : goals) table.add_row({goal.claim, goal.figure, to_text(goal.verdict)});
  table.print(out);
}

bool all_hold(std::span<const Goal> goals) {
  const auto is = [](Verdict verdict) {
    return [verdict](const Goal& goal) { return goal.verdict == verdict; };
  };
  return std::any_of(goals.begin(), goals.end(), is(Verdict::holds)) &&
         std::none_of(goals.begin(), goals.end(), is(Verdict::does_not_hold));
}

}  // namespace muster::bench
