// node_clients.cpp: what clients ask of a node.
#include <algorithm>
#include <thread>
#include <utility>

#include "jobs/isolation.hpp"
#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"

namespace muster {
namespace {

// For another node to answer, and how often it is looked for.
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::chrono::milliseconds kLookSeldom{200};

void check_index(const JobPoolState& pool, std::uint32_t index) {
  if (index < pool.concurrency) return;
  throw InvalidArgument(
      {"instance", std::to_string(index), "must be below " + std::to_string(pool.concurrency)});
}

}  // namespace

InstanceStatus JobNode::instance_status(const Pool& pool, std::uint32_t index) const {
  check_index(pool, index);
  return status_of(
      pool, index,
      shared_ != nullptr ? shared_->look(pool.number) : std::vector<SharedStore::Seen>{});
}

WaitingJobs JobNode::waiting(const Pool& pool, std::uint32_t index, const WaitingPage& page) const {
  check_index(pool, index);
  std::vector<JobSeq> seqs;
  const auto add = [&](const WaitingJob& job) {
    if (job.seq > page.after) seqs.push_back(job.seq);
  };
  bool is_here = false;
  {
    const MutexLock lock(pool.mutex);
    is_here = pool.instances[index].is_held;
    for (const WaitingJob& job : pool.instances[index].lane.list()) add(job);
  }
  if (!is_here) {
    const std::optional<std::string> id = instance_status(pool, index).current_job;
    const std::optional<JobRecord> running = id ? store_->find(pool.number, *id) : std::nullopt;
    store_->load_waiting(pool.number, [&](const JobRecord& record) {
      const WaitingJob job = waiting_job(record);
      const bool is_here_next = home_of(job, record.turn, pool.concurrency) == index;
      if (is_here_next && !(running && running->seq == job.seq)) add(job);
    });
  }
  const std::size_t count = std::min(seqs.size(), page.limit);
  const auto end = seqs.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(seqs, end);
  const bool has_more = seqs.size() > count;
  seqs.resize(count);
  WaitingJobs answer;
  for (const JobBody& body : store_->read(seqs, Store::kAnySize)) {
    const std::optional<JobRecord> job = store_->find(pool.number, body.id);
    answer.jobs.push_back({.id = body.id,
                           .enqueued_at = body.enqueued_at,
                           .priority = job ? job->priority : 0,
                           .partition_key = body.key});
  }
  if (has_more && count > 0) answer.next = seqs.back();
  return answer;
}

void JobNode::set_paused(Pool& pool, std::optional<std::uint32_t> index, bool is_paused) {
  GroupCommit::Request request;
  request.batch.pauses.push_back({.pool = pool.number,
                                  .index = index,
                                  .is_paused = is_paused,
                                  .concurrency = pool.concurrency});
  if (index) check_index(pool, *index);
  commits_->run(request);
  // What another node has paused meanwhile is known by the store only.
  if (shared_ != nullptr) call_others();
  if (is_paused) return;
  for (std::uint32_t each = 0; each < pool.concurrency; ++each) wake(pool, each);
}

JobCancelOutcome JobNode::cancel(Pool& pool, std::string_view id, const JobCancelOptions& options) {
  const std::optional<JobRecord> found = store_->find(pool.number, id);
  if (!found) return JobCancelOutcome::not_found;
  if (found->state != JobState::available) return JobCancelOutcome::already_completed;
  if (const auto outcome = cancel_here(pool, found->seq)) return *outcome;
  const bool is_ours = [&] {
    const MutexLock lock(pool.mutex);
    return shared_ == nullptr || pool.taken.contains(found->seq);
  }();
  // Also if it is on its way to a lane of ours.
  if (!is_ours) return cancel_elsewhere(pool, *found, options);
  // Run, or about to be settled: the store does not know yet.
  if (options.stop_running) stop_running(pool, found->seq);
  return JobCancelOutcome::already_processing;
}

// If it fails now, it is cancelled.
void JobNode::stop_running(Pool& pool, JobSeq seq) const {
  std::vector<std::stop_source> stops;
  {
    const MutexLock lock(pool.mutex);
    for (Instance& instance : pool.instances) {
      if (instance.running != seq) continue;
      instance.is_cancelled = true;
      instance.kill_at = std::min(instance.kill_at, clock_.now() + pool.setup.kill_after);
      stops.push_back(instance.cancelling);
    }
  }
  request_all(stops);
}

// Without a lock: what handlers have asked to be called then may want it.
void JobNode::request_all(const std::vector<std::stop_source>& stops) {
  for (const std::stop_source& stop : stops) stop.request_stop();
}

// Nothing: it does not wait here.
std::optional<JobCancelOutcome> JobNode::cancel_here(Pool& pool, JobSeq seq) {
  std::optional<WaitingJob> held;
  std::uint32_t home = 0;
  std::uint64_t term = 0;
  NodeNumber holder = 0;
  {
    const MutexLock lock(pool.mutex);
    for (Instance& instance : pool.instances) {
      held = instance.lane.hold(seq);
      home = instance.index;
      if (!held) continue;
      ++instance.owed;
      term = instance.term;
      holder = instance.holder;
      if (shared_ != nullptr) pool.taken[seq] = {home, term, held->version};
      break;
    }
    if (!held) return std::nullopt;
  }
  GroupCommit::Request request;
  request.batch.verdicts.push_back({.seq = seq, .at = wall_now(), .holder = holder});
  try {
    commits_->run(request);
  } catch (...) {
    let_wait(pool, home, term, seq);
    throw;
  }
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[home];
    if (instance.term == term) {
      --instance.owed;
      (void)instance.lane.remove(seq);
    }
    instance.bodies.erase(seq);
    if (shared_ != nullptr) pool.forgotten_next.emplace_back(seq, term);
  }
  pool.changed.notify_all();
  wake(pool, home);  // its partition may go on
  return request.batch.judged.front() ? JobCancelOutcome::cancelled
                                      : JobCancelOutcome::already_completed;
}

