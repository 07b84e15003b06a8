// worker_state.hpp: what a worker is up to; one list for threads and processes.
#pragma once

#include <string_view>

#include <muster/base/api.hpp>

namespace muster {

enum class WorkerState {
  cold,         // not started
  warming,      // initialising; gets no task yet
  ready,        // free
  busy,         // runs a task
  draining,     // finishes what it has, gets nothing new
  terminating,  // shutting down
  terminated,   // exited
  failed,       // a process that ended by an error
  zombie,       // a process that gives no sign of life
};

// As it is spelled above.
MUSTER_API std::string_view to_string(WorkerState state);

}  // namespace muster
