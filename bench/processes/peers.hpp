// peers.hpp: pools of other languages as contenders, by the scripts in peers/.
//
// Each sample is a process of its own, which starts its pool and warms it up before it measures; so
// neither counts. A peer that could not be installed is left out, and stderr says so.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "support/rounds.hpp"

namespace muster::bench {

// All there could be, and those that are here.
std::vector<std::string> all_peer_names();
std::vector<std::string> peer_names();

// Of those that are here: many tasks at once, or one after the other, each after a silence.
std::vector<Contender> peers_that_flood();
std::vector<Contender> peers_that_travel(std::chrono::microseconds silence);

}  // namespace muster::bench
