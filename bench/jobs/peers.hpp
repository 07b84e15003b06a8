// peers.hpp: queues that others have made, as contenders.
//
// Those without a database of their own are beside muster on SQLite: beanstalkd, which this program
// drives itself, and BullMQ on Redis. Beside muster on PostgreSQL are graphile-worker and pg-boss,
// on the same server. Each sample has a server or database of its own; the scripts in peers/ are
// warm before they measure. A peer that is not here is left out, and stderr says so.
#pragma once

#include <string>
#include <vector>

#include "jobs/places.hpp"
#include "support/rounds.hpp"

namespace muster::bench {

// Those that a goal speaks of, here or not.
std::vector<std::string> judged_peer_names(StoreKind beside);

enum class PeerWork {
  enqueue,  // figures: jobs per second, and bytes written per job
  execute,  // the same, where a job was enqueued, too; on PostgreSQL also dead tuples per job
};

// Those that are here.
std::vector<std::string> peer_names(PeerWork work, StoreKind beside);
std::vector<Contender> peers_that(PeerWork work, StoreKind beside);

}  // namespace muster::bench
