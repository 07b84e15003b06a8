// store_test.cpp: what every store of jobs has to do alike.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <muster/base/random.hpp>

#include "store_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::at;
using testing::StoreTest;
using testing::Words;

TEST_P(StoreTest, APoolKeepsItsNumber) {
  EXPECT_NE(store().open_pool("emails", 4).number, pool_);
  reopen();
  EXPECT_EQ(store().open_pool("webhooks", 4).number, pool_);
}

TEST_P(StoreTest, AJobIsKeptAsItWasGiven) {
  NewJob given = job("w1");
  given.key = "cust-7";
  given.priority = -3;
  given.turn = 9;
  given.event = R"({"text":"grüße \u0000"})";
  const JobSeq seq = insert(given);
  reopen();
  const auto found = store().find(pool_, "w1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->seq, seq);
  EXPECT_EQ(found->key, "cust-7");
  EXPECT_EQ(found->priority, -3);
  EXPECT_EQ(found->turn, 9U);
  EXPECT_EQ(found->attempts, 0U);
  EXPECT_EQ(found->state, JobState::available);
  EXPECT_EQ(found->enqueued_at, at(1));
  EXPECT_EQ(found->at, at(2));
  const std::vector<JobBody> bodies = store().read(std::vector{seq}, Store::kAnySize);
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_EQ(bodies[0].id, "w1");
  EXPECT_EQ(bodies[0].event, given.event);
  EXPECT_EQ(bodies[0].enqueued_at, at(1));
}

// Whoever reads ahead does not want large ones; but the first is wanted now.
TEST_P(StoreTest, LargeEventsAreReadOnlyIfTheyAreFirst) {
  std::vector<NewJob> jobs{job("a"), job("b"), job("c")};
  jobs[0].event = jobs[1].event = '"' + std::string(5000, 'x') + '"';
  std::vector<JobSeq> seqs;
  for (const Inserted& inserted : insert(jobs)) seqs.push_back(inserted.seq);
  const auto ids_of = [&](std::size_t small) {
    Words ids;
    for (const JobBody& body : store().read(seqs, small)) ids.push_back(body.id);
    return ids;
  };
  EXPECT_EQ(ids_of(5001), (Words{"a", "c"}));
  EXPECT_EQ(ids_of(5002), (Words{"a", "b", "c"}));
}

// One after the other, all the same, or as they come.
TEST_P(StoreTest, TurnsAreKeptAsTheyWereGiven) {
  const std::vector<std::vector<std::uint32_t>> batches{
      {7}, {3, 4, 5, 6}, {9, 9, 9}, {8, 6, 4}, {1, 2, 4, 8}, {4'294'967'295U, 0, 1}};
  for (const std::vector<std::uint32_t>& turns : batches) {
    std::vector<NewJob> jobs;
    for (const std::uint32_t turn : turns) {
      jobs.push_back(
          job(std::to_string(&turns - batches.data()) + ":" + std::to_string(jobs.size())));
      jobs.back().turn = turn;
    }
    (void)insert(jobs);
  }
  std::vector<std::uint32_t> given;
  for (const auto& turns : batches) given.insert(given.end(), turns.begin(), turns.end());
  std::vector<std::uint32_t> kept;
  store().load_waiting(pool_, [&](const JobRecord& record) { kept.push_back(record.turn); });
  EXPECT_EQ(kept, given);
  EXPECT_EQ(store().find(pool_, "1:3")->turn, 6U);
}

TEST_P(StoreTest, AnIdIsTakenOnceInAPool) {
  NewJob first = job("w1");
  first.turn = 5;
  const JobSeq seq = insert(first);
  const std::vector<Inserted> again = insert({job("w2"), job("w1"), job("w2")});
  EXPECT_TRUE(again[0].created);
  EXPECT_FALSE(again[1].created);
  EXPECT_EQ(again[1].seq, seq);
  EXPECT_EQ(again[1].turn, 5U) << "of the one there is";
  EXPECT_FALSE(again[2].created) << "duplicates in a batch are found, too";
  EXPECT_EQ(again[2].seq, again[0].seq);
  NewJob elsewhere = job("w1");
  elsewhere.pool = store().open_pool("emails", 4).number;
  EXPECT_TRUE(insert(std::vector{elsewhere})[0].created);
  EXPECT_EQ(waiting(), (Words{"w1", "w2"}));
}

TEST_P(StoreTest, SeqsGrowAlsoAfterItWasOpenedAgain) {
  const JobSeq first = insert(job("a"));
  reopen();
  EXPECT_GT(insert(job("b")), first);
}

TEST_P(StoreTest, WhatWaitsIsLoadedInTheOrderItCame) {
  for (const char* const id : {"c", "a", "b"}) insert(job(id));
  settle({.seq = store().find(pool_, "a")->seq, .at = at(3)});
  reopen();
  EXPECT_EQ(waiting(), (Words{"c", "b"}));
}

TEST_P(StoreTest, OnlyTheFirstSettlementCounts) {
  const JobSeq seq = insert(job("a"));
  EXPECT_TRUE(settle({.seq = seq, .at = at(5), .result = "42"}).is_settled);
  EXPECT_FALSE(settle({.seq = seq, .state = JobState::dead, .at = at(6)}).is_settled);
  EXPECT_FALSE(settle({.seq = 999, .at = at(6)}).is_settled) << "nor of a job that does not exist";
  reopen();
  EXPECT_EQ(store().find(pool_, "a")->state, JobState::completed);
  EXPECT_EQ(store().find(pool_, "a")->at, at(5));
  EXPECT_EQ(store().remains(seq).result, "42");
}

TEST_P(StoreTest, OfManyThatCompleteAtOnceOnlyThoseCountThatWait) {
  StoreBatch batch;
  for (int i = 0; i < 20; ++i) {
    batch.settlements.push_back({.seq = insert(job(std::to_string(i))), .at = at(5)});
  }
  EXPECT_TRUE(judge({.seq = batch.settlements[7].seq, .at = at(3)}));
  batch.settlements.push_back({.seq = batch.settlements[11].seq, .at = at(6)});
  commit_as_holder(batch);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(batch.settled[i].is_settled, i != 7);
    EXPECT_EQ(store().find(pool_, std::to_string(i))->state,
              i != 7 ? JobState::completed : JobState::cancelled);
  }
  EXPECT_FALSE(batch.settled[20].is_settled) << "for the second time";
  EXPECT_TRUE(waiting().empty());
  for (const WholeJob& whole : store().all_jobs({})) {
    EXPECT_EQ(whole.record.at, whole.record.id == "7" ? at(3) : at(5)) << whole.record.id;
  }
}

TEST_P(StoreTest, WhatAJobEnqueuesComesWithItsSettlementOrNotAtAll) {
  const JobSeq seq = insert(job("a"));
  const StoreBatch::Settled settled =
      settle({.seq = seq, .at = at(5), .enqueued = {job("next"), job("a")}});
  ASSERT_EQ(settled.inserted.size(), 2U);
  EXPECT_TRUE(settled.inserted[0].created);
  EXPECT_FALSE(settled.inserted[1].created);
  EXPECT_TRUE(settle({.seq = seq, .at = at(6), .enqueued = {job("stale")}}).inserted.empty());
  reopen();
  EXPECT_TRUE(store().find(pool_, "next"));
  EXPECT_FALSE(store().find(pool_, "stale"));
}

TEST_P(StoreTest, ARetryWaitsWithItsAttemptsAndTime) {
  const JobSeq seq = insert(job("a"));
  settle({.seq = seq,
          .state = JobState::available,
          .attempts = 2,
          .at = at(77),
          .error = AttemptError{.attempt = 2, .what = "no", .failed_at = at(7)}});
  reopen();
  const auto found = store().find(pool_, "a");
  EXPECT_EQ(found->state, JobState::available);
  EXPECT_EQ(found->attempts, 2U);
  EXPECT_EQ(found->at, at(77));
}

TEST_P(StoreTest, DeadLettersTellEveryAttempt) {
  for (const char* const id : {"a", "b", "c"}) {
    const JobSeq seq = insert(job(id));
    for (unsigned attempt = 1; attempt <= 2; ++attempt) {
      settle({.seq = seq,
              .state = attempt == 2 ? JobState::dead : JobState::available,
              .attempts = attempt,
              .at = at(10),
              .error = AttemptError{.attempt = attempt,
                                    .kind = FailureKind::crash,
                                    .what = "fault " + std::to_string(attempt),
                                    .failed_at = at(8)}});
    }
  }
  reopen();
  const auto page = store().dead_letters(pool_, {.limit = 2});
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].letter.id, "a");
  EXPECT_EQ(page[0].letter.event, "{}");
  EXPECT_EQ(page[0].letter.failed_at, at(10));
  ASSERT_EQ(page[0].letter.errors.size(), 2U);
  EXPECT_EQ(page[0].letter.errors[1].what, "fault 2");
  EXPECT_EQ(page[0].letter.errors[1].kind, FailureKind::crash);
  EXPECT_EQ(page[0].letter.errors[0].attempt, 1U);
  const auto rest = store().dead_letters(pool_, {.after = page[1].seq});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].letter.id, "c");
}

