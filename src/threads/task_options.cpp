// task_options.cpp: what a task may ask for, and whether it may begin.
#include <limits>
#include <string>

#include <muster/queues/stable_heap.hpp>
#include <muster/sync/player.hpp>
#include <muster/task_options.hpp>

namespace muster {

std::vector<BadField> validate(const TaskOptions& options) {
  using Limits = std::numeric_limits<Priority>;
  std::vector<BadField> bad;
  if (options.priority < Limits::min() || options.priority > Limits::max()) {
    bad.push_back({.field = "priority",
                   .value = std::to_string(options.priority),
                   .rule = "must be from " + std::to_string(Limits::min()) + " to " +
                           std::to_string(Limits::max())});
  }
  return bad;
}

void detail::check_may_begin(const TaskOptions& options) {
  if (options.stop.stop_requested()) {
    throw Cancelled("the task was cancelled before it began: a stop was requested");
  }
  if (options.deadline && current_time() >= *options.deadline) {
    throw Expired("the task had not begun by its deadline");
  }
}

}  // namespace muster
