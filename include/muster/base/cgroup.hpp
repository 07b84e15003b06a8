// cgroup.hpp: how much CPU time the control groups of Linux grant this process.
//
// Both versions count, since a hybrid system has both mounted: `cpu.max` (v2), and
// `cpu.cfs_quota_us` over `cpu.cfs_period_us` (v1). A limit on any ancestor binds too, so the
// smallest on the way up to the mount's root wins.
//
// Our group is named by /proc/self/cgroup, where its files are by /proc/self/mountinfo. Inside a
// container the name may lie outside of what is mounted; the mount's root is then the nearest group
// we can see, and its limit is taken.
#pragma once

#include <optional>

#include <muster/base/api.hpp>
#include <muster/base/system_files.hpp>

namespace muster {

// In CPUs: 1.5 is 150 ms of run time in every 100 ms. Always above 0; nothing means no limit, or
// none readable.
MUSTER_API std::optional<double> cgroup_quota_cpus(const SystemFiles& files);

}  // namespace muster
