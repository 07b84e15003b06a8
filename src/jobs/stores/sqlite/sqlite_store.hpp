// sqlite_store.hpp: jobs in a file.
//
// One process has the file, one connection of it writes and checkpoints (SQLite before 3.51.3 may
// spoil a log that several checkpoint), another reads meanwhile. Commits go to SQLite's write-ahead
// log, and are synced or not as is asked for each.
//
// Thread safety: as Store.
// Design note: docs/design/job_pool.md
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <muster/sync/mutex.hpp>

#include "jobs/store.hpp"
#include "jobs/stores/sqlite/database.hpp"
#include "jobs/stores/sqlite/owner_file.hpp"

namespace muster {

class SqliteStore final : public Store {
 public:
  struct Options {
    std::string path = {};
    std::int64_t max_pages = 0;  // of 4 KiB; 0: as many as the disk has
    std::string vfs = {};        // for tests
  };

  // Opens or makes it. Throws StoreFailure.
  explicit SqliteStore(const Options& options);
  ~SqliteStore() override;

  PoolRecord open_pool(std::string_view name) override;
  void commit(StoreBatch& batch, Durability durability) override;
  void note_running(std::uint32_t runner, JobSeq seq) noexcept override {
    owner_.note(runner, seq);
  }
  std::vector<JobSeq> take_interrupted() override { return owner_.take_noted(); }
  void load_waiting(PoolNumber pool, const EachJob& each) override;
  std::vector<JobBody> read(std::span<const JobSeq> seqs) override;
  std::optional<JobRecord> find(PoolNumber pool, std::string_view id) override;
  std::optional<std::string> result(JobSeq seq) override;
  std::vector<FoundLetter> dead_letters(PoolNumber pool, const Page& page) override;
  Pruned prune(const Retention& retention, WallTime now, const Page& page) override;

 private:
  // The connection that writes, with its statements.
  struct Writer;
  // The one that reads.
  struct Reader;

  template <class Work>
  void transact(Durability durability, const Work& work) MUSTER_REQUIRES(writing_);
  void set_sync(Durability durability) MUSTER_REQUIRES(writing_);
  Inserted insert(const NewJob& job) MUSTER_REQUIRES(writing_);
  StoreBatch::Settled settle(const Settlement& settlement) MUSTER_REQUIRES(writing_);
  bool judge(const Verdict& verdict) MUSTER_REQUIRES(writing_);
  void pause(const PauseChange& change) MUSTER_REQUIRES(writing_);
  void count_processed(const StoreBatch& batch) MUSTER_REQUIRES(writing_);

  OwnerFile owner_;

  Mutex writing_;
  std::unique_ptr<Writer> writer_ MUSTER_GUARDED_BY(writing_);
  JobSeq last_ MUSTER_GUARDED_BY(writing_) = 0;
  std::optional<Durability> synced_as_ MUSTER_GUARDED_BY(writing_);

  Mutex reading_;
  std::unique_ptr<Reader> reader_ MUSTER_GUARDED_BY(reading_);
};

}  // namespace muster
