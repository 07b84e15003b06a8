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
  double value = 0;
  std::string where;
};

// Whether a goal about a group, or some of its cells, speaks of this one.
template <class AnyGoal>
bool speaks_of(const AnyGoal& goal, const CellResult& result) {
  if (result.group != goal.group) return false;
  return goal.cells.empty() ||
         std::find(goal.cells.begin(), goal.cells.end(), result.name) != goal.cells.end();
}

std::optional<Worst> worst_ratio(const RatioGoal& goal, std::span<const CellResult> results) {
  std::optional<Worst> worst;
  for (const CellResult& result : results) {
    if (!speaks_of(goal, result)) continue;
    for (const Pair& pair : goal.pairs) {
      const std::optional<Summary> found = ratio(result, pair);
      if (!found || (worst && found->median >= worst->value)) continue;
      const std::string peer = goal.pairs.size() > 1 ? pair.denominator + " in " : "in ";
      worst = {found->median, peer + result.name};
    }
  }
  return worst;
}

std::optional<Worst> worst_figure(const LimitGoal& goal, std::span<const CellResult> results) {
  std::optional<Worst> worst;
  for (const CellResult& result : results) {
    const Series* series = speaks_of(goal, result) ? result.find(goal.contender) : nullptr;
    if (series == nullptr) continue;
    const double found = summarize(series->values).median;
    if (!worst || found > worst->value) worst = {found, "in " + result.name};
  }
  return worst;
}

Goal verdict_on(const std::string& claim, const Worst& worst, const char* sign, bool kept) {
  std::ostringstream figure;
  figure << std::fixed << std::setprecision(2) << worst.value << sign << worst.where;
  return {.claim = claim,
          .figure = figure.str(),
          .verdict = kept ? Verdict::holds : Verdict::does_not_hold};
}

Goal not_measured(const std::string& claim) {
  return {.claim = claim, .figure = "-", .verdict = Verdict::not_measured};
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
  const std::optional<Worst> worst = worst_ratio(goal, results);
  if (!worst) return not_measured(goal.claim);
  const bool kept = goal.bound == RatioGoal::Bound::ahead ? worst->value > goal.least
                                                          : worst->value >= goal.least;
  return verdict_on(goal.claim, *worst, " x ", kept);
}

Goal judge(const LimitGoal& goal, std::span<const CellResult> results) {
  const std::optional<Worst> worst = worst_figure(goal, results);
  if (!worst) return not_measured(goal.claim);
  return verdict_on(goal.claim, *worst, " ", worst->value <= goal.most);
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
