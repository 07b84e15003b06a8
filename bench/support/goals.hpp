// goals.hpp: what a suite promises, the figure that was measured, and whether the promise holds.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "rounds.hpp"

namespace muster::bench {

enum class Verdict { holds, does_not_hold, not_measured };

std::string to_text(Verdict verdict);

struct Goal {
  std::string claim;
  std::string figure;
  Verdict verdict = Verdict::not_measured;
};

// A promise about ratios that must hold in each of several cells, and for each pair. With one
// contender before all its peers that is a promise about the best of them.
struct RatioGoal {
  std::string claim;
  std::string group;
  std::vector<Pair> pairs;

  // Cells it speaks of; empty means all of the group.
  std::vector<std::string> cells = {};

  // The least ratio that keeps the promise; `ahead` wants strictly more.
  double least = 1;
  enum class Bound { ahead, at_least } bound = Bound::at_least;
};

// A promise that a contender's figure stays below a limit, in every cell of a group where lower is
// better.
struct LimitGoal {
  std::string claim;
  std::string group;
  std::string contender;
  std::vector<std::string> cells = {};  // empty means all of the group
  double most = 0;
};

// Judged by their worst cell, which the figure names.
Goal judge(const RatioGoal& goal, std::span<const CellResult> results);
Goal judge(const LimitGoal& goal, std::span<const CellResult> results);

void print_goals(std::ostream& out, std::span<const Goal> goals);

// True if something was measured and everything measured holds.
bool all_hold(std::span<const Goal> goals);

}  // namespace muster::bench
