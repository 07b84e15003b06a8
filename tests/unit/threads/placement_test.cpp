// placement_test.cpp: where workers are put on a machine, and whom they turn to first.
#include "threads/placement.hpp"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

using Ids = std::vector<unsigned>;

// Two nodes of two L3 caches, each with two cores of two CPUs: 0 1 | 2 3 || 4 5 | 6 7 and so on.
// As Linux likes to number them, the second CPUs of all cores come last.
CpuTopology two_nodes() {
  CpuTopology topology;
  for (unsigned id = 0; id < 16; ++id) {
    const unsigned core = id % 8;
    topology.cpus.push_back({.id = id,
                             .core = core,
                             .package = core / 4,
                             .node = core / 4,
                             .l2 = core,
                             .l3 = core / 2 * 2});
  }
  topology.nodes = {{.id = 0, .cpus = {0, 1, 2, 3, 8, 9, 10, 11}, .distances = {10, 21}},
                    {.id = 1, .cpus = {4, 5, 6, 7, 12, 13, 14, 15}, .distances = {21, 10}}};
  return topology;
}

// Four nodes in a ring with a CPU each: neighbours at 15, the opposite one at 30.
CpuTopology ring() {
  CpuTopology topology;
  for (unsigned id = 0; id < 4; ++id) {
    topology.cpus.push_back({.id = id, .core = id, .package = id, .node = id, .l3 = id});
    std::vector<unsigned> distances(4, 15);
    distances[id] = 10;
    distances[(id + 2) % 4] = 30;
    topology.nodes.push_back({.id = id, .cpus = {id}, .distances = distances});
  }
  return topology;
}

TEST(Placement, WorkersThatAreNotPinnedHaveNoCpu) {
  EXPECT_EQ(place_workers(two_nodes(), {.workers = 4}), Ids{});
}

TEST(Placement, CompactFillsACoreThenACacheThenANode) {
  EXPECT_EQ(place_workers(two_nodes(), {.workers = 10, .pinning = Pinning::compact}),
            (Ids{0, 8, 1, 9, 2, 10, 3, 11, 4, 12}));
}

TEST(Placement, SpreadTakesNodesThenCachesThenCoresInTurn) {
  EXPECT_EQ(place_workers(two_nodes(), {.workers = 10, .pinning = Pinning::spread}),
            (Ids{0, 4, 2, 6, 1, 5, 3, 7, 8, 12}));
}

TEST(Placement, ListedCpusAreTakenInTheirOrder) {
  EXPECT_EQ(
      place_workers(two_nodes(), {.workers = 2, .pinning = Pinning::listed, .cpus = {5, 2, 9}}),
      (Ids{5, 2}));
}

TEST(Placement, MoreWorkersThanCpusUseThemAgain) {
  EXPECT_EQ(place_workers(ring(), {.workers = 6, .pinning = Pinning::compact}),
            (Ids{0, 1, 2, 3, 0, 1}));
}

TEST(StealOrder, WhoIsNotPinnedTreatsAllAlike) {
  EXPECT_EQ(steal_order(two_nodes(), {}, 3, 1), (StealOrder{{0, 1, 2}}));
}

TEST(StealOrder, ASpareTreatsAllAlike) {
  const Ids cpus = {0, 4};
  EXPECT_EQ(steal_order(two_nodes(), cpus, 2, 5), (StealOrder{{0, 1}}));
}

TEST(StealOrder, CacheThenNodeThenElsewhere) {
  const Ids cpus = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(steal_order(two_nodes(), cpus, 9, 2), (StealOrder{{2, 3}, {0, 1, 8}, {4, 5, 6, 7}}));
}

TEST(StealOrder, NearNodesBeforeFarOnes) {
  const Ids cpus = {0, 1, 2, 3};
  EXPECT_EQ(steal_order(ring(), cpus, 4, 3), (StealOrder{{3}, {0, 2}, {1}}));
}

TEST(StealOrder, WorkersOfOneCpuAreNearest) {
  const Ids cpus = {0, 1, 0};
  EXPECT_EQ(steal_order(ring(), cpus, 3, 0), (StealOrder{{0, 2}, {1}}));
}

}  // namespace
}  // namespace muster
