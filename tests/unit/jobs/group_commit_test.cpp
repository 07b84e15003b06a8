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
  PoolRecord open_pool(std::string_view name, std::uint32_t concurrency) override {
    return memory_.open_pool(name, concurrency);
  }
  void commit(StoreBatch& batch, Durability durability) override {
    door_.wait(false);
    std::this_thread::sleep_for(delay_.load());
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

  void expect_commits(const GroupCommit::Options& options, int commits);

  GroupCommit patient_{
      store_, listener_, {.pause = 1ms, .pace = 1h, .worthwhile = 3, .gather = 1h, .overlap = 3}};
};

// With a transaction that is being synced.
class OverlappingGroupCommitTest : public PatientGroupCommitTest {
 protected:
  OverlappingGroupCommitTest() {
    store_.close_dock();
    enqueue_in_thread("first");
    while (store_.syncs() == 0) std::this_thread::yield();
  }
  ~OverlappingGroupCommitTest() override { store_.open_dock(); }

  void enqueue_in_thread(const std::string& id) {
    threads_.emplace_back([this, id] { enqueue_patiently(id); });
  }

  std::vector<std::jthread> threads_;  // go first
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

TEST_F(PatientGroupCommitTest, SettlementsWaitUntilThereAreEnough) {
  const std::vector<Inserted> jobs = enqueue({"a", "b", "c"});
  enqueue_patiently("d");
  const int before = store_.commits();
  for (const Inserted& job : jobs) patient_.post({.seq = job.seq});
  while (patient_.unsettled() > 0) std::this_thread::yield();
  EXPECT_EQ(store_.commits(), before + 1);
}

TEST_F(PatientGroupCommitTest, SettlementsDoNotWaitIfSomebodyWaitsForThem) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  enqueue_patiently("b");
  patient_.post({.seq = jobs[0].seq});
  EXPECT_TRUE(patient_.wait_settled(soon()));
}

TEST_F(PatientGroupCommitTest, SettlementsDoNotWaitIfSomebodyAsksForThemBeforeOrAfter) {
  const std::vector<Inserted> jobs = enqueue({"a", "b", "c"});
  enqueue_patiently("d");
  patient_.post({.seq = jobs[0].seq});
  patient_.settle_soon();
  while (patient_.unsettled() > 0) std::this_thread::yield();
  patient_.settle_soon();
  patient_.post({.seq = jobs[1].seq});
  while (patient_.unsettled() > 0) std::this_thread::yield();
  patient_.post({.seq = jobs[2].seq});
  enqueue_patiently("e", Durability::written);
  EXPECT_EQ(patient_.unsettled(), 1U) << "nobody asked for this one";
}

TEST_F(PatientGroupCommitTest, SettlementsGoWithTheNextRequest) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  enqueue_patiently("b");
  patient_.post({.seq = jobs[0].seq});
  enqueue_patiently("c");
  EXPECT_EQ(patient_.unsettled(), 0U);
}

TEST_F(PatientGroupCommitTest, WhatIsOnlyWrittenGoesAloneAndBeforeThem) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  enqueue_patiently("b");
  const int syncs = store_.syncs();
  patient_.post({.seq = jobs[0].seq});
  enqueue_patiently("c", Durability::written);
  EXPECT_EQ(listener_.committed(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(patient_.unsettled(), 1U);
  EXPECT_EQ(store_.syncs(), syncs);
  EXPECT_TRUE(patient_.wait_settled(soon())) << "they are not forgotten";
}

// What replaces a job that has ended, a verdict on it: these depend on what is to be settled.
TEST_F(PatientGroupCommitTest, WhatMayReplaceAJobGoesBehindThem) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  enqueue_patiently("b");
  patient_.post({.seq = jobs[0].seq});
  GroupCommit::Request replacing;
  replacing.durability = Durability::written;
  replacing.batch.jobs.push_back({.pool = pool_, .id = "a", .replaces_before = WallTime::max()});
  patient_.run(replacing);
  EXPECT_TRUE(replacing.batch.inserted[0].created);
  EXPECT_EQ(patient_.unsettled(), 0U);
}

TEST_F(PatientGroupCommitTest, AVerdictGoesBehindThem) {
  const std::vector<Inserted> jobs = enqueue({"a"});
  enqueue_patiently("b");
  patient_.post({.seq = jobs[0].seq});
  GroupCommit::Request judging;
  judging.durability = Durability::written;
  judging.batch.verdicts.push_back({.seq = jobs[0].seq});
  patient_.run(judging);
  EXPECT_EQ(patient_.unsettled(), 0U);
}

