// cells.hpp: every question this suite asks, with the contenders that answer it.
//
// Groups: "post" sends empty tasks from outside, "submit" wants their results, "spawn" has tasks
// make tasks. "fork-join" runs algorithms. "round trip" measures how soon one task is back, "idle"
// what a pool costs while there is nothing to do, "memory" what it holds. "sweep post" and "sweep
// spawn" vary the number of workers. "queueing" sets muster's two ways to queue against each other.
#pragma once

#include <string>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

inline const std::string kPostGroup = "post";
inline const std::string kSubmitGroup = "submit";
inline const std::string kSpawnGroup = "spawn";
inline const std::string kForkJoinGroup = "fork-join";
inline const std::string kRoundTripGroup = "round trip";
inline const std::string kIdleGroup = "idle";
inline const std::string kMemoryGroup = "memory";
inline const std::string kSweepPostGroup = "sweep post";
inline const std::string kSweepSpawnGroup = "sweep spawn";
inline const std::string kQueueingGroup = "queueing";

// What stands behind the name of a group that has more than one table.
inline const std::string kWallSuffix = " wall";
inline const std::string kCpuSuffix = " cpu";
inline const std::string kSpeedSuffix = " speed";
inline const std::string kSwitchesSuffix = " switches";
inline const std::string kLockWaitsSuffix = " lock waits";
inline const std::string kLatencySuffix = " latency";

std::vector<Cell> post_cells();  // post, submit and spawn
std::vector<Cell> fork_join_cells();
std::vector<Cell> round_trip_cells();
std::vector<Cell> idle_cells();  // idle and memory
std::vector<Cell> sweep_cells();
std::vector<Cell> queueing_cells();

}  // namespace muster::bench
