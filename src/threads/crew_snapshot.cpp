// crew_snapshot.cpp: a pool's figures, and what has happened since they were asked for last.
#include <algorithm>
#include <chrono>
#include <utility>

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

// The share of `span` that was spent busy.
double share(Duration busy, Duration span) noexcept {
  if (span <= Duration::zero()) return 0;
  return std::clamp(static_cast<double>(busy.count()) / static_cast<double>(span.count()), 0.0,
                    1.0);
}

}  // namespace

Duration Crew::Sum::mean_since(const Sum& before) const {
  if (count == before.count) return Duration::zero();
  const auto mean = (total - before.total) / static_cast<double>(count - before.count);
  return std::chrono::duration_cast<Duration>(mean);
}

PoolSnapshot Crew::snapshot() {
  PoolSnapshot snapshot;
  if (is_orphaned(id())) return snapshot;  // the mutex may be held for ever
  snapshot.queue.enqueued = read(shared_pushed_) + ranked_.pushed_approx();
  for_each_worker([&](Worker& worker) { add_worker(worker, snapshot); });
  snapshot.queue.size = queued_approx();
  snapshot.queue.dequeued =
      snapshot.queue.enqueued - std::min(snapshot.queue.size, snapshot.queue.enqueued);
  snapshot.scaling.current = static_cast<unsigned>(snapshot.workers.size());
  const Gate::Counters& gate = gate_.counters();
  snapshot.back_pressure = {.rejected = read(gate.rejected),
                            .dropped_oldest = read(gate.dropped_oldest),
                            .dropped_newest = read(gate.dropped_newest),
                            .blocked = read(gate.blocked),
                            .block_timeouts = read(gate.block_timeouts),
                            .caller_ran = read(gate.caller_ran),
                            .is_on = gate_.back_pressure() == BackPressure::on};
  snapshot.latency = {.queue_wait = meter_.queue_wait().snapshot(), .run = meter_.run().snapshot()};
  add_rates(snapshot);
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
  snapshot.queue.enqueued +=
      read(counters.posted) + worker.inbox().pushed_approx() - read(counters.moved);
  snapshot.queue.stolen += read(counters.tasks_stolen);
}

// What needs to know what the last snapshot has seen.
void Crew::add_rates(PoolSnapshot& snapshot) {
  const MutexLock lock(snapshot_mutex_);
  const Seen before = std::exchange(seen_, Seen{.time = current_time(),
                                                .completed = read(done_elsewhere_),
                                                .waits = Sum(snapshot.latency.queue_wait),
                                                .runs = Sum(snapshot.latency.run)});
  const Duration span = seen_.time - before.time;
  for_each_worker([&](const Worker& worker) {
    if (seen_.busy.size() == snapshot.workers.size()) return;  // started meanwhile
    PoolSnapshot::Worker& each = snapshot.workers[seen_.busy.size()];
    seen_.completed += each.completed;
    seen_.busy.push_back(read(worker.times().busy));
    const bool is_known = seen_.busy.size() <= before.busy.size();
    const Duration then = is_known ? before.busy[seen_.busy.size() - 1] : Duration::zero();
    each.utilisation = share(seen_.busy.back() - then, span);
  });
  if (span <= Duration::zero()) return;
  snapshot.throughput = {
      .tasks_per_second = static_cast<double>(seen_.completed - before.completed) /
                          std::chrono::duration<double>(span).count(),
      .average_latency = seen_.waits.mean_since(before.waits) + seen_.runs.mean_since(before.runs)};
}

}  // namespace muster
