// cpu_topology.cpp: puts together what the kernel says about CPUs under /sys/devices/system.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <sched.h>
#include <sstream>
#include <string_view>

#include <muster/base/cgroup.hpp>
#include <muster/base/cpu_topology.hpp>

#include "text_scan.hpp"

namespace muster {
namespace {

constexpr unsigned kLocalDistance = 10;   // what firmware says of a node and itself
constexpr unsigned kRemoteDistance = 20;  // and of two nodes it says nothing about
constexpr unsigned kMaxCachesPerCpu = 16;

std::optional<unsigned> read_number(const SystemFiles& files, const std::string& path) {
  return parse_number<unsigned>(trim(files.read(path).value_or("")));
}

std::optional<CpuList> read_cpu_list(const SystemFiles& files, const std::string& path) {
  const auto text = files.read(path);
  return text ? parse_cpu_list(*text) : std::nullopt;
}

// The lowest of the CPUs sharing something with `cpu`. A list without `cpu` itself is not believed.
std::optional<unsigned> read_lowest(const SystemFiles& files, const std::string& path,
                                    unsigned cpu) {
  const auto sharers = read_cpu_list(files, path);
  if (!sharers || !std::ranges::binary_search(*sharers, cpu)) return std::nullopt;
  return sharers->front();
}

CpuList usable_cpus(const SystemFiles& files, const CpuList& affinity) {
  const CpuList online = read_cpu_list(files, "/sys/devices/system/cpu/online").value_or(CpuList());
  CpuList both;
  std::ranges::set_intersection(affinity, online, std::back_inserter(both));
  // The mask is what the scheduler obeys, so it is believed before the file.
  for (const CpuList& candidate : {both, affinity, online}) {
    if (!candidate.empty()) return candidate;
  }
  return {0};
}

void read_caches(const SystemFiles& files, const std::string& directory, Cpu& cpu) {
  for (unsigned index = 0; index < kMaxCachesPerCpu; ++index) {
    const std::string cache = directory + "/cache/index" + std::to_string(index);
    const auto level = read_number(files, cache + "/level");
    if (!level) return;
    if (*level != 2 && *level != 3) continue;
    if (trim(files.read(cache + "/type").value_or("")) == "Instruction") continue;
    (*level == 2 ? cpu.l2 : cpu.l3) = read_lowest(files, cache + "/shared_cpu_list", cpu.id);
  }
}

Cpu read_cpu(const SystemFiles& files, unsigned id) {
  const std::string directory = "/sys/devices/system/cpu/cpu" + std::to_string(id);
  Cpu cpu{.id = id};
  auto core = read_lowest(files, directory + "/topology/core_cpus_list", id);
  // The name before Linux 5.3.
  if (!core) core = read_lowest(files, directory + "/topology/thread_siblings_list", id);
  cpu.core = core.value_or(id);
  cpu.package = read_number(files, directory + "/topology/physical_package_id").value_or(0);
  read_caches(files, directory, cpu);
  return cpu;
}

std::string node_directory(unsigned node) {
  return "/sys/devices/system/node/node" + std::to_string(node);
}

void read_node_of_each_cpu(const SystemFiles& files, const CpuList& online_nodes,
                           std::vector<Cpu>& cpus) {
  for (const unsigned node : online_nodes) {
    const CpuList members =
        read_cpu_list(files, node_directory(node) + "/cpulist").value_or(CpuList());
    for (Cpu& cpu : cpus) {
      if (std::ranges::binary_search(members, cpu.id)) cpu.node = node;
    }
  }
}

std::vector<NumaNode> group_by_node(const std::vector<Cpu>& cpus) {
  std::vector<NumaNode> nodes;
  for (const Cpu& cpu : cpus) {
    auto place = std::ranges::lower_bound(nodes, cpu.node, {}, &NumaNode::id);
    if (place == nodes.end() || place->id != cpu.node) {
      place = nodes.insert(place, NumaNode{.id = cpu.node});
    }
    place->cpus.push_back(cpu.id);
  }
  return nodes;
}

// The file has one number for each online node, in their order, also for those we leave out.
void read_distances(const SystemFiles& files, const CpuList& online_nodes,
                    std::vector<NumaNode>& nodes) {
  for (NumaNode& node : nodes) {
    const std::string text = files.read(node_directory(node.id) + "/distance").value_or("");
    const auto words = split(trim(text), ' ');
    for (const NumaNode& other : nodes) {
      const auto place = std::ranges::lower_bound(online_nodes, other.id);
      std::optional<unsigned> distance;
      if (words.size() == online_nodes.size() && place != online_nodes.end() &&
          *place == other.id) {
        distance =
            parse_number<unsigned>(words[static_cast<std::size_t>(place - online_nodes.begin())]);
      }
      node.distances.push_back(
          distance.value_or(other.id == node.id ? kLocalDistance : kRemoteDistance));
    }
  }
}

// The mask of the calling thread; empty if the kernel does not tell.
CpuList affinity_of_this_thread() {
  // The kernel refuses a mask smaller than its own and does not say how large that is.
  for (unsigned capacity = 1024; capacity <= kMaxCpus; capacity *= 2) {
    std::vector<cpu_set_t> mask(capacity / CPU_SETSIZE);
    const std::size_t mask_bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, mask_bytes, mask.data()) == 0) {
      CpuList cpus;
      for (unsigned cpu = 0; cpu < capacity; ++cpu) {
        if (CPU_ISSET_S(cpu, mask_bytes, mask.data())) cpus.push_back(cpu);
      }
      return cpus;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

std::optional<unsigned> part_of(const Cpu& cpu, CpuPart part) {
  switch (part) {
    case CpuPart::core:
      return cpu.core;
    case CpuPart::l2:
      return cpu.l2;
    case CpuPart::l3:
      return cpu.l3;
    case CpuPart::package:
      return cpu.package;
  }
  return std::nullopt;
}

void describe_part(std::ostream& out, const CpuTopology& topology, std::string_view title,
                   CpuPart part) {
  constexpr std::size_t kMaxShown = 8;
  const auto lists = cpus_sharing(topology, part);
  out << title;
  if (lists.empty()) {
    out << "unknown\n";
    return;
  }
  out << lists.size() << ':';
  for (std::size_t i = 0; i < std::min(lists.size(), kMaxShown); ++i) {
    out << (i == 0 ? " " : " | ") << format_cpu_list(lists[i]);
  }
  out << (lists.size() > kMaxShown ? " | ...\n" : "\n");
}

}  // namespace

unsigned CpuTopology::worker_count() const {
  const auto usable = static_cast<double>(cpus.size());
  const double granted = std::min(usable, std::ceil(quota_cpus.value_or(usable)));
  return std::max(1U, static_cast<unsigned>(std::max(0.0, granted)));
}

CpuTopology parse_cpus(const SystemFiles& files, const CpuList& affinity) {
  CpuTopology topology;
  for (const unsigned id : usable_cpus(files, affinity)) {
    topology.cpus.push_back(read_cpu(files, id));
  }
  const CpuList online_nodes =
      read_cpu_list(files, "/sys/devices/system/node/online").value_or(CpuList());
  read_node_of_each_cpu(files, online_nodes, topology.cpus);
  topology.nodes = group_by_node(topology.cpus);
  read_distances(files, online_nodes, topology.nodes);
  topology.quota_cpus = cgroup_quota_cpus(files);
  return topology;
}

CpuTopology detect_cpus() {
  return parse_cpus(RealFiles(), affinity_of_this_thread());
}

std::vector<CpuList> cpus_sharing(const CpuTopology& topology, CpuPart part) {
  std::vector<CpuList> lists;
  std::vector<unsigned> names;  // of the part that each list is about
  for (const Cpu& cpu : topology.cpus) {
    const auto name = part_of(cpu, part);
    if (!name) continue;
    const auto known = std::ranges::find(names, *name);
    const auto place = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) {
      names.push_back(*name);
      lists.emplace_back();
    }
    lists[place].push_back(cpu.id);
  }
  return lists;
}

std::string describe(const CpuTopology& topology) {
  CpuList ids;
  for (const Cpu& cpu : topology.cpus) ids.push_back(cpu.id);

  std::ostringstream out;
  out << "workers      " << topology.worker_count() << '\n';
  out << "quota        ";
  if (topology.quota_cpus) {
    out << *topology.quota_cpus << " CPUs\n";
  } else {
    out << "none\n";
  }
  out << "usable CPUs  " << ids.size() << ": " << format_cpu_list(ids) << '\n';
  describe_part(out, topology, "packages     ", CpuPart::package);
  describe_part(out, topology, "cores        ", CpuPart::core);
  describe_part(out, topology, "shared L2    ", CpuPart::l2);
  describe_part(out, topology, "shared L3    ", CpuPart::l3);
  for (const NumaNode& node : topology.nodes) {
    out << "NUMA node    " << node.id << ": " << format_cpu_list(node.cpus) << "  (distance";
    for (const unsigned distance : node.distances) out << ' ' << distance;
    out << ")\n";
  }
  return out.str();
}

}  // namespace muster
