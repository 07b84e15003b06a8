// job.hpp: what jobs are called and counted by, and what is said of them.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/policy/retry.hpp>

namespace muster {

// In which order jobs came into a store, over all its pools. From 1.
using JobSeq = std::int64_t;

// The numbers are those of the stores: never change one.
enum class JobState : std::uint8_t {
  available = 0,  // waits for its turn, its time or its next attempt, or is being run
  completed = 1,
  dead = 2,  // has used up its attempts
  cancelled = 3,
};

MUSTER_API std::string_view to_string(JobState state);

// What an acknowledged enqueue survives.
enum class Durability {
  memory,   // nothing: it is written soon. On PostgreSQL the same as `written`
  written,  // the death of the process, not that of the machine or its power
  synced,   // all of it: it is on the disk
};

// What became of an attempt that failed.
struct AttemptError {
  unsigned attempt = 1;
  FailureKind kind = FailureKind::error;
  std::string what = {};
  WallTime failed_at{};
};

struct EnqueueResult {
  std::string job_id = {};
  std::string instance_id = {};      // "pool:2"
  std::uint32_t instance_index = 0;  // as assigned; a job without a key may be run by another
  std::uint64_t position = 0;        // how many are in front, roughly; 0: it is being run
  bool created = false;              // false: there is a job of this id already
};

struct EnqueueManyResult {
  std::size_t enqueued = 0;
  std::size_t duplicates = 0;
  std::vector<EnqueueResult> results = {};  // as they were given
};

enum class InstanceState { processing, idle, paused };

MUSTER_API std::string_view to_string(InstanceState state);

// What a handler says of itself.
struct JobProgress {
  double fraction = 0;  // from 0 to 1
  std::string text = {};
};

// A job that waits, as status tells it.
struct WaitingJobStatus {
  std::string id = {};
  WallTime enqueued_at{};
  int priority = 0;
  std::optional<std::string> partition_key = {};
};

// Some of those that wait, and where to go on.
struct WaitingPage {
  std::size_t limit = 100;
  JobSeq after = 0;  // `next` of the page before; 0: from the oldest
};
struct WaitingJobs {
  std::vector<WaitingJobStatus> jobs = {};  // the oldest first
  JobSeq next = 0;                          // 0: that was all
};

struct InstanceStatus {
  std::uint32_t index = 0;
  std::string instance_id = {};
  InstanceState state = InstanceState::idle;
  std::uint64_t pending = 0;
  std::uint64_t processed = 0;  // since there is the store
  std::uint64_t retries = 0;    // of its jobs, since the pool was defined by this process
  std::uint64_t dead = 0;       // likewise
  std::optional<std::string> current_job = {};
  std::optional<WallTime> started_at = {};  // of that
  JobProgress progress = {};                // of that
  bool has_hot_partition = false;           // more than half of what waits, and many, have one key
  WaitingJobs waiting = {};                 // a page of them, if it was asked for
};

struct JobPoolStatus {
  std::uint32_t concurrency = 0;
  std::vector<InstanceStatus> instances = {};
  std::uint64_t total_pending = 0;
  std::uint64_t total_processed = 0;
  std::uint64_t total_retries = 0;   // since the pool was defined by this process
  std::uint64_t total_dead = 0;      // likewise
  std::uint32_t hot_partitions = 0;  // instances that have one, of this process
};

enum class JobCancelOutcome { cancelled, not_found, already_processing, already_completed };

struct JobCancelOptions {
  // Ask a job that is being run to stop (JobContext::stop_token). If it fails then, it is cancelled
  // instead of tried again; if it completes all the same, it has. One in a process of its own that
  // goes on is killed, and cancelled (JobPoolConfig::kill_after).
  bool stop_running = false;
};

// What drain() makes of jobs that nobody could begin now, because they wait for their time or their
// next attempt, stand behind such a one in their partition, or behind a dead letter that blocks it.
enum class DelayedJobs { wait_for, leave_out };

struct DrainOptions {
  std::optional<std::uint32_t> index = {};  // of the only instance that counts; unset: all do
  Duration timeout = Duration::max();
  DelayedJobs delayed = DelayedJobs::wait_for;
};

enum class DrainOutcome { drained, timed_out, paused };

struct JobDeadLetter {
  std::string id = {};
  std::string event = {};  // as JSON
  std::optional<std::string> partition_key = {};
  int priority = 0;
  WallTime enqueued_at{};
  WallTime failed_at{};
  std::vector<AttemptError> errors = {};  // oldest first
};

// Some of them, and where to go on.
struct DeadLetterPage {
  std::size_t limit = 100;
  JobSeq after = 0;  // `next` of the page before; 0: from the oldest
};
struct JobDeadLetters {
  std::vector<JobDeadLetter> letters = {};  // the oldest first
  JobSeq next = 0;                          // 0: that was all
};

}  // namespace muster
