// crew_stats.cpp: what the workers have counted, put together.
#include <algorithm>

#include "threads/crew.hpp"

namespace muster {

ThreadPoolStats Crew::stats() const {
  ThreadPoolStats stats = lifetime_stats();
  if (is_orphaned(id())) return stats;  // the mutex may be held for ever
  const MutexLock lock(stats_mutex_);
  stats.submitted -= reset_.submitted;
  stats.completed -= reset_.completed;
  auto then_there = reset_.workers.begin();  // all that were there then are there now
  for (ThreadPoolStats::Worker& now : stats.workers) {
    if (then_there == reset_.workers.end() || then_there->number != now.number) continue;
    const ThreadPoolStats::Worker& then = *then_there++;
    now.completed -= then.completed;
    now.failed -= then.failed;
    now.dropped -= then.dropped;
    now.steal_attempts -= then.steal_attempts;
    now.successful_steals -= then.successful_steals;
    now.tasks_stolen -= then.tasks_stolen;
    const std::size_t pairs = std::min(then.stolen_from.size(), now.stolen_from.size());
    for (std::size_t j = 0; j < pairs; ++j) {
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
  stats.submitted = arrivals_approx();
  stats.queued = ranked_.size_approx() + shared_.size_approx();
  const std::size_t spares = staff_.end_of_spares() - staff_.first_spare();
  staff_.for_each([&](Worker& worker) {
    const bool is_gone =
        !staff_.is_spare(worker.index()) && staff_.phase(worker.index()) == Staff::Phase::gone;
    const Worker::Counters& counters = worker.counters();
    const ForkStack::Counters& forks = worker.forks().counters();
    stats.workers.push_back({.number = static_cast<unsigned>(worker.index()),
                             .completed = read(counters.done),
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
    const std::size_t numbers = spares == 0 ? staff_.made() : staff_.end_of_spares();
    for (std::size_t i = 0; i < numbers; ++i) last.stolen_from.push_back(worker.stolen_from(i));
    stats.completed += last.completed;
    stats.queued += last.queued;
    stats.busy_workers += last.busy ? 1 : 0;
    stats.total_workers += is_gone ? 0 : 1;
  });
  stats.idle_workers = stats.total_workers - stats.busy_workers;
  stats.sleeping_workers = static_cast<unsigned>(roster_.sleeping_approx());
  stats.blocked_workers = static_cast<unsigned>(spares_.blocked_approx());
  stats.spare_workers = static_cast<unsigned>(spares);
  stats.strategy_fallbacks = placer_.fallbacks();
  stats.admission = gate_.figures();
  return stats;
}

}  // namespace muster
