// rates.cpp: differences between two snapshots, and counts that only grow.
#include <algorithm>
#include <utility>

#include <muster/observe/rates.hpp>

namespace muster {
namespace {

// The share of `span` that was spent busy.
double share(Duration busy, Duration span) noexcept {
  const double ratio = static_cast<double>(busy.count()) / static_cast<double>(span.count());
  return std::clamp(ratio, 0.0, 1.0);
}

void raise(std::uint64_t& highest, std::uint64_t& figure) noexcept {
  highest = figure = std::max(highest, figure);
}

// Others may come between two workers.
std::vector<Duration> by_id(const PoolSnapshot& snapshot, std::span<const Duration> busy) {
  std::vector<Duration> times;
  for (std::size_t i = 0; i < std::min(busy.size(), snapshot.workers.size()); ++i) {
    const std::size_t id = snapshot.workers[i].id;
    if (id >= times.size()) times.resize(id + 1);
    times[id] = busy[i];
  }
  return times;
}

}  // namespace

Duration Rates::Sum::mean_since(const Sum& before) const {
  if (count == before.count) return Duration::zero();
  const auto mean = (total - before.total) / static_cast<double>(count - before.count);
  return std::chrono::duration_cast<Duration>(mean);
}

void Rates::never_back(PoolSnapshot& snapshot) {
  raise(highest_.tasks.succeeded, snapshot.tasks.succeeded);
  raise(highest_.tasks.failed, snapshot.tasks.failed);
  raise(highest_.queue.enqueued, snapshot.queue.enqueued);
  raise(highest_.queue.dequeued, snapshot.queue.dequeued);
  raise(highest_.queue.stolen, snapshot.queue.stolen);
}

void Rates::fill(PoolSnapshot& snapshot, std::span<const Duration> busy, std::uint64_t completed,
                 Time now) {
  Seen current{.time = now,
               .completed = completed,
               .waits = Sum(snapshot.latency.queue_wait),
               .runs = Sum(snapshot.latency.run),
               .busy = by_id(snapshot, busy)};
  std::uint64_t failed = 0;
  for (const PoolSnapshot::Worker& worker : snapshot.workers) failed += worker.failed;
  snapshot.tasks = {.succeeded = completed - std::min(failed, completed), .failed = failed};

  const MutexLock lock(mutex_);
  never_back(snapshot);
  const Seen before = std::exchange(seen_, std::move(current));
  const Duration span = now - before.time;
  if (span <= Duration::zero()) return;
  for (std::size_t i = 0; i < std::min(busy.size(), snapshot.workers.size()); ++i) {
    PoolSnapshot::Worker& worker = snapshot.workers[i];
    const bool was_there = worker.id < before.busy.size();
    const Duration then = was_there ? before.busy[worker.id] : Duration::zero();
    worker.utilisation = share(busy[i] - then, span);
  }
  snapshot.throughput = {
      .tasks_per_second = static_cast<double>(completed - before.completed) /
                          std::chrono::duration<double>(span).count(),
      .average_latency = seen_.waits.mean_since(before.waits) + seen_.runs.mean_since(before.runs)};
}

}  // namespace muster
