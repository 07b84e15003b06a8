// group_commit_fixture.hpp: a store that counts, waits and fails, and who commits to it.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/group_commit.hpp"
#include "jobs/stores/memory/memory_store.hpp"

namespace muster {

using namespace std::chrono_literals;

// A store in memory that counts, waits and fails as it is told.
class TestStore final : public Store {
 public:
  PoolRecord open_pool(std::string_view name, std::uint32_t concurrency) override {
    return memory_.open_pool(name, concurrency);
  }
  void commit(StoreBatch& batch, Durability durability) override {
    door_.wait(false);
    const Time end = real_clock().now() + delay_.load();
    while (real_clock().now() < end) std::this_thread::yield();
    ++commits_;
    last_durability_ = durability;
    if (failures_left_ > 0) {
      --failures_left_;
      throw StoreFailure({.attempt = "commit", .reason = "disk full", .advice = ""});
    }
    memory_.commit(batch, durability);
  }
  void note_running(std::uint32_t /*runner*/, JobSeq /*seq*/) noexcept override {}
  std::vector<JobSeq> take_interrupted() override { return {}; }
  void load_waiting(PoolNumber pool, const EachJob& each) override {
    memory_.load_waiting(pool, each);
  }
  std::vector<JobBody> read(std::span<const JobSeq> seqs, std::size_t small) override {
    return memory_.read(seqs, small);
  }
  std::optional<JobRecord> find(PoolNumber pool, std::string_view id) override {
    return memory_.find(pool, id);
  }
  Remains remains(JobSeq seq) override { return memory_.remains(seq); }
  std::vector<WholePool> all_pools() override { return memory_.all_pools(); }
  std::vector<WholeJob> all_jobs(const Page& page) override { return memory_.all_jobs(page); }
  std::vector<std::pair<std::string, std::int64_t>> all_memos() override {
    return memory_.all_memos();
  }
  std::size_t take_in(const std::vector<WholeJob>& jobs) override { return memory_.take_in(jobs); }
  void take_in(const WholePool& pool) override { memory_.take_in(pool); }
  std::optional<std::int64_t> recall(std::string_view name) override {
    return memory_.recall(name);
  }
  void remember(std::string_view name, std::int64_t number) override {
    memory_.remember(name, number);
  }
  void correct(std::string_view name, std::int64_t number) override {
    memory_.correct(name, number);
  }
  std::vector<FoundLetter> dead_letters(PoolNumber pool, const Page& page) override {
    return memory_.dead_letters(pool, page);
  }
  Pruned prune(const Retention& retention, WallTime now, const Page& page) override {
    return memory_.prune(retention, now, page);
  }

  void sync() override {
    ++syncs_;
    dock_.wait(false);
    if (syncs_fail_) {
      throw StoreFailure({.attempt = "sync", .reason = "no disk any more", .advice = ""});
    }
  }

  // Nobody syncs until open_dock().
  void close_dock() { dock_ = false; }
  void open_dock() {
    dock_ = true;
    dock_.notify_all();
  }
  void fail_syncs() { syncs_fail_ = true; }
  [[nodiscard]] int syncs() const { return syncs_; }

  void close() { door_ = false; }
  void open() {
    door_ = true;
    door_.notify_all();
  }
  void slow_down(std::chrono::microseconds delay) { delay_ = delay; }
  void fail(int times) { failures_left_ = times; }
  [[nodiscard]] int commits() const { return commits_; }
  [[nodiscard]] Durability last_durability() const { return last_durability_; }

 private:
  MemoryStore memory_;
  std::atomic<bool> door_ = true;
  std::atomic<std::chrono::microseconds> delay_{};
  std::atomic<int> commits_ = 0;
  std::atomic<int> failures_left_ = 0;
  std::atomic<Durability> last_durability_ = Durability::written;
  std::atomic<bool> dock_ = true;
  std::atomic<int> syncs_ = 0;
  std::atomic<bool> syncs_fail_ = false;
};

class Listener final : public GroupCommit::Listener {
 public:
  void on_settled(std::span<const Settlement> settlements,
                  std::span<const StoreBatch::Settled> /*settled*/) override {
    const std::lock_guard lock(mutex_);
    for (const Settlement& settlement : settlements) settled_.push_back(settlement.seq);
  }
  void on_committed(const StoreBatch& batch) override {
    const std::lock_guard lock(mutex_);
    for (const NewJob& job : batch.jobs) committed_.push_back(job.id);
  }
  void on_lost(const StoreBatch& batch, const std::exception_ptr& /*why*/) override {
    const std::lock_guard lock(mutex_);
    for (const NewJob& job : batch.jobs) lost_.push_back(job.id);
  }
  std::vector<std::string> lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }
  std::vector<JobSeq> settled() {
    const std::lock_guard lock(mutex_);
    return settled_;
  }
  std::vector<std::string> committed() {
    const std::lock_guard lock(mutex_);
    return committed_;
  }

 private:
  std::mutex mutex_;
  std::vector<JobSeq> settled_;
  std::vector<std::string> committed_;
  std::vector<std::string> lost_;
};

class GroupCommitTest : public ::testing::Test {
 protected:
  std::vector<Inserted> enqueue(const std::vector<std::string>& ids,
                                Durability durability = Durability::synced) {
    GroupCommit::Request request;
    request.durability = durability;
    for (const std::string& id : ids) request.batch.jobs.push_back({.pool = pool_, .id = id});
    commits_.run(request);
    return request.batch.inserted;
  }
  static Time soon() { return real_clock().now() + 10s; }

  TestStore store_;
  Listener listener_;
  const PoolNumber pool_ = store_.open_pool("p", 4).number;
  GroupCommit commits_{store_, listener_, {.most = 1000, .pause = 1ms}};
};

// What is to be gathered is waited for for ever, so that only what is gathered ends it.
class PatientGroupCommitTest : public GroupCommitTest {
 protected:
  void enqueue_patiently(const std::string& id, Durability durability = Durability::synced) {
    GroupCommit::Request request;
    request.durability = durability;
    request.batch.jobs.push_back({.pool = pool_, .id = id});
    patient_.run(request);
  }

  GroupCommit patient_{
      store_, listener_, {.pause = 1ms, .pace = 1h, .worthwhile = 3, .gather = 1h, .overlap = 3}};
};

}  // namespace muster