TEST_P(StoreTest, ADeadLetterMayBeReplayedOnce) {
  const JobSeq seq = insert(job("a"));
  const Verdict replay{.seq = seq, .from = JobState::dead, .to = JobState::available, .at = at(20)};
  EXPECT_FALSE(judge(replay)) << "it is not dead";
  settle({.seq = seq,
          .state = JobState::dead,
          .attempts = 3,
          .at = at(10),
          .error = AttemptError{.attempt = 3, .what = "no"},
          .log = "tried\n"});
  EXPECT_TRUE(judge(replay));
  EXPECT_FALSE(judge(replay));
  EXPECT_EQ(store().remains(seq).log, std::nullopt);
  reopen();
  EXPECT_EQ(store().find(pool_, "a")->attempts, 0U);
  EXPECT_EQ(store().find(pool_, "a")->at, at(20));
  EXPECT_TRUE(store().dead_letters(pool_, {}).empty());
  EXPECT_EQ(waiting(), (Words{"a"}));
}

TEST_P(StoreTest, ACancelledJobIsNotSettled) {
  const JobSeq seq = insert(job("a"));
  EXPECT_TRUE(judge({.seq = seq, .at = at(3)}));
  EXPECT_FALSE(settle({.seq = seq, .at = at(4)}).is_settled);
  EXPECT_EQ(store().find(pool_, "a")->state, JobState::cancelled);
}

