// task_options.hpp: what a single task may ask for.
//
//     pool.submit({.priority = 10, .deadline = in_a_second, .stop = token}, resize);
//
// Thread safety: a value.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

struct TaskOptions {
  // From -32768 to 32767. A worker that looks for a task takes the highest above 0 first, in order
  // of arrival among equals; those of 0 next; those below 0 if no other waits. What has begun is
  // not interrupted. 0 is the fast path.
  int priority = 0;

  // If the task has not begun by then, it never runs: its future, or on_error, gets Expired, when a
  // worker comes to it.
  std::optional<Time> deadline = {};

  // If a stop was requested before the task begins, it never runs: Cancelled. A callable that takes
  // a std::stop_token is given this one.
  std::stop_token stop = {};
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const TaskOptions& options);

namespace detail {

// Throws Expired or Cancelled if the task must not begin now.
MUSTER_API void check_may_begin(const TaskOptions& options);

}  // namespace detail

}  // namespace muster
