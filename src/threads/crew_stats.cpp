// crew_stats.cpp: what the workers have counted, put together.
#include "threads/crew.hpp"

namespace muster {

ThreadPoolStats Crew::stats() const {
  ThreadPoolStats stats = lifetime_stats();
  if (is_orphaned(id())) return stats;  // the mutex may be held for ever
  const MutexLock lock(stats_mutex_);
  stats.submitted -= reset_.submitted;
  stats.completed -= reset_.completed;
  for (std::size_t i = 0; i < reset_.workers.size(); ++i) {
    ThreadPoolStats::Worker& now = stats.workers[i];
    const ThreadPoolStats::Worker& then = reset_.workers[i];
    now.completed -= then.completed;
    now.failed -= then.failed;
    now.dropped -= then.dropped;
    now.steal_attempts -= then.steal_attempts;
    now.successful_steals -= then.successful_steals;
    now.tasks_stolen -= then.tasks_stolen;
    for (std::size_t j = 0; j < then.stolen_from.size(); ++j) {
      now.stolen_from[j] -= then.stolen_from[j];
    }
    now.lost_races -= then.lost_races;
    now.forks_offered -= then.forks_offered;
    now.forks_taken -= then.forks_taken;
    now.idle_spins -= then.idle_spins;
    now.parks -= then.parks;
    now.wakes -= then.wakes;
  }
  stats.strategy_fallbacks -= reset_.strategy_fallbacks;
  stats.admission.rejected -= reset_.admission.rejected;
  stats.admission.dropped_oldest -= reset_.admission.dropped_oldest;
  stats.admission.dropped_newest -= reset_.admission.dropped_newest;
  stats.admission.blocked -= reset_.admission.blocked;
  stats.admission.block_timeouts -= reset_.admission.block_timeouts;
  stats.admission.caller_ran -= reset_.admission.caller_ran;
  return stats;
}

void Crew::reset_stats() {
  if (is_orphaned(id())) return;
  ThreadPoolStats now = lifetime_stats();
  const MutexLock lock(stats_mutex_);
  reset_ = std::move(now);
}

ThreadPoolStats Crew::lifetime_stats() const {
  ThreadPoolStats stats;
  const auto read = [](const Atomic<std::uint64_t>& counter) {
    return counter.load(relaxed);  // relaxed: a count
  };
  stats.completed = read(leftovers_done_);
  stats.submitted = shared_.pushed_approx() + ranked_.pushed_approx() - read(put_back_);
  stats.queued = ranked_.size_approx() + shared_.size_approx();
  for_each_worker([&](Worker& worker) {
    const Worker::Counters& counters = worker.counters();
    const ForkStack::Counters& forks = worker.forks().counters();
    stats.workers.push_back({.completed = read(counters.done),
                             .failed = read(counters.failed),
                             .dropped = read(counters.dropped),
                             .steal_attempts = read(counters.steal_attempts),
                             .successful_steals = read(counters.stolen),
                             .tasks_stolen = read(counters.tasks_stolen),
                             .lost_races = read(counters.lost_races),
                             .forks_offered = read(forks.offered),
                             .forks_taken = read(forks.taken),
                             .idle_spins = read(counters.idle_spins),
                             .parks = read(counters.parks),
                             .wakes = read(counters.wakes),
                             .queued = worker.queued_approx(),
                             .busy = read(counters.busy) != 0});
    ThreadPoolStats::Worker& last = stats.workers.back();
    for (std::size_t i = 0; i < worker_span(); ++i) {
      last.stolen_from.push_back(worker.stolen_from(i));
    }
    stats.submitted += read(counters.posted) + worker.inbox().pushed_approx() -
                       read(counters.moved) + worker.affine().pushed_approx();
    stats.completed += last.completed;
    stats.queued += last.queued;
    stats.busy_workers += last.busy ? 1 : 0;
  });
  stats.total_workers = static_cast<unsigned>(stats.workers.size());
  stats.idle_workers = stats.total_workers - stats.busy_workers;
  stats.sleeping_workers = static_cast<unsigned>(roster_.sleeping_approx());
  stats.blocked_workers = static_cast<unsigned>(spares_.blocked_approx());
  stats.spare_workers = static_cast<unsigned>(worker_span() - options_.workers);
  stats.strategy_fallbacks = placer_.fallbacks();
  stats.admission = gate_.figures();
  return stats;
}

}  // namespace muster