// By whoever holds its instance; if nobody does, by us.
JobCancelOutcome JobNode::cancel_elsewhere(Pool& pool, const JobRecord& job,
                                           const JobCancelOptions& options) {
  const std::uint32_t home = home_of(waiting_job(job), job.turn, pool.concurrency);
  const InstancePlace place{pool.number, home};
  const Time deadline = real_clock().now() + kPatience;
  bool is_asked = false;
  for (;;) {
    if (shared_->cancel_unheld(place, {.seq = job.seq, .at = wall_now()})) {
      return JobCancelOutcome::cancelled;
    }
    const bool is_decided = is_asked && shared_->wish(job.seq) == SharedStore::Wish::none;
    const std::optional<JobRecord> now = store_->find(pool.number, job.id);
    if (now && now->state == JobState::cancelled) return JobCancelOutcome::cancelled;
    if (!now || now->state != JobState::available) return JobCancelOutcome::already_completed;
    if (is_decided) return JobCancelOutcome::already_processing;
    if (!is_asked) shared_->wish_cancelled({.seq = job.seq, .stops = options.stop_running});
    is_asked = true;
    if (real_clock().now() >= deadline) {
      shared_->drop_wish(job.seq);
      throw StoreFailure({.attempt = "cancel job \"" + job.id + "\"",
                          .reason = "the node that has it does not answer",
                          .advice = "try again when its lease is over"});
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

// What was not cancelled after all, in its place; unless it is others' by now.
void JobNode::let_wait(Pool& pool, std::uint32_t home, std::uint64_t term, JobSeq seq) {
  {
    const MutexLock lock(pool.mutex);
    if (pool.instances[home].term != term) return;
    --pool.instances[home].owed;
    pool.taken.erase(seq);
    pool.instances[home].lane.release(seq);
  }
  wake(pool, home);
}

// A dead letter that is replayed; its place in its partition is lost until the next start.
void JobNode::put_back(Pool& pool, std::uint32_t home, const WaitingJob& job) {
  {
    const MutexLock lock(pool.mutex);
    pool.taken.erase(job.seq);
    pool.instances[home].lane.add(for_lane(job));
  }
  wake(pool, home);
}

DrainOutcome JobNode::drain(Pool& pool, const DrainOptions& options, Time deadline) {
  if (options.index) check_index(pool, *options.index);
  if (options_.mode != JobsMode::threads) {
    (void)run_due();
    deadline = Time::min();  // nobody else would do it
  }
  if (shared_ == nullptr) return drain_here(pool, options, deadline);
  const bool looks_at_each = options.index || options.delayed == DelayedJobs::leave_out;
  for (;;) {
    DrainOutcome outcome = drain_here(pool, options, deadline);
    if (outcome == DrainOutcome::drained) outcome = drained_elsewhere(pool, options);
    if (outcome != DrainOutcome::timed_out) return outcome;
    if (real_clock().now() >= deadline) return DrainOutcome::timed_out;
    std::this_thread::sleep_for(looks_at_each ? kLookSeldom : kLookAgain);
  }
}

// Whether anything of it waits or runs, wherever, as the store says. What could be begun now is
// what could be taken if all of it stood in one lane.
bool JobNode::has_work_elsewhere(const Pool& pool, const DrainOptions& options) {
  const bool leaves_out = options.delayed == DelayedJobs::leave_out;
  if (!options.index && !leaves_out) return shared_->has_available(pool.number);
  bool has_any = false;
  Lane lane(pool.setup.order);
  if (leaves_out && pool.setup.when_dead == DeadLetterEffect::block) {
    each_dead_letter(*store_, pool.number, [&lane](const Store::FoundLetter& found) {
      const std::optional<std::string>& key = found.letter.partition_key;
      if (key) lane.block(partition_hash(*key), found.seq);
    });
  }
  store_->load_waiting(pool.number, [&](const JobRecord& record) {
    const WaitingJob job = waiting_job(record);
    if (options.index && home_of(job, record.turn, pool.concurrency) != *options.index) return;
    has_any = true;
    if (leaves_out) lane.add(job);
  });
  return leaves_out ? lane.has_due(wall_now()) : has_any;
}

// Paused: as others said last, nothing of it is run.
DrainOutcome JobNode::drained_elsewhere(const Pool& pool, const DrainOptions& options) {
  if (!has_work_elsewhere(pool, options)) return DrainOutcome::drained;
  const std::vector<SharedStore::Seen> seen = shared_->look(pool.number);
  const bool is_paused = std::ranges::all_of(seen, [&](const SharedStore::Seen& each) {
    const std::uint32_t number = each.figures.place.index;
    if (number >= pool.concurrency || (options.index && number != *options.index)) return true;
    return each.is_paused && !each.figures.current_job;
  });
  return is_paused ? DrainOutcome::paused : DrainOutcome::timed_out;
}

DrainOutcome JobNode::drain_here(Pool& pool, const DrainOptions& options, Time deadline) {
  const MutexLock lock(pool.mutex);
  const auto waits = [&](Instance& instance) {
    pool.mutex.is_held();
    return options.delayed == DelayedJobs::leave_out ? instance.lane.has_due(lane_now(pool))
                                                     : instance.lane.size() > 0;
  };
  const auto is_quiet = [](const Instance& instance) {
    return instance.running == 0 && instance.unsettled == 0;
  };
  const auto is_busy = [&](Instance& instance) {
    if (options.index && instance.index != *options.index) return false;
    return !is_quiet(instance) || waits(instance);
  };
  const auto is_held = [&](Instance& instance) {
    pool.mutex.is_held();
    return (pool.is_paused || instance.is_paused) && is_quiet(instance) && waits(instance);
  };
  const auto has_pending = [&] {
    pool.mutex.is_held();
    return !pool.pending.empty();
  };
  while (has_pending() || std::ranges::any_of(pool.instances, is_busy)) {
    const bool only_held =
        !has_pending() && std::ranges::all_of(pool.instances, [&](Instance& instance) {
          return !is_busy(instance) || is_held(instance);
        });
    if (only_held) return DrainOutcome::paused;
    const auto has_to_run = [&](Instance& instance) {
      return is_busy(instance) && (instance.running != 0 || waits(instance));
    };
    if (std::ranges::none_of(pool.instances, has_to_run)) commits_->settle_soon();
    const bool is_over = stopping_.stop_requested() && !has_pending() &&
                         std::ranges::all_of(pool.instances, is_quiet);
    if (is_over) return DrainOutcome::paused;
    if (!wait_changed(pool, deadline)) return DrainOutcome::timed_out;
  }
  return DrainOutcome::drained;
}

// One more than asked for, to see whether there are more.
JobDeadLetters JobNode::dead_letters(const Pool& pool, const DeadLetterPage& page) const {
  constexpr std::size_t kMost = 1'000'000;
  const std::size_t limit = std::min(page.limit, kMost);
  std::vector<Store::FoundLetter> found =
      store_->dead_letters(pool.number, {.after = page.after, .limit = limit + 1});
  JobDeadLetters answer;
  if (found.size() > limit) {
    found.pop_back();
    answer.next = found.empty() ? 0 : found.back().seq;
  }
  for (Store::FoundLetter& each : found) answer.letters.push_back(std::move(each.letter));
  return answer;
}

// From dead to available (replayed) or cancelled (discarded). False: it is not dead.
bool JobNode::judge_dead(Pool& pool, std::string_view id, JobState to) {
  const std::optional<JobRecord> found = store_->find(pool.number, id);
  if (!found || found->state != JobState::dead) return false;
  GroupCommit::Request request;
  const WallTime now = wall_now();
  request.batch.verdicts.push_back(
      {.seq = found->seq, .from = JobState::dead, .to = to, .at = now});
  commits_->run(request);
  if (!request.batch.judged.front()) return false;
  if (pool.setup.when_dead == DeadLetterEffect::block && found->key) {
    unblock(pool, *found, to == JobState::available);
    return true;
  }
  if (to != JobState::available) return true;
  if (shared_ != nullptr) {
    shared_->call();  // whoever holds its instance finds it
    return true;
  }
  WaitingJob job = waiting_job(*found);
  job.run_at = job.due = now;
  job.attempts = 0;
  put_back(pool, home_of(job, found->turn, pool.concurrency), job);
  return true;
}

// Its partition goes on: with the job itself if it is replayed. On another node it is unblocked
// when that finds the job, or looks for dead letters again.
void JobNode::unblock(Pool& pool, const JobRecord& record, bool is_replayed) {
  WaitingJob job = waiting_job(record);
  job.run_at = job.due = wall_now();
  job.attempts = 0;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): or it would not block
  const PartitionHash partition = *job.partition;
  const std::uint32_t home = home_of(job, record.turn, pool.concurrency);
  {
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[home];
    // In a shared store a job that is replayed comes with the next poll.
    if (instance.is_held && !is_replayed) {
      instance.lane.unblock(partition, job.seq, std::nullopt);
    }
    if (shared_ == nullptr && is_replayed) {
      instance.lane.unblock(partition, job.seq, for_lane(job));
    }
  }
  wake(pool, home);
  if (shared_ != nullptr) shared_->call();
}

Store::Remains JobNode::remains(Pool& pool, std::string_view id) const {
  const std::optional<JobRecord> found = store_->find(pool.number, id);
  return found ? store_->remains(found->seq) : Store::Remains{};
}

}  // namespace muster
