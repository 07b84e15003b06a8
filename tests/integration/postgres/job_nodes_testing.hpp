// job_nodes_testing.hpp: nodes that share the jobs of one database, and what their handlers saw.
//
// Each Jobs object is a node, as if it were a process of its own. None of them dies here, so leases
// are long: a job is run once, and whatever takes as long as a lease is too slow.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <libpq-fe.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/job_pool_testing.hpp"

namespace muster::testing {

constexpr auto kLong = 20s;  // never waited for unless a test fails
constexpr auto kSoon = 2s;   // what must not take as long as a lease
constexpr auto kLease = 10s;

// A connection that is none of ours.
class Stranger {
 public:
  explicit Stranger(const std::string& url) : connection_(PQconnectdb(url.c_str())) {}
  ~Stranger() { PQfinish(connection_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // The first value of the answer, or what went wrong.
  std::string ask(const std::string& query) const {
    PGresult* const result = PQexec(connection_, query.c_str());
    std::string text = PQresultErrorMessage(result);
    if (PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
    PQclear(result);
    return text;
  }

  // How many have come since it was last asked; PostgreSQL sends them before the next answer.
  std::size_t notices() const {
    (void)ask("SELECT 1");
    std::size_t count = 0;
    for (; PGnotify* const notice = PQnotifies(connection_); ++count) PQfreemem(notice);
    return count;
  }

 private:
  PGconn* const connection_;
};

inline bool eventually(const std::function<bool()>& is_so, Duration at_most = kLong) {
  const Time deadline = real_clock().now() + at_most;
  while (!is_so()) {
    if (real_clock().now() >= deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// Another machine whose clock is wrong.
class WrongClock : public Clock {
 public:
  Time now() const override { return real_clock().now(); }
  WallTime wall_now() const override { return real_clock().wall_now() + 1h; }
};

struct Node {
  Node(const std::string& url, Config config, const JobsOptions& options)
      : jobs(Jobs::open(url, options)), client(jobs.define<Note>("notes", std::move(config))) {}
  Jobs jobs;
  JobClient<Note> client;
};

class JobNodesTest : public ::testing::Test {
 protected:
  JobNodesTest() : url_(cluster().create_database()) {}

  // Whatever a test has missed, its handlers end.
  ~JobNodesTest() override {
    door_.open();
    nodes_.clear();
  }

  // "slow" ones wait at the door, "bad" ones fail, "stubborn" ones do when they are asked to stop.
  Config config(unsigned concurrency) {
    return {.concurrency = concurrency,
            .retry = at_once(2),
            .execute = [this](JobContext& context, const Note& note) {
              begun_.see(context.job_id());
              if (note.customer == "slow") door_.wait();
              while (note.customer == "stubborn") {
                if (context.stop_token().stop_requested()) throw std::runtime_error("stopped");
                std::this_thread::sleep_for(1ms);
              }
              if (context.stop_token().stop_requested()) disturbed_.see(context.job_id());
              if (note.customer == "bad" && are_bad_) throw std::runtime_error("no");
              ended_.see(context.job_id());
            }};
  }

  // Has only clients until it is started.
  Node& node(unsigned concurrency, const JobsOptions& options = {.lease = kLease}) {
    return *nodes_.emplace_back(std::make_unique<Node>(url_, config(concurrency), options));
  }
  Node& started(unsigned concurrency, const JobsOptions& options = {.lease = kLease}) {
    Node& made = node(concurrency, options);
    made.jobs.start();
    return made;
  }
  void close(const Node& node) {
    std::erase_if(nodes_, [&](const auto& each) { return each.get() == &node; });
  }

  std::string ask(const std::string& query) const { return Stranger(url_).ask(query); }

  // How many instances the nodes hold, as "2,2,3".
  std::string shares() const {
    return ask(
        "SELECT string_agg(count::text, ',' ORDER BY count) FROM (SELECT count(i.number)"
        " FROM muster.node n LEFT JOIN muster.instance i ON i.node = n.number"
        " WHERE NOT n.dead AND n.pools <> '{}' GROUP BY n.number) AS held");
  }
  bool are_shares(const std::string& wanted, Duration at_most = kSoon) {
    return eventually([&] { return shares() == wanted; }, at_most);
  }
  bool has_begun(const std::string& id) {
    return eventually([&] { return begun_.count(id) > 0; });
  }
  static bool are(const Node& node, InstanceState state, Duration at_most = kSoon) {
    return eventually(
        [&] {
          const JobPoolStatus status = node.client.status();
          return std::ranges::all_of(status.instances, [state](const InstanceStatus& instance) {
            return instance.state == state;
          });
        },
        at_most);
  }

  void expect_each_once(std::size_t jobs) const {
    std::map<std::string, int> counts;
    for (const std::string& id : begun_.seen()) ++counts[id];
    EXPECT_EQ(counts.size(), jobs);
    for (const auto& [id, count] : counts) EXPECT_EQ(count, 1) << id;
  }

  const std::string url_;
  Door door_;
  std::atomic<bool> are_bad_ = true;
  Witness begun_;
  Witness ended_;
  Witness disturbed_;  // were asked to stop
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace muster::testing
