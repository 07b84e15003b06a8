// node_pool.hpp: what a node knows of a pool and its instances.
//
// Thread safety: as the members are grouped.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <muster/timer.hpp>

#include "jobs/job_figures.hpp"
#include "jobs/node.hpp"

namespace muster {

// One of a pool's lanes, and who runs it. Guarded by its pool's mutex.
struct JobInstance {
  explicit JobInstance(Time start) : figures(start) {}

  [[nodiscard]] bool may_run() const noexcept { return is_held && !is_leaving && !is_paused; }

  std::uint32_t index = 0;
  std::uint32_t runner = 0;  // its number for the store
  Lane lane;
  std::unordered_map<JobSeq, JobBody> bodies;  // of some that wait, to be had without the store
  bool is_held = true;                         // false: another node has it, or nobody
  bool is_leaving = false;                     // begins no more jobs, since others are to have it
  NodeNumber holder = 0;                       // as whom this node holds it
  std::uint64_t term = 0;                      // how often it was gained or lost
  std::size_t owed = 0;     // jobs of this lane that were taken, and the store does not know more
  std::size_t careful = 0;  // jobs to come that may have killed a node
  bool is_paused = false;
  bool is_awake = false;  // a task of the workers sees to it
  bool was_busy = false;  // since it was last empty
  std::uint64_t processed = 0;
  std::size_t unsettled = 0;           // have ended, and the store does not know yet
  bool is_ahead = false;               // too many are: it is woken when most are settled
  std::optional<WallTime> alarm = {};  // when it will be woken
  Timer timer;                         // for that
  Time rests_until{};                  // for a limit of the pool
  bool is_crowded = false;             // and that was told
  InstanceFigures figures;

  // The job at hand.
  JobSeq running = 0;  // 0: none
  std::uint32_t running_home = 0;
  std::string running_id = {};
  WallTime started_at{};
  std::stop_source cancelling;
  std::stop_source killing{std::nostopstate};  // its process, if it has one of its own
  Time kill_at = Time::max();
  bool is_cancelled = false;  // if it fails, that is the end of it
  bool is_timed_out = false;
  Time begun{};
  JobProgress progress = {};
};

// What on_dead_letter will be told when the store has it.
struct DeadNews {
  std::string event;
  JobError error;
  DeadLetterInfo info;
};

class JobPoolState {
 public:
  JobPoolState(std::string pool_name, JobPoolSetup pool_setup, Time start)
      : name(std::move(pool_name)), setup(std::move(pool_setup)), figures(start) {}

  // Fixed when it was defined.
  const std::string name;
  const JobPoolSetup setup;

  // Written once, when it was opened.
  PoolNumber number = 0;
  std::uint32_t concurrency = 0;  // of the store, which may know better than the setup

  // Guarded by mutex.
  mutable Mutex mutex;
  ConditionVariable changed;  // something has ended, or was settled, paused, resumed
  std::deque<JobInstance> instances MUSTER_GUARDED_BY(mutex);
  bool has_sleepers MUSTER_GUARDED_BY(mutex) = true;  // false: nobody is asleep who may be called
  bool has_to_give MUSTER_GUARDED_BY(mutex) = false;  // false: no lane has what another may do now
  bool is_started MUSTER_GUARDED_BY(mutex) = false;
  bool is_paused MUSTER_GUARDED_BY(mutex) = false;
  std::uint32_t turn MUSTER_GUARDED_BY(mutex) = 0;           // whose is the next job without a key
  std::map<JobSeq, DeadNews> news MUSTER_GUARDED_BY(mutex);  // not in the store yet
  std::vector<DeadNews> untold MUSTER_GUARDED_BY(mutex);     // there are no workers
  JobFigures figures MUSTER_GUARDED_BY(mutex);
  Random random MUSTER_GUARDED_BY(mutex){0};
  Duration clock_offset MUSTER_GUARDED_BY(mutex){};  // of the lanes' clock to the steady one

  // If there are limits and each node counts for itself.
  std::optional<TokenBucket<Time>> bucket MUSTER_GUARDED_BY(mutex);
  std::optional<KeyedBuckets<Time>> key_buckets MUSTER_GUARDED_BY(mutex);

  // If somebody enqueues at level `memory`: the ids that are on their way into the store. Who did
  // before that was known is only counted.
  Atomic<bool> notes_pending = false;  // is set under the lock
  std::unordered_set<std::string> pending MUSTER_GUARDED_BY(mutex);
  Atomic<std::size_t> unnoted = 0;                  // grows under the lock
  std::size_t handed MUSTER_GUARDED_BY(mutex) = 0;  // by jobs that are not settled yet