// By many threads, one of which only writes: it is one transaction at a time, and nobody is left.
TEST_F(GroupCommitTest, AloneOrNotNothingIsLost) {
  constexpr int kEach = 400;
  std::vector<std::jthread> threads;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([this, name] {
      for (int i = 0; i < kEach; ++i) {
        const auto durability = (i + name) % 4 == 0 ? Durability::synced : Durability::written;
        const std::vector<Inserted> inserted = enqueue({name + std::to_string(i)}, durability);
        ASSERT_TRUE(inserted.front().created);
        if (i % 3 == 0) commits_.post({.seq = inserted.front().seq});
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(commits_.wait_settled(soon()));
  EXPECT_EQ(listener_.committed().size(), 4U * kEach);
  EXPECT_EQ(listener_.settled().size(), 4U * ((kEach + 2) / 3));
}

TEST_F(GroupCommitTest, WhoGoesAloneIsToldOfAFailureAndTheNextGoesOn) {
  store_.fail(1);
  EXPECT_THROW(enqueue({"a"}, Durability::written), StoreFailure);
  EXPECT_TRUE(listener_.committed().empty());
  EXPECT_TRUE(enqueue({"a"}, Durability::written).front().created);
  EXPECT_TRUE(enqueue({"b"}).front().created);
}

// With one who goes alone, and has not come far.
class LonelyGroupCommitTest : public GroupCommitTest {
 protected:
  LonelyGroupCommitTest() {
    store_.close();
    enqueue_in_thread("first");
    while (!commits_.is_committing()) std::this_thread::yield();
  }

  void enqueue_in_thread(const std::string& id) {
    threads_.emplace_back([this, id] { (void)enqueue({id}, Durability::written); });
  }

  std::vector<std::jthread> threads_;  // go first
};

TEST_F(LonelyGroupCommitTest, WhoComesMeanwhileIsNext) {
  enqueue_in_thread("second");
  while (commits_.waiting() < 1) std::this_thread::yield();
  store_.open();
  threads_.clear();
  EXPECT_EQ(listener_.committed(), (std::vector<std::string>{"first", "second"}));
}

TEST_F(LonelyGroupCommitTest, WhatIsToBeSettledMeanwhileIsNext) {
  commits_.post({.seq = 1});
  store_.open();
  while (commits_.unsettled() > 0) std::this_thread::yield();
}

TEST_F(LonelyGroupCommitTest, WhoAsksAfterTheEndWaitsForIt) {
  std::jthread stopper([this] { commits_.stop(); });
  stopper.join();
  enqueue_in_thread("second");
  while (commits_.waiting() < 1) std::this_thread::yield();
  EXPECT_EQ(store_.commits(), 0) << "one at a time";
  store_.open();
  threads_.clear();
  EXPECT_EQ(listener_.committed(), (std::vector<std::string>{"first", "second"}));
}

// Who only writes, again and again, does not keep others from it.
TEST_F(GroupCommitTest, WhatIsToBeSettledHasItsTurn) {
  constexpr int kRounds = 20;
  store_.slow_down(200us);
  int enqueued = 0;
  for (int i = 0; i < kRounds; ++i) {
    commits_.post({.seq = enqueue({std::to_string(enqueued++)}, Durability::written)[0].seq});
    while (commits_.unsettled() > 0) {
      (void)enqueue({std::to_string(enqueued++)}, Durability::written);
    }
  }
  EXPECT_LT(enqueued, kRounds * 1000);
}

TEST_F(PatientGroupCommitTest, AfterManyRequestsHalfAsManyAreWaitedFor) {
  store_.close();
  std::vector<std::jthread> threads;
  const auto enqueue_in_thread = [this, &threads](int number) {
    threads.emplace_back([this, number] { enqueue_patiently(std::to_string(number)); });
  };
  enqueue_in_thread(0);
  while (!patient_.is_committing()) std::this_thread::yield();
  for (int number = 1; number <= 4; ++number) enqueue_in_thread(number);
  while (patient_.waiting() < 4) std::this_thread::yield();
  store_.open();
  threads.clear();
  EXPECT_EQ(store_.commits(), 2) << "one alone, then four";
  for (int number = 5; number <= 6; ++number) enqueue_in_thread(number);
  threads.clear();
  EXPECT_EQ(store_.commits(), 3) << "two are enough";
}

TEST_F(OverlappingGroupCommitTest, EnoughRequestsDoNotWaitForASync) {
  for (const char* const id : {"a", "b", "c"}) enqueue_in_thread(id);
  while (store_.commits() < 2) std::this_thread::yield();
  EXPECT_TRUE(listener_.committed().empty()) << "nobody is told before it is synced";
  store_.open_dock();
  threads_.clear();
  const std::vector<std::string> told = listener_.committed();
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told.front(), "first");
}

TEST_F(OverlappingGroupCommitTest, FewWaitForItAndGoTogether) {
  for (const char* const id : {"a", "b"}) enqueue_in_thread(id);
  while (patient_.waiting() < 2) std::this_thread::yield();
  store_.open_dock();
  threads_.clear();
  EXPECT_EQ(store_.commits(), 2);
}

TEST_F(OverlappingGroupCommitTest, AThirdTransactionWaits) {
  for (const char* const id : {"a", "b", "c"}) enqueue_in_thread(id);
  while (store_.commits() < 2) std::this_thread::yield();
  for (const char* const id : {"d", "e", "f"}) enqueue_in_thread(id);
  while (patient_.waiting() < 3) std::this_thread::yield();
  store_.open_dock();
  threads_.clear();
  EXPECT_EQ(store_.commits(), 3);
}

TEST_F(GroupCommitTest, WhatCouldNotBeSyncedSaysSoAndIsThereNevertheless) {
  store_.fail_syncs();
  EXPECT_NO_THROW((void)enqueue({"written"}, Durability::written));
  EXPECT_THROW((void)enqueue({"synced"}), StoreFailure);
  EXPECT_EQ(listener_.committed(), (std::vector<std::string>{"written", "synced"}));
  commits_.post({.seq = store_.find(pool_, "synced")->seq});
  EXPECT_TRUE(commits_.wait_settled(soon())) << "to try it again would not help";
  EXPECT_EQ(store_.find(pool_, "synced")->state, JobState::completed);
}

TEST_F(PatientGroupCommitTest, WhoAsksAfterTheEndDoesItByItself) {
  enqueue_patiently("a");
  patient_.post({.seq = store_.find(pool_, "a")->seq});
  patient_.stop();
  enqueue_patiently("b");
  EXPECT_TRUE(store_.find(pool_, "b"));
  auto request = std::make_unique<GroupCommit::Request>();
  request->batch.jobs.push_back({.pool = pool_, .id = "c"});
  patient_.post(std::move(request));
  EXPECT_TRUE(store_.find(pool_, "c"));
}

TEST_F(OverlappingGroupCommitTest, WhoAsksAfterTheEndWaitsForThoseUnderWay) {
  std::jthread stopper([this] { patient_.stop(); });
  enqueue_in_thread("a");
  while (patient_.waiting() == 0) std::this_thread::yield();
  store_.open_dock();
  threads_.clear();
  EXPECT_EQ(listener_.committed(), (std::vector<std::string>{"first", "a"}));
}

// Nine at once, of which each has an event of 100 bytes.
void PatientGroupCommitTest::expect_commits(const GroupCommit::Options& options, int commits) {
  GroupCommit small(store_, listener_, options);
  store_.close();
  std::vector<std::jthread> threads;
  for (int number = 0; number < 9; ++number) {
    threads.emplace_back([this, &small, number] {
      GroupCommit::Request request;
      request.batch.jobs.push_back(
          {.pool = pool_, .id = std::to_string(number), .event = std::string(100, 'x')});
      small.run(request);
      EXPECT_TRUE(request.batch.inserted.front().created);
    });
  }
  while (small.waiting() < 8) std::this_thread::yield();
  store_.open();
  threads.clear();
  EXPECT_EQ(store_.commits(), commits);
}

TEST_F(PatientGroupCommitTest, WhatDoesNotFitGoesIntoTheNextTransaction) {
  expect_commits({.most = 2, .gather = 0s}, 5);
}

TEST_F(PatientGroupCommitTest, BytesAreBoundedToo) {
  expect_commits({.most_bytes = 350, .gather = 0s}, 3);
}

}  // namespace
}  // namespace muster
