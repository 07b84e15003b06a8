// memory_store.hpp: jobs that last as long as the process; for tests, and as what others are
// compared with.
//
// Thread safety: as Store.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <muster/sync/mutex.hpp>

#include "jobs/store.hpp"

namespace muster {

class MemoryStore final : public Store {
 public:
  MemoryStore() = default;
  ~MemoryStore() override;

  PoolRecord open_pool(std::string_view name, std::uint32_t concurrency) override;
  void commit(StoreBatch& batch, Durability durability) override;
  void note_running(std::uint32_t /*runner*/, JobSeq /*seq*/) noexcept override {}
  std::vector<JobSeq> take_interrupted() override { return {}; }
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
  struct Job {
    JobRecord record = {};
    PoolNumber pool = 0;
    std::optional<std::string> event = {};  // none: it was let go
    Remains remains = {};
    std::vector<AttemptError> errors = {};
  };

  Inserted insert(const NewJob& job) MUSTER_REQUIRES(mutex_);
  StoreBatch::Settled settle(const Settlement& settlement) MUSTER_REQUIRES(mutex_);
  bool judge(const Verdict& verdict) MUSTER_REQUIRES(mutex_);
  void pause(const PauseChange& change) MUSTER_REQUIRES(mutex_);

  // Guarded by mutex_.
  Mutex mutex_;
  std::map<std::string, PoolRecord, std::less<>> pools_ MUSTER_GUARDED_BY(mutex_);
  std::map<JobSeq, Job> jobs_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::pair<PoolNumber, std::string>, JobSeq, std::less<>> ids_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, std::int64_t, std::less<>> memos_ MUSTER_GUARDED_BY(mutex_);
  JobSeq last_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
