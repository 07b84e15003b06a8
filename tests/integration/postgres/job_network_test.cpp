// job_network_test.cpp: what nodes promise while the network or the server fails.
//
// A node that is "far" talks to the database through a NetworkProxy, one that is "near" does not.
// An enqueue that returns is right: its job is there once, and `created` is true for whoever made
// it. One that throws may have made it, if its answer was lost; who asks again is told.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <libpq-fe.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/job_pool_testing.hpp"
#include "support/network_proxy.hpp"
#include "support/pgbouncer.hpp"

namespace muster::testing {
namespace {

constexpr auto kLong = 20s;  // never waited for unless a test fails

bool eventually(const std::function<bool()>& is_so, Duration at_most = kLong) {
  const Time deadline = real_clock().now() + at_most;
  while (!is_so()) {
    if (real_clock().now() >= deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

Duration time_of(const std::function<void()>& call) {
  const Time before = real_clock().now();
  call();
  return real_clock().now() - before;
}

struct Node {
  Node(const std::string& url, Config config, const JobsOptions& options)
      : jobs(Jobs::open(url, options)), client(jobs.define<Note>("notes", std::move(config))) {}
  Jobs jobs;
  JobClient<Note> client;
};

class JobNetworkTest : public ::testing::Test {
 protected:
  JobNetworkTest() : url_(cluster().create_database()) { close_door(); }

  // Whatever a test has missed, its nodes end.
  ~JobNetworkTest() override {
    door_->open();
    proxy_.heal();
    nodes_.clear();
  }

  // A handler notes where it is run. "slow" jobs wait at the door if they are run far away; those
  // with a number enqueue another one.
  Config config(const std::string& place, unsigned concurrency) {
    return {.concurrency = concurrency,
            .retry = at_once(5),
            .execute = [this, place](JobContext& context, const Note& note) {
              begun_.see(place + context.job_id());
              if (note.customer == "slow" && place == "far ") door_->wait();
              if (note.number != 0) {
                context.enqueue("notes", Enqueue{.id = context.job_id() + "+"});
              }
            }};
  }
  Node& far(unsigned concurrency, const JobsOptions& options) {
    return *nodes_.emplace_back(std::make_unique<Node>(with_port(url_, proxy_.port()),
                                                       config("far ", concurrency), options));
  }
  Node& near(unsigned concurrency, const JobsOptions& options) {
    return *nodes_.emplace_back(
        std::make_unique<Node>(url_, config("near ", concurrency), options));
  }

  // The first value of the answer, or what went wrong.
  std::string ask(const std::string& query) const {
    PGconn* const connection = PQconnectdb(url_.c_str());
    PGresult* const result = PQexec(connection, query.c_str());
    std::string text = PQresultErrorMessage(result);
    if (PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
    PQclear(result);
    PQfinish(connection);
    return text;
  }
  // As another node does when their lease is over.
  void give_up_nodes() const {
    EXPECT_EQ(ask("UPDATE muster.node SET dead = true;"
                  "UPDATE muster.instance SET node = NULL"),
              "");
  }
  void close_door() { door_.emplace(); }  // nobody waits at it

  std::string jobs_with_id(const std::string& id) const {
    return ask("SELECT count(*) FROM muster.job WHERE id = '" + id + "'");
  }
  std::string jobs_with_state(JobState state) const {
    return ask("SELECT count(*) FROM muster.jobs WHERE state = " +
               std::to_string(static_cast<int>(state)));
  }
  std::string processed() const { return ask("SELECT sum(processed) FROM muster.instance"); }

  // How many instances the living nodes hold, as "1,1".
  bool are_shares(const std::string& wanted, Duration at_most = kLong) const {
    const auto are_so = [&] {
      return ask("SELECT string_agg(count::text, ',' ORDER BY count) FROM (SELECT count(i.number)"
                 " FROM muster.node n LEFT JOIN muster.instance i ON i.node = n.number"
                 " WHERE NOT n.dead AND n.pools <> '{}' GROUP BY n.number) AS held") == wanted;
    };
    return eventually(are_so, at_most);
  }
  bool has_begun(const std::string& what) const {
    return eventually([&] { return begun_.count(what) > 0; });
  }

  // A connection of before is found broken only when it is used.
  static bool drains(const Node& node) {
    return eventually([&] {
      try {
        return node.client.drain(kLong) == DrainOutcome::drained;
      } catch (const StoreFailure&) {
        return false;
      }
    });
  }

  // How often each was begun, wherever.
  std::map<std::string, int> runs() const {
    std::map<std::string, int> counts;
    for (const std::string& what : begun_.seen()) ++counts[what.substr(what.find(' ') + 1)];
    return counts;
  }
  void expect_each_once(std::size_t jobs) const {
    const std::map<std::string, int> counts = runs();
    EXPECT_EQ(counts.size(), jobs);
    for (const auto& [id, count] : counts) EXPECT_EQ(count, 1) << id;
  }

  // How long a job takes to begin elsewhere, mostly.
  Duration latency(const Node& node, const std::string& place) {
    std::vector<Duration> times;
    for (int i = 0; i < 11; ++i) {
      const std::string id = "t" + std::to_string(begun_.seen().size());
      times.push_back(time_of([&] {
        (void)node.client.enqueue({.id = id});
        EXPECT_TRUE(has_begun(place + id));
      }));
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

  const std::string url_;
  NetworkProxy proxy_{cluster().port()};
  std::optional<Door> door_;
  Witness begun_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(JobNetworkTest, AnEnqueueThatReturnsIsRightWhereverItsConnectionBreaks) {
  const Node& node = far(2, {.lease = 10s});
  (void)node.client.enqueue({.id = "taken"});
  const std::uint64_t before = proxy_.bytes_to_server();
  (void)node.client.enqueue_many(std::vector<Enqueue>{{.id = "taken"}, {.id = "first"}});
  const std::uint64_t bytes = proxy_.bytes_to_server() - before;
  for (std::uint64_t position = 0; position <= bytes + 50; position += 50) {
    const std::string id = "j" + std::to_string(position);
    proxy_.cut_after_bytes_to_server(position);
    EnqueueManyResult result;
    EXPECT_NO_THROW(result = node.client.enqueue_many(
                        std::vector<Enqueue>{{.id = "taken"}, {.id = id}, {.id = id}}))
        << position;
    proxy_.heal();
    EXPECT_EQ(result.enqueued, 1U) << position << " of " << bytes;
    EXPECT_EQ(result.duplicates, 2U) << position;
    EXPECT_TRUE(result.results.size() == 3 && result.results[1].created) << position;
    EXPECT_EQ(jobs_with_id(id), "1");
    EXPECT_FALSE(node.client.enqueue({.id = id}).created);
  }
}

// First the batch is lost, and then the answer to the question what became of it: that ends with
// the 1064th byte of a connection. What breaks elsewhere is seen above. Who changes that question
// in find_out(), or what a session is told first, has to look again where it ends: with "$2 + 0" in
// it this must fail.
TEST_F(JobNetworkTest, AnEnqueueThatReturnsIsRightAlsoIfItsConnectionBreaksTwice) {
  const Node& node = far(2, {.lease = 10s});
  (void)node.client.enqueue({.id = "first"});
  for (std::uint64_t position = 1038; position <= 1098; ++position) {
    const std::string id = "j" + std::to_string(position);
    const std::uint64_t before = proxy_.bytes_to_server();
    proxy_.cut_after_bytes_to_server(10);
    EnqueueResult result;
    std::thread enqueues([&] { result = node.client.enqueue({.id = id}); });
    while (proxy_.bytes_to_server() < before + 10) std::this_thread::yield();
    proxy_.cut_after_bytes_to_server(position);
    enqueues.join();
    proxy_.heal();
    EXPECT_TRUE(result.created) << position;
    EXPECT_EQ(jobs_with_id(id), "1") << position;
  }
}

TEST_F(JobNetworkTest, AnEnqueueWhoseAnswerIsLostFindsOutWhatHappened) {
  const Node& node = far(2, {.lease = 10s});
  (void)node.client.enqueue({.id = "first"});
  proxy_.drop_answers();
  EnqueueResult result;
  std::thread enqueues([&] { result = node.client.enqueue({.id = "a"}); });
  EXPECT_TRUE(proxy_.wait_until_answer_dropped(kLong));
  proxy_.heal();
  enqueues.join();
  EXPECT_TRUE(result.created);
  EXPECT_EQ(jobs_with_id("a"), "1");
}

TEST_F(JobNetworkTest, WhoseEnqueueThrowsMayAskAgain) {
  const Node& node = far(2, {.lease = 10s, .store_timeout = 200ms});
  (void)node.client.enqueue({.id = "first"});
  proxy_.drop_answers();
  EXPECT_THROW(node.client.enqueue({.id = "a"}), StoreFailure);
  proxy_.heal();
  EXPECT_EQ(jobs_with_id("a"), "1") << "only its answer was lost";
  EXPECT_FALSE(node.client.enqueue({.id = "a"}).created);
  proxy_.cut();
  EXPECT_THROW(node.client.enqueue({.id = "b"}), StoreFailure);
  EXPECT_EQ(jobs_with_id("b"), "0") << "is on its way";
  proxy_.heal();
  EXPECT_NO_THROW(node.client.enqueue({.id = "b"}));
  EXPECT_EQ(jobs_with_id("b"), "1");
}

TEST_F(JobNetworkTest, AJobIsSettledOnceWhereverItsConnectionBreaks) {
  far(1, {.lease = 10s}).jobs.start();
  const Node& client = near(1, {.lease = 10s});
  std::size_t jobs = 0;
  for (std::uint64_t position = 0; position <= 4000; position += 400) {
    proxy_.cut_after_bytes_to_server(position);
    (void)client.client.enqueue({.id = "j" + std::to_string(position), .event = {"", 1}});
    EXPECT_EQ(client.client.drain(kLong), DrainOutcome::drained) << position;
    proxy_.heal();
    jobs += 2;
  }
  expect_each_once(jobs);
  EXPECT_EQ(processed(), std::to_string(jobs));
  EXPECT_EQ(jobs_with_state(JobState::completed), std::to_string(jobs));
}

TEST_F(JobNetworkTest, AJobIsCountedOnceHoweverLongTheAnswerIsLost) {
  Node& node = far(1, {.lease = 10s, .store_timeout = 200ms});
  node.jobs.start();
  (void)node.client.enqueue({.id = "a", .event = {"slow"}});
  ASSERT_TRUE(has_begun("far a"));
  proxy_.drop_answers();
  door_->open();
  std::this_thread::sleep_for(1s);  // until it is given up, and sent once more
  EXPECT_EQ(jobs_with_state(JobState::completed), "1") << "only the answer was lost";
  proxy_.heal();
  EXPECT_TRUE(drains(node));
  expect_each_once(1);
  EXPECT_EQ(processed(), "1");
}

TEST_F(JobNetworkTest, WhoIsCutOffLosesItsJobsAndComesBack) {
  Node& lost = far(2, {.lease = 500ms, .store_timeout = 200ms});
  lost.jobs.start();
  ASSERT_TRUE(are_shares("2"));
  (void)lost.client.enqueue({.id = "held", .event = {"slow", 1}, .partition_key = "k"});
  ASSERT_TRUE(has_begun("far held"));
  for (const char* id : {"w1", "w2", "w3"}) {
    (void)lost.client.enqueue({.id = id, .partition_key = "k"});
  }
  proxy_.cut();
  Node& other = near(2, {.lease = 10s});
  other.jobs.start();
  EXPECT_EQ(other.client.drain(kLong), DrainOutcome::drained);
  std::vector<std::string> seen = begun_.seen();
  EXPECT_EQ(std::erase(seen, "near held+"), 1U);
  EXPECT_EQ(seen,
            (std::vector<std::string>{"far held", "near held", "near w1", "near w2", "near w3"}));
  door_->open();  // what has ended here cannot be settled
  EXPECT_THROW(lost.client.enqueue({.id = "not now"}), StoreFailure);
  proxy_.heal();
  EXPECT_TRUE(are_shares("1,1", 2s)) << "before the next beat of the other one";
  ASSERT_TRUE(are_shares("1,1"));
  for (int i = 0; i < 20; ++i) {
    const std::string id = "n" + std::to_string(i);
    (void)lost.client.enqueue({.id = id, .partition_key = id});
  }
  EXPECT_EQ(lost.client.drain(kLong), DrainOutcome::drained);
  std::map<std::string, int> counts = runs();
  EXPECT_EQ(counts["held"], 2);
  EXPECT_EQ(counts["held+"], 1) << "what it enqueued came once";
  EXPECT_EQ(counts["w1"] + counts["w2"] + counts["w3"], 3);
  counts.erase("not now");  // may have arrived
  EXPECT_EQ(counts.size(), 25U);
  EXPECT_EQ(processed(), jobs_with_state(JobState::completed));
  const std::vector<std::string> all = begun_.seen();
  EXPECT_TRUE(std::ranges::any_of(all, [](const auto& what) { return what.starts_with("far n"); }));
}

// It has asked half of a transaction, and holds its locks, when its cable is pulled.
TEST_F(JobNetworkTest, WhoIsCutOffInATransactionDoesNotStopTheOthers) {
  Node& lost = far(1, {.lease = 500ms, .store_timeout = 500ms});
  lost.jobs.start();
  (void)lost.client.enqueue({.id = "a", .event = {"slow", 1}});
  ASSERT_TRUE(has_begun("far a"));
  Node& other = near(1, {.lease = 2s, .store_timeout = 500ms});
  other.jobs.start();
  proxy_.drop_answers();
  door_->open();
  EXPECT_TRUE(eventually([&] {
    return ask("SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()"
               " AND state = 'idle in transaction'") == "t";
  }));
  proxy_.cut();
  EXPECT_TRUE(eventually([&] { return begun_.count("near a") > 0; }, 6s));
  EXPECT_TRUE(eventually([&] { return begun_.count("near a+") > 0; }, 2s));
  (void)other.client.enqueue({.id = "b"});
  EXPECT_TRUE(eventually([&] { return begun_.count("near b") > 0; }, 2s));
}

// Who had them comes back before anybody has run them, and cannot say what became of them.
TEST_F(JobNetworkTest, WhatHasEndedAndWasNotSettledIsRunAgain) {
  Node& lost = far(1, {.lease = 1s, .store_timeout = 100ms});
  lost.jobs.start();
  const Node& client = near(1, {.lease = 10s});
  for (std::size_t round = 1; round <= 3; ++round) {
    close_door();
    (void)client.client.enqueue({.id = std::to_string(round)});
    ASSERT_TRUE(drains(client));
    for (int i = 0; i < 10; ++i) {
      const std::string id = std::to_string(round) + "." + std::to_string(i);
      (void)client.client.enqueue({.id = id, .event = {"slow"}, .partition_key = "k"});
    }
    ASSERT_TRUE(has_begun("far " + std::to_string(round) + ".0"));
    ASSERT_TRUE(eventually([&] { return lost.client.status().total_pending == 9; }));
    proxy_.cut();
    door_->open();
    ASSERT_TRUE(has_begun("far " + std::to_string(round) + ".9"));
    give_up_nodes();
    proxy_.heal();
    ASSERT_TRUE(drains(client)) << round << ": " << jobs_with_state(JobState::available);
  }
  EXPECT_EQ(processed(), "33");
}

TEST_F(JobNetworkTest, WhoLearnsThatItWasGivenUpBeginsNothingOfWhatItHeld) {
  Node& lost = far(1, {.lease = 10s});
  lost.jobs.start();
  (void)lost.client.enqueue({.id = "a", .event = {"slow"}, .partition_key = "k"});
  ASSERT_TRUE(has_begun("far a"));
  (void)lost.client.enqueue({.id = "b", .partition_key = "k"});
  ASSERT_TRUE(eventually([&] { return lost.client.status().total_pending == 1; }));
  give_up_nodes();
  EXPECT_TRUE(lost.client.enqueue({.id = "c"}).created);
  door_->open();
  EXPECT_TRUE(drains(lost));
  EXPECT_EQ(runs(), (std::map<std::string, int>{{"a", 2}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(processed(), "3");
}

TEST_F(JobNetworkTest, WhatADeadNodeHeldCanBeCancelledByAClient) {
  Node& lost = far(1, {.lease = 500ms, .store_timeout = 200ms});
  lost.jobs.start();
  const Node& client = near(1, {.lease = 10s});
  (void)client.client.enqueue({.id = "a", .run_at = real_clock().wall_now() + 1h});
  ASSERT_TRUE(eventually([&] { return lost.client.status().total_pending == 1; }));
  proxy_.cut();
  JobCancelOutcome outcome = JobCancelOutcome::not_found;
  EXPECT_NO_THROW(outcome = client.client.cancel("a"));
  EXPECT_EQ(outcome, JobCancelOutcome::cancelled);
}

TEST_F(JobNetworkTest, NothingIsLostWhenTheServerDies) {
  constexpr int kJobs = 300;
  Node& one = near(2, {.lease = 10s, .store_timeout = 1s});
  Node& two = near(2, {.lease = 10s, .store_timeout = 1s});
  one.jobs.start();
  two.jobs.start();
  int created = 0;
  int thrown = 0;
  std::atomic<int> done = 0;
  std::thread enqueues([&] {
    for (int i = 0; i < kJobs; ++done) {
      const Node& node = i % 2 == 0 ? one : two;
      const std::string id = "j" + std::to_string(i);
      try {
        created += node.client.enqueue({.id = id, .event = {"", i % 2}}).created ? 1 : 0;
        ++i;
      } catch (const StoreFailure&) {
        ++thrown;
      }
    }
  });
  for (const int when : {50, 200}) {
    EXPECT_TRUE(eventually([&] { return done > when; }));
    cluster().kill_server();
    cluster().start();
  }
  enqueues.join();
  EXPECT_TRUE(drains(one));
  expect_each_once(kJobs + kJobs / 2);
  EXPECT_EQ(processed(), std::to_string(kJobs + kJobs / 2));
  EXPECT_LE(created, kJobs);
  EXPECT_GE(created + thrown, kJobs);
}

TEST_F(JobNetworkTest, CallsEndInTimeWhenTheCableIsPulled) {
  constexpr auto kTimeout = 300ms;
  constexpr auto kInTime = 5s;  // half of what a call may take unless told
  Node& node = far(1, {.lease = 10s, .store_timeout = kTimeout});
  node.jobs.start();
  ASSERT_TRUE(are_shares("1"));
  proxy_.cut();
  EXPECT_LT(time_of([&] { EXPECT_THROW(node.client.enqueue({.id = "a"}), StoreFailure); }),
            kInTime);
  EXPECT_LT(time_of([&] { EXPECT_THROW((void)node.client.status(), StoreFailure); }), kInTime);
  EXPECT_LT(time_of([&] { EXPECT_THROW((void)node.client.cancel("a"), StoreFailure); }), kInTime);
  EXPECT_LT(time_of([&] { EXPECT_THROW((void)node.client.drain(kLong), StoreFailure); }), kInTime);
  EXPECT_LT(time_of([&] { EXPECT_THROW(far(1, {.store_timeout = kTimeout}), StoreFailure); }),
            kInTime);
}

TEST_F(JobNetworkTest, AStopTakesNoLongerThanItMay) {
  Node& node = far(1, {.lease = 10s, .store_timeout = 3s});
  node.jobs.start();
  (void)node.client.enqueue({.id = "a", .event = {"slow"}});
  ASSERT_TRUE(has_begun("far a"));
  proxy_.cut();
  door_->open();
  EXPECT_LT(time_of([&] { (void)node.jobs.stop({.timeout = 500ms}); }), 2500ms);
}

TEST_F(JobNetworkTest, ANodeHearsOfNewJobsAgainAfterItsConnectionBroke) {
  far(1, {.lease = 10s}).jobs.start();
  const Node& client = near(1, {.lease = 10s});
  EXPECT_LT(latency(client, "far "), 100ms);
  proxy_.reset();
  (void)client.client.enqueue({.id = "a"});
  EXPECT_EQ(client.client.drain(kLong), DrainOutcome::drained);
  EXPECT_LT(latency(client, "far "), 100ms);
}

TEST_F(JobNetworkTest, APoolerInTransactionModeCostsOnlyTime) {
  const PgBouncer bouncer(cluster().port());
  const std::string pooled = with_port(url_, bouncer.port());
  std::vector<Node*> both;
  for (int i = 0; i < 2; ++i) {
    both.push_back(nodes_
                       .emplace_back(std::make_unique<Node>(pooled, config("pooled ", 4),
                                                            JobsOptions{.lease = 10s}))
                       .get());
    both.back()->jobs.start();
  }
  EXPECT_TRUE(are_shares("2,2"));
  for (int i = 0; i < 20; ++i) {
    std::vector<Enqueue> jobs;
    for (int j = 0; j < 50; ++j) {
      jobs.push_back({.id = std::to_string(i) + "." + std::to_string(j)});
      if (j % 2 == 0) jobs.back().partition_key = std::to_string(j);
    }
    EXPECT_EQ(both[static_cast<std::size_t>(i) % 2]->client.enqueue_many(jobs).enqueued, 50U);
  }
  EXPECT_EQ(both[0]->client.drain(kLong), DrainOutcome::drained);
  expect_each_once(1000);
  EXPECT_EQ(processed(), "1000");
  EXPECT_LT(latency(*both[0], "pooled "), 1s);
  nodes_.clear();
}

}  // namespace
}  // namespace muster::testing
