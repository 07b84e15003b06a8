// crew_snapshot.cpp: a pool's figures.
#include <algorithm>
#include <vector>

#include <muster/sync/player.hpp>

#include "threads/crew.hpp"

namespace muster {
namespace {

Duration read(const Atomic<Duration::rep>& figure) noexcept {
  return Duration(figure.load(relaxed));  // relaxed: a figure
}

WorkerState state_of(const Worker& worker, const Staff& staff) noexcept {
  if (!staff.is_spare(worker.index())) {
    const Staff::Phase phase = staff.phase(worker.index());
    if (phase == Staff::Phase::coming) return WorkerState::warming;
    if (phase == Staff::Phase::gone) return WorkerState::terminated;
    if (staff.is_one_too_many(worker.index())) return WorkerState::draining;
  }
  return count_of(worker.counters().busy) != 0 ? WorkerState::busy : WorkerState::ready;
}

void add_worker(Worker& worker, WorkerState state, Time now, PoolSnapshot& snapshot) {
  const Worker::Counters& counters = worker.counters();
  const bool is_busy = count_of(counters.busy) != 0;
  snapshot.workers.push_back({.id = static_cast<unsigned>(worker.index()),
                              .state = state,
                              .active = is_busy ? 1U : 0U,
                              .queued = worker.queued_approx(),
                              .completed = count_of(counters.done),
                              .failed = count_of(counters.failed),
                              .average_task_time = read(worker.times().average),
                              .last_task_time = read(worker.times().last),
                              .utilisation = worker.times().utilisation(now)});
  snapshot.affinity.hits += count_of(counters.affinity_hits);
  snapshot.affinity.misses += count_of(counters.affinity_misses);
  snapshot.queue.stolen += count_of(counters.tasks_stolen);
  snapshot.latency.queue_wait.merge(worker.times().queue_wait.snapshot());
  snapshot.latency.run.merge(worker.times().run.snapshot());
}

}  // namespace

PoolSnapshot Crew::snapshot() {
  PoolSnapshot snapshot;
  if (is_orphaned(id())) return snapshot;  // the mutex may be held for ever
  snapshot.queue.enqueued = arrivals_approx();
  std::uint64_t completed = count_of(leftovers_done_);
  const Time now = current_time();
  snapshot.latency = {.queue_wait = meter_.queue_wait().snapshot(), .run = meter_.run().snapshot()};
  snapshot.affinity = affinities_.figures(now);
  staff_.for_each([&](Worker& worker) {
    add_worker(worker, state_of(worker, staff_), now, snapshot);
    completed += snapshot.workers.back().completed;
  });
  const std::vector<double> weights = placer_.weights(staff_.serving());
  for (PoolSnapshot::Worker& each : snapshot.workers) {
    if (each.id < weights.size()) each.weight = weights[each.id];
  }
  snapshot.queue.size = queued_approx();
  snapshot.queue.dequeued =
      snapshot.queue.enqueued - std::min(snapshot.queue.size, snapshot.queue.enqueued);
  snapshot.scaling = autoscaling_.figures();
  snapshot.scaling.current = static_cast<unsigned>(staff_.wanted());
  snapshot.back_pressure = gate_.figures();
  rates_.fill(snapshot, completed, now);
  return snapshot;
}

std::uint64_t Crew::arrivals_approx() const noexcept {
  // First what has entered twice, so that the difference is never too small.
  std::uint64_t moved = count_of(put_back_);
  staff_.for_each([&](const Worker& worker) { moved += count_of(worker.counters().moved); });
  std::uint64_t entered = shared_.pushed_approx() + ranked_.pushed_approx();
  staff_.for_each([&](const Worker& worker) {
    entered += count_of(worker.counters().posted) + worker.inbox().pushed_approx() +
               worker.affine().pushed_approx();
  });
  return entered - std::min(moved, entered);
}

}  // namespace muster
