// cpu_topology_test.cpp: recorded machines (trees/) read as what they are, broken ones as usable.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <sched.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/cpu_topology.hpp>
#include <muster/base/random.hpp>

#include "tree.hpp"

namespace muster {
namespace {

using Lists = std::vector<CpuList>;

CpuTopology parse(const Tree& tree) {
  return parse_cpus(MemoryFiles(tree.files), tree.affinity);
}

CpuTopology parse(const std::string& name) {
  return parse(load_tree(name));
}

CpuList ids(const CpuTopology& topology) {
  CpuList list;
  for (const Cpu& cpu : topology.cpus) list.push_back(cpu.id);
  return list;
}

CpuList range(unsigned first, unsigned last) {
  return parse_cpu_list(std::to_string(first) + "-" + std::to_string(last)).value();
}

// What holds of any topology, whatever the files said.
void expect_sane(const CpuTopology& topology) {
  const CpuList all = ids(topology);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(std::ranges::adjacent_find(all, std::ranges::greater_equal()), all.end());
  EXPECT_GE(topology.worker_count(), 1U);
  EXPECT_LE(topology.worker_count(), all.size());

  CpuList in_nodes;
  for (const NumaNode& node : topology.nodes) {
    EXPECT_FALSE(node.cpus.empty());
    EXPECT_EQ(node.distances.size(), topology.nodes.size());
    in_nodes.insert(in_nodes.end(), node.cpus.begin(), node.cpus.end());
  }
  std::ranges::sort(in_nodes);
  EXPECT_EQ(in_nodes, all) << "every CPU is in exactly one node";

  for (const CpuPart part : {CpuPart::core, CpuPart::l2, CpuPart::l3, CpuPart::package}) {
    std::size_t members = 0;
    for (const CpuList& list : cpus_sharing(topology, part)) members += list.size();
    EXPECT_LE(members, all.size());
  }
  EXPECT_FALSE(describe(topology).empty());
}

TEST(CpuTopology, ALaptopHasThreadsClustersAndOneNode) {
  const CpuTopology laptop = parse("laptop");
  EXPECT_EQ(ids(laptop), range(0, 15));
  EXPECT_EQ(laptop.worker_count(), 16U);
  EXPECT_EQ(laptop.quota_cpus, std::nullopt);
  EXPECT_EQ(cpus_sharing(laptop, CpuPart::core).size(), 12U);
  EXPECT_EQ(cpus_sharing(laptop, CpuPart::l2),
            Lists({{0, 1}, {2, 3}, {4, 5}, {6, 7}, range(8, 11), range(12, 15)}));
  EXPECT_EQ(cpus_sharing(laptop, CpuPart::l3), Lists({range(0, 15)}));
  EXPECT_EQ(laptop.nodes.size(), 1U);
}

TEST(CpuTopology, AServerHasTwoPackagesTwoNodesAndTheirDistances) {
  const CpuTopology server = parse("server");
  const CpuList even = {0, 2, 4, 6, 8, 10, 12, 14};
  const CpuList odd = {1, 3, 5, 7, 9, 11, 13, 15};
  EXPECT_EQ(cpus_sharing(server, CpuPart::package), Lists({even, odd}));
  EXPECT_EQ(cpus_sharing(server, CpuPart::l3), Lists({even, odd}));
  EXPECT_EQ(cpus_sharing(server, CpuPart::core).front(), CpuList({0, 8}));
  ASSERT_EQ(server.nodes.size(), 2U);
  EXPECT_EQ(server.nodes[0].cpus, even);
  EXPECT_EQ(server.nodes[1].cpus, odd);
  EXPECT_EQ(server.nodes[0].distances, std::vector<unsigned>({10, 21}));
  EXPECT_EQ(server.nodes[1].distances, std::vector<unsigned>({21, 10}));
}

TEST(CpuTopology, OneNodeMayHaveSeveralLastLevelCaches) {
  const CpuTopology epyc = parse("epyc");
  EXPECT_EQ(cpus_sharing(epyc, CpuPart::l3),
            Lists({range(0, 3), range(4, 7), range(8, 11), range(12, 14)}));
  EXPECT_EQ(cpus_sharing(epyc, CpuPart::l2).size(), 15U);
  EXPECT_EQ(cpus_sharing(epyc, CpuPart::package).size(), 1U);
}

TEST(CpuTopology, AMemoryOnlyNodeIsLeftOutAndDistancesStayRight) {
  const CpuTopology epyc = parse("epyc");
  ASSERT_EQ(epyc.nodes.size(), 2U);
  EXPECT_EQ(epyc.nodes[0].id, 0U);
  EXPECT_EQ(epyc.nodes[1].id, 2U);
  EXPECT_EQ(epyc.nodes[0].distances, std::vector<unsigned>({10, 12}));
  EXPECT_EQ(epyc.nodes[1].distances, std::vector<unsigned>({12, 10}));
}

TEST(CpuTopology, OnlyUsableCpusAppearAnywhere) {
  Tree tree = load_tree("server");
  tree.affinity = {1, 3, 9};
  const CpuTopology server = parse(tree);
  EXPECT_EQ(ids(server), CpuList({1, 3, 9}));
  EXPECT_EQ(server.worker_count(), 3U);
  EXPECT_EQ(cpus_sharing(server, CpuPart::core), Lists({{1, 9}, {3}}));
  EXPECT_EQ(cpus_sharing(server, CpuPart::l3), Lists({{1, 3, 9}}));
  ASSERT_EQ(server.nodes.size(), 1U);
  EXPECT_EQ(server.nodes[0].id, 1U);
  EXPECT_EQ(server.nodes[0].distances, std::vector<unsigned>({10}));
}

TEST(CpuTopology, OfflineCpusAreNotUsable) {
  Tree tree = load_tree("laptop");
  tree.files["/sys/devices/system/cpu/online"] = "0-3,8\n";
  EXPECT_EQ(ids(parse(tree)), CpuList({0, 1, 2, 3, 8}));
}

TEST(CpuTopology, TheMaskIsBelievedBeforeAnOnlineFileThatContradictsIt) {
  Tree tree = load_tree("laptop");
  tree.affinity = {4, 5};
  tree.files["/sys/devices/system/cpu/online"] = "0-3\n";
  EXPECT_EQ(ids(parse(tree)), CpuList({4, 5}));
}

TEST(CpuTopology, WithoutAMaskTheOnlineCpusAreUsed) {
  Tree tree = load_tree("laptop");
  tree.affinity = {};
  EXPECT_EQ(ids(parse(tree)), range(0, 15));
}

TEST(CpuTopology, AQuotaOfOneAndAHalfCpusGivesTwoWorkers) {
  const CpuTopology docker = parse("docker_v2");
  EXPECT_EQ(docker.quota_cpus, 1.5);
  EXPECT_EQ(docker.cpus.size(), 4U);
  EXPECT_EQ(docker.worker_count(), 2U);
}

TEST(CpuTopology, ALimitOnThePodBindsItsContainer) {
  const CpuTopology pod = parse("kubernetes_v1");
  EXPECT_EQ(pod.quota_cpus, 2.5);
  EXPECT_EQ(pod.worker_count(), 3U);
}

TEST(CpuTopology, AGroupOutsideTheNamespaceTakesTheLimitOfItsRoot) {
  EXPECT_EQ(parse("cgroup_namespace").worker_count(), 3U);
}

TEST(CpuTopology, AQuotaBelowOneCpuStillGivesOneWorker) {
  const CpuTopology sidecar = parse("half_cpu");
  EXPECT_EQ(sidecar.quota_cpus, 0.5);
  EXPECT_EQ(sidecar.worker_count(), 1U);
}

TEST(CpuTopology, AQuotaAboveTheCpusChangesNothing) {
  CpuTopology topology = parse("docker_v2");
  topology.quota_cpus = 1e300;
  EXPECT_EQ(topology.worker_count(), 4U);
}

TEST(CpuTopology, WithNothingReadableThereIsOneCpu) {
  const CpuTopology nothing = parse("nothing");
  EXPECT_EQ(ids(nothing), CpuList({0}));
  EXPECT_EQ(nothing.worker_count(), 1U);
  expect_sane(nothing);
}

TEST(CpuTopology, AnEmptyTopologyStillGivesOneWorker) {
  EXPECT_EQ(CpuTopology().worker_count(), 1U);
  EXPECT_EQ(CpuTopology({.quota_cpus = 4.0}).worker_count(), 1U);
}

TEST(CpuTopology, MalformedFilesLeaveTheMaskAndTheFallbacks) {
  const CpuTopology malformed = parse("malformed");
  EXPECT_EQ(ids(malformed), range(0, 3));
  EXPECT_EQ(malformed.worker_count(), 4U);
  EXPECT_EQ(malformed.quota_cpus, std::nullopt);
  EXPECT_EQ(cpus_sharing(malformed, CpuPart::core), Lists({{0}, {1}, {2}, {3}}));
  EXPECT_EQ(cpus_sharing(malformed, CpuPart::package), Lists({range(0, 3)}));
  EXPECT_TRUE(cpus_sharing(malformed, CpuPart::l2).empty());
  EXPECT_TRUE(cpus_sharing(malformed, CpuPart::l3).empty());
  ASSERT_EQ(malformed.nodes.size(), 1U);
  EXPECT_EQ(malformed.nodes[0].distances, std::vector<unsigned>({10}));
  expect_sane(malformed);
}

TEST(CpuTopology, UnreadableDistancesBecomeLocalAndRemote) {
  Tree tree = load_tree("server");
  tree.files["/sys/devices/system/node/node0/distance"] = "10 21 30\n";
  const CpuTopology server = parse(tree);
  EXPECT_EQ(server.nodes[0].distances, std::vector<unsigned>({10, 20}));
  EXPECT_EQ(server.nodes[1].distances, std::vector<unsigned>({21, 10}));
}

TEST(CpuTopology, ABoardWithoutCacheInformationHasUnknownCaches) {
  const CpuTopology board = parse("arm64");
  EXPECT_EQ(board.worker_count(), 4U);
  EXPECT_EQ(board.cpus[3].core, 3U);
  EXPECT_EQ(board.cpus[3].package, 0U);
  EXPECT_EQ(board.cpus[3].l2, std::nullopt);
  EXPECT_EQ(board.cpus[3].l3, std::nullopt);
  expect_sane(board);
}

TEST(CpuTopology, InstructionCachesDoNotCount) {
  Tree tree = load_tree("docker_v2");
  add_line(tree, "/sys/devices/system/cpu/cpu{0-3}/cache/index0/type: Instruction");
  EXPECT_TRUE(cpus_sharing(parse(tree), CpuPart::l2).empty());
}

TEST(CpuTopology, NoDamagedByteLeadsToAnUnusableAnswer) {
  Random random(20'260'101);
  for (const char* name : {"laptop", "server", "kubernetes_v1"}) {
    const Tree recorded = load_tree(name);
    for (int round = 0; round < 10; ++round) {
      Tree tree = recorded;
      for (auto& [path, content] : tree.files) {
        if (random.chance(0.3))
          content[random.below(content.size())] = "0-,9 x/\n"[random.below(8)];
      }
      expect_sane(parse(tree));
    }
  }
}

TEST(CpuTopology, DescribeIsATableForPeople) {
  EXPECT_EQ(describe(parse("docker_v2")),
            "workers      2\n"
            "quota        1.5 CPUs\n"
            "usable CPUs  4: 0-3\n"
            "packages     1: 0-3\n"
            "cores        2: 0-1 | 2-3\n"
            "shared L2    2: 0-1 | 2-3\n"
            "shared L3    1: 0-3\n"
            "NUMA node    0: 0-3  (distance 10)\n");
}

TEST(CpuTopology, DescribeCutsLongListsAndSaysWhatIsUnknown) {
  const std::string laptop = describe(parse("laptop"));
  EXPECT_NE(laptop.find("cores        12: 0-1 | 2-3 | 4-5 | 6-7 | 8 | 9 | 10 | 11 | ...\n"),
            std::string::npos)
      << laptop;
  EXPECT_NE(describe(parse("arm64")).find("shared L3    unknown\n"), std::string::npos);
}

TEST(CpuTopology, ThisMachineMakesSense) {
  const CpuTopology here = detect_cpus();
  expect_sane(here);
  const auto running_on = static_cast<unsigned>(sched_getcpu());
  EXPECT_TRUE(std::ranges::binary_search(ids(here), running_on)) << running_on;
}

}  // namespace
}  // namespace muster
