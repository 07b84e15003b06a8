// task_options.hpp: what a single task may ask for.
//
//     pool.submit({.priority = 10, .timeout = 5s, .stop = token, .name = "resize"}, resize);
//
// Thread safety: a value.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/policy/affinity_options.hpp>

namespace muster {

struct TaskOptions {
  // From -32768 to 32767. A worker that looks for a task takes the highest above 0 first, in order
  // of arrival among equals; those of 0 next; those below 0 if no other waits. What has begun is
  // not interrupted. 0 is the fast path.
  int priority = 0;

  // Tasks with the same key go to the same worker, for the sake of what it has in its caches, as
  // long as it is there; see AffinityOptions. Those of one key run in order of arrival (within a
  // priority), unless they are stolen or a worker comes or goes. Not in pools whose workers share
  // one queue.
  std::optional<std::string> affinity = {};
  AffinityClass affinity_class = AffinityClass::soft;

  // If the task has not begun by then, it never runs: its future, or on_error, gets Expired, when a
  // worker comes to it.
  std::optional<Time> deadline = {};

  // How long the task may run, from its beginning on; more than 0. When that has passed, its
  // future, or on_error, gets TimedOut at once, and a stop is requested of a callable that takes a
  // std::stop_token. The task itself goes on until it ends; what it gives or throws then is
  // dropped. What the stop calls, and on_error, run on the one thread that serves all timers and
  // timeouts of the pool, so they should be quick and wait for nobody.
  std::optional<Duration> timeout = {};

  // If a stop was requested before the task begins, it never runs: Cancelled. A callable that takes
  // a std::stop_token is given this one; or, if there is a timeout, one that stops with both.
  std::stop_token stop = {};

  // What messages call the task by.
  std::string name = {};

  // What the task is expected to take, 0 or more; what is more than an hour counts as that. For
  // least-elu, fair-share and strategies of yours, which then count it for its worker until it has
  // ended, at the price of an allocation and of a look at the workers for each such task. Unset:
  // what tasks take on average.
  std::optional<Duration> estimated_duration = {};
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const TaskOptions& options);

}  // namespace muster
