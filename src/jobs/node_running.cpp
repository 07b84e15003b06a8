// node_running.cpp: an instance takes its jobs one after the other.
#include <algorithm>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>

#include <muster/base/log.hpp>

#include "jobs/isolation.hpp"
#include "jobs/node.hpp"
#include "jobs/node_context.hpp"
#include "jobs/node_pool.hpp"
#include "jobs/thrown.hpp"

namespace muster {
namespace {

// An instance rests when so many of its jobs have ended and the store does not know yet, or
// on_dead_letter. Its thread may be the one that tells.
constexpr std::size_t kMostUnsettled = 1024;

// Events that are read at once, and kept until their jobs are run: 4 MiB of an instance at most.
constexpr std::size_t kReadAhead = 256;
constexpr std::size_t kSmallEvent = 16'384;

// Before a job that could not be read is looked at again.
constexpr std::chrono::seconds kPauseUnread{1};

// Whoever has no lease looks again after that: any commit, beat or look at many jobs may renew it.
constexpr std::chrono::milliseconds kPauseWithoutLease{100};

// Jobs in a row, before others may have the thread.
constexpr unsigned kMostInARow = 256;

}  // namespace

// One of its jobs is settled, and who had to hear of it has.
void JobNode::note_caught_up(Pool& pool, Instance& instance,
                             std::vector<std::uint32_t>& caught_up) {
  pool.mutex.is_held();
  --instance.unsettled;
  if (!instance.is_ahead || instance.unsettled > kMostUnsettled / 2) return;
  instance.is_ahead = false;
  caught_up.push_back(instance.index);
}

void JobNode::run_jobs(Pool& pool, std::uint32_t index) {
  for (unsigned count = 0; count < kMostInARow; ++count) {
    std::optional<Taken> taken = take_next(pool, index);
    if (!taken) return;
    if (!run(pool, *taken)) break;
  }
  {
    const MutexLock lock(pool.mutex);
    pool.set_awake(pool.instances[index], false);
  }
  wake(pool, index);
}

// False: it has to wait.
bool JobNode::run(Pool& pool, Taken& taken) {
  if (!get_ready(pool, taken)) return false;
  Ended ended = execute(pool, taken);
  store_->note_running(taken.runner, 0);
  end_attempt(pool, taken, std::move(ended));
  return true;
}

// Round by round: what one of them brings about is run in the next.
std::size_t JobNode::run_due() {
  if (options_.mode == JobsMode::threads) {
    throw InvalidArgument({"mode", "threads", "must be one without threads for run_due()"});
  }
  // relaxed: who runs by hand has started it, on this thread.
  if (!is_started_.load(relaxed))
    throw InvalidArgument({"run_due()", "called", "must be called after start()"});
  tick();
  tick_with_store();
  std::size_t count = 0;
  for (std::size_t before = 0;;) {
    for (const auto& [name, pool] : pools_) {
      for (std::uint32_t index = 0; index < pool->concurrency; ++index) {
        std::optional<Taken> taken = take_next(*pool, index);
        if (taken && run(*pool, *taken)) ++count;
      }
    }
    (void)commits_->wait_settled(Time::max());
    const bool has_told = tell_untold();
    if (count == std::exchange(before, count) && !has_told) return count;
  }
}

// A handler may enqueue others; those are run when it has ended.
void JobNode::run_as_enqueued() {
  if (options_.mode != JobsMode::as_enqueued) return;
  // relaxed: as in run_due().
  if (!is_started_.load(relaxed) || is_running_due_) return;
  is_running_due_ = true;
  (void)run_due();
  is_running_due_ = false;
}

// Nothing: it has gone to sleep. That is decided under the same lock: whoever adds a job later
// finds it asleep.
std::optional<JobNode::Taken> JobNode::take_next(Pool& pool, std::uint32_t index) {
  Rest rest;
  std::optional<std::uint32_t> helper;
  std::optional<Taken> taken;
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[index];
    const bool stops = stopping_.stop_requested();
    if (instance.unsettled > kMostUnsettled && !stops) instance.is_ahead = true;
    const bool may_run =
        !stops && !pool.is_paused && instance.may_run() && instance.unsettled <= kMostUnsettled;
    const bool has_lease = shared_ == nullptr || shared_->has_lease(instance.holder);
    const Time moment = clock_.now();  // what rests when choose() looks rests by this one, too
    const WallTime now = lane_now(pool);
    std::uint32_t home = index;
    std::optional<WaitingJob> job;
    if (may_run && has_lease) std::tie(job, home) = choose(pool, index, now);
    Duration pause{};  // then it looks again, whatever there is; others would have to rest, too
    if (job) {
      taken = begin(pool, instance, home, *job, now);
      if (home != index) see_to(pool, pool.instances[home], now);
    } else {
      rest = go_to_sleep(pool, instance);
      if (may_run) pause = has_lease ? instance.rests_until - moment : kPauseWithoutLease;
    }
    if (pause > Duration::zero()) {
      set_alarm(pool, instance, now + std::chrono::ceil<WallTime::duration>(pause), now);
    } else {
      see_to(pool, instance, now);
      helper = look_for_help(pool, now);
    }
  }
  call(pool, helper);
  if (rest.is_empty) tell_empty(pool, index, rest.processed);
  return taken;
}

