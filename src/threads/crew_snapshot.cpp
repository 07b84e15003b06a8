// crew_snapshot.cpp: a pool's figures.
#include <algorithm>
#include <vector>

#include <muster/sync/player.hpp>

#include "threads/crew.hpp"

namespace muster {
namespace {

std::uint64_t read(const Atomic<std::uint64_t>& counter) noexcept {
  return counter.load(relaxed);  // relaxed: a count
}

Duration read(const Atomic<Duration::rep>& figure) noexcept {
  return Duration(figure.load(relaxed));  // relaxed: a figure
}

}  // namespace

PoolSnapshot Crew::snapshot() {
  PoolSnapshot snapshot;
  if (is_orphaned(id())) return snapshot;  // the mutex may be held for ever
  snapshot.queue.enqueued = shared_.pushed_approx() + ranked_.pushed_approx() - read(put_back_);
  std::uint64_t completed = read(leftovers_done_);
  snapshot.affinity = affinities_.figures(current_time());
  std::vector<Duration> busy;
  for_each_worker([&](Worker& worker) {
    add_worker(worker, snapshot);
    completed += snapshot.workers.back().completed;
    busy.push_back(read(worker.times().busy));
  });
  const std::vector<double> weights = placer_.weights(snapshot.workers.size());
  for (std::size_t i = 0; i < weights.size(); ++i) snapshot.workers[i].weight = weights[i];
  snapshot.queue.size = queued_approx();
  snapshot.queue.dequeued =
      snapshot.queue.enqueued - std::min(snapshot.queue.size, snapshot.queue.enqueued);
  snapshot.scaling.current = static_cast<unsigned>(snapshot.workers.size());
  snapshot.back_pressure = gate_.figures();
  snapshot.latency = {.queue_wait = meter_.queue_wait().snapshot(), .run = meter_.run().snapshot()};
  rates_.fill(snapshot, busy, completed, current_time());
  return snapshot;
}

void Crew::add_worker(Worker& worker, PoolSnapshot& snapshot) const {
  const Worker::Counters& counters = worker.counters();
  const bool is_busy = read(counters.busy) != 0;
  snapshot.workers.push_back({.id = static_cast<unsigned>(snapshot.workers.size()),
                              .state = is_busy ? WorkerState::busy : WorkerState::ready,
                              .active = is_busy ? 1U : 0U,
                              .queued = worker.queued_approx(),
                              .completed = read(counters.done),
                              .failed = read(counters.failed),
                              .average_task_time = read(worker.times().average),
                              .last_task_time = read(worker.times().last)});
  snapshot.queue.enqueued += read(counters.posted) + worker.inbox().pushed_approx() -
                             read(counters.moved) + worker.affine().pushed_approx();
  snapshot.affinity.hits += read(counters.affinity_hits);
  snapshot.affinity.misses += read(counters.affinity_misses);
  snapshot.queue.stolen += read(counters.tasks_stolen);
}

}  // namespace muster
