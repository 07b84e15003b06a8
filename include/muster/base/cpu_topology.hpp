// cpu_topology.hpp: which CPUs this process may use, how much of them, and how they are arranged.
//
//     const CpuTopology topology = detect_cpus();
//     start(topology.worker_count());
//
// "Usable" is what the affinity mask allows and is online. Everything below is about usable CPUs
// only: a cache group, for instance, leaves out the CPUs that we may not run on.
//
// The files may be missing or wrong (containers, emulators, small machines). Nothing here fails:
// what cannot be read is unknown, or takes the stated fallback, and there is always one CPU.
//
// Thread safety: plain values and pure functions. detect_cpus() sees the mask of its own thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/cpu_list.hpp>
#include <muster/base/system_files.hpp>

namespace muster {

// A core or a cache is named by the lowest number among the CPUs that share it, usable or not.
struct Cpu {
  unsigned id = 0;                  // the kernel's number, as affinity masks use it
  unsigned core = 0;                // unknown: each CPU is its own core
  unsigned package = 0;             // the socket; unknown: 0
  unsigned node = 0;                // NUMA node; unknown: 0
  std::optional<unsigned> l2 = {};  // nothing if unknown or absent
  std::optional<unsigned> l3 = {};  // nothing if unknown or absent
};

struct NumaNode {
  unsigned id = 0;
  CpuList cpus = {};  // never empty: nodes without usable CPUs are left out

  // To each of CpuTopology::nodes, in their order; 10 is local, larger is farther.
  // Unknown: 10 to itself, 20 to others.
  std::vector<unsigned> distances = {};
};

struct CpuTopology {
  std::vector<Cpu> cpus = {};             // ascending by id, at least one
  std::vector<NumaNode> nodes = {};       // ascending by id, at least one
  std::optional<double> quota_cpus = {};  // what the cgroups grant, above 0; nothing means no limit

  // Threads that can run at once: the usable CPUs, or the quota rounded up if that is less.
  // Never 0.
  MUSTER_API unsigned worker_count() const;
};

// Reads this machine; a few milliseconds per hundred CPUs.
MUSTER_API CpuTopology detect_cpus();

// The pure part of it. `affinity` lists the CPUs of the mask; empty means it is unknown.
MUSTER_API CpuTopology parse_cpus(const SystemFiles& files, const CpuList& affinity);

enum class CpuPart { core, l2, l3, package };

// The usable CPUs that share a core, a cache or a package, one list each, ascending. CPUs of which
// it is unknown are in no list.
MUSTER_API std::vector<CpuList> cpus_sharing(const CpuTopology& topology, CpuPart part);

// A table for people; the layout may change.
MUSTER_API std::string describe(const CpuTopology& topology);

}  // namespace muster