JobNode::Taken JobNode::begin(Pool& pool, Instance& instance, std::uint32_t home,
                              const WaitingJob& job, WallTime now) {
  pool.mutex.is_held();
  Instance& from = pool.instances[home];
  const bool is_careful = from.careful > 0;
  if (is_careful) --from.careful;
  ++from.owed;
  if (shared_ != nullptr) pool.taken[job.seq] = {home, from.term, job.version};
  instance.running = job.seq;
  instance.running_home = home;
  instance.was_busy = true;
  instance.started_at = now;
  instance.cancelling = std::stop_source();
  if (pool.setup.isolation == JobIsolation::process) instance.killing = std::stop_source();
  instance.kill_at = Time::max();
  instance.is_cancelled = false;
  instance.is_timed_out = false;
  instance.begun = clock_.now();
  instance.progress = {};
  return {.job = job,
          .index = instance.index,
          .home = home,
          .runner = instance.runner,
          .term = from.term,
          .holder = from.holder,
          .is_careful = is_careful,
          .stop = instance.cancelling.get_token(),
          .kill = instance.killing.get_token(),
          .started_at = now};
}

// Of its own lane or another's. A job that its key's limit holds up waits in front of its
// partition.
std::pair<std::optional<WaitingJob>, std::uint32_t> JobNode::choose(Pool& pool, std::uint32_t index,
                                                                    WallTime now) {
  pool.mutex.is_held();
  Instance& instance = pool.instances[index];
  const Time moment = clock_.now();
  if (pool.bucket) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): there is a bucket
    instance.rests_until = pool.bucket->next(*pool.setup.limits.pool, moment);
  }
  if (instance.rests_until > moment) return {std::nullopt, index};
  for (;;) {
    std::uint32_t home = index;
    std::optional<WaitingJob> job = instance.lane.take(now);
    if (!job) std::tie(job, home) = take_from_others(pool, index, now);
    if (!job) return {std::nullopt, index};
    if (pool.key_buckets && job->partition && !pool.key_buckets->take(*job->partition, moment)) {
      const Duration wait = pool.key_buckets->next(*job->partition, moment) - moment;
      job->run_at = now + std::chrono::ceil<WallTime::duration>(wait);
      job->is_put_off = true;
      pool.instances[home].lane.retry(*job);
      continue;
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): there is a bucket
    if (pool.bucket) (void)pool.bucket->take(*pool.setup.limits.pool, moment);
    return {job, home};
  }
}

