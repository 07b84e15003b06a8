// verdicts.cpp: which ratios and figures count, and how large they may be.
#include "processes/verdicts.hpp"

#include <algorithm>
#include <string>

#include "processes/cells.hpp"
#include "processes/peers.hpp"

namespace muster::bench {
namespace {

using Names = std::vector<std::string>;

std::vector<Pair> against(const std::string& contender, const Names& peers) {
  std::vector<Pair> pairs;
  for (const std::string& peer : peers) pairs.push_back({contender, peer});
  return pairs;
}

// Everything but speeds already has the unit it is shown in.
GroupTable figures(const std::string& group, const std::string& unit, std::vector<Pair> ratios) {
  return {.group = group, .title = group + unit, .ratios = std::move(ratios), .unit = 1};
}

// Of promises about the best peer nothing is known as long as one of them was not measured.
bool all_peers_were_measured(std::span<const CellResult> results) {
  const auto cell = std::find_if(results.begin(), results.end(), [](const CellResult& result) {
    return result.group == kEmptyGroup;
  });
  const Names peers = all_peer_names();
  return cell != results.end() &&
         std::all_of(peers.begin(), peers.end(),
                     [cell](const std::string& peer) { return cell->find(peer) != nullptr; });
}

std::vector<RatioGoal> peer_goals() {
  return {{.claim = "empty tasks, prefetch 1: at least 10 x the best peer",
           .group = kEmptyGroup,
           .pairs = against(kMuster, peer_names()),
           .least = 10},
          {.claim = "empty tasks, prefetch 32: at least 20 x the best peer",
           .group = kEmptyGroup,
           .pairs = against(kMusterAhead, peer_names()),
           .least = 20}};
}

std::vector<RatioGoal> yardstick_goals() {
  return {{.claim = "hot round trip, p50: at least 1 / 4 x the spin ping-pong",
           .group = kRoundTripGroup,
           .pairs = {{kMuster, kSpin}},
           .cells = {kHotP50},
           .least = 1.0 / 4},
          {.claim = "paced round trip, p50: at least 1 / 1.3 = 0.77 x the futex ping-pong",
           .group = kRoundTripGroup,
           .pairs = {{kMuster, kFutex}},
           .cells = {kPacedP50},
           .least = 1 / 1.3},
          {.claim = "echo: no slower than 3 x memcpy and the empty round trip",
           .group = kEchoGroup,
           .pairs = {{kMuster, kAllowance}},
           .least = 1},
          {.claim = "a worker's start until ready: at least 1 / 5 x posix_spawn of /bin/true",
           .group = kStartGroup,
           .pairs = {{kMuster, kPosixSpawn}},
           .least = 1.0 / 5}};
}

std::vector<LimitGoal> limit_goals() {
  return {{.claim = "a task whose worker crashed has run again after at most 50 ms",
           .group = kCrashGroup,
           .contender = kMuster,
           .most = 50},
          {.claim = "100 idle workers: at most 1 % of one CPU in their pool's process",
           .group = kIdleGroup,
           .contender = kMuster,
           .cells = {kIdleCpu},
           .most = 1},
          {.claim = "100 idle workers: at most 10 MB besides the segments",
           .group = kIdleGroup,
           .contender = kMuster,
           .cells = {kIdleMemory},
           .most = 10},
          {.claim = "100 idle workers: one health pass takes at most 5 ms",
           .group = kIdleGroup,
           .contender = kMuster,
           .cells = {kHealthPass},
           .most = 5}};
}

}  // namespace

std::vector<GroupTable> process_suite_tables() {
  std::vector<Pair> speeds = against(kMuster, peer_names());
  for (const Pair& pair : against(kMusterAhead, peer_names())) speeds.push_back(pair);
  std::vector<Pair> trips = against(kMuster, peer_names());
  trips.insert(trips.begin(), {{kMuster, kSpin}, {kBareRing, kSpin}, {kMuster, kFutex}});
  return {{.group = kEmptyGroup,
           .title = kEmptyGroup + ", 1000 tasks/s",
           .ratios = std::move(speeds),
           .unit = 1e3},
          figures(kRoundTripGroup, ", us", std::move(trips)),
          figures(kEchoGroup, ", us", {{kMuster, kAllowance}, {kChange, kAllowanceTwice}}),
          figures(kStartGroup, ", ms", {{kMuster, kPosixSpawn}}),
          figures(kCrashGroup, ", ms", {}),
          figures(kIdleGroup, ", 100 workers", {})};
}

std::vector<Goal> process_suite_goals(std::span<const CellResult> results) {
  const bool has_peers = all_peers_were_measured(results);
  std::vector<Goal> goals;
  for (const RatioGoal& goal : peer_goals()) {
    goals.push_back(has_peers ? judge(goal, results) : Goal{.claim = goal.claim, .figure = "-"});
  }
  for (const RatioGoal& goal : yardstick_goals()) goals.push_back(judge(goal, results));
  for (const LimitGoal& goal : limit_goals()) goals.push_back(judge(goal, results));
  return goals;
}

}  // namespace muster::bench
