// verdicts.cpp: how long a choice may take.
#include "balance/verdicts.hpp"

#include <string>

#include <muster/strategy.hpp>

#include "balance/cells.hpp"

namespace muster::bench {

std::vector<GroupTable> balance_suite_tables() {
  return {{.group = kSelectGroup, .title = "select, ns", .ratios = {}, .unit = 1}};
}

std::vector<Goal> balance_suite_goals(std::span<const CellResult> results) {
  // Logarithmic growth from 64 to 512 workers: 9 / 6 of the time.
  constexpr double kMost = 100;
  constexpr double kGrowth = 1.5;
  std::vector<Goal> goals;
  for (const BuiltIn strategy : kBuiltIns) {
    const std::string name(to_string(strategy));
    goals.push_back(judge(LimitGoal{.claim = name + ": at most 100 ns among 64 workers",
                                    .group = kSelectGroup,
                                    .contender = name,
                                    .cells = {among(64)},
                                    .most = kMost},
                          results));
    goals.push_back(judge(LimitGoal{.claim = name + ": at most 150 ns among 512 workers",
                                    .group = kSelectGroup,
                                    .contender = name,
                                    .cells = {among(512)},
                                    .most = kGrowth * kMost},
                          results));
  }
  return goals;
}

}  // namespace muster::bench