// False: a limit or the store holds it up; the job waits and no attempt is counted. Or there is no
// such job: a database that has crashed may have forgotten some.
bool JobNode::get_ready(Pool& pool, Taken& taken) {
  std::string problem = "its instance was lost";
  try {
    if (const Limit limit = ask_limits(pool, taken); limit.wait > Duration::zero()) {
      put_off(pool, taken, limit);
      return false;
    }
    if (!read_body(pool, taken)) {
      MUSTER_LOG(LogLevel::error, "job " << taken.job.seq << " of \"" << pool.name
                                         << "\" is not in the store any more");
      forget(pool, taken);
      return false;
    }
    // Who has enqueued it may have gone by a clock that was a little ahead.
    taken.started_at = std::max(taken.started_at, taken.body.enqueued_at);
    store_->note_running(taken.runner, taken.job.seq);
    if (taken.is_careful) shared_->confirm_running();
    if (shared_ == nullptr || shared_->has_lease(taken.holder)) return true;
    store_->note_running(taken.runner, 0);
  } catch (const StoreFailure& failure) {
    store_->note_running(taken.runner, 0);
    problem = failure.what();
  }
  MUSTER_LOG(LogLevel::error,
             "job " << taken.job.seq << " of \"" << pool.name << "\" has to wait: " << problem);
  put_off(pool, taken, {.wait = kPauseUnread});
  return false;
}

// Those that all nodes share. A token that was taken for a key is lost if the pool has none: then
// the key waits a little longer than it had to.
JobNode::Limit JobNode::ask_limits(const Pool& pool, const Taken& taken) {
  const JobRateLimits& limits = pool.setup.limits;
  if (shared_ == nullptr || limits.scope == JobRateLimits::Scope::node) return {};
  const std::string name = "pool " + std::to_string(pool.number);
  if (limits.key && taken.job.partition) {
    const std::string key = name + " key " + std::to_string(*taken.job.partition);
    const Duration wait = shared_->take_token(key, *limits.key);
    if (wait > Duration::zero()) return {.wait = wait};
  }
  if (!limits.pool) return {};
  return {.wait = shared_->take_token(name, *limits.pool), .whom = Limit::Whom::all};
}

// With those of the jobs that come next.
bool JobNode::read_body(Pool& pool, Taken& taken) {
  std::vector<JobSeq> seqs{taken.job.seq};
  {
    const MutexLock lock(pool.mutex);
    Instance& home = pool.instances[taken.home];
    if (const auto found = home.bodies.find(taken.job.seq); found != home.bodies.end()) {
      taken.body = std::move(found->second);
      home.bodies.erase(found);
      pool.instances[taken.index].running_id = taken.body.id;
      return true;
    }
    if (home.term == taken.term && home.bodies.size() < kReadAhead) {
      for (const JobSeq seq : home.lane.upcoming(kReadAhead)) {
        if (!home.bodies.contains(seq)) seqs.push_back(seq);
      }
    }
  }
  std::vector<JobBody> bodies = store_->read(seqs, kSmallEvent);
  if (bodies.empty() || bodies.front().seq != taken.job.seq) return false;
  taken.body = std::move(bodies.front());
  const MutexLock lock(pool.mutex);
  pool.instances[taken.index].running_id = taken.body.id;
  Instance& home = pool.instances[taken.home];
  for (std::size_t i = 1; i < bodies.size(); ++i) {
    if (home.lane.contains(bodies[i].seq)) home.bodies[bodies[i].seq] = std::move(bodies[i]);
  }
  return true;
}

void JobNode::forget(Pool& pool, const Taken& taken) {
  {
    const MutexLock lock(pool.mutex);
    pool.instances[taken.index].running = 0;
    Instance& home = pool.instances[taken.home];
    if (home.term == taken.term) {
      --home.owed;
      pool.taken.erase(taken.job.seq);
      home.lane.finish(taken.job);
    }
  }
  pool.changed.notify_all();
  if (taken.home != taken.index) wake(pool, taken.home);
}

void JobNode::put_off(Pool& pool, Taken& taken, const Limit& limit) {
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[taken.index];
    instance.running = 0;
    if (limit.whom == Limit::Whom::all) instance.rests_until = clock_.now() + limit.wait;
    Instance& home = pool.instances[taken.home];
    if (home.term == taken.term) {
      --home.owed;
      pool.taken.erase(taken.job.seq);
      if (taken.is_careful) ++home.careful;
      taken.job.run_at = lane_now(pool) + std::chrono::ceil<WallTime::duration>(limit.wait);
      taken.job.is_put_off = true;
      home.lane.retry(taken.job);
    }
  }
  pool.changed.notify_all();
  if (taken.home != taken.index) wake(pool, taken.home);  // to set an alarm
}

