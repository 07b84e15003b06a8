// node_clients.cpp: what clients ask of a node.
#include <algorithm>
#include <limits>
#include <utility>

#include <muster/base/utf8.hpp>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"

namespace muster {
namespace {

constexpr std::size_t kMostIdBytes = 512;

void check_word(const char* field, const std::string& word, std::vector<BadField>& bad) {
  if (word.empty()) {
    bad.push_back({field, "empty", "must be 1 to 512 bytes of UTF-8"});
  } else if (word.size() > kMostIdBytes) {
    bad.push_back({field,
                   to_utf8(word.substr(0, 40)) + "... of " + std::to_string(word.size()) + " bytes",
                   "must be 1 to 512 bytes of UTF-8"});
  } else if (!is_utf8(word)) {
    bad.push_back({field, to_utf8(word), "must be 1 to 512 bytes of UTF-8"});
  }
}

std::vector<BadField> problems_of(const EncodedJob& job, std::size_t most_bytes) {
  std::vector<BadField> bad;
  check_word("id", job.id, bad);
  if (job.partition_key) check_word("partition_key", *job.partition_key, bad);
  using Limits = std::numeric_limits<std::int16_t>;
  if (job.priority < Limits::min() || job.priority > Limits::max()) {
    bad.push_back({"priority", std::to_string(job.priority), "must be from -32768 to 32767"});
  }
  if (job.event.size() > most_bytes) {
    bad.push_back({"event", std::to_string(job.event.size()) + " bytes as JSON",
                   "must have at most " + std::to_string(most_bytes) + " (max_event_bytes)"});
  }
  return bad;
}

}  // namespace

NewJob JobNode::new_job(Pool& pool, EncodedJob job) {
  std::vector<BadField> bad = problems_of(job, pool.setup.max_event_bytes);
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  const WallTime now = wall_now();
  NewJob made{.pool = pool.number,
              .id = std::move(job.id),
              .key = std::move(job.partition_key),
              .priority = static_cast<std::int16_t>(job.priority),
              .enqueued_at = now,
              .run_at = job.run_at.value_or(now),
              .event = std::move(job.event)};
  if (!made.key) {
    const MutexLock lock(pool.mutex);
    made.turn = pool.turn++;
  }
  return made;
}

EnqueueManyResult JobNode::enqueue(Pool& pool, std::vector<EncodedJob> jobs,
                                   Durability durability) {
  EnqueueManyResult answer;
  if (jobs.empty()) return answer;
  GroupCommit::Request request;
  request.durability = durability;
  for (EncodedJob& job : jobs) {
    EnqueueResult& result = answer.results.emplace_back();
    result.job_id = job.id;
    request.batch.jobs.push_back(new_job(pool, std::move(job)));
  }
  std::vector<std::size_t> ahead;
  {
    const MutexLock lock(pool.mutex);
    for (const Instance& instance : pool.instances) {
      ahead.push_back(instance.lane.size() + (instance.running != 0 ? 1 : 0));
    }
  }
  const auto instances = static_cast<std::uint32_t>(ahead.size());
  commits_->run(request);
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const Inserted& inserted = request.batch.inserted[i];
    const NewJob& job = request.batch.jobs[i];
    EnqueueResult& result = answer.results[i];
    result.created = inserted.created;
    result.instance_index = job.key ? instance_of(partition_hash(*job.key), instances)
                                    : instance_of_turn(inserted.turn, instances);
    result.instance_id = pool.instance_id(result.instance_index);
    result.position = ahead[result.instance_index];
    ahead[result.instance_index] += inserted.created ? 1 : 0;
    ++(inserted.created ? answer.enqueued : answer.duplicates);
  }
  return answer;
}

JobPoolStatus JobNode::status(const Pool& pool) const {
  JobPoolStatus status{.concurrency = pool.setup.concurrency};
  for (std::uint32_t index = 0; index < pool.setup.concurrency; ++index) {
    const InstanceStatus& instance = status.instances.emplace_back(instance_status(pool, index));
    status.total_pending += instance.pending;
    status.total_processed += instance.processed;
  }
  const MutexLock lock(pool.mutex);
  status.total_dead = pool.dead;
  status.total_retries = pool.retries;
  return status;
}

InstanceStatus JobNode::instance_status(const Pool& pool, std::uint32_t index) const {
  const MutexLock lock(pool.mutex);
  if (index >= pool.instances.size()) {
    throw InvalidArgument({"instance", std::to_string(index),
                           "must be below " + std::to_string(pool.instances.size())});
  }
  const Instance& instance = pool.instances[index];
  InstanceStatus status{.index = index,
                        .instance_id = pool.instance_id(index),
                        .pending = instance.lane.size(),
                        .processed = instance.processed};
  if (instance.running != 0) {
    status.state = InstanceState::processing;
    status.current_job = instance.running_id;
    status.started_at = instance.started_at;
    status.progress = instance.progress;
  } else if (instance.is_paused || pool.is_paused) {
    status.state = InstanceState::paused;
  }
  return status;
}

