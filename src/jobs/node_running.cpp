// node_running.cpp: an instance takes its jobs one after the other.
#include <algorithm>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>

#include <muster/base/log.hpp>

#include "jobs/node.hpp"
#include "jobs/node_context.hpp"
#include "jobs/node_pool.hpp"

namespace muster {
namespace {

// An instance waits when so many of its jobs have ended and the store does not know yet.
constexpr std::size_t kMostUnsettled = 4096;

// Before a job that could not be read is looked at again.
constexpr std::chrono::seconds kPauseUnread{1};

// Jobs in a row, before others may have the thread.
constexpr unsigned kMostInARow = 256;

Duration until(WallTime time, WallTime now) {
  return time <= now ? Duration::zero() : std::chrono::duration_cast<Duration>(time - now);
}

}  // namespace

RetryOptions JobNode::retry_of(const Pool& pool) {
  const JobRetry& retry = pool.setup.retry;
  return {.max_attempts = retry.max_attempts,
          .delay = retry.delay,
          .jitter = retry.jitter,
          .retry_on = retry.retry_on};
}

// There may be something to do for it.
void JobNode::wake(Pool& pool, std::uint32_t index) {
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[index];
    const bool may_run = pool.is_started && !pool.is_paused && !instance.is_paused;
    if (instance.is_awake || !may_run || stopping_.stop_requested()) return;
    instance.is_awake = true;
  }
  try {
    workers_->post([this, &pool, index] { run_jobs(pool, index); });
  } catch (const Stopped&) {
    const MutexLock lock(pool.mutex);
    pool.instances[index].is_awake = false;
  }
}

void JobNode::run_jobs(Pool& pool, std::uint32_t index) {
  for (unsigned count = 0; count < kMostInARow; ++count) {
    std::optional<Taken> taken = take_next(pool, index);
    if (!taken) return;
    if (!read_body(pool, *taken)) break;
    store_->note_running(taken->runner, taken->job.seq);
    Ended ended = execute(pool, *taken);
    store_->note_running(taken->runner, 0);
    end_attempt(pool, *taken, std::move(ended));
  }
  {
    const MutexLock lock(pool.mutex);
    pool.instances[index].is_awake = false;
  }
  wake(pool, index);
}

// Nothing: it has gone to sleep. That is decided under the same lock: whoever adds a job later
// finds it asleep.
std::optional<JobNode::Taken> JobNode::take_next(Pool& pool, std::uint32_t index) {
  Rest rest;
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[index];
    while (instance.unsettled > kMostUnsettled && !stopping_.stop_requested()) {
      pool.changed.wait(pool.mutex);
    }
    const WallTime now = wall_now();
    const bool may_run = !pool.is_paused && !instance.is_paused && !stopping_.stop_requested();
    std::uint32_t home = index;
    std::optional<WaitingJob> job;
    if (may_run) job = instance.lane.take(now);
    if (may_run && !job) std::tie(job, home) = take_from_others(pool, index, now);
    if (job) {
      instance.running = job->seq;
      instance.was_busy = true;
      instance.started_at = now;
      instance.cancelling = std::stop_source();
      instance.progress = {};
      return Taken{.job = *job,
                   .index = index,
                   .home = home,
                   .runner = instance.runner,
                   .stop = instance.cancelling.get_token(),
                   .started_at = now};
    }
    rest = go_to_sleep(instance, may_run ? std::optional(now) : std::nullopt);
  }
  if (rest.is_empty) tell_empty(pool, index, rest.processed);
  if (rest.alarm) set_alarm(pool, index, *rest.alarm);
  return std::nullopt;
}

// `now`: if it may run what comes.
JobNode::Rest JobNode::go_to_sleep(Instance& instance, std::optional<WallTime> now) {
  instance.is_awake = false;
  Rest rest;
  rest.is_empty = instance.was_busy && instance.lane.size() == 0;
  rest.processed = instance.processed + instance.unsettled;
  if (rest.is_empty) instance.was_busy = false;
  const std::optional<WallTime> next = instance.lane.next_time();
  if (now && next && (!instance.alarm || *next < *instance.alarm)) {
    instance.alarm = *next;
    rest.alarm = until(*next, *now);
  }
  return rest;
}

void JobNode::set_alarm(Pool& pool, std::uint32_t index, Duration delay) {
  try {
    (void)workers_->after(delay, [this, &pool, index] {
      {
        const MutexLock lock(pool.mutex);
        pool.instances[index].alarm.reset();
      }
      wake(pool, index);
    });
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): nobody is to be woken any more
  }
}