// What another has too much of, and need not run itself.
std::pair<std::optional<WaitingJob>, std::uint32_t> JobNode::take_from_others(Pool& pool,
                                                                              std::uint32_t index,
                                                                              WallTime now) {
  pool.mutex.is_held();
  Instance* richest = nullptr;
  for (Instance& other : pool.instances) {
    if (other.index == index || !other.may_run() || !other.lane.has_to_give(now)) continue;
    if (richest == nullptr || other.lane.size() > richest->lane.size()) richest = &other;
  }
  if (richest == nullptr) return {std::nullopt, index};
  return {richest->lane.give_away(now), richest->index};
}

// By a worker process. What it enqueues was checked there.
JobNode::Ended JobNode::execute_isolated(Pool& pool, const Taken& taken) {
  JobOrder order{.pool = pool.name,
                 .id = taken.body.id,
                 .event = taken.body.event,
                 .key = taken.body.key,
                 .attempt = taken.job.attempts + 1U,
                 .enqueued_at = taken.body.enqueued_at,
                 .started_at = taken.started_at,
                 .instance = taken.index,
                 .board = isolated_->board(),
                 .place = taken.runner};
  {
    const MutexLock lock(pool.mutex);
    const Instance& instance = pool.instances[taken.index];
    order.processed = instance.processed + instance.unsettled;
    order.pending = instance.lane.size();
  }
  JobReport report = isolated_->run(
      order, {.stop = taken.stop, .kill = taken.kill, .timeout = pool.setup.timeout});
  Ended ended{.outcome = std::move(report.outcome), .result = std::move(report.result)};
  if (!report.log.empty()) ended.log = storable(report.log);
  try {
    for (auto& [name, job] : report.enqueued) {
      ended.enqueued.push_back(new_job(this->pool(name), std::move(job), wall_now()));
    }
  } catch (const InvalidArgument& error) {  // it goes by other pools than this process
    ended = {.outcome = {.failure = FailureKind::error, .what = error.what()}};
  }
  ended.is_handed_back = ended.outcome.failure && stopping_.stop_requested();
  return ended;
}

JobNode::Ended JobNode::execute(Pool& pool, const Taken& taken) {
  if (isolated_ != nullptr && pool.setup.isolation == JobIsolation::process) {
    return execute_isolated(pool, taken);
  }
  Ended ended;
  Context context(*this, pool, taken);
  try {
    pool.setup.execute(context, taken.body.event);
  } catch (const UnreadableEvent& error) {
    ended.outcome = {
        .failure = FailureKind::error, .what = storable(error.what()), .is_retryable = false};
    ended.exception = std::current_exception();
  } catch (...) {
    ended.outcome = {.failure = FailureKind::error, .what = thrown_words()};
    ended.exception = std::current_exception();
  }
  if (!context.lines.empty()) ended.log = storable(context.lines);
  if (!ended.outcome.failure) {
    ended.result = std::move(context.result);
    ended.enqueued = std::move(context.enqueued);
  }
  if (ended.outcome.failure) {
    const MutexLock lock(pool.mutex);
    if (pool.instances[taken.index].is_timed_out) ended.outcome.failure = FailureKind::timeout;
  }
  ended.is_handed_back = ended.outcome.failure && stopping_.stop_requested();
  return ended;
}

void JobNode::tell_empty(const Pool& pool, std::uint32_t index, std::uint64_t processed) const {
  if (!pool.setup.on_empty) return;
  try {
    pool.setup.on_empty({.instance_index = index, .processed = processed});
  } catch (...) {
    MUSTER_LOG(LogLevel::error, "on_empty of \"" << pool.name << "\": " << thrown_words());
  }
}

}  // namespace muster
