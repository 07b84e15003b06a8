// verdicts.cpp: which ratios and figures count, and how large they may be.
#include "threads/verdicts.hpp"

#include <utility>

#include "threads/cells.hpp"

namespace muster::bench {
namespace {

using Bound = RatioGoal::Bound;
using Names = std::vector<std::string>;

const std::string kMuster = "muster";
// Queue every task and run it on a worker.
const Names kPostPeers = {"tbb", "asio", "libthread-pool", "mutex queue"};
const Names kSpawnPeers = {"tbb", "asio", "openmp", "libthread-pool", "mutex queue"};
const Names kForkJoinPeers = {"tbb", "tbb invoke", "openmp"};
const Names kRoundTripPeers = {"tbb group", "tbb", "asio", "libthread-pool", "mutex queue"};

std::vector<Pair> muster_against(const Names& peers) {
  std::vector<Pair> pairs;
  for (const std::string& peer : peers) pairs.push_back({kMuster, peer});
  return pairs;
}

// Everything but speeds already has the unit it is shown in.
GroupTable figures(const std::string& group, const std::string& title, const Names& peers) {
  return {.group = group, .title = title, .ratios = muster_against(peers), .unit = 1};
}

GroupTable speeds(const std::string& group, const Names& peers) {
  return {.group = group, .title = group + ", M tasks/s", .ratios = muster_against(peers)};
}

std::vector<RatioGoal> post_goals() {
  return {{.claim = "post, 1 producer: at least 2 x the best peer",
           .group = kPostGroup,
           .pairs = muster_against(kPostPeers),
           .cells = {"1 producer"},
           .least = 2},
          {.claim = "post, 4 producers: at least 1.5 x the best peer",
           .group = kPostGroup,
           .pairs = muster_against(kPostPeers),
           .cells = {"4 producers"},
           .least = 1.5},
          {.claim = "submit and get: at least 2 x the best peer",
           .group = kSubmitGroup,
           .pairs = muster_against(kPostPeers),
           .least = 2},
          {.claim = "spawn: at least 2 x the best peer that queues every task",
           .group = kSpawnGroup,
           .pairs = muster_against(kPostPeers),
           .least = 2},
          {.claim = "spawn: at least 2 x OpenMP, which runs most tasks at once in their maker",
           .group = kSpawnGroup,
           .pairs = {{kMuster, "openmp"}},
           .least = 2}};
}

std::vector<RatioGoal> fork_join_goals() {
  return {{.claim = "fib: at least 1 / 1.5 = 0.67 x the plain function",
           .group = kForkJoinGroup,
           .pairs = {{kMuster, "plain"}},
           .cells = {"fib ns/call"},
           .least = 1 / 1.5},
          {.claim = "skynet, nqueens, uneven loop: ahead of every peer",
           .group = kForkJoinGroup,
           .pairs = muster_against(kForkJoinPeers),
           .cells = {"skynet ns/leaf", "nqueens ns/board", "uneven ns/item"},
           .bound = Bound::ahead},
          {.claim = "matmul, mergesort: at least 0.97 x the best peer",
           .group = kForkJoinGroup,
           .pairs = muster_against(kForkJoinPeers),
           .cells = {"matmul ms", "mergesort ms"},
           .least = 0.97}};
}

std::vector<RatioGoal> round_trip_goals() {
  return {{.claim = "hot round trip, p50 and p99: at least 1 / 1.2 = 0.83 x TBB",
           .group = kRoundTripGroup,
           .pairs = muster_against({"tbb group", "tbb"}),
           .cells = {"hot p50", "hot p99"},
           .least = 1 / 1.2},
          {.claim = "paced round trip, p50: no slower than the best peer that wakes a worker",
           .group = kRoundTripGroup,
           .pairs = muster_against(kPostPeers),
           .cells = {"200 us p50", "10 ms p50"},
           .least = 1}};
}

std::vector<RatioGoal> queueing_goals() {
  const std::vector<Pair> pairs{{"stealing", "global"}};
  return {{.claim = "stealing: at most a tenth of the lock waits of one queue for all",
           .group = kQueueingGroup + kLockWaitsSuffix,
           .pairs = pairs,
           .least = 10},
          // Not in bursts: after each the workers sleep, one switch each, however tasks are queued.
          {.claim = "stealing: at most half of its context switches while there is work",
           .group = kQueueingGroup + kSwitchesSuffix,
           .pairs = pairs,
           .cells = {"post", "spawn"},
           .least = 2},
          {.claim = "stealing: a lower p99 of waiting to be run",
           .group = kQueueingGroup + kLatencySuffix,
           .pairs = pairs,
           .cells = {"bursts p99"},
           .bound = Bound::ahead}};
}

std::vector<LimitGoal> limit_goals() {
  return {{.claim = "an idle pool uses at most 1 ms of CPU in 10 s",
           .group = kIdleGroup,
           .contender = kMuster,
           .cells = {"idle, ms CPU/s"},
           .most = 0.1},
          {.claim = "a pool that ticks at 100 Hz uses at most 1 % of a CPU",
           .group = kIdleGroup,
           .contender = kMuster,
           .cells = {"100 Hz, % of a CPU"},
           .most = 1},
          {.claim = "at most 100 KiB a worker, without its stack",
           .group = kMemoryGroup,
           .contender = kMuster,
           .cells = {"worker"},
           .most = 100},
          {.claim = "at most 64 KiB for 1000 queued tasks",
           .group = kMemoryGroup,
           .contender = kMuster,
           .cells = {"1000 queued tasks"},
           .most = 64}};
}

}  // namespace

std::vector<GroupTable> thread_suite_tables() {
  const Names nobody;
  Names fork_join_rivals = kForkJoinPeers;
  fork_join_rivals.insert(fork_join_rivals.begin(), "plain");
  std::vector<GroupTable> tables{
      speeds(kPostGroup, kPostPeers),
      speeds(kSubmitGroup, kPostPeers),
      speeds(kSpawnGroup, kSpawnPeers),
      figures(kForkJoinGroup, kForkJoinGroup, fork_join_rivals),
      figures(kRoundTripGroup, kRoundTripGroup + ", us", kRoundTripPeers),
      figures(kIdleGroup, kIdleGroup, nobody),
      figures(kMemoryGroup, kMemoryGroup + ", KiB", nobody)};
  for (const auto& [group, peers] :
       {std::pair(kSweepPostGroup, kPostPeers), std::pair(kSweepSpawnGroup, kSpawnPeers)}) {
    for (const std::string& suffix : {kWallSuffix, kCpuSuffix}) {
      tables.push_back(figures(group + suffix, group + suffix + ", ns/task", peers));
    }
  }
  for (const auto& [suffix, unit] :
       {std::pair(kSpeedSuffix, ", M tasks/s"), std::pair(kLatencySuffix, ", us"),
        std::pair(kSwitchesSuffix, " per 1000 tasks"),
        std::pair(kLockWaitsSuffix, " per 1000 tasks")}) {
    tables.push_back({.group = kQueueingGroup + suffix,
                      .title = kQueueingGroup + suffix + unit,
                      .ratios = {{"stealing", "global"}},
                      .unit = 1});
  }
  return tables;
}

std::vector<Goal> thread_suite_goals(std::span<const CellResult> results) {
  std::vector<Goal> goals;
  for (const auto make : {post_goals, fork_join_goals, round_trip_goals, queueing_goals}) {
    for (const RatioGoal& goal : make()) goals.push_back(judge(goal, results));
  }
  for (const LimitGoal& goal : limit_goals()) goals.push_back(judge(goal, results));
  return goals;
}

}  // namespace muster::bench
