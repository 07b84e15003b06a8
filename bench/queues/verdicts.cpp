// verdicts.cpp: which ratios count, and how large they must be.
#include "queues/verdicts.hpp"

#include "queues/cells.hpp"

namespace muster::bench {
namespace {

using Bound = RatioGoal::Bound;

const std::string kMuster = "muster";
const std::string kMusterBatch = kMuster + kBatchSuffix;
const std::string kYardstickRing = "vyukov";
const std::string kYardstickOwner = "plain ring + fence";
const std::string kMutexDeque = "mutex deque";

std::vector<RatioGoal> ratio_goals() {
  std::vector<RatioGoal> goals;
  for (const char* peer : {"moodycamel", "boost lockfree", "tbb bounded"}) {
    goals.push_back({.claim = std::string("BoundedQueue ahead of ") + peer + " in every cell",
                     .group = kQueueGroup,
                     .pairs = {{kMuster, peer}},
                     .bound = Bound::ahead});
  }
  goals.push_back({.claim = "BoundedQueue at least 0.95 x a textbook Vyukov ring",
                   .group = kQueueGroup,
                   .pairs = {{kMuster, kYardstickRing}},
                   .least = 0.95});
  goals.push_back({.claim = "batches of 16 at least 2 x single items under contention",
                   .group = kQueueGroup,
                   .pairs = {{kMusterBatch, kMuster}},
                   .cells = {"8 B 2P2C", "8 B 4P4C"},
                   .least = 2});
  goals.push_back({.claim = "deque's owner at least 1 / 1.2 = 0.83 x a plain ring and its fence",
                   .group = kOwnerGroup,
                   .pairs = {{kMuster, kYardstickOwner}},
                   .least = 1 / 1.2});
  for (const char* group : kStealGroups) {
    goals.push_back({.claim = std::string("deque ahead of a mutex and std::deque, ") + group,
                     .group = group,
                     .pairs = {{kMuster, kMutexDeque}},
                     .bound = Bound::ahead});
  }
  return goals;
}

}  // namespace

std::vector<GroupTable> queue_suite_tables() {
  std::vector<GroupTable> tables;
  tables.push_back({.group = kQueueGroup,
                    .title = "queue, M items/s",
                    .ratios = {{kMuster, kYardstickRing},
                               {kMuster, "moodycamel"},
                               {kMuster, "moodycamel roomy"},
                               {kMuster, "boost lockfree"},
                               {kMuster, "tbb bounded"},
                               {kMusterBatch, kMuster},
                               {kMusterBatch, std::string("moodycamel") + kBatchSuffix}}});
  tables.push_back({.group = kOwnerGroup,
                    .title = "owner, M push+pop/s",
                    .ratios = {{kMuster, kYardstickOwner}, {kMuster, kMutexDeque}}});
  for (const char* group : kStealGroups) {
    tables.push_back({.group = group,
                      .title = std::string(group) + ", M taken/s",
                      .ratios = {{kMuster, kMutexDeque}}});
  }
  return tables;
}

std::vector<Goal> queue_suite_goals(std::span<const CellResult> results) {
  std::vector<Goal> goals;
  for (const RatioGoal& goal : ratio_goals()) goals.push_back(judge(goal, results));
  return goals;
}

}  // namespace muster::bench
