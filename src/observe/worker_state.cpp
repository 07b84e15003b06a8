// worker_state.cpp: the states by their names.
#include <muster/observe/worker_state.hpp>

namespace muster {

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::cold:
      return "cold";
    case WorkerState::warming:
      return "warming";
    case WorkerState::ready:
      return "ready";
    case WorkerState::busy:
      return "busy";
    case WorkerState::draining:
      return "draining";
    case WorkerState::terminating:
      return "terminating";
    case WorkerState::terminated:
      return "terminated";
    case WorkerState::failed:
      return "failed";
    case WorkerState::zombie:
      return "zombie";
  }
  return "unknown";
}

}  // namespace muster
