// job_node_kill_test.cpp: nodes that share the jobs of a PostgreSQL database, killed and stopped at
// random moments, and its server killed; with a ledger of what they were told and what they did.
//
// A trigger notes in the database when each job is settled. At the end the ledger and the database
// have to tell one story. This program is also that of the nodes. MUSTER_KILLS makes it longer.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

#include "job_node_ledger.hpp"
#include "job_node_process.hpp"
#include "support/postgres_cluster.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

// One server for all tests. What was not synced stays so for long.
PostgresCluster& cluster() {
  static PostgresCluster all({.fsync = false, .settings = {"wal_writer_delay=10s"}});
  return all;
}

// What a job enqueues is there once if it has completed, and not at all otherwise.
constexpr const char* kHalfDone =
    "SELECT o.id, o.state, count(m.seq) FROM muster.jobs o LEFT JOIN muster.job m ON"
    " m.pool <> o.pool AND split_part(m.id, '/', 1) = o.id WHERE o.event::json->>'kind' <> 'plain'"
    " AND o.pool = (SELECT number FROM muster.pool WHERE name = 'orders')"
    " GROUP BY o.seq, o.id, o.state HAVING count(m.seq) <> (o.state = 1)::integer";

// Every job that does not wait has ended once, in one way.
constexpr const char* kNotEndedOnce =
    "SELECT id, count(ends.seq) FROM muster.job LEFT JOIN (SELECT seq FROM muster.ended"
    " UNION ALL SELECT unnest(seqs) FROM muster.completed) AS ends USING(seq)"
    " GROUP BY job.seq HAVING count(ends.seq) <> 1";

constexpr const char* kNoteSettlements =
    "CREATE TABLE settled(seq bigint, at timestamptz);"
    "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " INSERT INTO settled VALUES(old.seq, clock_timestamp()); RETURN NULL; END $$;"
    "CREATE TRIGGER note AFTER DELETE ON muster.waiting FOR EACH ROW EXECUTE FUNCTION note()";

class JobNodeKillTest : public ::testing::Test {
 protected:
  using Rows = std::vector<std::vector<std::string>>;

  JobNodeKillTest() {
    (void)open_jobs(errand_);  // makes the tables
    (void)query(kNoteSettlements);
  }

