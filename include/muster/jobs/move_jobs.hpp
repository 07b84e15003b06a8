// move_jobs.hpp: from one store of jobs to another.
//
//     const muster::MovedJobs moved = muster::move_jobs("sqlite:jobs.db", "postgresql://...");
//
// Everything is taken along: jobs that wait, with their attempts and times and in their order;
// those that are over, so that their ids stay known; dead letters with every error; what is paused,
// how much was processed, when schedules last ran. The first store is not changed.
//
// Nobody may run either store meanwhile. Of SQLite that is seen to; of PostgreSQL nodes that live
// are refused. One that is silent is given up, and settles nothing more; but should it ever go on,
// it comes back as somebody new, and runs what still waits in the first store: end it first.
//
// If it is interrupted, do it again: what is there already is left as it is. Only the
// counts of what was processed are added once more.
#pragma once

#include <cstddef>
#include <string>

#include <muster/base/api.hpp>

namespace muster {

struct MovedJobs {
  std::size_t pools = 0;
  std::size_t jobs = 0;
  std::size_t known = 0;  // whose ids were there already
};

// Throws InvalidArgument of a URL, StoreFailure of a store.
MUSTER_API MovedJobs move_jobs(const std::string& from, const std::string& to);

}  // namespace muster
