// worker_main.hpp: lets a program be started again as a worker of a ProcessPool.
//
//     int main(int argc, char** argv) {
//       muster::Registry registry;
//       registry.add("resize", resize);
//       muster::worker_main(argc, argv, registry);   // does not return in a worker
//
//       muster::ProcessPool pool({.workers = 4});    // starts this program four times more
//       ...
//     }
//
// A program that is nothing but a worker does the same, and then says that it is to be started by
// a pool (ProcessPoolOptions::program).
#pragma once

#include <muster/base/api.hpp>
#include <muster/registry.hpp>

namespace muster {

// Call it first of all: before threads are started, files opened or output written. Returns at once
// in a process that no pool has started. In a worker it runs the registry's tasks and ends the
// process; in the process that starts the workers of a pool (processes/spawner.hpp) it does that.
MUSTER_API void worker_main(int argc, char** argv, const Registry& registry);

}  // namespace muster
