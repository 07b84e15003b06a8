// cells.hpp: every question this suite asks, with the strategies that answer it.
//
// Group "select": nanoseconds to choose a worker among few and many, none of which is idle.
// Group "flood": empty tasks per second through a pool that places them by a strategy.
// Groups "mixed" and "slow worker": how well a strategy places tasks of mixed length.
// Group "affinity": how often tasks with a key find what they need with their worker.
// Group "scaling": how well the number of workers follows the load.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

inline constexpr const char* kSelectGroup = "select";
inline constexpr std::size_t kWorkerCounts[] = {8, 64, 512};

// What a cell of this many workers is called.
inline std::string among(std::size_t workers) {
  return std::to_string(workers) + " workers";
}

inline constexpr const char* kFloodGroup = "flood";
inline constexpr const char* kInTurn = "in turn";
inline constexpr const char* kInTurnUntimed = "in turn, untimed";
inline constexpr const char* kTimedFully = ", all timed";

inline std::string from_producers(unsigned producers) {
  return std::to_string(producers) + (producers == 1 ? " producer" : " producers");
}

// Beside the strategies of both groups: workers in turn, whatever they do.
inline const std::string kMixedGroup = "mixed";
inline const std::string kSlowWorkerGroup = "slow worker";
inline const std::string kMakespanSuffix = " makespan";
inline const std::string kWaitSuffix = " p99 wait";
inline constexpr const char* kPlainTurns = "plain turns";
inline constexpr const char* kPaced = "paced";
inline constexpr const char* kBursts = "bursts";
inline constexpr const char* kStealing = ", stealing";

inline const std::string kAffinityGroup = "affinity";
inline constexpr const char* kEvenKeysCalm = "even keys, 30 %";
inline constexpr const char* kEvenKeysBusy = "even keys, 70 %";
inline constexpr const char* kZipfKeysCalm = "Zipf keys, 30 %";
inline constexpr const char* kZipfKeysBusy = "Zipf keys, 70 %";
inline constexpr const char* kWithoutKeys = "round-robin";
inline constexpr const char* kSoftKeys = "soft affinity";
inline constexpr const char* kHardKeys = "hard affinity";

inline const std::string kScalingGroup = "scaling";
inline const std::string kLongestWaitSuffix = " longest wait";
inline const std::string kWorkersSuffix = " mean workers";
inline const std::string kReversalsSuffix = " reversals per change of load";
inline constexpr const char* kStep = "step";
inline constexpr const char* kRamp = "ramp";
inline constexpr const char* kSine = "sine";

std::vector<Cell> select_cells();
std::vector<Cell> flood_cells();
std::vector<Cell> mixed_cells();
std::vector<Cell> slow_worker_cells();
std::vector<Cell> affinity_cells();
std::vector<Cell> scaling_cells();

}  // namespace muster::bench
