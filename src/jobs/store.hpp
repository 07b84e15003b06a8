// store.hpp: where jobs live. What a database has to do for a job pool, in few and large steps.
//
// Everything that changes goes through commit(), many changes at once: they are all in the store
// when it returns, or none is. What waits is known to whoever executes it, so the store is asked
// for that only once, when a pool is opened.
//
// Thread safety: commit() by one thread at a time; everything else by any, also meanwhile.
// Errors: StoreFailure, if the database cannot do it; nothing was changed then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_error.hpp>

extern "C" {
struct pg_conn;
}

namespace muster {

using PoolNumber = std::int64_t;
using NodeNumber = std::int64_t;  // of a process, in a store that several share

struct NewJob {
  PoolNumber pool = 0;
  std::string id = {};
  std::optional<std::string> key = {};
  std::int16_t priority = 0;
  std::uint32_t turn = 0;  // whose it is, if it has no key: routing.hpp
  WallTime enqueued_at{};
  WallTime run_at{};
  std::string event = {};

  // A job of this id that has ended makes room for it if it was enqueued before that.
  std::optional<WallTime> replaces_before = {};
};

// What became of a new job.
struct Inserted {
  JobSeq seq = 0;        // of the one that there is, if it was not created
  bool created = false;  // false: its id is taken
  std::uint32_t turn = 0;
  std::uint64_t version = 0;  // as its record will say
};

// Where a job was run, to count it there.
struct InstancePlace {
  PoolNumber pool = 0;
  std::uint32_t index = 0;
};

// The end of an attempt.
struct Settlement {
  JobSeq seq = 0;
  std::string id = {};  // of a dead letter, to tell of it
  JobState state = JobState::completed;
  unsigned attempts = 0;  // that have failed
  WallTime at{};          // when it ended; of a job that is tried again, when it may
  InstancePlace place = {};
  std::uint32_t home = 0;  // whose lane it came from
  std::uint64_t term = 0;  // of that, when it was taken
  NodeNumber holder = 0;   // as whom the node held the instance when it took the job
  std::optional<AttemptError> error = {};
  std::optional<std::string> result = {};  // as JSON
  std::optional<std::string> log = {};     // of this attempt, in lines
  std::vector<NewJob> enqueued = {};       // by the job, and only if it is settled

  // Nothing is to be kept of it but that it has completed.
  [[nodiscard]] bool is_plain() const noexcept {
    return state == JobState::completed && attempts == 0 && !error && !result && !log;
  }
};

// What a job becomes without having been run.
struct Verdict {
  JobSeq seq = 0;
  JobState from = JobState::available;
  JobState to = JobState::cancelled;
  WallTime at{};
  NodeNumber holder = 0;  // as whom the node holds its instance; 0: anybody may do it
};

// To resume one instance of a pool that is paused as a whole is to pause each of the others.
struct PauseChange {
  PoolNumber pool = 0;
  std::optional<std::uint32_t> index = {};  // none: all instances, also those that are to come
  bool is_paused = false;
  std::uint32_t concurrency = 0;  // of the pool; a store that knows better goes by its own
};

// In this order. Answers stand where the questions do.
struct StoreBatch {
  std::vector<Settlement> settlements = {};
  std::vector<Verdict> verdicts = {};
  std::vector<NewJob> jobs = {};
  std::vector<PauseChange> pauses = {};

  struct Settled {
    bool is_settled = false;  // false: it was not available; nothing of it was done
    std::vector<Inserted> inserted = {};
  };
  std::vector<Settled> settled = {};
  std::vector<bool> judged = {};  // false: it was in another state
  std::vector<Inserted> inserted = {};
};

struct PoolRecord {
  PoolNumber number = 0;
  std::uint32_t concurrency = 0;  // as it is to be, whatever was asked for
  bool is_paused = false;
  std::uint64_t jobs = 0;  // that have come so far
  struct Instance {
    std::uint32_t index = 0;
    bool is_paused = false;
    std::uint64_t processed = 0;
  };
  std::vector<Instance> instances = {};  // that there is something to say of
};

// What is known of a job without its event.
struct JobRecord {
  JobSeq seq = 0;
  std::string id = {};
  JobState state = JobState::available;
  std::optional<std::string> key = {};
  std::uint32_t turn = 0;
  std::int16_t priority = 0;
  unsigned attempts = 0;
  WallTime enqueued_at{};
  WallTime at{};              // when it may be run; when it ended
  std::uint64_t version = 0;  // of a shared store: another one when it is available again
};

// What has to be known to run a job.
struct JobBody {
  JobSeq seq = 0;
  std::string id = {};
  WallTime enqueued_at{};
  std::string event = {};
  std::optional<std::string> key = {};
};

// All that is kept of a job.
struct WholeJob {
  std::string pool = {};  // its name
  JobRecord record = {};
  std::optional<std::string> event = {};
  std::optional<std::string> result = {};
  std::optional<std::string> log = {};
  std::vector<AttemptError> errors = {};
};

// All that is kept of a pool besides its jobs.
struct WholePool {
  std::string name = {};
  PoolRecord record = {};
};

// For how long things are kept that are over.
struct Retention {
  Duration completed = std::chrono::hours(24);  // with event and result; cancelled ones, too
  Duration ids = std::chrono::hours(7 * 24);    // so long the same id is not taken again
  Duration dead = Duration::max();
};

// What of a job that is in its final state may be let go by now. A dead letter without its contents
// is a cancelled job.
enum class Over { nothing, contents, all };
[[nodiscard]] Over what_is_over(const Retention& retention, const JobRecord& job, WallTime now);

// Whether a job may give its id to another that replaces it: one that is over, and no dead letter.
[[nodiscard]] constexpr bool makes_room(JobState state) noexcept {
  return state == JobState::completed || state == JobState::cancelled;
}

class SharedStore;

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store();

