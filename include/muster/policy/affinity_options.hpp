// affinity_options.hpp: how tasks with a key find their worker.
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

// How firmly a task with a key stays with its worker.
enum class AffinityClass {
  hard,  // nobody steals it, though others may idle while it waits
  soft,  // stolen last: by whoever finds nothing else, when StealingOptions::patience has ended
  none,  // stolen like any other; the key only says where it waits at first
};

struct AffinityOptions {
  // Places of each worker on the hash ring, from 1 to 65 536. More of them spread the keys more
  // evenly, and take some 45 bytes each.
  std::size_t virtual_nodes = 150;

  // How long a key stays with its worker after its last task, more than 0 and a year at most, even
  // if workers have joined meanwhile.
  Duration session_ttl = std::chrono::minutes(5);

  // Keys that are remembered, from 1 to 16 777 216, at some 100 bytes each. The least recently used
  // is forgotten first, and goes where the ring sends it.
  std::size_t max_sessions = 65'536;
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const AffinityOptions& options);

}  // namespace muster
