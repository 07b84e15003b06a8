// group_commit_test.cpp: many changes, few transactions, each answer to whom it belongs; and a
// store that fails for a while loses nothing.
#include "jobs/group_commit.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/stores/memory/memory_store.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// A store in memory that counts, waits and fails as it is told.
class TestStore final : public Store {
 public:
  PoolRecord open_pool(std::string_view name) override { return memory_.open_pool(name); }
  void commit(StoreBatch& batch, Durability durability) override {
    door_.wait(false);
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
  std::vector<JobBody> read(std::span<const JobSeq> seqs) override { return memory_.read(seqs); }
  std::optional<JobRecord> find(PoolNumber pool, std::string_view id) override {
    return memory_.find(pool, id);
  }
  std::optional<std::string> result(JobSeq seq) override { return memory_.result(seq); }
  std::vector<FoundLetter> dead_letters(PoolNumber pool, const Page& page) override {
    return memory_.dead_letters(pool, page);
  }
  Pruned prune(const Retention& retention, WallTime now, const Page& page) override {
    return memory_.prune(retention, now, page);
  }

  void close() { door_ = false; }
  void open() {
    door_ = true;
    door_.notify_all();
  }
  void fail(int times) { failures_left_ = times; }
  [[nodiscard]] int commits() const { return commits_; }
  [[nodiscard]] Durability last_durability() const { return last_durability_; }

 private:
  MemoryStore memory_;
  std::atomic<bool> door_ = true;
  std::atomic<int> commits_ = 0;
  std::atomic<int> failures_left_ = 0;
  std::atomic<Durability> last_durability_ = Durability::written;
};

class Listener final : public GroupCommit::Listener {
 public:
  void on_settled(const Settlement& settlement, const StoreBatch::Settled& /*settled*/) override {
    const std::lock_guard lock(mutex_);
    settled_.push_back(settlement.seq);
  }
  void on_committed(const StoreBatch& batch) override {
    const std::lock_guard lock(mutex_);
    for (const NewJob& job : batch.jobs) committed_.push_back(job.id);
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
  const PoolNumber pool_ = store_.open_pool("p").number;
  GroupCommit commits_{store_, listener_, {.most = 1000, .pause = 1ms}};
};

TEST_F(GroupCommitTest, WhoIsAloneCommitsByItself) {
  const std::vector<Inserted> inserted = enqueue({"a", "b", "a"});
  ASSERT_EQ(inserted.size(), 3U);
  EXPECT_TRUE(inserted[0].created);
  EXPECT_FALSE(inserted[2].created);
  EXPECT_EQ(store_.commits(), 1);
  EXPECT_EQ(listener_.committed(), (std::vector<std::string>{"a", "b", "a"}))
      << "told before it returns";
}

TEST_F(GroupCommitTest, WhatComesMeanwhileGoesIntoOneTransaction) {
  store_.close();
  std::vector<std::jthread> threads;
  std::atomic<int> created = 0;
  for (int thread = 0; thread < 20; ++thread) {
    threads.emplace_back([this, thread, &created] {
      const std::string id = std::to_string(thread);
      for (const Inserted& inserted : enqueue({id, "shared", id + "'"})) {
        created += inserted.created ? 1 : 0;
      }
    });
  }
  while (commits_.waiting() < 19) std::this_thread::yield();
  store_.open();
  threads.clear();
  EXPECT_EQ(created, 41);
  EXPECT_LE(store_.commits(), 2);
}

TEST_F(GroupCommitTest, TheMostDurableDecidesForAll) {
  (void)enqueue({"a"}, Durability::written);
  EXPECT_EQ(store_.last_durability(), Durability::written);
  (void)enqueue({"b"});
  EXPECT_EQ(store_.last_durability(), Durability::synced);
}

TEST_F(GroupCommitTest, ARequestThatFailsSaysSoAndTheNextDoesNot) {
  store_.fail(1);
  EXPECT_THROW((void)enqueue({"a"}), StoreFailure);
  EXPECT_TRUE(listener_.committed().empty());
  EXPECT_TRUE(enqueue({"a"}).front().created);
}

TEST_F(GroupCommitTest, SettlementsAreTriedUntilTheStoreTakesThemAndInOrder) {
  const std::vector<Inserted> jobs = enqueue({"a", "b", "c"});
  store_.fail(3);
  for (const Inserted& job : jobs) commits_.post({.seq = job.seq});
  EXPECT_TRUE(commits_.wait_settled(soon()));
  EXPECT_EQ(listener_.settled(), (std::vector<JobSeq>{jobs[0].seq, jobs[1].seq, jobs[2].seq}));
  EXPECT_EQ(store_.find(pool_, "c")->state, JobState::completed);
  EXPECT_EQ(commits_.unsettled(), 0U);
}

TEST_F(GroupCommitTest, AStoreThatFailsHoldsUpSettlementsAndNobodyElse) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  store_.fail(1);
  commits_.post({.seq = jobs[0].seq});
  while (store_.commits() < 2) std::this_thread::yield();
  EXPECT_TRUE(enqueue({"b"}).front().created);
  EXPECT_TRUE(commits_.wait_settled(soon()));
}

TEST_F(GroupCommitTest, WaitingForSettlementsEndsAtItsDeadline) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  store_.close();
  commits_.post({.seq = jobs[0].seq});
  EXPECT_FALSE(commits_.wait_settled(real_clock().now() + 5ms));
  store_.open();
  EXPECT_TRUE(commits_.wait_settled(soon()));
}

}  // namespace
}  // namespace muster
