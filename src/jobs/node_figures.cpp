// node_figures.cpp: what a node says of its pools.
#include <algorithm>

#include "jobs/isolation.hpp"
#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"

namespace muster {

JobPoolStatus JobNode::status(const Pool& pool) const {
  JobPoolStatus status{.concurrency = pool.concurrency};
  std::vector<SharedStore::Seen> seen;
  if (shared_ != nullptr) seen = shared_->look(pool.number);
  for (std::uint32_t index = 0; index < pool.concurrency; ++index) {
    const InstanceStatus& instance = status.instances.emplace_back(status_of(pool, index, seen));
    status.total_pending += instance.pending;
    status.total_processed += instance.processed;
    status.total_retries += instance.retries;
    status.total_dead += instance.dead;
    status.hot_partitions += instance.has_hot_partition ? 1 : 0;
  }
  return status;
}

// Of what is held elsewhere, as it was `seen`.
InstanceStatus JobNode::status_of(const Pool& pool, std::uint32_t index,
                                  const std::vector<SharedStore::Seen>& seen) const {
  const MutexLock lock(pool.mutex);
  const Instance& instance = pool.instances[index];
  const auto other = std::ranges::find_if(
      seen, [index](const SharedStore::Seen& each) { return each.figures.place.index == index; });
  if (!instance.is_held && other != seen.end()) {
    InstanceStatus status{.index = index,
                          .instance_id = pool.instance_id(index),
                          .pending = other->figures.pending,
                          .processed = other->processed,
                          .retries = instance.figures.retries,
                          .dead = instance.figures.dead,
                          .current_job = other->figures.current_job,
                          .started_at = other->figures.started_at};
    if (status.current_job) {
      status.state = InstanceState::processing;
    } else if (other->is_paused) {
      status.state = InstanceState::paused;
    }
    return status;
  }
  InstanceStatus status{.index = index,
                        .instance_id = pool.instance_id(index),
                        .pending = instance.lane.size(),
                        .processed = instance.processed,
                        .retries = instance.figures.retries,
                        .dead = instance.figures.dead,
                        .has_hot_partition = instance.is_crowded};
  if (instance.running != 0) {
    status.state = InstanceState::processing;
    status.current_job = instance.running_id;
    status.started_at = instance.started_at;
    const bool is_isolated = isolated_ && pool.setup.isolation == JobIsolation::process;
    status.progress =
        is_isolated ? isolated_->progress(instance.runner, instance.started_at) : instance.progress;
  } else if (instance.is_paused || pool.is_paused) {
    status.state = InstanceState::paused;
  }
  return status;
}

// Of what this process has done and holds.
PoolSnapshot JobNode::snapshot(const Pool& pool) const {
  PoolSnapshot all;
  const Time now = clock_.now();
  const MutexLock lock(pool.mutex);
  std::uint64_t retries = 0;
  std::uint64_t dead = 0;
  std::uint64_t running = 0;
  for (const Instance& instance : pool.instances) {
    const bool is_busy = instance.running != 0;
    retries += instance.figures.retries;
    dead += instance.figures.dead;
    running += is_busy ? 1 : 0;
    all.queue.size += instance.is_held ? instance.lane.size() : 0;
    if (!instance.is_held && !is_busy) continue;
    const InstanceFigures& figures = instance.figures;
    all.workers.push_back({.id = instance.index,
                           .state = is_busy ? WorkerState::busy : WorkerState::ready,
                           .active = is_busy ? 1U : 0U,
                           .queued = instance.lane.size(),
                           .completed = figures.ended,
                           .failed = figures.dead,
                           .average_task_time = figures.average,
                           .last_task_time = figures.last,
                           .utilisation = is_busy ? figures.busy.utilisation(now, instance.begun)
                                                  : figures.busy.utilisation(now)});
  }
  const JobFigures& figures = pool.figures;
  all.queue.enqueued = figures.enqueued + retries;
  all.queue.dequeued = figures.ended + running;
  all.queue.stolen = figures.helped;
  all.scaling.current = static_cast<unsigned>(all.workers.size());
  all.latency = {.queue_wait = figures.waits.snapshot(), .run = figures.runs.snapshot()};
  figures.rates.fill(all, figures.completed + dead, now);
  all.tasks = {.succeeded = figures.completed, .failed = dead};
  return all;
}

}  // namespace muster
