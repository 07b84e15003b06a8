// verdicts.cpp: how long a choice may take.
#include "balance/verdicts.hpp"

#include <string>

#include <muster/strategy.hpp>

#include "balance/cells.hpp"

namespace muster::bench {

namespace {

// Each strategy beside plain turns, timed and not.
std::vector<Pair> flood_ratios() {
  std::vector<Pair> pairs{{kInTurn, kInTurnUntimed}};
  for (const char* suffix : {"", kTimedFully}) {
    for (const BuiltIn strategy : kBuiltIns) {
      pairs.push_back({std::string(to_string(strategy)) + suffix, kInTurnUntimed});
    }
  }
  return pairs;
}

Goal flood_goal(const std::string& name, const char* claim, double least,
                std::span<const CellResult> results) {
  return judge(RatioGoal{.claim = name + claim,
                         .group = kFloodGroup,
                         .pairs = {{name, kInTurnUntimed}},
                         .least = least},
               results);
}

}  // namespace

std::vector<GroupTable> balance_suite_tables() {
  return {{.group = kSelectGroup, .title = "select, ns", .ratios = {}, .unit = 1},
          {.group = kFloodGroup, .title = "flood, M tasks/s", .ratios = flood_ratios()}};
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
  goals.push_back(flood_goal(kInTurn, ": sampling costs at most 5 %", 0.95, results));
  for (const BuiltIn strategy : kBuiltIns) {
    const std::string name(to_string(strategy));
    goals.push_back(flood_goal(name, ": costs at most 25 % in a flood", 1 / 1.25, results));
    goals.push_back(flood_goal(name + kTimedFully, ": at most 50 %", 1 / 1.5, results));
  }
  return goals;
}

}  // namespace muster::bench
