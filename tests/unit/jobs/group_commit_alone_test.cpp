// group_commit_alone_test.cpp: who needs it to be written only goes alone; nobody is left behind.
#include <string>
#include <thread>
#include <vector>

#include "group_commit_fixture.hpp"

namespace muster {
namespace {

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

}  // namespace
}  // namespace muster
