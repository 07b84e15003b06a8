// thread_pool_options.hpp: what a ThreadPool may be told, and what it says when asked.
//
//     muster::ThreadPool pool({.workers = 8, .idle = IdlePolicy::latency, .thread_name = "io"});
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/policy/admission.hpp>
#include <muster/policy/affinity_options.hpp>
#include <muster/policy/scaling.hpp>
#include <muster/policy/stealing.hpp>
#include <muster/pool_options.hpp>
#include <muster/strategy.hpp>

namespace muster {

class Simulation;
class TaskTracer;

enum class Queueing {
  stealing,  // an inbox per worker, and stealing
  global,    // one queue behind one mutex, as a baseline; joins run one after the other
};

// When threads are started.
enum class Start {
  eager,  // all of them by the constructor, which returns when they are there
  lazy,   // one at a time, when there is a task and none of those started is free
};

// Which CPU a worker stays on. If there are more workers than CPUs, these are used again in turn.
// Pinned workers turn to their nearest neighbours first when they look for work.
enum class Pinning {
  none,     // the kernel decides
  compact,  // neighbours share a core, a cache, a NUMA node
  spread,   // over NUMA nodes first, then packages, caches, cores
  listed,   // the CPUs of `cpus`, in that order
};

// Which tasks are timed, for snapshot(): how long they wait and run.
enum class Timing {
  off,
  sampled,  // one in 64, which stands for them; all while tasks take more than 2 us on average
  full,     // all, at the price of two or three looks at a quick clock for each
};

// A task that was dropped for want of room.
struct DroppedTask {
  std::string name;  // from its TaskOptions; often empty
  WhenFull when_full = WhenFull::drop_newest;
};

// What a new worker does before it gets its first task.
struct WarmUp {
  // Called on its thread, after on_worker_start. Must not throw.
  std::function<void(unsigned worker)> prepare = {};

  // It gets no task before this has passed, 0 or more, from when `prepare` was called. A stop does
  // not wait for it.
  Duration at_least{0};
};

struct ThreadPoolOptions {
  // Threads to begin with, up to 1024. 0: one per CPU that this process may use, by its mask and
  // its cgroup quota, as far as `scaling` and `max_workers` allow.
  unsigned workers = 0;

  // Lets the pool add and remove workers by itself: looks every `check_every`, on the thread that
  // serves its timers. Unset: there are as many as resize() says. Timing must not be off for
  // ScalingPolicy::predictive.
  std::optional<ScalingOptions> scaling = {};

  // The most there can ever be, up to 1024; queues for so many are reserved, though not made. 0:
  // the most of `workers`, `scaling->max_workers` and 32; fewer than 32 if the bound of `admission`
  // would have to be counted for that, see there.
  unsigned max_workers = 0;

  // Workers that are added warm up while the others go on. The constructor waits for those it
  // starts.
  WarmUp warm_up = {};

  // Called after the number of workers has changed, by resize() or by `scaling`, on the thread that
  // changed it. Must not throw.
  std::function<void(const ScalingChange&)> on_scaling = {};

  Queueing queueing = Queueing::stealing;
  IdlePolicy idle = IdlePolicy::balanced;
  Start start = Start::eager;

  // How many tasks may wait, and what happens to one from outside that finds no room. Always let in
  // and only counted: what workers post, and what goes on with work that was let in (continuations,
  // coroutines, timers, groups, strands). A bound of 1024 per worker or more, of `max_workers`, is
  // not looked at until 1024 tasks from outside wait with each worker, and may then be passed by as
  // many as threads post at that moment. With max_queued_per_key every task is counted.
  AdmissionOptions admission = {};

  // Called with each task that is dropped, on the thread that posts and finds no room. Must not
  // throw. Futures of such tasks say Dropped.
  std::function<void(const DroppedTask&)> on_drop = {};

  // Which worker gets a task from outside; it may be changed later by set_strategy(). Whoever
  // steals makes up for a bad choice, so it matters most if stealing is off or slow. least-elu,
  // fair-share and measured weights need tasks to be timed. With one queue for all there is nothing
  // to choose.
  StrategyChoice strategy = BuiltIn::least_busy;

  // For the weighted strategies: what each worker's share of the work is relative to the others',
  // more than 0; workers beyond the list have 1. Empty: as fast as they were of late.
  std::vector<double> weights = {};

  // How tasks with a key (TaskOptions::affinity) find their worker.
  AffinityOptions affinity = {};

