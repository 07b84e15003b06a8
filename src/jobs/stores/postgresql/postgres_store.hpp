// postgres_store.hpp: jobs in PostgreSQL, for many processes.
//
// Four connections: one commits, one reads, one watches, one scans. All changes of a commit are one
// transaction, sent at once; it begins by saying who we are, and fails if others have given us up.
// If the connection goes while it commits, the database is asked whether it did: each node has a
// row with the number of its last batch.
//
// Thread safety: as Store and SharedStore say.
// Design note: docs/design/job_pool.md, "PostgreSQL"
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/mutex.hpp>

#include "jobs/shared_store.hpp"
#include "jobs/stores/postgresql/connection.hpp"

namespace muster {

class PostgresStore final : public Store, public SharedStore {
 public:
  struct Options {
    std::string url = {};
    Duration lease = std::chrono::seconds(15);
    Duration timeout = std::chrono::seconds(10);
    Clock* clock = nullptr;  // null: the real one
  };

  // Connects, and brings the tables up to date. Throws StoreFailure.
  explicit PostgresStore(const Options& options);
  ~PostgresStore() override;

  PoolRecord open_pool(std::string_view name, std::uint32_t concurrency) override;
  SharedStore* shared() noexcept override { return this; }
  Duration clock_ahead() const noexcept override;
  void commit(StoreBatch& batch, Durability durability) override;
  std::vector<Inserted> insert_with(pg_conn* connection, std::span<const NewJob> jobs) override;
  void note_running(std::uint32_t runner, JobSeq seq) noexcept override;
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
  using Query = Connection::Query;

  // Columns 0 to 7 of a row.
  [[nodiscard]] static JobRecord record_in(const Rows& rows, std::size_t row);
  [[nodiscard]] static JobRecord waiting_in(const Rows& rows, std::size_t row);
  [[nodiscard]] std::vector<std::pair<JobSeq, AttemptError>> errors_of(
      const std::vector<std::int64_t>& seqs) MUSTER_REQUIRES(reading_);

  // SharedStore: postgres_share.cpp, postgres_news.cpp
  Standing beat(const Report& report) override;
  std::vector<CancelWish> poll(const std::vector<PoolNumber>& pools,
                               const EachArrivals& each) override;
  bool poll_at_once(const std::vector<PoolNumber>& pools, const EachArrivals& each);
  void poll_by_pages(const std::vector<PoolNumber>& pools, const EachArrivals& each);
  void wish_cancelled(const CancelWish& wish) override;
  Wish wish(JobSeq seq) override;
  void drop_wish(JobSeq seq) override;
  bool cancel_unheld(const InstancePlace& place, const Verdict& verdict) override;
  bool await(Duration timeout) override;
  void call() noexcept override;
  bool has_lease(NodeNumber holder) const noexcept override;
  void leave() noexcept override;
  void confirm_running() override;
  bool has_available(PoolNumber pool) override;
  void join() MUSTER_REQUIRES(writing_);
  void note_lease(Time asked);
  void renew_lease() MUSTER_EXCLUDES(writing_);
  void note_clock(WallTime began, std::int64_t theirs);
  void listen();
  void find_horizon(bool is_new);
  [[nodiscard]] bool may_run(const RunPool& pool, NodeNumber node);
  [[nodiscard]] Standing standing_as(NodeNumber node, const Report& report, bool is_new);
  std::vector<Seen> look(PoolNumber pool) override;
  Duration take_token(const std::string& name, const RateLimit& limit) override;
  bool has_nodes() override;
  Duration beat_every() const noexcept override { return options_.lease / 4; }
  void tell(const Report& report, NodeNumber node, bool has_come);
  void take_share(PoolNumber pool, bool is_stopping, Standing& standing);

  // Committing: postgres_store.cpp
  void transact(StoreBatch& batch, Durability durability) MUSTER_REQUIRES(writing_);
  [[nodiscard]] Query go_on() MUSTER_REQUIRES(writing_);
  [[nodiscard]] bool find_out(StoreBatch& batch) MUSTER_REQUIRES(writing_);
  void find_duplicates(StoreBatch& batch) MUSTER_REQUIRES(writing_);
  [[nodiscard]] std::vector<JobSeq> running() const;

  // Fixed at construction.
  const Options options_;
  Clock& clock_;
  const int bell_;  // an eventfd: somebody has called

  // Any thread.
  std::vector<Atomic<JobSeq>> runs_;  // by runner
  Atomic<std::uint32_t> runners_;     // that were used
  Atomic<NodeNumber> node_;           // 0: none yet, or given up
  static constexpr Duration::rep kUnknownClock = std::numeric_limits<Duration::rep>::min();
  Atomic<Duration::rep> clock_ahead_ = kUnknownClock;
  Atomic<Time::rep> lease_until_;
  Atomic<bool> was_given_up_;  // and the node does not know yet
  Atomic<bool> is_alone_;      // nobody else runs jobs, as far as we know

  Mutex writing_;
  Connection writer_ MUSTER_GUARDED_BY(writing_);
  std::int64_t batch_ MUSTER_GUARDED_BY(writing_) = 0;
  unsigned careful_batches_ MUSTER_GUARDED_BY(writing_) = 0;  // to come
  std::uint64_t knows_life_ MUSTER_GUARDED_BY(writing_) = 0;  // the session that reserved numbers

  Mutex reading_;
  Connection reader_ MUSTER_GUARDED_BY(reading_);

  Mutex scanning_;
  Connection scanner_ MUSTER_GUARDED_BY(scanning_);  // asks for much, while others wait for little

  // The thread that watches, only.
  Connection watcher_;
  std::string horizon_;           // transactions before this one have been seen
  std::string life_;              // of the server, when it was last looked at
  std::uint64_t listens_on_ = 0;  // the generation of the watcher's connection
  bool is_news_from_others_ = true;
  Time wishes_seen_{};
  NodeNumber runs_as_ = 0;
  std::vector<PoolNumber> runs_pools_;  // as runs_as_; what others know
};

}  // namespace muster
