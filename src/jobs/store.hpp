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
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_error.hpp>

namespace muster {

using PoolNumber = std::int64_t;

struct NewJob {
  PoolNumber pool = 0;
  std::string id = {};
  std::optional<std::string> key = {};
  std::int16_t priority = 0;
  std::uint32_t turn = 0;  // whose it is, if it has no key: routing.hpp
  WallTime enqueued_at{};
  WallTime run_at{};
  std::string event = {};
};

// What became of a new job.
struct Inserted {
  JobSeq seq = 0;        // of the one that there is, if it was not created
  bool created = false;  // false: its id is taken
  std::uint32_t turn = 0;
};

// Where a job was run, to count it there.
struct InstancePlace {
  PoolNumber pool = 0;
  std::uint32_t index = 0;
};

// The end of an attempt.
struct Settlement {
  JobSeq seq = 0;
  JobState state = JobState::completed;
  unsigned attempts = 0;  // that have failed
  WallTime at{};          // when it ended; of a job that is tried again, when it may
  InstancePlace place = {};
  std::optional<AttemptError> error = {};
  std::optional<std::string> result = {};  // as JSON
  std::vector<NewJob> enqueued = {};       // by the job, and only if it is settled
};

// What a job becomes without having been run.
struct Verdict {
  JobSeq seq = 0;
  JobState from = JobState::available;
  JobState to = JobState::cancelled;
  WallTime at{};
};

struct PauseChange {
  PoolNumber pool = 0;
  std::optional<std::uint32_t> index = {};  // none: all instances, also those that are to come
  bool is_paused = false;
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
  WallTime at{};  // when it may be run; when it ended
};

// What has to be known to run a job.
struct JobBody {
  JobSeq seq = 0;
  std::string id = {};
  WallTime enqueued_at{};
  std::string event = {};
};

// For how long things are kept that are over.
struct Retention {
  Duration completed = std::chrono::hours(24);  // with event and result; cancelled ones, too
  Duration ids = std::chrono::hours(7 * 24);    // so long the same id is not taken again
  Duration dead = Duration::max();
};

// What of a job that is in its final state may be let go by now.
enum class Over { nothing, contents, all };
[[nodiscard]] Over what_is_over(const Retention& retention, const JobRecord& job, WallTime now);

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store();

  // Makes it if there is none of this name.
  [[nodiscard]] virtual PoolRecord open_pool(std::string_view name) = 0;

  // Fills in the answers.
  virtual void commit(StoreBatch& batch, Durability durability) = 0;

  // What an instance runs now, by a number of its own; 0: nothing. Costs next to nothing, and
  // survives the death of the process.
  static constexpr std::uint32_t kMostRunners = 65'536;
  virtual void note_running(std::uint32_t runner, JobSeq seq) noexcept = 0;

  // What was being run when the last process that had this store died. Asked once, before anything
  // is noted.
  [[nodiscard]] virtual std::vector<JobSeq> take_interrupted() = 0;

  // All that are available, by seq. The record is valid during the call.
  using EachJob = std::function<void(const JobRecord& job)>;
  virtual void load_waiting(PoolNumber pool, const EachJob& each) = 0;

  // In the order they are asked for; without those that do not exist.
  [[nodiscard]] virtual std::vector<JobBody> read(std::span<const JobSeq> seqs) = 0;

  [[nodiscard]] virtual std::optional<JobRecord> find(PoolNumber pool, std::string_view id) = 0;
  [[nodiscard]] virtual std::optional<std::string> result(JobSeq seq) = 0;

  struct Page {
    JobSeq after = 0;  // those with a larger seq
    std::size_t limit = 100;
  };
  struct FoundLetter {
    JobSeq seq = 0;
    DeadLetter letter = {};
  };
  [[nodiscard]] virtual std::vector<FoundLetter> dead_letters(PoolNumber pool,
                                                              const Page& page) = 0;

  // Looks at up to `limit` jobs from `after` on, and lets go of what is over for long enough. Says
  // where to go on; 0: that was the last.
  struct Pruned {
    JobSeq next = 0;
    std::size_t removed = 0;
  };
  [[nodiscard]] virtual Pruned prune(const Retention& retention, WallTime now,
                                     const Page& page) = 0;
};

}  // namespace muster
