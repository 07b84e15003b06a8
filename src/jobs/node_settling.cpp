// node_settling.cpp: what becomes of a job when an attempt has ended, and who is told.
#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include <muster/base/log.hpp>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"
#include "jobs/thrown.hpp"

namespace muster {

void JobNode::end_attempt(Pool& pool, Taken& taken, Ended ended) {
  const JobError error{.kind = ended.outcome.failure.value_or(FailureKind::error),
                       .what = ended.outcome.what,
                       .attempt = taken.job.attempts + 1U,
                       .exception = ended.exception};
  if (ended.outcome.failure && ended.outcome.is_retryable && pool.setup.retry.is_retryable) {
    try {
      ended.outcome.is_retryable = pool.setup.retry.is_retryable(error);
    } catch (...) {
      ended.outcome.is_retryable = false;
      MUSTER_LOG(LogLevel::error, "is_retryable of \"" << pool.name << "\": " << thrown_words());
    }
  }
  bool is_settled_here = false;
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[taken.index];
    taken.after = after_attempt(
        retry_of(pool), ended.outcome,
        {.attempts = taken.job.attempts, .now = lane_now(pool), .luck = pool.random.real()});
    if (instance.is_cancelled && ended.outcome.failure) {
      taken.after.state = JobState::cancelled;
    }
    instance.running = 0;
    instance.running_id.clear();
    const Time now = clock_.now();
    const WallTime due = std::max(taken.job.due, taken.body.enqueued_at);
    instance.figures.note_attempt(instance.begun, now);
    pool.figures.note_attempt({.waited = taken.started_at - due,
                               .ran = now - instance.begun,
                               .is_helped = taken.home != taken.index});
    is_settled_here = pool.instances[taken.home].term == taken.term && !ended.is_handed_back;
    return_to_lane(pool, taken, ended);
    if (is_settled_here) ++instance.unsettled;
  }
  pool.changed.notify_all();
  if (is_settled_here) settle(pool, taken, std::move(ended));
  if (taken.home != taken.index) wake(pool, taken.home);
}

// If others have its lane by now, it is theirs.
void JobNode::return_to_lane(Pool& pool, const Taken& taken, const Ended& ended) {
  pool.mutex.is_held();
  Instance& home = pool.instances[taken.home];
  if (home.term != taken.term) return;
  if (!ended.is_handed_back && taken.after.state != JobState::available) {
    const bool blocks = taken.after.state == JobState::dead && taken.job.partition &&
                        pool.setup.when_dead == DeadLetterEffect::block;
    if (blocks) return home.lane.block(*taken.job.partition, taken.job.seq);
    return home.lane.finish(taken.job);
  }
  WaitingJob again = taken.job;
  if (ended.is_handed_back) {
    --home.owed;
  } else {
    again.attempts = static_cast<std::uint16_t>(taken.after.attempts);
    again.run_at = again.due = taken.after.run_at;
    ++pool.instances[taken.index].figures.retries;
  }
  home.lane.retry(again);
  pool.taken.erase(again.seq);
}

void JobNode::settle(Pool& pool, const Taken& taken, Ended ended) {
  const WallTime now = wall_now();
  const bool is_again = taken.after.state == JobState::available;
  Settlement settlement{.seq = taken.job.seq,
                        .state = taken.after.state,
                        .attempts = taken.after.attempts,
                        .at = is_again ? taken.after.run_at : now,
                        .place = {pool.number, taken.index},
                        .home = taken.home,
                        .term = taken.term,
                        .holder = taken.holder,
                        .result = std::move(ended.result),
                        .log = std::move(ended.log),
                        .enqueued = std::move(ended.enqueued)};
  const JobError error{.kind = ended.outcome.failure.value_or(FailureKind::error),
                       .what = ended.outcome.what,
                       .attempt = taken.after.attempts,
                       .exception = ended.exception};
  if (ended.outcome.failure) {
    settlement.error = AttemptError{
        .attempt = error.attempt, .kind = error.kind, .what = error.what, .failed_at = now};
  }
  if (taken.after.state == JobState::dead) settlement.id = taken.body.id;
  if (taken.after.state == JobState::dead && pool.setup.on_dead_letter) {
    const MutexLock lock(pool.mutex);
    pool.news.emplace(taken.job.seq, DeadNews{.event = taken.body.event,
                                              .error = error,
                                              .info = {.job_id = taken.body.id,
                                                       .attempts = taken.after.attempts,
                                                       .enqueued_at = taken.body.enqueued_at,
                                                       .failed_at = now,
                                                       .instance_index = taken.index}});
  }
  note_handed(settlement.enqueued);
  commits_->post(std::move(settlement));
}

