// verdicts.cpp: which ratios and figures count, and how large they may be.
#include "jobs/verdicts.hpp"

#include <algorithm>
#include <string>

#include "jobs/cells.hpp"
#include "jobs/peers.hpp"

namespace muster::bench {
namespace {

using Names = std::vector<std::string>;
using Bound = RatioGoal::Bound;

constexpr double kThousands = 1e3;

const std::string kSqlite = to_text(StoreKind::sqlite);
const std::string kPostgres = to_text(StoreKind::postgres);

std::vector<Pair> against(const Names& others) {
  std::vector<Pair> pairs;
  for (const std::string& other : others) pairs.push_back({kMuster, other});
  return pairs;
}

// Every peer that is here, after what is no peer.
std::vector<Pair> against_all(Names others, PeerWork work) {
  for (const StoreKind kind : {StoreKind::sqlite, StoreKind::postgres}) {
    for (const std::string& peer : peer_names(work, kind)) others.push_back(peer);
  }
  return against(others);
}

// Of promises about all peers nothing is known as long as one of them was not measured.
bool all_were_measured(const RatioGoal& goal, std::span<const CellResult> results) {
  return std::all_of(goal.cells.begin(), goal.cells.end(), [&](const std::string& name) {
    const auto cell = std::find_if(results.begin(), results.end(), [&](const CellResult& result) {
      return result.group == goal.group && result.name == name;
    });
    return cell != results.end() &&
           std::all_of(goal.pairs.begin(), goal.pairs.end(), [cell](const Pair& pair) {
             return cell->find(pair.numerator) != nullptr &&
                    cell->find(pair.denominator) != nullptr;
           });
  });
}

std::vector<RatioGoal> sqlite_goals() {
  return {{.claim = "SQLite, enqueue 1000 at once: at least 0.7 x the raw loop",
           .group = kEnqueueGroup,
           .pairs = {{kMuster, kRawLoop}},
           .cells = {kSequential, kRandom},
           .least = 0.7},
          {.claim = "SQLite, enqueue 1000 at once: ahead of every peer",
           .group = kEnqueueGroup,
           .pairs = against(judged_peer_names(StoreKind::sqlite)),
           .cells = {kSequential, kRandom},
           .bound = Bound::ahead},
          {.claim = "SQLite, one by one from 64 threads: at least 10 x a commit per job",
           .group = kOneByOneGroup,
           .pairs = {{kMuster, kCommitEach}},
           .cells = {kSqlite},
           .least = 10},
          {.claim = "SQLite, execute: at least 2 x beanstalkd",
           .group = kExecuteGroup,
           .pairs = {{kMuster, "beanstalkd"}},
           .cells = {kSqlite},
           .least = 2},
          {.claim = "SQLite, execute: at least 4 x BullMQ",
           .group = kExecuteGroup,
           .pairs = {{kMuster, "BullMQ"}},
           .cells = {kSqlite},
           .least = 4},
          {.claim = "SQLite, enqueue to start, p50: at least 1 / 2 x the futex ping-pong",
           .group = kStartGroup,
           .pairs = {{kMuster, kFutex}},
           .cells = {kSqlite + " p50"},
           .least = 1.0 / 2},
          {.claim = "SQLite, 5 million waiting: at least 0.8 x the speed with 10 thousand",
           .group = kWaitingGroup,
           .pairs = {{kManyWaiting, kFewWaiting}},
           .cells = {kSqlite},
           .least = 0.8}};
}

std::vector<RatioGoal> postgres_goals() {
  const std::vector<Pair> peers = against(judged_peer_names(StoreKind::postgres));
  return {{.claim = "PostgreSQL, enqueue 1000 at once: at least 0.85 x the raw loop",
           .group = kEnqueueGroup,
           .pairs = {{kMuster, kRawLoop}},
           .cells = {kPostgres},
           .least = 0.85},
          {.claim = "PostgreSQL, enqueue 1000 at once: ahead of every peer",
           .group = kEnqueueGroup,
           .pairs = peers,
           .cells = {kPostgres},
           .bound = Bound::ahead},
          {.claim = "PostgreSQL, execute: at least 3 x the best peer",
           .group = kExecuteGroup,
           .pairs = peers,
           .cells = {kPostgres},
           .least = 3},
          {.claim = "PostgreSQL, enqueue to start, p50: at least 1 / 2 x one commit",
           .group = kStartGroup,
           .pairs = {{kMuster, kOneCommit}},
           .cells = {kPostgres + " p50"},
           .least = 1.0 / 2},
          {.claim = "PostgreSQL, 1 million waiting: at least 0.8 x the speed with 10 thousand",
           .group = kWaitingGroup,
           .pairs = {{kManyWaiting, kFewWaiting}},
           .cells = {kPostgres},
           .least = 0.8}};
}

LimitGoal restart_goal(const std::string& store) {
  return {.claim = store + ", restart with 1 million waiting: the first job runs within 3 s",
          .group = kRestartGroup,
          .contender = kMuster,
          .cells = {store + kFirstJob},
          .most = 3};
}

LimitGoal memory_goal(const std::string& store) {
  return {.claim = store + ", 1 million waiting: at most 300 MB of memory",
          .group = kMemoryGroup,
          .contender = kMuster,
          .cells = {store},
          .most = 300};
}

// Everything but speeds already has the unit it is shown in.
GroupTable figures(const std::string& group, const std::string& unit, std::vector<Pair> ratios) {
  return {.group = group, .title = group + unit, .ratios = std::move(ratios), .unit = 1};
}

GroupTable speeds(const std::string& group, std::vector<Pair> ratios) {
  return {.group = group,
          .title = group + ", 1000 jobs/s",
          .ratios = std::move(ratios),
          .unit = kThousands};
}

}  // namespace

std::vector<GroupTable> job_suite_tables() {
  return {speeds(kEnqueueGroup, against_all({kRawLoop}, PeerWork::enqueue)),
          speeds(kOneByOneGroup, {{kMuster, kCommitEach}}),
          speeds(kExecuteGroup, against_all({}, PeerWork::execute)),
          figures(kStartGroup, ", us", {{kMuster, kFutex}, {kMuster, kOneCommit}}),
          speeds(kWaitingGroup, {{kManyWaiting, kFewWaiting}}),
          figures(kRestartGroup, ", s", {}),
          figures(kMemoryGroup, " of 1 million that wait, MB", {}),
          speeds(kSteadyGroup, {}),
          figures(kDelayGroup, " from due to settled, ms", {}),
          figures(kEnqueueBytesGroup, "", {}),
          figures(kExecuteBytesGroup, "", {}),
          figures(kSteadyBytesGroup, "", {}),
          figures(kDeadGroup, "", {})};
}

std::vector<Goal> job_suite_goals(std::span<const CellResult> results) {
  std::vector<RatioGoal> ratios = sqlite_goals();
  for (RatioGoal& goal : postgres_goals()) ratios.push_back(std::move(goal));
  std::vector<Goal> goals;
  for (const RatioGoal& goal : ratios) {
    const bool is_known = all_were_measured(goal, results);
    goals.push_back(is_known ? judge(goal, results) : Goal{.claim = goal.claim, .figure = "-"});
  }
  for (const std::string& store : {kSqlite, kPostgres}) {
    goals.push_back(judge(restart_goal(store), results));
    goals.push_back(judge(memory_goal(store), results));
  }
  return goals;
}

}  // namespace muster::bench