// False: the store cannot be read now; the job waits a moment and no attempt is counted.
bool JobNode::read_body(Pool& pool, Taken& taken) {
  std::string problem = "it is not there";
  try {
    std::vector<JobBody> bodies = store_->read(std::vector{taken.job.seq});
    if (!bodies.empty()) {
      taken.body = std::move(bodies.front());
      const MutexLock lock(pool.mutex);
      pool.instances[taken.index].running_id = taken.body.id;
      return true;
    }
  } catch (const StoreFailure& failure) {
    problem = failure.what();
  }
  MUSTER_LOG(LogLevel::error, "cannot read job " << taken.job.seq << " of \"" << pool.name
                                                 << "\", which waits: " << problem);
  const MutexLock lock(pool.mutex);
  taken.job.run_at = wall_now() + kPauseUnread;
  pool.instances[taken.home].lane.retry(taken.job);
  pool.instances[taken.index].running = 0;
  return false;
}

// What another has too much of, and need not run itself.
std::pair<std::optional<WaitingJob>, std::uint32_t> JobNode::take_from_others(Pool& pool,
                                                                              std::uint32_t index,
                                                                              WallTime now) {
  pool.mutex.is_held();
  Instance* richest = nullptr;
  for (Instance& other : pool.instances) {
    if (other.index == index || other.is_paused) continue;
    if (richest == nullptr || other.lane.size() > richest->lane.size()) richest = &other;
  }
  if (richest == nullptr) return {std::nullopt, index};
  return {richest->lane.give_away(now), richest->index};
}

JobNode::Ended JobNode::execute(Pool& pool, const Taken& taken) {
  Ended ended;
  Context context(*this, pool, taken);
  try {
    pool.setup.execute(context, taken.body.event);
  } catch (const UnreadableEvent& error) {
    ended.outcome = {.failure = FailureKind::error, .what = error.what(), .is_retryable = false};
    ended.exception = std::current_exception();
  } catch (const std::exception& error) {
    ended.outcome = {.failure = FailureKind::error, .what = error.what()};
    ended.exception = std::current_exception();
  } catch (...) {
    ended.outcome = {.failure = FailureKind::error, .what = "something that is no std::exception"};
    ended.exception = std::current_exception();
  }
  if (!ended.outcome.failure) {
    ended.result = std::move(context.result);
    ended.enqueued = std::move(context.enqueued);
  }
  ended.is_handed_back = ended.outcome.failure && stopping_.stop_requested();
  return ended;
}

void JobNode::end_attempt(Pool& pool, Taken& taken, Ended ended) {
  const JobError error{.kind = ended.outcome.failure.value_or(FailureKind::error),
                       .what = ended.outcome.what,
                       .attempt = taken.job.attempts + 1U,
                       .exception = ended.exception};
  if (ended.outcome.failure && ended.outcome.is_retryable && pool.setup.retry.is_retryable) {
    try {
      ended.outcome.is_retryable = pool.setup.retry.is_retryable(error);
    } catch (const std::exception& thrown) {
      ended.outcome.is_retryable = false;
      MUSTER_LOG(LogLevel::error, "is_retryable of \"" << pool.name << "\": " << thrown.what());
    }
  }
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[taken.index];
    taken.after = after_attempt(
        retry_of(pool), ended.outcome,
        {.attempts = taken.job.attempts, .now = wall_now(), .luck = pool.random.real()});
    Lane& home = pool.instances[taken.home].lane;
    if (ended.is_handed_back) {
      home.retry(taken.job);
    } else if (taken.after.state == JobState::available) {
      WaitingJob again = taken.job;
      again.attempts = static_cast<std::uint16_t>(taken.after.attempts);
      again.run_at = taken.after.run_at;
      home.retry(again);
      ++pool.retries;
    } else {
      home.finish(taken.job);
    }
    instance.running = 0;
    instance.running_id.clear();
    if (!ended.is_handed_back) ++instance.unsettled;
  }
  pool.changed.notify_all();
  if (!ended.is_handed_back) settle(pool, taken, std::move(ended));
  if (taken.home != taken.index) wake(pool, taken.home);
}

