// task_options.cpp: what a task may ask for.
#include <limits>
#include <string>

#include <muster/queues/stable_heap.hpp>
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
  if (options.timeout && *options.timeout <= Duration::zero()) {
    bad.push_back({.field = "timeout",
                   .value = std::to_string(options.timeout->count()) + " ns",
                   .rule = "must be more than 0"});
  }
  if (options.estimated_duration && *options.estimated_duration < Duration::zero()) {
    bad.push_back({.field = "estimated_duration",
                   .value = std::to_string(options.estimated_duration->count()) + " ns",
                   .rule = "must not be negative"});
  }
  return bad;
}

}  // namespace muster
