// job_worker.hpp: lets handlers of jobs run in processes of their own.
//
//     void define_pools(muster::Jobs& jobs) {
//       jobs.define<Image>("resize", {.concurrency = 4,
//                                     .execute = resize,
//                                     .isolation = muster::JobIsolation::process});
//     }
//
//     int main(int argc, char** argv) {
//       muster::job_worker_main(argc, argv, define_pools);   // does not return in a worker
//       auto jobs = muster::Jobs::open("sqlite:jobs.db");
//       define_pools(jobs);
//       jobs.start();
//       ...
//     }
//
// A handler that crashes costs its job one attempt, and nobody else anything; one that takes longer
// than `timeout` is killed, and so is one that goes on for `kill_after` when it was asked to stop.
// It has its context as always: what it enqueues, gives as its result and logs comes back with its
// end, its progress at once.
#pragma once

#include <functional>

#include <muster/base/api.hpp>

namespace muster {

class Jobs;

// Call it first of all: before threads are started, files opened or output written. Returns at once
// in a process that no pool has started. `define` is called with a Jobs that has no store and must
// define the pools, with the same names and types as in the process that has one.
MUSTER_API void job_worker_main(int argc, char** argv, const std::function<void(Jobs&)>& define);

}  // namespace muster