void JobNode::settle(Pool& pool, const Taken& taken, Ended ended) {
  const WallTime now = wall_now();
  const bool is_again = taken.after.state == JobState::available;
  Settlement settlement{.seq = taken.job.seq,
                        .state = taken.after.state,
                        .attempts = taken.after.attempts,
                        .at = is_again ? taken.after.run_at : now,
                        .place = {pool.number, taken.index},
                        .result = std::move(ended.result),
                        .enqueued = std::move(ended.enqueued)};
  const JobError error{.kind = ended.outcome.failure.value_or(FailureKind::error),
                       .what = ended.outcome.what,
                       .attempt = taken.after.attempts,
                       .exception = ended.exception};
  if (ended.outcome.failure) {
    settlement.error = AttemptError{
        .attempt = error.attempt, .kind = error.kind, .what = error.what, .failed_at = now};
  }
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
  commits_->post(std::move(settlement));
}

void JobNode::tell_empty(const Pool& pool, std::uint32_t index, std::uint64_t processed) const {
  if (!pool.setup.on_empty) return;
  try {
    pool.setup.on_empty({.instance_index = index, .processed = processed});
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::error, "on_empty of \"" << pool.name << "\": " << error.what());
  }
}

// On a worker, since it is the user's code: the thread that commits must not wait for it.
void JobNode::tell_dead(Pool& pool, DeadNews news) {
  {
    const MutexLock lock(pool.mutex);
    if (!pool.is_started) return pool.untold.push_back(std::move(news));
  }
  const auto told = std::make_shared<const DeadNews>(std::move(news));
  try {
    workers_->post([this, &pool, told] { call_dead_letter(pool, *told); });
  } catch (const Stopped&) {
    call_dead_letter(pool, *told);
  }
}

void JobNode::call_dead_letter(Pool& pool, const DeadNews& news) const {
  try {
    pool.setup.on_dead_letter(news.event, news.error, news.info);
  } catch (const std::exception& thrown) {
    MUSTER_LOG(LogLevel::error, "on_dead_letter of \""
                                    << pool.name << "\" for job \"" << news.info.job_id
                                    << "\": " << thrown.what() << "; the dead letter is kept");
  }
  {
    const MutexLock lock(pool.mutex);
    --pool.instances[news.info.instance_index].unsettled;
  }
  pool.changed.notify_all();
}

void JobNode::on_settled(const Settlement& settlement, const StoreBatch::Settled& settled) {
  Pool& pool = pool_of(settlement.place.pool);
  std::optional<DeadNews> news;
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[settlement.place.index];
    if (settled.is_settled && settlement.state != JobState::available) ++instance.processed;
    if (settlement.state == JobState::dead) ++pool.dead;
    if (const auto found = pool.news.find(settlement.seq); found != pool.news.end()) {
      news = std::move(found->second);
      pool.news.erase(found);
    } else {
      --instance.unsettled;
    }
  }
  pool.changed.notify_all();
  if (news) tell_dead(pool, *std::move(news));  // counts as unsettled until it was told
  add_jobs(settlement.enqueued, settled.inserted);
}

void JobNode::on_committed(const StoreBatch& batch) {
  add_jobs(batch.jobs, batch.inserted);
}

// Of any pools; in the order of the store.
void JobNode::add_jobs(std::span<const NewJob> jobs, std::span<const Inserted> inserted) {
  std::set<std::pair<Pool*, std::uint32_t>> touched;
  for (std::size_t i = 0; i < inserted.size(); ++i) {
    if (!inserted[i].created) continue;
    Pool& pool = pool_of(jobs[i].pool);
    WaitingJob job{.seq = inserted[i].seq, .run_at = jobs[i].run_at, .priority = jobs[i].priority};
    if (jobs[i].key) job.partition = partition_hash(*jobs[i].key);
    const MutexLock lock(pool.mutex);
    const auto instances = static_cast<std::uint32_t>(pool.instances.size());
    const std::uint32_t index = job.partition ? instance_of(*job.partition, instances)
                                              : instance_of_turn(jobs[i].turn, instances);
    pool.instances[index].lane.add(job);
    touched.emplace(&pool, index);
    // Somebody who has nothing to do may have it.
    if (job.partition || !pool.instances[index].is_awake) continue;
    const auto idle =
        std::ranges::find_if(pool.instances, [](const Instance& other) { return !other.is_awake; });
    if (idle != pool.instances.end()) touched.emplace(&pool, idle->index);
  }
  for (const auto& [pool, index] : touched) wake(*pool, index);
}

}  // namespace muster