  // By a connection of its own: the server may have been killed since.
  [[nodiscard]] Rows query(const std::string& sql) const {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(errand_.url.c_str()),
                                                                  &PQfinish);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection.get(), sql.c_str()), &PQclear);
    EXPECT_STREQ(PQerrorMessage(connection.get()), "") << sql;
    Rows rows(static_cast<std::size_t>(PQntuples(result.get())));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        rows[row].emplace_back(PQgetvalue(result.get(), static_cast<int>(row), column));
      }
    }
    return rows;
  }

  void expect_none(const std::string& what, const std::string& sql) const {
    Complaints complaints;
    for (const std::vector<std::string>& row : query(sql)) {
      std::string text = what;
      for (const std::string& word : row) text += ": " + word;
      complaints.add(text);
    }
  }

  NodeProcess& start_node() {
    ++errand_.tag;
    return *nodes_.emplace_back(std::make_unique<NodeProcess>(errand_));
  }
  void start_nodes(int count) {
    for (int i = 0; i < count; ++i) (void)start_node();
  }

  template <class Condition>
  [[nodiscard]] static bool wait_until(const Condition& condition) {
    const Time deadline = real_clock().now() + kPatience;
    while (!condition()) {
      if (real_clock().now() >= deadline) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }
  [[nodiscard]] bool is_noted(const std::string& word, const std::string& id, int tag) const {
    return std::ranges::any_of(read_ledger(errand_.ledger), [&](const LedgerLine& line) {
      return line.word == word && line.id.starts_with(id) && line.tag == tag;
    });
  }
  [[nodiscard]] bool nothing_waits() const {
    return query("SELECT seq FROM muster.waiting LIMIT 1").empty();
  }

  // Lets them do what is left, and stops them.
  void finish() {
    for (const auto& node : nodes_) {
      EXPECT_FALSE(node->has_ended()) << "by itself: " << node->wait();
      node->send(SIGUSR1);
    }
    EXPECT_TRUE(wait_until([&] { return nothing_waits(); })) << "jobs are left over";
    for (const auto& node : nodes_) node->send(SIGTERM);
    for (const auto& node : nodes_) EXPECT_EQ(node->wait(), 0) << "it did not stop well";
  }

  void check_database() const {
    expect_none("waits", "SELECT seq, attempts FROM muster.waiting");
    expect_none("settled twice",
                "SELECT seq, count(*) FROM settled GROUP BY seq HAVING count(*) > 1");
    expect_none("has not ended once", kNotEndedOnce);
    expect_none("is held by a node that is gone",
                "SELECT pool, number, node FROM muster.instance WHERE node IS NOT NULL");
    expect_none("processed is not what has ended",
                "SELECT * FROM (SELECT pool, sum(processed), (SELECT count(*) FROM muster.jobs"
                " WHERE jobs.pool = instance.pool AND state IN (1, 2)) AS ended"
                " FROM muster.instance GROUP BY pool) AS pools WHERE sum <> ended");
    expect_none("half done", kHalfDone);
    expect_none("attempts are not its failures",
                "SELECT id, attempts FROM muster.jobs WHERE attempts <>"
                " (SELECT count(*) FROM muster.failure WHERE failure.seq = jobs.seq)");
    expect_none("dead against the rule, or not dead",
                "SELECT id, state, attempts FROM muster.jobs WHERE (state = 2) <> (attempts = " +
                    std::to_string(errand_.attempts) +
                    ") OR (state = 1 AND id NOT LIKE '%/%'"
                    " AND event::json->>'kind' IN ('hopeless', 'poison'))");
  }

  // The ledger against the database.
  JobStories check(Late late = Late::never, Unsynced unsynced = Unsynced::is_kept) const {
    check_database();
    JobStories stories = stories_of(read_ledger(errand_.ledger));
    for (const std::vector<std::string>& row :
         query("SELECT id, key, state, (extract(epoch FROM min(settled.at)) * 1e9)::bigint"
               " FROM muster.jobs LEFT JOIN settled USING(seq) WHERE id NOT LIKE '%/%'"
               " GROUP BY seq, id, key, state")) {
      JobStory& story = stories[row[0]];
      story.is_stored = true;
      story.key = row[1];
      story.is_completed = row[2] == "1";
      if (!row[3].empty()) story.settled_ns = std::stoll(row[3]);
    }
    check_answers(stories, unsynced);
    check_order(stories, late);
    const auto again = std::ranges::count_if(
        stories, [](const auto& each) { return each.second.begins.size() > 1; });
    std::cout << stories.size() << " jobs, " << again << " were run more than once" << std::endl;
    return stories;
  }

  void sleep_at_most(std::chrono::microseconds most) {
    usleep(static_cast<useconds_t>(random_.below(static_cast<std::uint64_t>(most.count()))));
  }

  static std::uint64_t seed() {
    const char* const chosen = std::getenv("MUSTER_SEED");
    const std::uint64_t seed = chosen != nullptr ? std::stoull(chosen) : 20'240'229;
    std::cout << "seed " << seed << " (MUSTER_SEED chooses another)" << std::endl;
    return seed;
  }

  // MUSTER_KILLS is of nodes; of what takes longer there are as many fewer.
  static constexpr int kNodeKills = 60;
  static int kills(int by_default) {
    const char* const chosen = std::getenv("MUSTER_KILLS");
    if (chosen == nullptr) return by_default;
    return std::max(1, std::stoi(chosen) * by_default / kNodeKills);
  }

  TemporaryFolder folder_;
  NodeErrand errand_{.url = cluster().create_database(), .ledger = folder_.file("ledger")};
  Random random_{seed()};
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
};

