// queueing_cells.cpp: muster with a queue for each worker and stealing, against muster with one
// queue for all.
//
// Waits on locks are not among the figures: nothing that an ordinary user may read counts a
// process's futex calls. Context switches stand in for them: a wait that matters ends in one.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "threads/cells.hpp"
#include "threads/contenders/muster_pool.hpp"
#include "threads/latencies.hpp"
#include "threads/lineup.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

using Clock = Latencies::Clock;
using std::chrono::microseconds;

using QueueingPools = Lineup<MusterStealingPool, MusterGlobalPool>;

constexpr unsigned kTreeDepth = 16;

double switches_per_thousand(const Work& work) {
  return 1000 * static_cast<double>(work.used.context_switches) / static_cast<double>(work.tasks);
}

double million_per_second(const Work& work) {
  return static_cast<double>(work.tasks) / work.used.wall_seconds / 1e6;
}

Sample speed_and_switches(const Work& work) {
  Sample sample = speed_of(work);
  sample.figures = {million_per_second(work), switches_per_thousand(work)};
  return sample;
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
Sample run_under_load(std::uint64_t items) {
  Load load{.latencies = Latencies(items), .posts = std::vector<Clock::time_point>(items)};
  Tally wake;
  Pool pool(kWorkers);
  wake_up(pool, wake, kWorkers);
  const Usage begin = usage_now();
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
  const Work work{items, usage_now() - begin};
  Sample sample = speed_of(work);
  sample.figures = {load.latencies.percentile_us(0.5), load.latencies.percentile_us(0.99),
                    switches_per_thousand(work)};
  return sample;
}

template <class Run>
Cell speed_cell(const std::string& name, const Run& run) {
  return {.group = kQueueingGroup,
          .name = name,
          .contenders = QueueingPools::all(run),
          .columns = {{kQueueingGroup + kSpeedSuffix, name, Better::higher},
                      {kQueueingGroup + kSwitchesSuffix, name}}};
}

Cell loaded_cell() {
  const auto run = []<class Pool>(std::uint64_t items) { return run_under_load<Pool>(items); };
  return {.group = kQueueingGroup,
          .name = "bursts",
          .contenders = QueueingPools::all(run),
          .columns = {{kQueueingGroup + kLatencySuffix, "bursts p50"},
                      {kQueueingGroup + kLatencySuffix, "bursts p99"},
                      {kQueueingGroup + kSwitchesSuffix, "bursts"}},
          .items = kLoadedTasks};
}

}  // namespace

std::vector<Cell> queueing_cells() {
  const auto post = []<class Pool>(std::uint64_t items) {
    return speed_and_switches(post_tasks<Pool>({.workers = kWorkers, .producers = 1}, items));
  };
  const auto spawn = []<class Pool>(std::uint64_t items) {
    return speed_and_switches(spawn_trees<Pool>({.workers = kWorkers, .depth = kTreeDepth}, items));
  };
  return {speed_cell("post", post), speed_cell("spawn", spawn), loaded_cell()};
}

}  // namespace muster::bench