// On a worker, since it is the user's code: the thread that commits must not wait for it, nor for
// what it enqueues. If there are no workers, by tell_untold().
void JobNode::tell_dead(Pool& pool, DeadNews news) {
  const auto told = std::make_shared<DeadNews>(std::move(news));
  const bool has_workers = [&] {
    const MutexLock lock(pool.mutex);
    return pool.is_started && workers_ != nullptr;
  }();
  try {
    if (has_workers) return workers_->post([this, &pool, told] { call_dead_letter(pool, *told); });
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): as if there were none
  }
  const MutexLock lock(pool.mutex);
  pool.untold.push_back(std::move(*told));
}

// By a thread that does not commit. False: there was none.
bool JobNode::tell_untold() {
  bool has_told = false;
  for (Pool* const pool : defined()) {
    std::vector<DeadNews> untold;
    {
      const MutexLock lock(pool->mutex);
      untold.swap(pool->untold);
    }
    for (const DeadNews& news : untold) call_dead_letter(*pool, news);
    has_told = has_told || !untold.empty();
  }
  return has_told;
}

void JobNode::call_dead_letter(Pool& pool, const DeadNews& news) {
  try {
    pool.setup.on_dead_letter(news.event, news.error, news.info);
  } catch (...) {
    MUSTER_LOG(LogLevel::error, "on_dead_letter of \""
                                    << pool.name << "\" for job \"" << news.info.job_id
                                    << "\": " << thrown_words() << "; the dead letter is kept");
  }
  std::vector<std::uint32_t> caught_up;
  {
    const MutexLock lock(pool.mutex);
    note_caught_up(pool, pool.instances[news.info.instance_index], caught_up);
  }
  pool.changed.notify_all();
  for (const std::uint32_t index : caught_up) wake(pool, index);
}

// Some at a time, since those who run jobs need the lock, too. What on_dead_letter is told of
// counts as unsettled until it was told.
void JobNode::on_settled(std::span<const Settlement> settlements,
                         std::span<const StoreBatch::Settled> settled) {
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t i = 0; i < settlements.size();) {
    Pool& pool = pool_of(settlements[i].place.pool);
    const auto is_of_pool = [&](std::size_t place) {
      return place < settlements.size() && settlements[place].place.pool == pool.number;
    };
    const std::size_t begin = i;
    for (; is_of_pool(i) && i < begin + kAtOnce; ++i) {
      add_jobs(settlements[i].enqueued, settled[i].inserted);  // before it counts as over
      forget_handed(settlements[i].enqueued);
    }
    std::vector<DeadNews> news;
    std::vector<std::uint32_t> caught_up;
    {
      const MutexLock lock(pool.mutex);
      for (std::size_t place = begin; place < i; ++place) {
        const Settlement& settlement = settlements[place];
        note_settled(pool, settlement, settled[place].is_settled);
        Instance& instance = pool.instances[settlement.place.index];
        auto dead = pool.news.extract(settlement.seq);
        if (dead && settled[place].is_settled) {
          news.push_back(std::move(dead.mapped()));
        } else {  // others have it, if it was not settled
          note_caught_up(pool, instance, caught_up);
        }
      }
    }
    pool.changed.notify_all();
    for (const std::uint32_t index : caught_up) wake(pool, index);
    for (DeadNews& each : news) tell_dead(pool, std::move(each));
  }
}