TEST_F(JobNodeKillTest, NodesAreKilled) {
  start_nodes(3);
  int left = kills(kNodeKills);
  for (int round = 1; left > 0; ++round) {
    sleep_at_most(left % 5 == 0 ? 100ms : 900ms);
    // Nobody is left who would notice it.
    const std::size_t victims = round % 8 == 0 ? nodes_.size() : 1;
    std::rotate(nodes_.begin(),
                nodes_.begin() + static_cast<std::ptrdiff_t>(random_.below(nodes_.size())),
                nodes_.end());
    const auto end = nodes_.begin() + static_cast<std::ptrdiff_t>(victims);
    for (auto victim = nodes_.begin(); victim != end; ++victim) {
      EXPECT_FALSE((*victim)->has_ended()) << "by itself: " << (*victim)->wait();
      (*victim)->send(SIGKILL);  // all of them, before any is waited for
    }
    nodes_.erase(nodes_.begin(), end);
    start_nodes(static_cast<int>(victims));
    left -= static_cast<int>(victims);
    expect_none("half done", kHalfDone);
  }
  finish();
  EXPECT_GT(check().size(), 100U);
}

// Who is stopped for longer than its lease comes back and knows nothing.
TEST_F(JobNodeKillTest, NodesAreStopped) {
  start_nodes(3);
  for (int left = kills(30); left > 0; --left) {
    sleep_at_most(500ms);
    const NodeProcess& node = *nodes_[random_.below(nodes_.size())];
    node.send(SIGSTOP);
    sleep_at_most(3 * errand_.lease);
    node.send(SIGCONT);
    expect_none("half done", kHalfDone);
  }
  finish();
  EXPECT_GT(check(Late::if_decided).size(), 100U);
}

TEST_F(JobNodeKillTest, TheServerIsKilled) {
  errand_.store_timeout = 1s;
  start_nodes(2);
  ASSERT_TRUE(
      wait_until([&] { return is_noted("created", "1-", 1) && is_noted("created", "2-", 2); }));
  for (int left = kills(20); left > 0; --left) {
    sleep_at_most(1200ms);
    cluster().kill_server();
    // For longer than a commit is tried, or not.
    if (left % 4 == 0) std::this_thread::sleep_for(2 * errand_.store_timeout + 300ms);
    cluster().start();
    expect_none("half done", kHalfDone);
  }
  finish();
  EXPECT_GT(check(Late::never, Unsynced::may_be_lost).size(), 100U);
}

// Jobs that were not synced are gone with the server, but not from the memory of the node that they
// waited for; so their numbers must not be given to the next ones.
TEST_F(JobNodeKillTest, WhatTheServerForgotIsForgotten) {
  errand_.enqueues = false;
  errand_.lease = 10s;  // or its beats sync everything
  const Ledger ledger(errand_.ledger, 0);
  Jobs jobs = open_jobs(errand_);
  const OrderPools pools = define_pools(jobs, errand_, ledger);
  start_nodes(1);
  const Orders gated{{.id = "gated", .event = {"gated"}, .partition_key = "customer-0"}};
  ASSERT_TRUE(enqueue_noted(pools.orders, ledger, gated));
  ASSERT_TRUE(wait_until([&] { return is_noted("begins", "gated", 1); }));
  Orders unsynced;
  Orders synced;
  // More than a node keeps the events of.
  for (int number = 0; number < 700; ++number) {
    unsynced.push_back({.id = "unsynced-" + std::to_string(number),
                        .event = {"mails"},
                        .partition_key = "customer-0"});
  }
  for (int number = 0; number < 100; ++number) {
    const std::string key = "customer-" + std::to_string(number % 5);
    synced.push_back(
        {.id = "synced-" + std::to_string(number), .event = {"mails"}, .partition_key = key});
  }
  ASSERT_TRUE(enqueue_noted(pools.orders, ledger, unsynced, Durability::written));
  std::this_thread::sleep_for(50ms);  // so that the node knows them
  cluster().kill_server();
  cluster().start();
  const auto left = query("SELECT FROM muster.job WHERE id LIKE 'unsynced-%'").size();
  std::cout << unsynced.size() - left << " jobs are lost" << std::endl;
  ASSERT_TRUE(wait_until([&] { return enqueue_noted(pools.orders, ledger, synced); }));
  EXPECT_TRUE(
      query("SELECT id FROM muster.job WHERE id LIKE 'synced-%' AND seq < 1000000000").empty());
  std::ofstream(gate_of(errand_.ledger, "gated", 1));
  finish();
  (void)check(Late::never, Unsynced::may_be_lost);
}

