// group_commit_test.cpp: many changes, few transactions, each answer to whom it belongs; and a
// store that fails for a while loses nothing.
#include <string>
#include <thread>
#include <vector>

#include "group_commit_fixture.hpp"

namespace muster {
namespace {

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

class BoundedGroupCommitTest : public GroupCommitTest {
 protected:
  // Nine at once, of which each has an event of 100 bytes.
  void expect_commits(const GroupCommit::Options& options, int commits) {
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
};

TEST_F(BoundedGroupCommitTest, WhatDoesNotFitGoesIntoTheNextTransaction) {
  expect_commits({.most = 2, .gather = 0s}, 5);
}

TEST_F(BoundedGroupCommitTest, BytesAreBoundedToo) {
  expect_commits({.most_bytes = 350, .gather = 0s}, 3);
}

}  // namespace
}  // namespace muster
