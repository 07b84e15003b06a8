// task_trace.cpp: how a task ended, in a word.
#include <muster/observe/task_trace.hpp>

namespace muster {

TaskTracer::~TaskTracer() = default;

std::string_view to_string(TaskOutcome outcome) {
  switch (outcome) {
    case TaskOutcome::succeeded:
      return "succeeded";
    case TaskOutcome::failed:
      return "failed";
    case TaskOutcome::timed_out:
      return "timed_out";
    case TaskOutcome::cancelled:
      return "cancelled";
    case TaskOutcome::expired:
      return "expired";
    case TaskOutcome::dropped:
      return "dropped";
  }
  return "unknown";
}

}  // namespace muster