TEST_P(StoreTest, CountsAndPausesOfInstancesStay) {
  for (const char* const id : {"a", "b", "c"}) insert(job(id));
  StoreBatch batch;
  for (const char* const id : {"a", "b"}) {
    batch.settlements.push_back(
        {.seq = store().find(pool_, id)->seq, .at = at(3), .place = {pool_, 3}});
  }
  batch.settlements.push_back({.seq = store().find(pool_, "c")->seq,
                               .state = JobState::available,
                               .attempts = 1,
                               .at = at(3),
                               .place = {pool_, 3}});
  batch.pauses.push_back({.pool = pool_, .index = 2, .is_paused = true});
  commit_as_holder(batch);
  reopen();
  PoolRecord record = store().open_pool("webhooks", 4);
  ASSERT_GE(record.instances.size(), 2U);
  for (const PoolRecord::Instance& instance : record.instances) {
    EXPECT_EQ(instance.processed, instance.index == 3 ? 2U : 0U) << "a retry is not processed";
    EXPECT_EQ(instance.is_paused, instance.index == 2);
  }
  EXPECT_FALSE(record.is_paused);
  StoreBatch all;
  all.pauses.push_back({.pool = pool_, .index = {}, .is_paused = true});
  store().commit(all, Durability::synced);
  reopen();
  record = store().open_pool("webhooks", 4);
  EXPECT_TRUE(record.is_paused);
  for (const PoolRecord::Instance& instance : record.instances) {
    EXPECT_FALSE(instance.is_paused) << "to resume all is to resume each";
  }
}

