// verdicts.cpp: how long a choice may take, and how good it has to be.
#include "balance/verdicts.hpp"

#include <algorithm>
#include <string>
#include <utility>

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

const std::string kRoundRobin(to_string(BuiltIn::round_robin));

// Everyone who takes part in a race of strategies.
std::vector<std::string> racers() {
  std::vector<std::string> names{kPlainTurns};
  for (const BuiltIn strategy : kBuiltIns) names.emplace_back(to_string(strategy));
  return names;
}

std::vector<Pair> against_round_robin() {
  std::vector<Pair> pairs;
  for (const std::string& name : racers()) {
    if (name != kRoundRobin) pairs.push_back({name, kRoundRobin});
  }
  return pairs;
}

std::vector<Pair> everyone_against_everyone() {
  std::vector<Pair> pairs;
  for (const std::string& one : racers()) {
    for (const std::string& other : racers()) {
      if (one != other) pairs.push_back({one, other});
    }
  }
  return pairs;
}

// Of several ways to keep a promise one is enough; the figure names it.
Goal any_of(const std::string& claim, const std::vector<RatioGoal>& ways,
            std::span<const CellResult> results) {
  Goal best{.claim = claim, .figure = "-"};
  for (const RatioGoal& way : ways) {
    const Goal found = judge(way, results);
    if (best.verdict == Verdict::holds || found.verdict == Verdict::not_measured) continue;
    best.figure = way.claim + ' ' + found.figure;
    best.verdict = found.verdict;
  }
  return best;
}

void judge_mixed(std::span<const CellResult> results, std::vector<Goal>& goals) {
  const std::string least_busy(to_string(BuiltIn::least_busy));
  const std::string wait_group = kMixedGroup + kWaitSuffix;
  for (const auto& [rival, name] :
       {std::pair(kRoundRobin, kRoundRobin + " (idle ones first)"),
        std::pair(std::string(kPlainTurns), std::string(kPlainTurns))}) {
    goals.push_back(judge(RatioGoal{.claim = "mixed, p99 wait: least-busy 1.3 x " + name,
                                    .group = wait_group,
                                    .pairs = {{least_busy, rival}},
                                    .cells = {kPaced},
                                    .least = 1.3},
                          results));
  }
  const std::vector<std::string> stealing{std::string(kPaced) + kStealing,
                                          std::string(kBursts) + kStealing};
  for (const std::string& group : {kMixedGroup + kMakespanSuffix, wait_group}) {
    goals.push_back(judge(RatioGoal{.claim = group + ": with stealing all within 15 %",
                                    .group = group,
                                    .pairs = everyone_against_everyone(),
                                    .cells = stealing,
                                    .least = 1 / 1.15},
                          results));
  }
}

void judge_slow_worker(std::span<const CellResult> results, std::vector<Goal>& goals) {
  for (const auto& [suffix, cell] :
       {std::pair(kWaitSuffix, kPaced), std::pair(kMakespanSuffix, kBursts)}) {
    std::vector<RatioGoal> ways;
    for (const BuiltIn strategy :
         {BuiltIn::interleaved_weighted, BuiltIn::weighted_round_robin, BuiltIn::least_elu}) {
      const std::string name(to_string(strategy));
      ways.push_back({.claim = name,
                      .group = kSlowWorkerGroup + suffix,
                      .pairs = {{name, kRoundRobin}},
                      .cells = {cell},
                      .bound = RatioGoal::Bound::ahead});
    }
    goals.push_back(
        any_of(kSlowWorkerGroup + suffix + ": a weighted one or least-elu ahead of round-robin",
               ways, results));
  }
}

// Not of Zipf keys: more than half of these hit without affinity, so twice that cannot be.
void judge_affinity(std::span<const CellResult> results, std::vector<Goal>& goals) {
  for (const char* keys : {kEvenKeysCalm, kEvenKeysBusy}) {
    goals.push_back(judge(RatioGoal{.claim = std::string(keys) +
                                             " busy: soft affinity has 2 x the hits of round-robin",
                                    .group = kAffinityGroup,
                                    .pairs = {{kSoftKeys, kWithoutKeys}},
                                    .cells = {keys},
                                    .least = 2},
                          results));
  }
}

void judge_scaling(std::span<const CellResult> results, std::vector<Goal>& goals) {
  for (const char* policy : {"ratio", "depth", "predictive"}) {
    goals.push_back(
        judge(LimitGoal{.claim = std::string(policy) + ": at most one reversal per change of load",
                        .group = kScalingGroup + kReversalsSuffix,
                        .contender = policy,
                        .most = 1},
              results));
  }
  goals.push_back(
      judge(RatioGoal{.claim = "ramp: predictive at most half the longest wait of ratio",
                      .group = kScalingGroup + kLongestWaitSuffix,
                      .pairs = {{"predictive", "ratio"}},
                      .cells = {kRamp},
                      .least = 2},
            results));
}

}  // namespace

std::vector<GroupTable> balance_suite_tables() {
  std::vector<GroupTable> tables{
      {.group = kSelectGroup, .title = "select, ns", .ratios = {}, .unit = 1},
      {.group = kFloodGroup, .title = "flood, M tasks/s", .ratios = flood_ratios()}};
  for (const std::string& group : {kMixedGroup, kSlowWorkerGroup}) {
    for (const std::string& suffix : {kMakespanSuffix, kWaitSuffix}) {
      tables.push_back({.group = group + suffix,
                        .title = group + suffix + ", ms",
                        .ratios = against_round_robin(),
                        .unit = 1});
    }
  }
  tables.push_back({.group = kAffinityGroup,
                    .title = "affinity, % hits",
                    .ratios = {{kSoftKeys, kWithoutKeys}, {kHardKeys, kWithoutKeys}},
                    .unit = 1});
  const std::vector<Pair> against_ratio{{"depth", "ratio"}, {"predictive", "ratio"}};
  tables.push_back({.group = kScalingGroup + kLongestWaitSuffix,
                    .title = kScalingGroup + kLongestWaitSuffix + ", ms",
                    .ratios = against_ratio,
                    .unit = 1});
  for (const std::string& suffix : {kWorkersSuffix, kReversalsSuffix}) {
    tables.push_back({.group = kScalingGroup + suffix,
                      .title = kScalingGroup + suffix,
                      .ratios = {},
                      .unit = 1});
  }
  return tables;
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
  judge_mixed(results, goals);
  judge_slow_worker(results, goals);
  judge_affinity(results, goals);
  judge_scaling(results, goals);
  return goals;
}

}  // namespace muster::bench
