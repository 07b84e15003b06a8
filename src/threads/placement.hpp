// placement.hpp: on which CPU each worker stays, and in which order it turns to the others.
//
// Pure: values of a topology, which a test makes up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <muster/base/cpu_topology.hpp>
#include <muster/thread_pool_options.hpp>

namespace muster {

// For each worker that there can be the CPU it is pinned to; empty if none is.
std::vector<unsigned> place_workers(const CpuTopology& topology, const ThreadPoolOptions& options);

// Groups of workers' numbers, the nearest first; all workers in one if they are not pinned.
using StealOrder = std::vector<std::vector<std::uint32_t>>;

// For the worker `self`, which is in the first group. `cpus` is what place_workers() gave for
// `workers` workers.
StealOrder steal_order(const CpuTopology& topology, std::span<const unsigned> cpus,
                       std::size_t workers, std::size_t self);

}  // namespace muster
