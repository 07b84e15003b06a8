// sqlite_store.hpp: jobs in a file.
//
// One process has the file, one connection of it writes and checkpoints (SQLite before 3.51.3 may
// spoil a log that several checkpoint), two others read meanwhile. Commits go to SQLite's
// write-ahead log; we sync it, since others may commit meanwhile, and have it copied, to see if
// that fails. New jobs are only noted in a journal, if they are few, and get into the database with
// the next transaction, or when somebody looks for them there, or when the journal is full.
//
// Thread safety: as Store.
// Design note: docs/design/job_pool.md
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <muster/sync/atomic.hpp>
#include <muster/sync/mutex.hpp>

#include "jobs/store.hpp"
#include "jobs/stores/sqlite/body_reader.hpp"
#include "jobs/stores/sqlite/database.hpp"
#include "jobs/stores/sqlite/id_filter.hpp"
#include "jobs/stores/sqlite/journal_pair.hpp"
#include "jobs/stores/sqlite/owner_file.hpp"

namespace muster {

class Statement;
struct SeqRun;

class SqliteStore final : public Store {
 public:
  struct Options {
    std::string path = {};
    std::int64_t max_pages = 0;  // of 4 KiB; 0: as many as the disk has
    int long_log = 4000;         // pages, after which it is copied to the database
    std::string vfs = {};        // for tests
    Journal::Options journal = {};
  };

  // Opens or makes it. Throws StoreFailure.
  explicit SqliteStore(const Options& options);
  ~SqliteStore() override;

  PoolRecord open_pool(std::string_view name, std::uint32_t concurrency) override;
  void commit(StoreBatch& batch, Durability durability) override;
  void sync() override;
  void note_running(std::uint32_t runner, JobSeq seq) noexcept override {
    owner_.note(runner, seq);
  }
  std::vector<JobSeq> take_interrupted() override { return owner_.take_noted(); }
  void load_waiting(PoolNumber pool, const EachJob& each) override;
  std::vector<JobBody> read(std::span<const JobSeq> seqs, std::size_t small) override;
  std::optional<JobRecord> find(PoolNumber pool, std::string_view id) override;
  Remains remains(JobSeq seq) override;
  std::optional<std::int64_t> recall(std::string_view name) override;
  void remember(std::string_view name, std::int64_t number) override;
  void correct(std::string_view name, std::int64_t number) override;
  std::vector<FoundLetter> dead_letters(PoolNumber pool, const Page& page) override;
  Pruned prune(const Retention& retention, WallTime now, const Page& page) override;
  std::vector<WholePool> all_pools() override;
  std::vector<WholeJob> all_jobs(const Page& page) override;
  std::vector<std::pair<std::string, std::int64_t>> all_memos() override;
  std::size_t take_in(const std::vector<WholeJob>& jobs) override;
  void take_in(const WholePool& pool) override;

 private:
  // The connection that writes, with its statements.
  struct Writer;
  // The one that reads.
  struct Reader;

  // Of a row of `waiting` or `find`.
  [[nodiscard]] static JobRecord record_in(const Statement& row);
  [[nodiscard]] static std::vector<AttemptError> errors_of(Reader& reader, JobSeq seq);
  void fail(JobSeq seq, const AttemptError& error) MUSTER_REQUIRES(writing_);

  // Who looks after each of many jobs knows which of them are missing.
  enum class Care { for_many, for_each };
  struct SomeAreMissing {};

  // Jobs of a pool that have completed, and the last time one did.
  struct Completions {
    WallTime at{};
    std::vector<JobSeq> seqs = {};
  };
  struct JobEnd {
    JobSeq seq = 0;
    PoolNumber pool = 0;
    JobState state = JobState::completed;
    WallTime at{};
    unsigned attempts = 0;
  };
  // What ended in that time; it is removed, or only its contents are.
  struct PruneSpan {
    std::int64_t from = 0;
    std::int64_t before = 0;
    std::int64_t most = 0;  // jobs
    bool removes = false;
  };