TEST_P(StoreTest, OneInstanceOfAPausedPoolIsResumedAlone) {
  StoreBatch batch;
  batch.pauses.push_back({.pool = pool_, .is_paused = true, .concurrency = 4});
  batch.pauses.push_back({.pool = pool_, .index = 2, .concurrency = 4});
  store().commit(batch, Durability::synced);
  const auto paused = [this] {
    reopen();
    const PoolRecord record = store().open_pool("webhooks", 4);
    EXPECT_FALSE(record.is_paused);
    std::set<std::uint32_t> indexes;
    for (const PoolRecord::Instance& instance : record.instances) {
      if (instance.is_paused) indexes.insert(instance.index);
    }
    return indexes;
  };
  EXPECT_EQ(paused(), (std::set<std::uint32_t>{0, 1, 3}));
  batch.pauses.assign(1, {.pool = pool_, .index = 3, .concurrency = 4});
  store().commit(batch, Durability::synced);
  EXPECT_EQ(paused(), (std::set<std::uint32_t>{0, 1}));
}

TEST_P(StoreTest, TheLargerNumberIsRemembered) {
  EXPECT_EQ(store().recall("nightly"), std::nullopt);
  store().remember("nightly", 7);
  store().remember("nightly", 5);
  reopen();
  EXPECT_EQ(store().recall("nightly"), 7);
  store().correct("nightly", 3);
  EXPECT_EQ(store().recall("nightly"), 3) << "unless it was wrong";
}

// Everything that can be done, at random, against what is expected of it.
TEST_P(StoreTest, EqualsAModelUnderRandomOperations) {
  struct Expected {
    JobState state = JobState::available;
    unsigned attempts = 0;
  };
  Random random(20261117);
  std::map<std::string, Expected> model;
  std::map<std::string, JobSeq> seqs;
  for (int step = 0; step < 300; ++step) {
    StoreBatch batch;
    Words inserted;
    Words settled;
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      inserted.push_back(std::to_string(random.below(200)));
      batch.jobs.push_back(job(inserted.back()));
    }
    for (const auto& [id, seq] : seqs) {
      if (random.below(20) > 0) continue;
      settled.push_back(id);
      const bool retries = random.below(2) == 0;
      batch.settlements.push_back({.seq = seq,
                                   .state = retries ? JobState::available : JobState::completed,
                                   .attempts = model[id].attempts + (retries ? 1 : 0),
                                   .at = at(step)});
    }
    commit_as_holder(batch);
    for (std::size_t i = 0; i < settled.size(); ++i) {
      Expected& expected = model[settled[i]];
      ASSERT_EQ(batch.settled[i].is_settled, expected.state == JobState::available);
      if (!batch.settled[i].is_settled) continue;
      expected = {batch.settlements[i].state, batch.settlements[i].attempts};
    }
    for (std::size_t i = 0; i < inserted.size(); ++i) {
      ASSERT_EQ(batch.inserted[i].created, model.emplace(inserted[i], Expected{}).second);
      seqs[inserted[i]] = batch.inserted[i].seq;
    }
    if (step % 50 == 0) reopen();
  }
  for (const auto& [id, expected] : model) {
    const auto found = store().find(pool_, id);
    ASSERT_TRUE(found) << id;
    EXPECT_EQ(found->state, expected.state);
    EXPECT_EQ(found->attempts, expected.attempts);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::all_stores(), testing::store_kind_name);

}  // namespace
}  // namespace muster
