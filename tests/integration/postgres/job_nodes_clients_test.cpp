// job_nodes_clients_test.cpp: what is asked of one node about jobs that another runs.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "job_nodes_testing.hpp"

namespace muster::testing {
namespace {

TEST_F(JobNodesTest, AnotherNodePausesAndResumesAll) {
  const Node* runs = &started(2);
  const Node& other = node(2);
  ASSERT_TRUE(are_shares("2")) << shares();
  other.client.pause();
  EXPECT_TRUE(are(*runs, InstanceState::paused)) << "before its next beat";
  ASSERT_TRUE(are(*runs, InstanceState::paused, kLong));
  (void)other.client.enqueue({.id = "a"});
  close(*runs);
  runs = &started(2);
  ASSERT_TRUE(eventually([&] { return runs->client.status().total_pending == 1; }));
  EXPECT_EQ(runs->client.drain(kLong), DrainOutcome::paused) << "survives a restart";
  EXPECT_TRUE(begun_.seen().empty());
  other.client.resume();
  EXPECT_EQ(other.client.drain(kSoon), DrainOutcome::drained) << "before the next beat";
}

TEST_F(JobNodesTest, AnotherNodePausesAndResumesOne) {
  const Node& runs = started(2);
  const Node& other = node(2);
  ASSERT_TRUE(eventually([&] { return runs.client.snapshot().workers.size() == 2; }));
  other.client.pause(0);
  ASSERT_TRUE(
      eventually([&] { return runs.client.instance_status(0).state == InstanceState::paused; }));
  std::map<std::uint32_t, std::size_t> counts;
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    ++counts[other.client.enqueue({.id = key, .partition_key = key}).instance_index];
  }
  EXPECT_EQ(other.client.drain({.index = 1, .timeout = kLong}), DrainOutcome::drained);
  EXPECT_EQ(begun_.seen().size(), counts[1]);
  other.client.resume(0);
  EXPECT_EQ(other.client.drain(kLong), DrainOutcome::drained);
  expect_each_once(20);
}

TEST_F(JobNodesTest, StatusElsewhereSaysThatAllArePaused) {
  const Node& runs = started(2);
  const Node& other = node(2);
  ASSERT_TRUE(are_shares("2")) << shares();
  runs.client.pause();
  EXPECT_TRUE(are(other, InstanceState::paused));
  runs.client.resume();
  EXPECT_TRUE(are(other, InstanceState::idle));
}

TEST_F(JobNodesTest, WhatIsElsewhereCanBeCancelledUntilItIsRun) {
  started(1);
  const Node& other = node(1);
  (void)other.client.enqueue({.id = "runs", .event = {"slow"}, .partition_key = "k"});
  (void)other.client.enqueue({.id = "waits", .partition_key = "k"});
  (void)other.client.enqueue({.id = "later", .run_at = real_clock().wall_now() + 1h});
  ASSERT_TRUE(has_begun("runs"));
  EXPECT_EQ(other.client.cancel("waits"), JobCancelOutcome::cancelled);
  EXPECT_EQ(other.client.cancel("later"), JobCancelOutcome::cancelled);
  EXPECT_EQ(other.client.cancel("runs"), JobCancelOutcome::already_processing);
  door_.open();
  EXPECT_EQ(other.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(other.client.cancel("runs"), JobCancelOutcome::already_completed);
  EXPECT_EQ(other.client.cancel("nobody"), JobCancelOutcome::not_found);
  EXPECT_EQ(ended_.seen(), (std::vector<std::string>{"runs"}));
  EXPECT_EQ(ask("SELECT count(*) FROM muster.request"), "0");
}

TEST_F(JobNodesTest, WhatRunsElsewhereCanBeAskedToStopForGood) {
  started(1);
  const Node& other = node(1);
  (void)other.client.enqueue({.id = "runs", .event = {"stubborn"}});
  ASSERT_TRUE(has_begun("runs"));
  EXPECT_EQ(other.client.cancel("runs"), JobCancelOutcome::already_processing);
  const JobCancelOutcome outcome = other.client.cancel("runs", {.stop_running = true});
  EXPECT_TRUE(outcome == JobCancelOutcome::already_processing ||
              outcome == JobCancelOutcome::cancelled)
      << "if it was quick";
  EXPECT_EQ(other.client.drain(kLong), DrainOutcome::drained) << "it was asked to";
  EXPECT_EQ(begun_.count("runs"), 1U) << "and is not tried again";
  EXPECT_EQ(ask("SELECT state FROM muster.jobs"), "3");
}

TEST_F(JobNodesTest, WhatNobodyHoldsCanBeCancelled) {
  const Node& client = node(2);
  (void)client.client.enqueue({.id = "a"});
  (void)client.client.enqueue({.id = "b"});
  EXPECT_EQ(client.client.cancel("a"), JobCancelOutcome::cancelled);
  started(2);
  EXPECT_EQ(client.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(ended_.seen(), (std::vector<std::string>{"b"}));
}

TEST_F(JobNodesTest, DrainWaitsForTheOthers) {
  started(1);
  const Node& other = started(1);
  const Node& client = node(1);
  (void)client.client.enqueue({.id = "a", .event = {"slow"}});
  ASSERT_TRUE(has_begun("a"));
  EXPECT_EQ(other.client.drain(100ms), DrainOutcome::timed_out);
  EXPECT_EQ(client.client.drain({.index = 0, .timeout = 100ms}), DrainOutcome::timed_out);
  door_.open();
  EXPECT_EQ(other.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(client.client.drain({.index = 0, .timeout = kLong}), DrainOutcome::drained);
  EXPECT_EQ(ended_.count("a"), 1U);
}

TEST_F(JobNodesTest, DrainLeavesOutWhatWaitsElsewhereForItsTimeIfToldSo) {
  started(1);
  const Node& client = node(1);
  (void)client.client.enqueue({.id = "later", .delay = 1h});
  (void)client.client.enqueue({.id = "a", .event = {"slow"}});
  ASSERT_TRUE(has_begun("a"));
  DrainOptions options{.timeout = 100ms, .delayed = DelayedJobs::leave_out};
  EXPECT_EQ(client.client.drain(options), DrainOutcome::timed_out);
  door_.open();
  options.timeout = kLong;
  EXPECT_EQ(client.client.drain(options), DrainOutcome::drained);
  EXPECT_EQ(ended_.count("a"), 1U);
  EXPECT_EQ(client.client.drain(100ms), DrainOutcome::timed_out);
}

TEST_F(JobNodesTest, DrainSaysThatWhatWaitsElsewhereIsPaused) {
  const Node& runs = started(1);
  const Node& other = node(1);
  other.client.pause();
  ASSERT_TRUE(are(runs, InstanceState::paused, kLong));
  (void)other.client.enqueue({.id = "a"});
  EXPECT_EQ(other.client.drain(kSoon), DrainOutcome::paused);
}

TEST_F(JobNodesTest, StatusElsewhereShowsWhatIsRunAndWaits) {
  started(1, {.lease = 1s});
  const Node& other = node(1);
  for (const char* id : {"a", "b", "c"}) {
    (void)other.client.enqueue({.id = id, .event = {"slow"}, .partition_key = "k"});
  }
  EXPECT_TRUE(eventually([&] { return other.client.status().total_pending == 2; }));
  ASSERT_TRUE(eventually([&] { return other.client.instance_status(0).current_job == "a"; }));
  EXPECT_EQ(other.client.instance_status(0).state, InstanceState::processing);
  EXPECT_EQ(other.client.waiting(0).jobs.size(), 2U);
  door_.open();
  EXPECT_EQ(other.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(other.client.status().total_processed, 3U);
  EXPECT_TRUE(are(other, InstanceState::idle));
  EXPECT_EQ(other.client.status().total_pending, 0U);
}

TEST_F(JobNodesTest, NothingIsShownOfANodeThatIsGone) {
  Node& runs = started(1, {.lease = 1s});
  const Node& other = node(1);
  (void)other.client.enqueue({.id = "a", .event = {"slow"}});
  ASSERT_TRUE(eventually([&] { return other.client.instance_status(0).current_job == "a"; }));
  door_.open();
  (void)runs.jobs.stop();
  close(runs);
  EXPECT_EQ(other.client.instance_status(0).current_job, std::nullopt);
  EXPECT_EQ(other.client.instance_status(0).state, InstanceState::idle);
}

TEST_F(JobNodesTest, DeadLettersAreReplayedAndDiscardedFromElsewhere) {
  started(2);
  const Node& other = node(2);
  (void)other.client.enqueue({.id = "a", .event = {"bad", 1}});
  (void)other.client.enqueue({.id = "b", .event = {"bad", 2}});
  ASSERT_EQ(other.client.drain(kLong), DrainOutcome::drained);
  const auto letters = other.client.dead_letters();
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].id, "a");
  EXPECT_EQ(letters[0].errors.size(), 2U);
  are_bad_ = false;
  EXPECT_TRUE(other.client.replay("a"));
  EXPECT_FALSE(other.client.replay("a"));
  EXPECT_TRUE(other.client.discard("b"));
  EXPECT_FALSE(other.client.discard("b"));
  EXPECT_EQ(other.client.drain(kSoon), DrainOutcome::drained);
  EXPECT_EQ(ended_.seen(), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(other.client.dead_letters().empty());
}

}  // namespace
}  // namespace muster::testing
