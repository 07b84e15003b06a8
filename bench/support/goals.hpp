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

// A promise about a ratio of speeds that must hold in each of several cells.
struct RatioGoal {
  std::string claim;
  std::string group;
  Pair pair;

  // Cells it speaks of; empty means all of the group.
  std::vector<std::string> cells = {};

  // The least ratio that keeps the promise; `ahead` wants strictly more.
  double least = 1;
  enum class Bound { ahead, at_least } bound = Bound::at_least;
};

// Judged by its worst cell, which the figure names.
Goal judge(const RatioGoal& goal, std::span<const CellResult> results);

void print_goals(std::ostream& out, std::span<const Goal> goals);

// True if something was measured and everything measured holds.
bool all_hold(std::span<const Goal> goals);

}  // namespace muster::bench