// What runs beside it is charged, too: so there is one at a time, and retries are far apart.
TEST_F(JobNodeKillTest, AJobThatKillsItsNodeEndsAsADeadLetter) {
  errand_.attempts = 3;
  errand_.retry_delay = 300ms;
  errand_.enqueues = false;
  const Ledger ledger(errand_.ledger, 0);
  Jobs jobs = open_jobs(errand_);
  const OrderPools pools = define_pools(jobs, errand_, ledger);
  start_nodes(2);
  for (const int poison : {17, 51}) {  // with a key, and without
    Orders orders;
    for (int number = poison - 17; number < poison + 13; ++number) {
      const char* const kind = number == poison ? "poison" : "mails";
      orders.push_back({.id = "order-" + std::to_string(number), .event = {kind}});
      if (number % 3 != 0) orders.back().partition_key = "customer-" + std::to_string(number % 4);
    }
    ASSERT_TRUE(enqueue_noted(pools.orders, ledger, orders));
    std::size_t deaths = 0;
    EXPECT_TRUE(wait_until([&] {
      deaths += std::erase_if(nodes_, [](const auto& node) { return node->has_ended(); });
      start_nodes(2 - static_cast<int>(nodes_.size()));
      return nothing_waits();
    }));
    std::cout << deaths << " nodes died" << std::endl;
    EXPECT_GE(deaths, 3U);
    EXPECT_LE(deaths, 4U) << "one may go uncharged";
  }
  finish();
  for (const auto& [id, story] : check()) {
    EXPECT_EQ(story.is_completed, id != "order-17" && id != "order-51") << id;
  }
  expect_none("no crash",
              "SELECT id, what FROM muster.failure JOIN muster.job USING(seq)"
              " WHERE kind <> 1 OR what <> 'the process that ran it died'");
}

// Each time another node is in the middle of the same job when the stopped one ends it.
TEST_F(JobNodeKillTest, AStoppedNodeCannotSettle) {
  errand_.enqueues = false;
  const Ledger ledger(errand_.ledger, 0);
  Jobs jobs = open_jobs(errand_);
  const OrderPools pools = define_pools(jobs, errand_, ledger);
  start_nodes(2);
  for (int round = 1; round <= 5; ++round) {
    const std::string id = "gated" + std::to_string(round);
    const auto open_gate = [&](int tag) { std::ofstream(gate_of(errand_.ledger, id, tag)); };
    Orders orders{{.id = id, .event = {"gated"}, .partition_key = id}};
    for (int i = 0; i < 5; ++i) {
      orders.push_back(
          {.id = id + "-" + std::to_string(i), .event = {"mails"}, .partition_key = id});
    }
    ASSERT_TRUE(enqueue_noted(pools.orders, ledger, orders));
    ASSERT_TRUE(wait_until([&] { return is_noted("begins", id, 1) || is_noted("begins", id, 2); }));
    const int stopped = is_noted("begins", id, 1) ? 1 : 2;
    const int other = 3 - stopped;
    const NodeProcess& node = *nodes_[static_cast<std::size_t>(stopped - 1)];
    node.send(SIGSTOP);
    EXPECT_TRUE(wait_until([&] { return is_noted("begins", id, other); })) << "not taken over";
    open_gate(stopped);
    node.send(SIGCONT);
    EXPECT_TRUE(wait_until([&] { return is_noted("ends", id, stopped); }));
    const std::string again = "again" + std::to_string(round);
    EXPECT_TRUE(wait_until([&] {
      EXPECT_TRUE(
          enqueue_noted(pools.orders, ledger,
                        {{.id = again + "-" + std::to_string(wall_ns()), .event = {"mails"}}}));
      return is_noted("begins", again, stopped);
    })) << "it has not joined again";
    open_gate(other);
    EXPECT_TRUE(wait_until([&] { return nothing_waits(); }));
    expect_none("settled by the stopped node", "SELECT id FROM muster.job WHERE id LIKE '" + id +
                                                   "/" + std::to_string(stopped) + "/%'");
  }
  finish();
  (void)check();
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (const auto status = muster::testing::run_node(argc, argv)) return *status;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