  // All of `work` or nothing.
  template <class Work>
  void change(const Work& work) MUSTER_REQUIRES(writing_);
  // And with it whatever is in the journals.
  template <class Work>
  void transact(const Work& work) MUSTER_REQUIRES(writing_, noting_);
  void refuse_if_spoilt() const;
  void sync_journals();
  void sync_log();
  bool jot_down(StoreBatch& batch, Durability durability);
  void serve_full();
  void move_full_in();
  void put_noted(const Journal::Noted& job) MUSTER_REQUIRES(writing_);
  void await_noted() MUSTER_REQUIRES(writing_);
  static constexpr JobSeq kAny = std::numeric_limits<JobSeq>::max();
  void need(JobSeq seq);
  void take_up_journals() MUSTER_REQUIRES(writing_, noting_);
  void learn_ids() MUSTER_REQUIRES(writing_, noting_);
  void settle_in() MUSTER_REQUIRES(writing_, noting_);
  bool put(const Journal::Noted& job) MUSTER_REQUIRES(writing_);
  void shorten_log() MUSTER_REQUIRES(writing_);
  Inserted insert(const NewJob& job) MUSTER_REQUIRES(writing_, noting_);
  void make_room(const NewJob& job) MUSTER_REQUIRES(writing_, noting_);
  void carry_out(StoreBatch& batch, Care care) MUSTER_REQUIRES(writing_, noting_);
  void settle(StoreBatch& batch, Care care) MUSTER_REQUIRES(writing_, noting_);
  bool settle(const Settlement& settlement) MUSTER_REQUIRES(writing_);
  void complete(PoolNumber pool, Completions completed, Care care) MUSTER_REQUIRES(writing_);
  std::int64_t finish(PoolNumber pool, const SeqRun& run) MUSTER_REQUIRES(writing_);
  void end(const JobEnd& job) MUSTER_REQUIRES(writing_);
  void note(JobSeq seq, const Remains& remains) MUSTER_REQUIRES(writing_);
  bool judge(const Verdict& verdict) MUSTER_REQUIRES(writing_);
  void pause(const PauseChange& change) MUSTER_REQUIRES(writing_);
  void count_processed(const StoreBatch& batch) MUSTER_REQUIRES(writing_);
  void write_memo(Statement Writer::* how, std::string_view name, std::int64_t number);
  void remember_highest() MUSTER_REQUIRES(writing_, noting_);
  void forget_ended(JobSeq seq) MUSTER_REQUIRES(writing_);
  std::size_t prune_ended(JobState state, const PruneSpan& span) MUSTER_REQUIRES(writing_);
  std::size_t prune_completed(const PruneSpan& span) MUSTER_REQUIRES(writing_);

  OwnerFile owner_;

  // Before noting_. Who has the second only gives out numbers and fills a journal; who has the
  // first only moves in what is full, and no other jobs.
  Mutex writing_;
  std::unique_ptr<Writer> writer_ MUSTER_GUARDED_BY(writing_);
  bool is_log_long_ MUSTER_GUARDED_BY(writing_) = false;

  Mutex noting_;
  JournalPair journals_;                     // of jobs behind in_database_, and some before
  IdFilter ids_ MUSTER_GUARDED_BY(noting_);  // of the database and the journals
  JobSeq last_ MUSTER_GUARDED_BY(noting_) = 0;
  JobSeq last_before_ MUSTER_GUARDED_BY(noting_) = 0;  // the transaction
  bool stops_ MUSTER_GUARDED_BY(noting_) = false;
  ConditionVariable is_full_;

  // The highest. Written under the lock, read by any.
  Atomic<JobSeq> in_database_ = 0;
  Atomic<JobSeq> noted_ = 0;  // in the journals, now or before

  // Before noting_. One at a time each: a disk tells of an error once.
  Mutex syncing_journals_;
  Mutex syncing_;                     // the log
  std::optional<WriteAheadLog> log_;  // set once
  Atomic<bool> is_spoilt_ = false;    // a sync has failed

  // Transactions of others than mover_, and how many of them were synced.
  Atomic<std::uint64_t> commits_ = 0;
  Atomic<std::uint64_t> synced_ = 0;

  Mutex reading_;
  std::unique_ptr<Reader> reader_ MUSTER_GUARDED_BY(reading_);

  std::optional<BodyReader> bodies_;  // set once

  std::thread mover_;  // of what is full
};

}  // namespace muster
