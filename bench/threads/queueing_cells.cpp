// queueing_cells.cpp: muster with a queue for each worker and stealing, against muster with one
// queue for all.
//
// Waits for locks are among the figures only if this process may count them (lock_waits.hpp).
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/latencies.hpp"
#include "threads/cells.hpp"
#include "threads/contenders/muster_pool.hpp"
#include "threads/lineup.hpp"
#include "threads/lock_waits.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

using Clock = Latencies::Clock;
using std::chrono::microseconds;

using QueueingPools = Lineup<MusterStealingPool, MusterGlobalPool>;

constexpr unsigned kTreeDepth = 16;

double per_thousand(std::uint64_t count, const Work& work) {
  return 1000 * static_cast<double>(count) / static_cast<double>(work.tasks);
}

// What running tasks has cost beside their time. The pool is made in between, and its threads end:
// its few waits then count too.
template <class Run>
Sample with_costs(const Run& run) {
  std::optional<LockWaits> waits;
  if (LockWaits::can_be_counted()) waits.emplace();
  const auto [work, figures] = run();
  Sample sample = speed_of(work);
  sample.figures = figures;
  sample.figures.push_back(per_thousand(work.used.context_switches, work));
  // One more than was counted, so that none at all can be divided by.
  if (waits) sample.figures.push_back(per_thousand(waits->count() + 1, work));
  return sample;
}

std::vector<Column> with_cost_columns(std::vector<Column> columns, const std::string& name) {
  columns.push_back({kQueueingGroup + kSwitchesSuffix, name});
  if (LockWaits::can_be_counted()) columns.push_back({kQueueingGroup + kLockWaitsSuffix, name});
  return columns;
}

struct Outcome {
  Work work;
  std::vector<double> figures;
};

Outcome with_speed(const Work& work) {
  return {work, {static_cast<double>(work.tasks) / work.used.wall_seconds / 1e6}};
}

// So much work that the workers are busy for about a sixth of the time, in bursts that both need.
constexpr microseconds kTaskTime{1};
constexpr microseconds kBetweenBursts{100};
constexpr std::uint64_t kBurst = 32;
constexpr std::uint64_t kLoadedTasks = 40'000;

void stay_busy(microseconds time) {
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

// What a task needs to tell how long it has waited for a worker.
struct Load {
  Latencies latencies;
  std::vector<Clock::time_point> posts;
  Tally tally = {};
};

// Bursts of tasks at even distances; their latency is from the post to the task's start.
template <class Pool>
Outcome run_under_load(std::uint64_t items) {
  Load load{.latencies = Latencies(items), .posts = std::vector<Clock::time_point>(items)};
  Tally wake;
  Pool pool(kWorkers);
  wake_up(pool, wake, kWorkers);
  const Usage begin = usage_now();
  const Usage own_begin = own_usage_now();
  Clock::time_point next = Clock::now();
  for (std::uint64_t i = 0; i < items; ++i) {
    if (i % kBurst == 0) std::this_thread::sleep_until(next += kBetweenBursts);
    load.posts[i] = Clock::now();
    pool.post([&load, i] {
      load.latencies.put(i, Clock::now() - load.posts[i]);
      stay_busy(kTaskTime);
      load.tally.add_one();
    });
  }
  load.tally.wait_for(items);
  Usage used = usage_now() - begin;
  // Those of the pool: this thread sleeps between bursts however tasks are queued.
  used.context_switches -= (own_usage_now() - own_begin).context_switches;
  return {.work = {items, used},
          .figures = {load.latencies.percentile_us(0.5), load.latencies.percentile_us(0.99)}};
}

template <class Run>
Cell speed_cell(const std::string& name, const Run& run) {
  return {
      .group = kQueueingGroup,
      .name = name,
      .contenders = QueueingPools::all(run),
      .columns = with_cost_columns({{kQueueingGroup + kSpeedSuffix, name, Better::higher}}, name)};
}

Cell loaded_cell() {
  const auto run = []<class Pool>(std::uint64_t items) {
    return with_costs([&] { return run_under_load<Pool>(items); });
  };
  return {.group = kQueueingGroup,
          .name = "bursts",
          .contenders = QueueingPools::all(run),
          .columns = with_cost_columns({{kQueueingGroup + kLatencySuffix, "bursts p50"},
                                        {kQueueingGroup + kLatencySuffix, "bursts p99"}},
                                       "bursts"),
          .items = kLoadedTasks};
}

}  // namespace

std::vector<Cell> queueing_cells() {
  const auto post = []<class Pool>(std::uint64_t items) {
    const Crew crew{.workers = kWorkers, .producers = 1};
    return with_costs([&] { return with_speed(post_tasks<Pool>(crew, items)); });
  };
  const auto spawn = []<class Pool>(std::uint64_t items) {
    const Wood wood{.workers = kWorkers, .depth = kTreeDepth};
    return with_costs([&] { return with_speed(spawn_trees<Pool>(wood, items)); });
  };
  return {speed_cell("post", post), speed_cell("spawn", spawn), loaded_cell()};
}

}  // namespace muster::bench
