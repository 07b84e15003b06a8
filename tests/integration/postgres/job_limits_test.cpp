// job_limits_test.cpp: rate limits of nodes that share a database: each counts for itself, or all
// count together.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_nodes_testing.hpp"

namespace muster::testing {
namespace {

class JobLimitsTest : public JobNodesTest {
 protected:
  Node& limited(unsigned concurrency, const JobRateLimits& limits) {
    Config limited = config(concurrency);
    limited.limits = limits;
    Node& made = *nodes_.emplace_back(
        std::make_unique<Node>(url_, std::move(limited), JobsOptions{.lease = kLease}));
    made.jobs.start();
    return made;
  }
  bool have_ended(const std::vector<std::string>& ids) {
    return eventually([&] {
      return std::ranges::all_of(ids, [&](const std::string& id) { return ended_.count(id) > 0; });
    });
  }
};

constexpr auto kShared = JobRateLimits::Scope::store;

// The instance is the only one, and what is in front has to wait for an hour.
TEST_F(JobLimitsTest, AKeyThatHasToWaitHoldsUpNobodyElse) {
  const Node& node =
      limited(1, {.pool = per_second(1000, 1000), .key = per_hour(1), .scope = kShared});
  for (const char* const id : {"a1", "a2", "b1"}) {
    (void)node.client.enqueue({.id = id, .partition_key = std::string(1, id[0])});
  }
  (void)node.client.enqueue({.id = "keyless"});
  EXPECT_TRUE(have_ended({"a1", "b1", "keyless"}));
  EXPECT_EQ(node.client.cancel("a2"), JobCancelOutcome::cancelled) << "it still waits";
}

// Its event stands in a table that is not there for a while, and those of small jobs are at hand.
TEST_F(JobLimitsTest, AJobThatCannotBeReadHoldsUpNobodyElse) {
  const Node& node = limited(1, {.pool = per_second(1000, 1000), .scope = kShared});
  (void)node.client.enqueue({.id = "first", .event = {"slow"}});
  ASSERT_TRUE(has_begun("first"));
  const std::string large(5000, 'x');
  (void)node.client.enqueue({.id = "large", .event = {large}, .partition_key = "a"});
  (void)node.client.enqueue({.id = "small", .partition_key = "b"});
  ASSERT_TRUE(eventually([&] { return node.client.instance_status(0).pending == 2; }));
  EXPECT_EQ(ask("ALTER TABLE muster.job RENAME TO elsewhere"), "");
  door_.open();
  EXPECT_TRUE(have_ended({"small"}));
  EXPECT_EQ(ask("ALTER TABLE muster.elsewhere RENAME TO job"), "");
  EXPECT_TRUE(have_ended({"large"}));
}

// As many as in any time of the database's clock, and no more, though there are two nodes.
TEST_F(JobLimitsTest, NodesThatCountTogetherKeepTheRateOfThePool) {
  constexpr int kJobs = 31;
  const JobRateLimits limits{.pool = per_second(20), .scope = kShared};
  const Node& one = limited(2, limits);
  limited(2, limits);
  ASSERT_TRUE(are_shares("1,1", kLong)) << shares();
  std::vector<Enqueue> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back({.id = std::to_string(i)});
  const Time begin = real_clock().now();
  (void)one.client.enqueue_many(jobs);
  EXPECT_EQ(one.client.drain(kLong), DrainOutcome::drained);
  EXPECT_GE(real_clock().now() - begin, (kJobs - 1) * 50ms - 10ms) << "clocks differ a little";
  expect_each_once(kJobs);
}

// What the first node has used up is used up for the second, too.
TEST_F(JobLimitsTest, NodesThatCountTogetherKeepTheRateOfAKey) {
  const JobRateLimits limits{.key = per_hour(1), .scope = kShared};
  const Node& one = limited(1, limits);
  (void)one.client.enqueue({.id = "a1", .partition_key = "a"});
  EXPECT_EQ(one.client.drain(kLong), DrainOutcome::drained);
  close(one);
  const Node& two = limited(1, limits);
  (void)two.client.enqueue({.id = "a2", .partition_key = "a"});
  (void)two.client.enqueue({.id = "b1", .partition_key = "b"});
  EXPECT_TRUE(have_ended({"b1"})) << "which comes behind a2";
  EXPECT_EQ(two.client.cancel("a2"), JobCancelOutcome::cancelled) << "it still waits";
}

TEST_F(JobLimitsTest, NodesThatCountForThemselvesHaveTheWholeRateEach) {
  constexpr std::size_t kBurst = 5;
  const JobRateLimits limits{.pool = per_hour(1, kBurst)};
  const Node& one = limited(2, limits);
  limited(2, limits);
  ASSERT_TRUE(are_shares("1,1", kLong)) << shares();
  std::vector<Enqueue> jobs;  // in turns, so that each node gets half of them
  for (std::size_t i = 0; i < 2 * kBurst + 2; ++i) jobs.push_back({.id = std::to_string(i)});
  (void)one.client.enqueue_many(jobs);
  EXPECT_TRUE(eventually([&] { return ended_.seen().size() == 2 * kBurst; }));
  std::size_t left = 0;
  for (const Enqueue& job : jobs) {
    if (begun_.count(job.id) > 0) continue;
    EXPECT_EQ(one.client.cancel(job.id), JobCancelOutcome::cancelled);
    ++left;
  }
  EXPECT_EQ(left, 2U);
  expect_each_once(2 * kBurst);
}

}  // namespace
}  // namespace muster::testing