std::vector<WaitingJobStatus> JobNode::waiting(const Pool& pool, std::uint32_t index,
                                               std::size_t limit) const {
  std::vector<WaitingJob> jobs;
  {
    const MutexLock lock(pool.mutex);
    jobs = pool.instances.at(index).lane.list();
  }
  std::ranges::sort(jobs, {}, &WaitingJob::seq);
  if (jobs.size() > limit) jobs.resize(limit);
  std::vector<JobSeq> seqs;
  for (const WaitingJob& job : jobs) seqs.push_back(job.seq);
  std::vector<WaitingJobStatus> answer;
  for (const JobBody& body : store_->read(seqs)) {
    const auto job = std::ranges::find(jobs, body.seq, &WaitingJob::seq);
    answer.push_back({.id = body.id, .enqueued_at = body.enqueued_at, .priority = job->priority});
  }
  return answer;
}

void JobNode::set_paused(Pool& pool, std::optional<std::uint32_t> index, bool is_paused) {
  GroupCommit::Request request;
  request.batch.pauses.push_back({.pool = pool.number, .index = index, .is_paused = is_paused});
  if (index && *index >= pool.setup.concurrency) {
    throw InvalidArgument({"instance", std::to_string(*index),
                           "must be below " + std::to_string(pool.setup.concurrency)});
  }
  commits_->run(request);
  {
    const MutexLock lock(pool.mutex);
    if (index) {
      pool.instances[*index].is_paused = is_paused;
    } else {
      pool.is_paused = is_paused;
      for (Instance& instance : pool.instances) instance.is_paused = false;
    }
  }
  pool.changed.notify_all();
  if (is_paused) return;
  for (std::uint32_t each = 0; each < pool.setup.concurrency; ++each) wake(pool, each);
}

JobCancelOutcome JobNode::cancel(Pool& pool, std::string_view id) {
  const std::optional<JobRecord> found = store_->find(pool.number, id);
  if (!found) return JobCancelOutcome::not_found;
  if (found->state != JobState::available) return JobCancelOutcome::already_completed;
  std::optional<WaitingJob> removed;
  std::uint32_t home = 0;
  {
    const MutexLock lock(pool.mutex);
    for (Instance& instance : pool.instances) {
      removed = instance.lane.remove(found->seq);
      home = instance.index;
      if (removed) break;
    }
    // Run, or about to be settled: the store does not know yet.
    if (!removed) return JobCancelOutcome::already_processing;
  }
  GroupCommit::Request request;
  request.batch.verdicts.push_back({.seq = found->seq, .at = wall_now()});
  try {
    commits_->run(request);
  } catch (const StoreFailure&) {
    put_back(pool, home, *removed);
    throw;
  }
  pool.changed.notify_all();
  wake(pool, home);  // its partition may go on
  return request.batch.judged.front() ? JobCancelOutcome::cancelled
                                      : JobCancelOutcome::already_completed;
}

// What was not cancelled after all; its place in its partition is lost until the next start.
void JobNode::put_back(Pool& pool, std::uint32_t home, const WaitingJob& job) {
  {
    const MutexLock lock(pool.mutex);
    pool.instances[home].lane.add(job);
  }
  wake(pool, home);
}

DrainOutcome JobNode::drain(Pool& pool, std::optional<std::uint32_t> index, Time deadline) {
  const MutexLock lock(pool.mutex);
  const auto is_busy = [&](const Instance& instance) {
    if (index && instance.index != *index) return false;
    return instance.running != 0 || instance.unsettled > 0 || instance.lane.size() > 0;
  };
  const auto is_held = [&](const Instance& instance) {
    pool.mutex.is_held();
    const bool is_paused = pool.is_paused || instance.is_paused;
    return is_paused && instance.lane.size() > 0 && is_busy(instance);
  };
  while (std::ranges::any_of(pool.instances, is_busy)) {
    const bool only_held = std::ranges::all_of(pool.instances, [&](const Instance& instance) {
      return !is_busy(instance) ||
             (is_held(instance) && instance.running == 0 && instance.unsettled == 0);
    });
    if (only_held) return DrainOutcome::paused;
    if (!wait_changed(pool, deadline)) return DrainOutcome::timed_out;
  }
  return DrainOutcome::drained;
}

std::vector<DeadLetter> JobNode::dead_letters(Pool& pool, std::size_t limit) const {
  std::vector<DeadLetter> letters;
  for (Store::FoundLetter& found : store_->dead_letters(pool.number, {.limit = limit})) {
    letters.push_back(std::move(found.letter));
  }
  return letters;
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
  if (to != JobState::available) return true;
  WaitingJob job{.seq = found->seq, .run_at = now, .priority = found->priority};
  if (found->key) job.partition = partition_hash(*found->key);
  const std::uint32_t index = job.partition ? instance_of(*job.partition, pool.setup.concurrency)
                                            : instance_of_turn(found->turn, pool.setup.concurrency);
  put_back(pool, index, job);
  return true;
}

std::optional<std::string> JobNode::result(Pool& pool, std::string_view id) const {
  const std::optional<JobRecord> found = store_->find(pool.number, id);
  return found ? store_->result(found->seq) : std::nullopt;
}

}  // namespace muster
