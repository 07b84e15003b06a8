// node_enqueue.cpp: how jobs come into a node.
#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include <muster/base/utf8.hpp>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"
#include "jobs/thrown.hpp"

namespace muster {
namespace {

constexpr std::size_t kMostIdBytes = 512;

// Jobs in memory only; who wants more has to wait.
constexpr std::size_t kMostPending = 100'000;
constexpr std::chrono::hours kMostDuration{10 * 365 * 24};

void check_word(const char* field, const std::string& word, std::vector<BadField>& bad) {
  if (word.empty()) {
    bad.push_back({field, "empty", "must be 1 to 512 bytes of UTF-8"});
  } else if (word.size() > kMostIdBytes) {
    bad.push_back({field,
                   to_utf8(word.substr(0, 40)) + "... of " + std::to_string(word.size()) + " bytes",
                   "must be 1 to 512 bytes of UTF-8"});
  } else if (!is_utf8(word)) {
    bad.push_back({field, to_utf8(word), "must be 1 to 512 bytes of UTF-8"});
  } else if (word.find('\0') != std::string::npos) {
    bad.push_back({field, storable(word), "must have no zero bytes"});
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
  if (job.run_at && job.delay) bad.push_back({"delay", "set", "must not be, beside run_at"});
  const auto check_duration = [&bad](const char* field, const std::optional<Duration>& duration) {
    if (!duration || (*duration >= Duration::zero() && *duration <= kMostDuration)) return;
    bad.push_back(
        {field, std::to_string(duration->count()) + " ns", "must be from 0 to ten years"});
  };
  check_duration("delay", job.delay);
  check_duration("unique_for", job.unique_for);
  if (job.event.size() > most_bytes) {
    bad.push_back({"event", std::to_string(job.event.size()) + " bytes as JSON",
                   "must have at most " + std::to_string(most_bytes) + " (max_event_bytes)"});
  }
  return bad;
}

}  // namespace

void JobNode::check(const Pool& pool, const EncodedJob& job) {
  std::vector<BadField> bad = problems_of(job, pool.setup.max_event_bytes);
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  const std::type_info* const type = pool.setup.event_type;
  const bool is_foreign = job.event_type != nullptr && type != nullptr && *job.event_type != *type;
  if (is_foreign) pool.setup.check_event(job.event);
}

NewJob JobNode::new_job(Pool& pool, EncodedJob job, WallTime now) {
  NewJob made = make_job(pool, std::move(job), now);
  const MutexLock lock(pool.mutex);
  take_turns(pool, std::span(&made, 1));
  return made;
}

void JobNode::take_turns(Pool& pool, std::span<NewJob> jobs) {
  pool.mutex.is_held();
  for (NewJob& job : jobs) {
    if (!job.key) job.turn = pool.turn++;
  }
}

// Without its turn.
NewJob JobNode::make_job(const Pool& pool, EncodedJob job, WallTime now) const {
  check(pool, job);
  const Duration known = std::max(options_.retention.ids, options_.retention.completed);
  if (job.unique_for && *job.unique_for > known) {
    throw InvalidArgument({"unique_for", std::to_string(job.unique_for->count()) + " ns",
                           "must be at most as long as ids are kept (keep_ids): " +
                               std::to_string(known.count()) + " ns"});
  }
  const auto in = [now](Duration delay) {
    return now + std::chrono::duration_cast<WallTime::duration>(delay);
  };
  NewJob made{.pool = pool.number,
              .id = std::move(job.id),
              .key = std::move(job.partition_key),
              .priority = static_cast<std::int16_t>(job.priority),
              .enqueued_at = now,
              .run_at = job.delay ? in(*job.delay) : job.run_at.value_or(now),
              .event = std::move(job.event)};
  if (job.unique_for) made.replaces_before = in(-*job.unique_for);
  return made;
}

// How many jobs each instance has in front of one that comes now.
std::vector<std::size_t> JobNode::ahead_of_new(const Pool& pool) {
  pool.mutex.is_held();
  std::vector<std::size_t> ahead;
  ahead.reserve(pool.instances.size());
  for (const Instance& instance : pool.instances) {
    ahead.push_back(instance.lane.size() + (instance.running != 0 ? 1 : 0));
  }
  return ahead;
}

// Takes the jobs' ids.
void JobNode::fill_in(const Pool& pool, std::span<NewJob> jobs, std::span<const Inserted> inserted,
                      std::vector<std::size_t> ahead, EnqueueManyResult& answer) {
  const auto instances = static_cast<std::uint32_t>(ahead.size());
  answer.results.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EnqueueResult& result = answer.results.emplace_back();
    result.job_id = std::move(jobs[i].id);
    result.created = inserted[i].created;
    const std::optional<std::string>& key = jobs[i].key;
    result.instance_index = key ? instance_of(partition_hash(*key), instances)
                                : instance_of_turn(inserted[i].turn, instances);
    result.instance_id = pool.instance_id(result.instance_index);
    result.position = ahead[result.instance_index];
    ahead[result.instance_index] += inserted[i].created ? 1 : 0;
    ++(inserted[i].created ? answer.enqueued : answer.duplicates);
  }
}

EnqueueManyResult JobNode::enqueue(Pool& pool, std::vector<EncodedJob> jobs,
                                   Durability durability) {
  EnqueueManyResult answer;
  if (jobs.empty()) return answer;
  GroupCommit::Request request;
  request.durability = durability;
  const WallTime now = wall_now();
  request.batch.jobs.reserve(jobs.size());
  for (EncodedJob& job : jobs) request.batch.jobs.push_back(make_job(pool, std::move(job), now));
  const bool may_wait = durability == Durability::memory && shared_ == nullptr;
  bool is_noted = false;
  std::vector<std::size_t> ahead;
  {
    const MutexLock lock(pool.mutex);
    take_turns(pool, request.batch.jobs);
    ahead = ahead_of_new(pool);
    if (!may_wait) is_noted = note_pending(pool, request.batch.jobs);
  }
  if (may_wait) {
    if (enqueue_soon(pool, request.batch.jobs, request.batch.inserted)) {
      fill_in(pool, request.batch.jobs, request.batch.inserted, std::move(ahead), answer);
      return answer;
    }
    const MutexLock lock(pool.mutex);
    is_noted = note_pending(pool, request.batch.jobs);
  }
  try {
    commits_->run(request);
  } catch (...) {
    forget_pending(pool, request.batch.jobs, is_noted);
    throw;
  }
  if (!is_noted) forget_pending(pool, {}, false);  // else on_committed() has
  fill_in(pool, request.batch.jobs, request.batch.inserted, std::move(ahead), answer);
  run_as_enqueued();
  return answer;
}

// False: those who enqueue in memory do not have to know yet. If somebody else has one of the ids
// on its way, he comes first: he may have said already that it is his.
bool JobNode::note_pending(Pool& pool, std::span<const NewJob> jobs) {
  pool.mutex.is_held();
  if (!pool.notes_pending.load(relaxed)) {  // relaxed: is set under the same lock
    pool.unnoted.fetch_add(1, relaxed);     // relaxed: is read under the same lock
    return false;
  }
  const auto is_pending = [&](const NewJob& job) {
    pool.mutex.is_held();
    return pool.pending.contains(job.id);
  };
  while (std::ranges::any_of(jobs, is_pending)) pool.changed.wait(pool.mutex);
  for (const NewJob& job : jobs) pool.pending.insert(job.id);
  return true;
}

void JobNode::forget_pending(Pool& pool, std::span<const NewJob> jobs, bool was_noted) {
  if (!was_noted) {
    pool.unnoted.fetch_sub(1, release);  // sync(unnoted): pairs with the load in enqueue_soon()
    return;
  }
  {
    const MutexLock lock(pool.mutex);
    for (const NewJob& job : jobs) pool.pending.erase(job.id);
  }
  pool.changed.notify_all();
}

// What a job that has ended enqueues, until that is in the store. As above, whoever has said that
// an id is his comes first.
void JobNode::note_handed(std::span<const NewJob> jobs) {
  for (const NewJob& job : jobs) {
    Pool& pool = pool_of(job.pool);
    const MutexLock lock(pool.mutex);
    while (pool.pending.contains(job.id)) pool.changed.wait(pool.mutex);
    ++pool.handed;
  }
}

void JobNode::forget_handed(std::span<const NewJob> jobs) {
  for (const NewJob& job : jobs) {
    Pool& pool = pool_of(job.pool);
    const MutexLock lock(pool.mutex);
    --pool.handed;
  }
}

// Without waiting for the store to write it: it is asked whether the ids are free, and nobody else
// has them on their way there. False: that cannot be said without waiting.
bool JobNode::enqueue_soon(Pool& pool, std::vector<NewJob>& jobs, std::vector<Inserted>& inserted) {
  std::unordered_set<std::string_view> ids;
  for (const NewJob& job : jobs) {
    if (job.replaces_before || !ids.insert(job.id).second) return false;
  }
  {
    const MutexLock lock(pool.mutex);
    pool.notes_pending.store(true, relaxed);  // relaxed: under the lock
    const auto is_pending = [&](const NewJob& job) {
      pool.mutex.is_held();
      return pool.pending.contains(job.id);
    };
    const bool is_full = pool.pending.size() + jobs.size() > kMostPending;
    // sync(unnoted): what they have enqueued is in the store then.
    const bool others_come = pool.unnoted.load(acquire) > 0 || pool.handed > 0;
    if (is_full || others_come || std::ranges::any_of(jobs, is_pending)) return false;
    for (const NewJob& job : jobs) pool.pending.insert(job.id);
  }
  auto request = std::make_unique<GroupCommit::Request>();
  request->durability = Durability::written;
  std::vector<NewJob> taken;
  try {
    for (const NewJob& job : jobs) {
      const std::optional<JobRecord> found = store_->find(pool.number, job.id);
      inserted.push_back({.seq = found ? found->seq : 0,
                          .created = !found,
                          .turn = found ? found->turn : job.turn});
      (found ? taken : request->batch.jobs).push_back(job);
    }
  } catch (...) {
    forget_pending(pool, jobs, true);
    throw;
  }
  forget_pending(pool, taken, true);
  if (!request->batch.jobs.empty()) commits_->post(std::move(request));
  return true;
}

EnqueueManyResult JobNode::enqueue_with(Pool& pool, pg_conn* connection,
                                        std::vector<EncodedJob> jobs) {
  std::vector<NewJob> made;
  made.reserve(jobs.size());
  const WallTime now = wall_now();
  for (EncodedJob& job : jobs) made.push_back(new_job(pool, std::move(job), now));
  EnqueueManyResult answer;
  const std::vector<Inserted> inserted = store_->insert_with(connection, made);
  std::vector<std::size_t> ahead;
  {
    const MutexLock lock(pool.mutex);
    ahead = ahead_of_new(pool);
  }
  fill_in(pool, made, inserted, std::move(ahead), answer);
  return answer;
}

}  // namespace muster
