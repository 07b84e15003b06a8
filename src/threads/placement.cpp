// placement.cpp: ordering CPUs by what they share.
#include "threads/placement.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace muster {
namespace {

// The parts of the machine that a CPU belongs to, the largest first. What is unknown counts as its
// own core's.
using Parts = std::array<unsigned, 5>;

Parts parts_of(const Cpu& cpu) {
  return {cpu.node, cpu.package, cpu.l3.value_or(cpu.core), cpu.l2.value_or(cpu.core), cpu.core};
}

std::vector<unsigned> compact_order(std::vector<Cpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::pair(parts_of(a), a.id) < std::pair(parts_of(b), b.id);
  });
  std::vector<unsigned> order(cpus.size());
  std::transform(cpus.begin(), cpus.end(), order.begin(), [](const Cpu& cpu) { return cpu.id; });
  return order;
}

// Each CPU gets its rank in its core, its core's in the L2 cache, and so on up to the nodes. Sorted
// by these, the first of every node come first, and the second ones of a core last.
std::vector<unsigned> spread_order(const std::vector<Cpu>& cpus) {
  using Ranks = std::array<std::size_t, std::tuple_size_v<Parts> + 1>;
  std::map<std::vector<unsigned>, std::map<unsigned, std::size_t>> members;  // of each part
  std::vector<std::pair<Ranks, unsigned>> ranked;
  for (const Cpu& cpu : cpus) {
    Ranks ranks{};
    std::vector<unsigned> part;  // from the whole machine down
    const auto enter = [&](std::size_t level, unsigned member) {
      auto& siblings = members[part];
      ranks[ranks.size() - 1 - level] = siblings.try_emplace(member, siblings.size()).first->second;
      part.push_back(member);
    };
    const Parts parts = parts_of(cpu);
    for (std::size_t level = 0; level < parts.size(); ++level) enter(level, parts[level]);
    enter(parts.size(), cpu.id);
    ranked.emplace_back(ranks, cpu.id);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<unsigned> order(ranked.size());
  std::transform(ranked.begin(), ranked.end(), order.begin(),
                 [](const auto& each) { return each.second; });
  return order;
}

const Cpu& cpu_with(const CpuTopology& topology, unsigned id) {
  return *std::lower_bound(topology.cpus.begin(), topology.cpus.end(), id,
                           [](const Cpu& cpu, unsigned wanted) { return cpu.id < wanted; });
}

std::size_t index_of_node(const CpuTopology& topology, unsigned id) {
  const auto node = std::find_if(topology.nodes.begin(), topology.nodes.end(),
                                 [id](const NumaNode& each) { return each.id == id; });
  return static_cast<std::size_t>(node - topology.nodes.begin());
}

// 0: the same cache. 1: the same node. Beyond: the kernel's distance, which is above 10.
unsigned distance(const CpuTopology& topology, const Cpu& from, const Cpu& to) {
  if (from.node != to.node) {
    const std::size_t here = index_of_node(topology, from.node);
    return topology.nodes[here].distances[index_of_node(topology, to.node)];
  }
  const bool share_cache =
      from.core == to.core || (from.l2 && from.l2 == to.l2) || (from.l3 && from.l3 == to.l3);
  return share_cache ? 0 : 1;
}

}  // namespace

std::vector<unsigned> place_workers(const CpuTopology& topology, const ThreadPoolOptions& options) {
  std::vector<unsigned> order;
  switch (options.pinning) {
    case Pinning::none:
      return {};
    case Pinning::compact:
      order = compact_order(topology.cpus);
      break;
    case Pinning::spread:
      order = spread_order(topology.cpus);
      break;
    case Pinning::listed:
      order = options.cpus;
      break;
  }
  std::vector<unsigned> cpus(std::max(options.workers, options.max_workers));
  for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] = order[i % order.size()];
  return cpus;
}

StealOrder steal_order(const CpuTopology& topology, std::span<const unsigned> cpus,
                       std::size_t workers, std::size_t self) {
  if (cpus.empty() || self >= cpus.size()) {
    StealOrder everyone(1, std::vector<std::uint32_t>(workers));
    std::iota(everyone[0].begin(), everyone[0].end(), 0U);
    return everyone;
  }
  std::map<unsigned, std::vector<std::uint32_t>> groups;
  const Cpu& own = cpu_with(topology, cpus[self]);
  for (std::uint32_t other = 0; other < workers; ++other) {
    groups[distance(topology, own, cpu_with(topology, cpus[other]))].push_back(other);
  }
  StealOrder order;
  for (auto& [ignored, group] : groups) order.push_back(std::move(group));
  return order;
}

}  // namespace muster
