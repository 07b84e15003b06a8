// rates.cpp: differences between snapshots, and counts that only grow.
#include <algorithm>

#include <muster/observe/rates.hpp>

namespace muster {
namespace {

void raise(std::uint64_t& highest, std::uint64_t& figure) noexcept {
  highest = figure = std::max(highest, figure);
}

}  // namespace

Duration Rates::Sum::mean_since(const Sum& before) const {
  if (count <= before.count) return Duration::zero();
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

void Rates::fill(PoolSnapshot& snapshot, std::uint64_t completed, Time now) {
  const Seen current{.time = now,
                     .completed = completed,
                     .waits = Sum(snapshot.latency.queue_wait),
                     .runs = Sum(snapshot.latency.run)};
  std::uint64_t failed = 0;
  for (const PoolSnapshot::Worker& worker : snapshot.workers) failed += worker.failed;
  snapshot.tasks = {.succeeded = completed - std::min(failed, completed), .failed = failed};

  const MutexLock lock(mutex_);
  never_back(snapshot);
  while (seen_.size() > 1 && seen_[1].time <= now - window_) seen_.pop_front();
  const Seen before = seen_.front();
  if (now - seen_.back().time >= window_ / kParts) seen_.push_back(current);
  const Duration span = now - before.time;
  if (span <= Duration::zero()) return;
  // Of two at the same time, one may have read before the other.
  snapshot.throughput = {
      .tasks_per_second =
          static_cast<double>(std::max(completed, before.completed) - before.completed) /
          std::chrono::duration<double>(span).count(),
      .average_latency =
          current.waits.mean_since(before.waits) + current.runs.mean_since(before.runs)};
}

}  // namespace muster