  // If the store is shared: jobs that were taken here, so that what is polled meanwhile is not
  // taken for new. Those that are settled are forgotten with the next poll.
  struct Claim {
    std::uint32_t home = 0;
    std::uint64_t term = 0;     // of its home
    std::uint64_t version = 0;  // of the job: with another one it is available again
  };
  std::unordered_map<JobSeq, Claim> taken MUSTER_GUARDED_BY(mutex);
  std::vector<std::pair<JobSeq, std::uint64_t>> forgotten_next MUSTER_GUARDED_BY(mutex);
  std::vector<std::stop_source> lost MUSTER_GUARDED_BY(mutex);  // jobs to be asked to stop
  std::uint64_t pauses MUSTER_GUARDED_BY(mutex) = 0;  // how often it was paused or resumed here

  [[nodiscard]] bool may_start(const JobInstance& instance) const {
    mutex.is_held();
    return is_started && !is_paused && instance.may_run() && !instance.is_ahead;
  }
  void set_awake(JobInstance& instance, bool is_awake) {
    mutex.is_held();
    has_sleepers = has_sleepers || !is_awake;
    instance.is_awake = is_awake;
  }

  // As the store has done.
  void follow(const PauseChange& change) {
    mutex.is_held();
    ++pauses;
    const bool spreads = is_paused && change.index && !change.is_paused;
    for (JobInstance& instance : instances) {
      if (!change.index || spreads) instance.is_paused = spreads;
      if (instance.index == change.index) instance.is_paused = change.is_paused;
    }
    if (!change.index || spreads) is_paused = change.is_paused;
  }

  [[nodiscard]] bool is_taken(const WaitingJob& job) const {
    mutex.is_held();
    const auto found = taken.find(job.seq);
    return found != taken.end() && found->second.version == job.version;
  }

  [[nodiscard]] std::string instance_id(std::uint32_t index) const {
    return name + ":" + std::to_string(index);
  }
};

// So that it need not be read: of some, and not of large ones.
inline void keep_body(JobInstance& instance, JobBody body) {
  constexpr std::size_t kMostBodies = 512;
  constexpr std::size_t kSmallEvent = 2000;
  if (instance.bodies.size() >= kMostBodies || body.event.size() > kSmallEvent) return;
  const JobSeq seq = body.seq;
  instance.bodies[seq] = std::move(body);
}

inline WaitingJob waiting_job(const JobRecord& record) {
  WaitingJob job{.seq = record.seq,
                 .run_at = record.at,
                 .due = record.at,
                 .priority = record.priority,
                 .attempts = static_cast<std::uint16_t>(record.attempts),
                 .version = record.version};
  if (record.key) job.partition = partition_hash(*record.key);
  return job;
}

inline std::uint32_t home_of(const WaitingJob& job, std::uint32_t turn, std::uint32_t instances) {
  return job.partition ? instance_of(*job.partition, instances) : instance_of_turn(turn, instances);
}

inline RetryOptions retry_of(const JobPoolState& pool) {
  const JobRetry& retry = pool.setup.retry;
  return {.max_attempts = retry.max_attempts,
          .delay = retry.delay,
          .jitter = retry.jitter,
          .retry_on = retry.retry_on};
}

// The oldest first, without what is in them.
template <class Each>
void each_dead_letter(Store& store, PoolNumber pool, const Each& each) {
  Store::Page page{.limit = 1000, .with_contents = false};
  for (;;) {
    const std::vector<Store::FoundLetter> letters = store.dead_letters(pool, page);
    for (const Store::FoundLetter& found : letters) each(found);
    if (letters.size() < page.limit) return;
    page.after = letters.back().seq;
  }
}

// A job that an instance has begun.
struct JobNode::Taken {
  WaitingJob job = {};
  std::uint32_t index = 0;
  std::uint32_t home = 0;  // whose lane it came from
  std::uint32_t runner = 0;
  std::uint64_t term = 0;  // of its home
  NodeNumber holder = 0;
  bool is_careful = false;
  std::stop_token stop = {};
  std::stop_token kill = {};
  WallTime started_at{};
  JobBody body = {};
  Transition after = {};  // when it has ended
};

// Why a job that was taken is not begun.
struct JobNode::Limit {
  enum class Whom { job, all };  // whom it concerns: that one and its partition, or all of the pool
  Duration wait{};               // zero: it may begin
  Whom whom = Whom::job;
};

// An instance has gone to sleep.
struct JobNode::Rest {
  bool is_empty = false;  // since just now
  std::uint64_t processed = 0;
};

}  // namespace muster
