// job_sessions_test.cpp: what nodes make of their sessions: what they leave behind with a pooler,
// how safe a transaction is, how often they come back to a server that is gone.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_nodes_testing.hpp"
#include "support/network_proxy.hpp"
#include "support/pgbouncer.hpp"

namespace muster::testing {
namespace {

using JobSessionsTest = JobNodesTest;

// All who come through the pooler have one session there.
TEST_F(JobSessionsTest, NobodyListensOnASessionThatIsAPoolers) {
  const PgBouncer bouncer(cluster().port(), {"default_pool_size=1"});
  const std::string pooled = with_port(url_, bouncer.port());
  Node& node =
      *nodes_.emplace_back(std::make_unique<Node>(pooled, config(1), JobsOptions{.lease = kLease}));
  node.jobs.start();
  (void)node.client.enqueue({.id = "a"});
  EXPECT_EQ(node.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(Stranger(pooled).ask("SELECT count(*) FROM pg_listening_channels()"), "0");
  nodes_.clear();  // before its pooler
}

// A trigger notes how each job was committed.
TEST_F(JobSessionsTest, WhatIsSyncedIsSoWhateverTheDatabasePrefers) {
  (void)node(1);  // makes the tables
  EXPECT_EQ(ask("CREATE TABLE noted(id text, setting text);"
                "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " INSERT INTO noted VALUES(new.id, current_setting('synchronous_commit'));"
                " RETURN NULL; END $$;"
                "CREATE TRIGGER note AFTER INSERT ON muster.job FOR EACH ROW"
                " EXECUTE FUNCTION note()"),
            "");
  for (const std::string setting : {"off", "local"}) {
    const std::string database = url_.substr(url_.rfind('/') + 1);
    EXPECT_EQ(ask("ALTER DATABASE " + database + " SET synchronous_commit = " + setting), "");
    const PgBouncer bouncer(cluster().port());  // and its sessions
    for (const std::string& url : {url_, with_port(url_, bouncer.port())}) {
      EXPECT_EQ(ask("DELETE FROM noted; DELETE FROM muster.waiting; DELETE FROM muster.job"), "");
      const Node client(url, config(1), {.lease = kLease});
      for (const char* const id : {"s1", "s2"}) (void)client.client.enqueue({.id = id});
      (void)client.client.enqueue({.id = "w"}, Durability::written);
      const std::string synced = setting == "off" ? "on" : setting;
      EXPECT_EQ(ask("SELECT string_agg(id || ' ' || setting, ', ' ORDER BY id) FROM noted"),
                "s1 " + synced + ", s2 " + synced + ", w off")
          << setting << " at " << url;
    }
  }
}

TEST_F(JobSessionsTest, ManyJobsAreOneHint) {
  const Node client(url_, config(2), {.lease = kLease});
  (void)client.client.enqueue({.id = "first"});  // opens its connections
  const Stranger listener(url_);
  EXPECT_EQ(listener.ask("LISTEN muster"), "");
  std::vector<Enqueue> many;
  for (int i = 0; i < 1000; ++i) many.push_back({.id = std::to_string(i)});
  EXPECT_EQ(client.client.enqueue_many(many).enqueued, 1000U);
  EXPECT_EQ(listener.notices(), 1U);
  (void)client.client.enqueue_many(many);
  EXPECT_EQ(listener.notices(), 1U);
}

// As by somebody who cancels a job there, at that moment.
TEST_F(JobSessionsTest, AnInstanceThatIsLockedIsTakenWhenItIsNot) {
  Node& late = node(2, {.lease = 1h});
  (void)late.client.enqueue({.id = "a"});
  const Stranger stranger(url_);
  EXPECT_EQ(stranger.ask("BEGIN; SELECT number FROM muster.instance WHERE number = 0 FOR UPDATE"),
            "0");
  late.jobs.start();
  EXPECT_TRUE(are_shares("1", kLong)) << shares();
  EXPECT_EQ(stranger.ask("COMMIT"), "");
  EXPECT_TRUE(are_shares("2", kLong)) << shares();
}

// It looks again sooner than its beats come, not later.
TEST_F(JobSessionsTest, WhoWaitsForALockedInstanceStaysAlive) {
  Node& short_of_one = node(2, {.lease = 400ms});
  const Stranger stranger(url_);
  EXPECT_EQ(stranger.ask("BEGIN; SELECT number FROM muster.instance WHERE number = 0 FOR UPDATE"),
            "0");
  short_of_one.jobs.start();
  ASSERT_TRUE(are_shares("1", kLong)) << shares();
  const std::string number = ask("SELECT max(number) FROM muster.node");
  const std::string late =
      "SELECT count(*) FROM muster.node WHERE beat < clock_timestamp() - interval '700 ms'";
  const Time end = real_clock().now() + 2s;
  int lates = 0;
  while (real_clock().now() < end) lates += ask(late) == "0" ? 0 : 1;
  EXPECT_EQ(lates, 0);
  EXPECT_EQ(ask("SELECT max(number) FROM muster.node"), number) << "it was given up meanwhile";
}

// The schedule's time is noted behind its job: that waits for a stranger's lock.
TEST_F(JobSessionsTest, AJobTimesOutAlsoWhileAScheduleWaitsForTheStore) {
  const auto start = [this]() -> Node& {
    Config impatient = config(2);
    impatient.timeout = 200ms;
    impatient.retry = at_once(1);
    Node& made = *nodes_.emplace_back(
        std::make_unique<Node>(url_, impatient, JobsOptions{.lease = kLease, .store_timeout = 5s}));
    made.jobs.schedule<Note>("plan", {.pool = "notes", .cron = "* * * * *", .event = {}});
    made.jobs.start();
    return made;
  };
  close(start());
  EXPECT_EQ(ask("UPDATE muster.memo SET number = number - 600 * 1000000000::bigint"), "");
  const Stranger stranger(url_);
  EXPECT_EQ(stranger.ask("BEGIN; LOCK TABLE muster.memo IN SHARE MODE"), "");
  const Node& node = start();
  EXPECT_TRUE(eventually(
      [&] { return ask("SELECT count(*) FROM muster.job WHERE id LIKE 'plan@%'") != "0"; }));
  (void)node.client.enqueue({.id = "a", .event = {"stubborn", 1}});
  EXPECT_TRUE(eventually([&] { return node.client.status().total_dead == 1; }, kSoon));
  EXPECT_EQ(stranger.ask("COMMIT"), "");
}

// Nobody else uses its connections.
TEST_F(JobSessionsTest, AServerThatIsGoneIsAskedForMoreAndMoreSeldom) {
  constexpr std::uint64_t kAttempts = 5;
  NetworkProxy proxy(cluster().port());
  Node& node = *nodes_.emplace_back(std::make_unique<Node>(with_port(url_, proxy.port()), config(1),
                                                           JobsOptions{.lease = kLease}));
  node.jobs.start();
  EXPECT_TRUE(are_shares("1", kLong)) << shares();
  const std::uint64_t before = proxy.connections();
  const Time begin = real_clock().now();
  cluster().kill_server();
  EXPECT_TRUE(eventually([&] { return proxy.connections() >= before + kAttempts; }));
  const Duration took = real_clock().now() - begin;
  cluster().start();
  EXPECT_GE(took, 200ms + 400ms + 800ms + 1s);
  EXPECT_TRUE(eventually([&] {
    return ask("SELECT count(*) FROM pg_stat_activity"
               " WHERE datname = current_database()") > "1";
  })) << "it has not come back";
  nodes_.clear();  // before its network
}

}  // namespace
}  // namespace muster::testing
