// cells.hpp: every question this suite asks, with the contenders that answer it.
//
// Groups: "queue" passes items through bounded queues; "owner" has a deque's owner alone; "steal
// all" has thieves take everything; "steal some 4" and "steal some 64" have an owner pop against
// thieves, in bursts.
#pragma once

#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

inline constexpr const char* kQueueGroup = "queue";
inline constexpr const char* kOwnerGroup = "owner";
inline constexpr const char* kStealGroups[] = {"steal all", "steal some 64", "steal some 4"};

// What passes items in batches is named after its contender with this behind it.
inline constexpr const char* kBatchSuffix = " x16";

std::vector<Cell> queue_cells();
std::vector<Cell> deque_cells();

}  // namespace muster::bench