  // When workers without work take tasks from others, and how many; with Queueing::stealing. The
  // second sides of joins are taken whatever it says, and so is what comes to a worker that has
  // ended already while a pool stops. Several at once, and in another order than they came, are
  // taken only of those that were posted from outside.
  StealingOptions stealing = {};

  // Callables of 41 to 48 bytes have no room for the time of their post: how long these wait is not
  // known.
  Timing timing = Timing::sampled;

  // What snapshot() calls recent: utilisations and rates are those of the last so long. From 1 ms
  // to an hour.
  Duration snapshot_window = std::chrono::seconds(1);

  // Is told of each task which trace it is part of, how long it waited and ran, and how it ended;
  // docs/guides/exporting.md says which tasks. Each costs an allocation and looks at the clock
  // then. It must outlive the pool. Null: nothing is traced, and nothing paid for it.
  TaskTracer* tracer = nullptr;

  // What the tracer knows the pool by; empty: `thread_name`.
  std::string traced_as = {};

  // A waiting task gains a step of priority each time this has passed, so none waits for ever
  // behind others that keep coming. From 1 ns to a day. All tasks then wait in one ordered queue
  // behind one mutex. Unset: a priority stays what it is, and ordinary tasks have queues of their
  // own.
  std::optional<Duration> priority_aging = {};

  // Threads beyond these, up to 1024, that stand in for workers which wait in blocking() or for
  // a future. They are started when they are needed, and kept.
  unsigned max_spare_workers = 32;

  // Called with what a posted task has thrown, on the worker, or with TimedOut, on the thread that
  // serves the pool's timeouts. Unset: it is logged. Must not throw.
  std::function<void(std::exception_ptr)> on_error = {};

  // Called on each worker's thread, first and last thing; spares have the numbers from
  // `max_workers` on. A worker that was removed may come again. Must not throw.
  std::function<void(unsigned worker)> on_worker_start = {};
  std::function<void(unsigned worker)> on_worker_exit = {};

  // Threads are named after it: "muster-0". At most 10 characters, the kernel cuts the rest.
  std::string thread_name = "muster";

  Pinning pinning = Pinning::none;

  // For Pinning::listed: the kernel's numbers of CPUs that this process may use.
  std::vector<unsigned> cpus = {};

  // For tests: no threads are started; the simulation plays the workers, see simulation.hpp. Not
  // with lazy start or pinning.
  Simulation* simulation = nullptr;
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const ThreadPoolOptions& options);

// Exact while the pool is idle, otherwise a little out of date.
struct ThreadPoolStats {
  struct Worker {
    unsigned number = 0;  // as its hooks are told
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;   // of those, posted tasks that threw
    std::uint64_t dropped = 0;  // of those, tasks that a stop discarded
    std::uint64_t steal_attempts = 0;
    std::uint64_t successful_steals = 0;
    std::uint64_t tasks_stolen = 0;  // often several at once; forks are not among them
    std::uint64_t lost_races = 0;
    std::uint64_t forks_offered = 0;
    std::uint64_t forks_taken = 0;
    std::uint64_t idle_spins = 0;  // looks around that found nothing
    std::uint64_t parks = 0;       // times it went to sleep
    std::uint64_t wakes = 0;       // times it was woken
    std::uint64_t queued = 0;      // tasks that wait with it
    bool busy = false;             // runs a task, or waits inside of one

    // Of the tasks stolen, how many from each worker, by its number.
    std::vector<std::uint64_t> stolen_from = {};
  };

  // Those that were ever started, by number; spares behind the others.
  std::vector<Worker> workers = {};

  std::uint64_t submitted = 0;  // tasks, by whatever name they were handed over
  std::uint64_t completed = 0;
  std::uint64_t queued = 0;    // wait now; all else that was submitted is active or completed
  unsigned total_workers = 0;  // that have a thread
  unsigned busy_workers = 0;   // each has one active task
  unsigned idle_workers = 0;   // the others
  unsigned sleeping_workers = 0;
  unsigned blocked_workers = 0;  // those that a spare stands in for, or should
  unsigned spare_workers = 0;    // started, whether needed now or not

  // Tasks for which a strategy of yours named no worker that is there, or threw.
  std::uint64_t strategy_fallbacks = 0;

  // What became of tasks that found no room.
  PoolSnapshot::BackPressure admission = {};
};

}  // namespace muster
