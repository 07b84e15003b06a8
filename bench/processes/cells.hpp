// cells.hpp: every question this suite asks, with the contenders that answer it.
//
// Groups: "empty" sends many tasks that do nothing. "round trip" measures how soon one is back,
// "echo" what large payloads cost on top. "start" is how soon a worker is ready, "crash" how soon a
// task whose worker died runs again, "idle" what a hundred workers cost that have nothing to do.
#pragma once

#include <string>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

inline const std::string kEmptyGroup = "empty";
inline const std::string kRoundTripGroup = "round trip";
inline const std::string kEchoGroup = "echo";
inline const std::string kStartGroup = "start";
inline const std::string kCrashGroup = "crash";
inline const std::string kIdleGroup = "idle";

// Columns that a goal names.
inline const std::string kHotP50 = "hot p50";
inline const std::string kPacedP50 = "1 ms p50";
inline const std::string kIdleCpu = "CPU, %";
inline const std::string kIdleMemory = "memory, MB";
inline const std::string kHealthPass = "health pass, ms";

// Contenders that are no peers.
inline const std::string kMuster = "muster";
inline const std::string kMusterAhead = "muster prefetch 32";
inline const std::string kMusterPool = "muster pool";  // its first worker, and who starts it
inline const std::string kSpin = "spin ping-pong";
inline const std::string kFutex = "futex ping-pong";
inline const std::string kBareRing = "bare ring";  // without a pool
inline const std::string kMemcpy = "memcpy";
inline const std::string kChange = "muster, other bytes back";
inline const std::string kFlags = "flags that carry as many bytes";
inline const std::string kBareFlags = "flags";
inline const std::string kAllowance = "3 memcpy + empty trip";
inline const std::string kAllowanceTwice = "3 memcpy of both + empty trip";
inline const std::string kPosixSpawn = "posix_spawn";

std::vector<Cell> empty_cells();
std::vector<Cell> round_trip_cells();
std::vector<Cell> echo_cells();
std::vector<Cell> start_cells();  // start and crash
std::vector<Cell> idle_cells();

}  // namespace muster::bench