void JobNode::note_settled(Pool& pool, const Settlement& settlement, bool is_settled) {
  pool.mutex.is_held();
  Instance& instance = pool.instances[settlement.place.index];
  if (is_settled && settlement.state != JobState::available) {
    ++instance.processed;
    ++instance.figures.ended;
  }
  if (is_settled && settlement.state == JobState::completed) ++pool.figures.completed;
  if (is_settled && settlement.state == JobState::dead) {
    ++instance.figures.dead;
    notices_.tell([&] {
      return DeadLettered{.name = pool.name,
                          .id = settlement.id,
                          .what = settlement.error ? settlement.error->what : "",
                          .attempts = settlement.attempts};
    });
  }
  Instance& home = pool.instances[settlement.home];
  if (home.term == settlement.term && home.owed > 0) --home.owed;
  if (shared_ != nullptr && settlement.state != JobState::available) {
    pool.forgotten_next.emplace_back(settlement.seq, settlement.term);
  }
  if (home.is_leaving && home.owed == 0) call_others();
}

void JobNode::on_committed(const StoreBatch& batch) {
  add_jobs(batch.jobs, batch.inserted);
  for (const PauseChange& change : batch.pauses) {  // in the order of the store
    Pool& pool = pool_of(change.pool);
    const MutexLock lock(pool.mutex);
    pool.follow(change);
    pool.changed.notify_all();
  }
  for (const NewJob& job : batch.jobs) {
    Pool& pool = pool_of(job.pool);
    // relaxed: whoever has noted the id has seen that it is set, and handed it over since.
    if (!pool.notes_pending.load(relaxed)) continue;
    const MutexLock lock(pool.mutex);
    if (pool.pending.erase(job.id) > 0) pool.changed.notify_all();
  }
}

void JobNode::on_lost(const StoreBatch& batch, const std::exception_ptr& why) {
  for (const NewJob& job : batch.jobs) {
    Pool& pool = pool_of(job.pool);
    const MutexLock lock(pool.mutex);
    pool.pending.erase(job.id);
    pool.changed.notify_all();
  }
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::error, batch.jobs.size() << " jobs that were accepted in memory only are "
                                                     "lost: "
                                                  << error.what());
  }
}

// Of any pools; in the order of the store. If that is shared, others may have put something in
// front of those with a key: they come when the store is asked.
void JobNode::add_jobs(std::span<const NewJob> jobs, std::span<const Inserted> inserted) {
  std::set<std::pair<Pool*, std::uint32_t>> touched;
  bool must_ask = false;
  for (std::size_t i = 0; i < inserted.size(); ++i) {
    if (!inserted[i].created) continue;
    Pool& pool = pool_of(jobs[i].pool);
    WaitingJob job{.seq = inserted[i].seq,
                   .run_at = jobs[i].run_at,
                   .due = jobs[i].run_at,
                   .priority = jobs[i].priority,
                   .version = inserted[i].version};
    if (const std::optional<std::string>& key = jobs[i].key) job.partition = partition_hash(*key);
    const MutexLock lock(pool.mutex);
    ++pool.figures.enqueued;
    const std::uint32_t index = home_of(job, jobs[i].turn, pool.concurrency);
    Instance& instance = pool.instances[index];
    if (shared_ != nullptr) {
      const bool comes_later = job.partition.has_value() || !instance.is_held;
      must_ask = must_ask || comes_later;
      if (comes_later || instance.lane.contains(job.seq) || pool.taken.contains(job.seq)) {
        continue;
      }
    }
    instance.lane.add(for_lane(job));
    keep_body(instance, {.seq = job.seq,
                         .id = jobs[i].id,
                         .enqueued_at = jobs[i].enqueued_at,
                         .event = jobs[i].event,
                         .key = jobs[i].key});
    touched.emplace(&pool, index);
  }
  if (must_ask) shared_->call();
  for (const auto& [pool, index] : touched) wake(*pool, index);
}

}  // namespace muster
