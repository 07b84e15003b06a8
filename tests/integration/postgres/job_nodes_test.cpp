// job_nodes_test.cpp: several nodes share the jobs of one database.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/jobs/move_jobs.hpp>

#include "job_nodes_testing.hpp"

namespace muster::testing {
namespace {

constexpr const char* kSilence =
    "UPDATE muster.node SET beat = clock_timestamp() - interval '1 hour'";

TEST_F(JobNodesTest, InstancesAreSharedEvenlyWhoeverComesAndGoes) {
  const Node& one = started(6);
  EXPECT_TRUE(are_shares("6")) << shares();
  started(6);
  EXPECT_TRUE(are_shares("3,3")) << shares();
  started(6);
  EXPECT_TRUE(are_shares("2,2,2")) << shares();
  close(one);
  EXPECT_TRUE(are_shares("3,3")) << shares();
}

TEST_F(JobNodesTest, NobodyHasTwoInstancesMoreThanAnother) {
  for (int i = 0; i < 3; ++i) started(4);
  EXPECT_TRUE(are_shares("1,1,2")) << shares();
  started(4);
  EXPECT_TRUE(are_shares("1,1,1,1")) << shares();
}

TEST_F(JobNodesTest, EachJobIsRunOnceAndInOrderAlthoughNodesComeAndGo) {
  constexpr int kRounds = 50;
  constexpr int kJobs = 40;
  const Node& first = started(8);
  const Node& second = started(8);
  const Node& client = node(8);
  const Node* third = nullptr;
  for (int round = 0; round < kRounds; ++round) {
    if (round == 10) third = &started(8);
    if (round == 20) close(first);
    if (round == 30) started(8);
    if (round == 40) close(*third);
    std::vector<Enqueue> jobs;
    for (int job = 0; job < kJobs; ++job) {
      const std::string key = "k" + std::to_string(job);
      Enqueue& made = jobs.emplace_back();
      made.id = key + "." + std::to_string(1000 + round);
      if (job % 4 != 0) made.partition_key = key;
    }
    const EnqueueManyResult result = (round % 2 == 0 ? second : client).client.enqueue_many(jobs);
    ASSERT_EQ(result.enqueued, static_cast<std::size_t>(kJobs));
  }
  EXPECT_EQ(client.client.drain(kLong), DrainOutcome::drained);
  expect_each_once(std::size_t{kRounds} * kJobs);
  std::map<std::string, std::string> last;
  for (const std::string& id : begun_.seen()) {
    const std::string key = id.substr(0, id.find('.'));
    if (std::stoi(key.substr(1)) % 4 == 0) continue;
    EXPECT_LT(last[key], id);
    last[key] = id;
  }
  EXPECT_EQ(client.client.status().total_processed, std::uint64_t{kRounds} * kJobs);
}

TEST_F(JobNodesTest, ANodeThatStopsHandsOverAtOnce) {
  Node& one = started(4);
  started(4);
  ASSERT_TRUE(are_shares("2,2", kLong)) << shares();
  EXPECT_EQ(one.jobs.stop().unfinished, 0U);
  EXPECT_TRUE(are_shares("4")) << shares();
}

TEST_F(JobNodesTest, AJobThatOutlastsTheLeaseWhileItsNodeStopsIsRunOnce) {
  Node& one = started(1, {.lease = 500ms});
  (void)one.client.enqueue({.id = "slow", .event = {"slow"}});
  ASSERT_TRUE(has_begun("slow"));
  const Node& two = started(1, {.lease = 500ms});
  std::thread stops([&] { (void)one.jobs.stop(); });
  EXPECT_FALSE(eventually([&] { return begun_.count("slow") > 1; }, 1500ms)) << "two has begun it";
  door_.open();
  stops.join();
  EXPECT_EQ(two.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(ended_.count("slow"), 1U);
}

// An instance that runs what belongs to another one leaves it alone when it goes.
TEST_F(JobNodesTest, AJobIsNotDisturbedWhenTheInstanceThatHelpsOutLeaves) {
  const Stranger stranger(url_);  // so that what is new is told again and again
  (void)stranger.ask("BEGIN; SELECT pg_current_xact_id()");
  const Node& client = node(2);
  for (const char* id : {"s0", "s1", "s2", "s3"}) {
    const EnqueueResult result = client.client.enqueue({.id = id, .event = {"slow"}});
    if (result.instance_index == 0) continue;
    EXPECT_EQ(client.client.cancel(id), JobCancelOutcome::cancelled);
  }
  const Node& one = started(2);
  ASSERT_TRUE(eventually([&] { return begun_.seen().size() == 2; }));
  started(2);
  ASSERT_TRUE(are_shares("1,1", kLong)) << shares();
  (void)client.client.enqueue({.id = "later"});
  ASSERT_TRUE(eventually([&] { return one.client.instance_status(0).pending > 0; }));
  door_.open();
  EXPECT_EQ(client.client.drain(kLong), DrainOutcome::drained);
  expect_each_once(3);
  EXPECT_TRUE(disturbed_.seen().empty());
}

TEST_F(JobNodesTest, AnIdIsCreatedOnceWhoeverEnqueuesIt) {
  const std::vector<const Node*> nodes{&started(2), &started(2), &node(2)};
  std::atomic<int> created = 0;
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      std::vector<Enqueue> jobs;
      for (int i = 0; i < 200; ++i) jobs.push_back({.id = "j" + std::to_string(i)});
      std::ranges::shuffle(jobs, std::mt19937(number));
      const Node& node = *nodes[number % nodes.size()];
      for (std::size_t i = 0; i < jobs.size(); i += 20) {
        const std::span<const Enqueue> some = std::span(jobs).subspan(i, 20);
        EXPECT_NO_THROW(created += static_cast<int>(node.client.enqueue_many(some).enqueued));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 200);
  EXPECT_EQ(nodes[0]->client.drain(kLong), DrainOutcome::drained);
  expect_each_once(200);
}

TEST_F(JobNodesTest, WhoWasGivenUpEnqueuesAsSomebodyNew) {
  const Node& one = node(1);
  for (const char* const id : {"a", "b"}) EXPECT_TRUE(one.client.enqueue({.id = id}).created);
  (void)ask("UPDATE muster.node SET dead = true");
  EXPECT_TRUE(one.client.enqueue({.id = "c"}).created);
  EXPECT_FALSE(one.client.enqueue({.id = "b"}).created);
  EXPECT_EQ(ask("SELECT string_agg(id, ' ' ORDER BY seq) FROM muster.job"), "a b c");
  EXPECT_EQ(ask("SELECT count(*) FROM muster.waiting"), "3");
  EXPECT_EQ(ask("SELECT count(*) FROM muster.node WHERE NOT dead"), "1");
}

// Who enqueues one job takes its number without keeping others away for long.
TEST_F(JobNodesTest, NumbersRiseWhetherOneIsTakenOrMany) {
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  for (const std::string name : {"x", "y"}) {
    const Node& one = node(2);
    const Node& many = node(2);
    threads.emplace_back([&one, name] {
      for (int i = 0; i < kRounds; ++i) {
        EXPECT_TRUE(one.client.enqueue({.id = name + std::to_string(1000 + i)}).created);
      }
    });
    threads.emplace_back([&many, name] {
      for (int i = 0; i < kRounds; ++i) {
        std::vector<Enqueue> jobs;
        for (int j = 0; j < 3; ++j) {
          jobs.push_back({.id = "many " + name + std::to_string(1000 + 3 * i + j)});
        }
        EXPECT_EQ(many.client.enqueue_many(jobs).enqueued, 3U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ask("SELECT count(*) FROM muster.job"), std::to_string(2 * 4 * kRounds));
  EXPECT_EQ(ask("SELECT bool_and(before IS NULL OR before < id) FROM (SELECT id,"
                " lag(id) OVER (PARTITION BY rtrim(id, '0123456789') ORDER BY seq) AS before"
                " FROM muster.job) AS each"),
            "t");
}

TEST_F(JobNodesTest, AnotherConcurrencyHoldsWhenNobodyRunsTheOldOne) {
  const Node& first = started(2);
  ASSERT_TRUE(are_shares("2")) << shares();
  Node& second = node(5);
  EXPECT_EQ(second.client.status().concurrency, 2U);
  second.jobs.start();
  EXPECT_TRUE(are_shares("1,1")) << shares();
  close(first);
  close(second);
  const Node& third = started(5);
  EXPECT_EQ(third.client.status().concurrency, 5U);
  EXPECT_TRUE(are_shares("5")) << shares();
}

// Otherwise they would not agree on whose a key is: who comes second runs nothing until the other
// ends.
TEST_F(JobNodesTest, NodesWithAnotherConcurrencyDoNotRunAtOnce) {
  Node& first = node(2);
  Node& second = node(5);
  first.jobs.start();
  second.jobs.start();
  std::vector<Enqueue> jobs;
  for (int i = 0; i < 100; ++i) {
    const std::string id = "j" + std::to_string(i);
    jobs.push_back({.id = id, .partition_key = id});
  }
  (void)first.client.enqueue_many(jobs);
  EXPECT_EQ(second.client.drain(kSoon), DrainOutcome::drained);
  expect_each_once(100);
}

// As if it had been stopped for an hour, in the middle of a transaction: then nobody buries it, and
// it may still go on.
TEST_F(JobNodesTest, WhoWasSilentDoesNotGoOnBesideAnotherConcurrency) {
  started(2, {.lease = 1min});
  ASSERT_TRUE(are_shares("2")) << shares();
  const Stranger stranger(url_);
  const auto is_stopped = [&] {
    (void)ask(kSilence);
    (void)stranger.ask("BEGIN");
    const std::string silent = stranger.ask(
        "SELECT number FROM muster.node WHERE beat < clock_timestamp() - interval '1 minute'"
        " FOR UPDATE");
    if (silent.empty()) (void)stranger.ask("ROLLBACK");  // it had a beat to say
    return !silent.empty();
  };
  ASSERT_TRUE(eventually(is_stopped));
  EXPECT_EQ(node(5).client.status().concurrency, 2U);
  (void)stranger.ask("ROLLBACK");
}

// As if it had been stopped for an hour: it must not go on with what has been taken elsewhere.
TEST_F(JobNodesTest, WhoIsSilentWhileJobsAreMovedIsGivenUp) {
  started(2, {.lease = 1min});
  ASSERT_TRUE(are_shares("2")) << shares();
  const std::string number = ask("SELECT number FROM muster.node WHERE pools <> '{}'");
  const auto are_moved = [&] {
    (void)ask(kSilence);
    try {
      (void)move_jobs(url_, "memory:");
    } catch (const StoreFailure&) {  // it had a beat to say
      return false;
    }
    return true;
  };
  ASSERT_TRUE(eventually(are_moved));
  EXPECT_EQ(ask("SELECT dead FROM muster.node WHERE number = " + number), "t");
}

// It has read what waits, but not which partitions are blocked, when it is given up.
TEST_F(JobNodesTest, WhoseLoadHasFailedForgetsWhatItHasReadWhenAnotherHasIt) {
  const auto started_blocking = [&]() -> Node& {
    Config blocking = config(1);
    blocking.when_dead = DeadLetterEffect::block;
    Node& made =
        *nodes_.emplace_back(std::make_unique<Node>(url_, blocking, JobsOptions{.lease = kLease}));
    made.jobs.start();
    return made;
  };
  (void)node(1).client.enqueue({.id = "a"});
  (void)ask("ALTER TABLE muster.ended RENAME TO hidden");
  const Node& first = started_blocking();
  ASSERT_TRUE(are_shares("1")) << shares();
  const std::string beat = ask("SELECT beat FROM muster.node WHERE pools <> '{}'");
  ASSERT_TRUE(
      eventually([&] { return ask("SELECT beat FROM muster.node WHERE pools <> '{}'") != beat; }));
  const Node& second = started_blocking();
  ASSERT_TRUE(are_shares("0,1")) << shares();
  (void)ask(
      "UPDATE muster.node SET dead = true WHERE number = (SELECT node FROM muster.instance);"
      " UPDATE muster.instance SET node = NULL; ALTER TABLE muster.hidden RENAME TO ended");
  EXPECT_EQ(second.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(first.client.drain(kSoon), DrainOutcome::drained);
  expect_each_once(1);
}

// One pool's dead letters cannot be looked at, and the node is given up meanwhile: what it holds of
// the other pool it holds as somebody new.
TEST_F(JobNodesTest, APoolThatCannotBeLoadedHoldsUpNoOther) {
  Config blocking = config(1);
  blocking.when_dead = DeadLetterEffect::block;
  Jobs jobs = Jobs::open(url_, {.lease = kLease});
  const auto first = jobs.define<Note>("a", blocking);
  const auto second = jobs.define<Note>("b", config(1));
  (void)first.enqueue({.id = "a"});
  EXPECT_EQ(ask("ALTER TABLE muster.ended RENAME TO hidden"), "");
  jobs.start();
  (void)second.enqueue({.id = "b"});
  EXPECT_EQ(second.drain(kSoon), DrainOutcome::drained);
  EXPECT_EQ(ask("UPDATE muster.node SET dead = true; UPDATE muster.instance SET node = NULL"), "");
  (void)second.enqueue({.id = "c"});  // which finds out
  EXPECT_TRUE(has_begun("c"));
  EXPECT_EQ(begun_.count("a"), 0U);
  EXPECT_EQ(ask("ALTER TABLE muster.hidden RENAME TO ended"), "");
  EXPECT_EQ(first.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(second.drain(kLong), DrainOutcome::drained);
}

TEST_F(JobNodesTest, ManyMayOpenAnEmptyDatabaseAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [this] { EXPECT_NO_THROW(Node(url_, config(2), {}).client.enqueue({.id = "a"})); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ask("SELECT count(*) FROM muster.version"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM muster.job"), "1");
}

TEST_F(JobNodesTest, ANewerDatabaseIsRefusedUnlessItSaysThatWeCanUseIt) {
  (void)Jobs::open(url_);
  (void)ask("UPDATE muster.version SET number = 99, oldest = 99");
  try {
    (void)Jobs::open(url_);
    FAIL() << "was opened";
  } catch (const StoreFailure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("its version is 99"), std::string::npos) << text;
    EXPECT_NE(text.find("use a newer release"), std::string::npos) << text;
  }
  (void)ask("UPDATE muster.version SET oldest = 1");
  EXPECT_TRUE(node(1).client.enqueue({.id = "a"}).created);
}

TEST_F(JobNodesTest, TimesAreThoseOfTheDatabase) {
  WrongClock wrong;
  const Node& off = node(1, {.lease = kLease, .clock = &wrong});
  (void)off.client.enqueue({.id = "a"});
  EXPECT_EQ(ask("SELECT abs(enqueued_at / 1e9 - extract(epoch FROM clock_timestamp())) < 60"
                " FROM muster.job"),
            "t");
  started(1);
  EXPECT_EQ(off.client.drain(kSoon), DrainOutcome::drained) << "and it is not run in an hour";
  close(off);
}

TEST_F(JobNodesTest, ALongTransactionOfAStrangerHidesNothing) {
  started(2);
  const Node& other = started(2);
  const Stranger stranger(url_);
  (void)stranger.ask("BEGIN; SELECT pg_current_xact_id()");
  for (int round = 0; round < 10; ++round) {
    std::vector<Enqueue> jobs;
    for (int i = 0; i < 30; ++i) {
      jobs.push_back({.id = std::to_string(round) + "." + std::to_string(i)});
    }
    (void)other.client.enqueue_many(jobs);
    EXPECT_EQ(other.client.drain(kSoon), DrainOutcome::drained);
  }
  expect_each_once(300);
}

}  // namespace
}  // namespace muster::testing