  // Makes it if there is none of this name.
  [[nodiscard]] virtual PoolRecord open_pool(std::string_view name, std::uint32_t concurrency) = 0;

  // Null: one process has it all.
  [[nodiscard]] virtual SharedStore* shared() noexcept { return nullptr; }

  // How far its clock is ahead of ours.
  [[nodiscard]] virtual Duration clock_ahead() const noexcept { return Duration::zero(); }

  // Fills in the answers. What is to be `synced` is so when sync() has returned, too.
  virtual void commit(StoreBatch& batch, Durability durability) = 0;

  // All that was committed before is on disk then. By any number of threads, also while the next
  // commit is under way. If it fails, nothing can be committed any more: what a disk still has of
  // what it could not sync nobody knows.
  virtual void sync() {}

  // On a connection of somebody else, in his transaction. Throws InvalidArgument if the store has
  // no such connections.
  [[nodiscard]] virtual std::vector<Inserted> insert_with(pg_conn* connection,
                                                          std::span<const NewJob> jobs);

  // What an instance runs now, by a number of its own; 0: nothing. Costs next to nothing, and
  // survives the death of the process.
  static constexpr std::uint32_t kMostRunners = 65'536;
  virtual void note_running(std::uint32_t runner, JobSeq seq) noexcept = 0;

  // What was being run when the last process that had this store died. Asked once, before anything
  // is noted.
  [[nodiscard]] virtual std::vector<JobSeq> take_interrupted() = 0;

  // All that are available, by seq; without id and enqueued_at. The record is valid during the
  // call.
  using EachJob = std::function<void(const JobRecord& job)>;
  virtual void load_waiting(PoolNumber pool, const EachJob& each) = 0;

  // In the order they are asked for; without those that do not exist, and without events of more
  // than `small` bytes, but for the first.
  static constexpr std::size_t kAnySize = 1U << 30U;
  [[nodiscard]] virtual std::vector<JobBody> read(std::span<const JobSeq> seqs,
                                                  std::size_t small) = 0;

  [[nodiscard]] virtual std::optional<JobRecord> find(PoolNumber pool, std::string_view id) = 0;

  // What is left of a job's last attempt.
  struct Remains {
    std::optional<std::string> result = {};
    std::optional<std::string> log = {};
  };
  [[nodiscard]] virtual Remains remains(JobSeq seq) = 0;

  // A number under a name, for ever; the larger one stays, unless that is to be corrected.
  [[nodiscard]] virtual std::optional<std::int64_t> recall(std::string_view name) = 0;
  virtual void remember(std::string_view name, std::int64_t number) = 0;
  virtual void correct(std::string_view name, std::int64_t number) = 0;

  struct Page {
    JobSeq after = 0;  // those with a larger seq
    std::size_t limit = 100;
    bool with_contents = true;  // dead letters: with their events and errors
  };
  struct FoundLetter {
    JobSeq seq = 0;
    JobDeadLetter letter = {};
  };
  [[nodiscard]] virtual std::vector<FoundLetter> dead_letters(PoolNumber pool,
                                                              const Page& page) = 0;

  // For moving to another store. Pools; jobs in any state, by seq; what is remembered.
  [[nodiscard]] virtual std::vector<WholePool> all_pools() = 0;
  [[nodiscard]] virtual std::vector<WholeJob> all_jobs(const Page& page) = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> all_memos() = 0;

  // Adds these behind all others, as one transaction, without those whose ids are taken; says how
  // many that were. Their pools must be there.
  [[nodiscard]] virtual std::size_t take_in(const std::vector<WholeJob>& jobs) = 0;

  // Adds to what an instance has processed.
  virtual void take_in(const WholePool& pool) = 0;

  // Lets go of what is over for long enough, about `limit` jobs at a time. Says where to go on; 0:
  // that was the last.
  struct Pruned {
    JobSeq next = 0;
    std::size_t removed = 0;
  };
  [[nodiscard]] virtual Pruned prune(const Retention& retention, WallTime now,
                                     const Page& page) = 0;
};

}  // namespace muster
