// store_retention_test.cpp: what every store lets go of, when, and which ids are free then.
#include <string>
#include <vector>

#include "store_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::at;
using testing::Words;

class StoreRetentionTest : public testing::StoreTest {};

TEST_P(StoreRetentionTest, WhatIsOverGoesInTwoSteps) {
  const JobSeq done = insert(job("done"));
  const JobSeq dead = insert(job("dead"));
  insert(job("waits"));
  settle({.seq = done, .at = at(100), .result = "1"});
  settle({.seq = dead, .state = JobState::dead, .attempts = 1, .at = at(100)});
  const Retention retention{.completed = 10s, .ids = 100s};
  EXPECT_EQ(store().prune(retention, at(109), {}).removed, 0U);
  EXPECT_EQ(store().prune(retention, at(111), {}).removed, 1U);
  EXPECT_EQ(store().remains(done).result, std::nullopt);
  EXPECT_FALSE(insert(std::vector{job("done")})[0].created) << "its id is still known";
  EXPECT_EQ(store().prune(retention, at(112), {}).removed, 0U) << "nothing is left to let go";
  EXPECT_EQ(store().prune(retention, at(201), {}).removed, 1U);
  EXPECT_FALSE(store().find(pool_, "done"));
  EXPECT_TRUE(store().find(pool_, "dead")) << "kept for ever";
  EXPECT_EQ(store().prune({.dead = 10s}, at(201), {}).removed, 1U) << "unless told otherwise";
  EXPECT_EQ(waiting(), (Words{"waits"}));
}

TEST_P(StoreRetentionTest, ALetterThatIsLetGoOfIsCancelledAndItsIdKnown) {
  const JobSeq dead = insert(job("dead"));
  settle({.seq = dead,
          .state = JobState::dead,
          .attempts = 1,
          .at = at(100),
          .error = AttemptError{.attempt = 1, .what = "no"},
          .log = "tried\n"});
  const Retention retention{.completed = 5s, .ids = 100s, .dead = 10s};
  EXPECT_EQ(store().prune(retention, at(109), {}).removed, 0U);
  EXPECT_EQ(store().prune(retention, at(111), {}).removed, 1U);
  EXPECT_TRUE(store().dead_letters(pool_, {}).empty());
  EXPECT_EQ(store().find(pool_, "dead")->state, JobState::cancelled);
  EXPECT_EQ(store().remains(dead).log, std::nullopt);
  const WholeJob left = store().all_jobs({}).at(0);
  EXPECT_EQ(left.event, std::nullopt);
  EXPECT_TRUE(left.errors.empty());
  EXPECT_FALSE(insert(std::vector{job("dead")})[0].created);
  EXPECT_EQ(store().prune(retention, at(199), {}).removed, 0U) << "nothing is left to let go";
  EXPECT_EQ(store().prune(retention, at(201), {}).removed, 1U);
  EXPECT_FALSE(store().find(pool_, "dead"));
}

TEST_P(StoreRetentionTest, ANumberIsNotGivenOutTwiceThoughItsJobIsGone) {
  const JobSeq first = insert(job("a"));
  settle({.seq = first, .at = at(1)});
  EXPECT_EQ(store().prune({.completed = 1s, .ids = 1s}, at(100), {}).removed, 1U);
  reopen();
  EXPECT_FALSE(store().find(pool_, "a"));
  EXPECT_GT(insert(job("a")), first);
}

TEST_P(StoreRetentionTest, PruningGoesOnWhereItStopped) {
  for (int i = 0; i < 10; ++i) {
    settle({.seq = insert(job(std::to_string(i))), .at = at(1)});
  }
  const Retention retention{.completed = 1s, .ids = 1s};
  Store::Pruned pruned;
  std::size_t removed = 0;
  int calls = 0;
  do {
    pruned = store().prune(retention, at(100), {.after = pruned.next, .limit = 3});
    removed += pruned.removed;
    ++calls;
  } while (pruned.next != 0);
  EXPECT_EQ(removed, 10U);
  EXPECT_EQ(calls, 4);
}

TEST_P(StoreRetentionTest, AnEndedJobMakesRoomForItsIdIfToldSo) {
  NewJob again = job("a");
  again.enqueued_at = at(100);
  again.replaces_before = at(50);
  const JobSeq first = insert(job("a"));
  EXPECT_FALSE(insert(std::vector{again})[0].created) << "it has not ended";
  settle({.seq = first, .at = at(3), .log = "one\n"});
  EXPECT_EQ(store().remains(first).log, "one\n");
  EXPECT_FALSE(insert(std::vector{job("a")})[0].created) << "nobody said so";
  NewJob early = again;
  early.replaces_before = at(1);
  EXPECT_FALSE(insert(std::vector{early})[0].created) << "not enqueued before that";
  const Inserted inserted = insert(std::vector{again})[0];
  EXPECT_TRUE(inserted.created);
  EXPECT_NE(inserted.seq, first);
  settle({.seq = inserted.seq, .state = JobState::dead, .attempts = 1, .at = at(101)});
  again.replaces_before = at(1000);
  EXPECT_FALSE(insert(std::vector{again})[0].created) << "a dead letter is kept";
  again.id = "b";
  EXPECT_FALSE(insert({job("b"), again})[1].created) << "it has come just now";
  EXPECT_EQ(waiting(), (Words{"b"}));
}

TEST_P(StoreRetentionTest, AJobMayEnqueueItsOwnIdAnew) {
  NewJob again = job("a");
  again.enqueued_at = at(100);
  again.replaces_before = at(50);
  const auto settled = settle({.seq = insert(job("a")), .at = at(3), .enqueued = {again}});
  ASSERT_EQ(settled.inserted.size(), 1U);
  EXPECT_TRUE(settled.inserted[0].created);
  EXPECT_EQ(waiting(), (Words{"a"}));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreRetentionTest, testing::all_stores(),
                         testing::store_kind_name);

}  // namespace
}  // namespace muster
