// job_pool_test.cpp: what becomes of jobs, on every store.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

TEST_P(JobPoolTest, AJobIsRunWithWhatItWasGiven) {
  const WallTime before = std::chrono::system_clock::now();
  Config config = noting();
  config.execute = [&](JobContext& context, const Note& note) {
    EXPECT_EQ(context.job_id(), "n1");
    EXPECT_EQ(context.attempt(), 1U);
    EXPECT_GE(context.enqueued_at(), before);
    EXPECT_GE(context.processing_started_at(), context.enqueued_at());
    EXPECT_LT(context.instance_index(), 2U);
    EXPECT_EQ(context.processed_count(), 0U);
    EXPECT_EQ(context.pending_count(), 0U);
    context.progress(0.5, "half");
    context.result(note.number * 2);
    witness_.see(note.customer);
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  const EnqueueResult result = client.enqueue({.id = "n1", .event = {"ada", 21}});
  EXPECT_TRUE(result.created);
  EXPECT_EQ(result.job_id, "n1");
  EXPECT_EQ(result.position, 0U);
  EXPECT_EQ(result.instance_id, "notes:" + std::to_string(result.instance_index));
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"ada"}));
  EXPECT_EQ(client.result("n1"), "42");
  EXPECT_EQ(client.status().total_processed, 1U);
}

TEST_P(JobPoolTest, TheSameIdIsRunOnce) {
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  EXPECT_TRUE(client.enqueue({.id = "a", .event = {"x", 1}}).created);
  EXPECT_FALSE(client.enqueue({.id = "a", .event = {"x", 2}}).created);
  (void)client.drain(10s);
  EXPECT_FALSE(client.enqueue({.id = "a", .event = {"x", 3}}).created) << "also when it is over";
  const std::vector<Enqueue> many{{.id = "b", .event = {"x", 4}},
                                  {.id = "b", .event = {"x", 5}},
                                  {.id = "a", .event = {"x", 6}}};
  const EnqueueManyResult result = client.enqueue_many(many);
  EXPECT_EQ(result.enqueued, 1U);
  EXPECT_EQ(result.duplicates, 2U);
  EXPECT_EQ(result.results.size(), 3U);
  (void)client.drain(10s);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"x1", "x4"}));
}

TEST_P(JobPoolTest, APartitionKeepsItsOrderThroughRetries) {
  std::mutex mutex;
  std::map<std::string, std::vector<int>> done;
  std::map<std::string, int> running;
  std::atomic<int> calls = 0;
  const auto client =
      jobs_->define<Note>("notes", {.concurrency = 4,
                                    .retry = {.max_attempts = 50, .delay = fixed(1ms), .jitter = 0},
                                    .execute = [&](JobContext&, const Note& note) {
                                      {
                                        const std::lock_guard lock(mutex);
                                        EXPECT_EQ(++running[note.customer], 1) << "one at a time";
                                      }
                                      const bool fails = ++calls % 3 == 0;
                                      const std::lock_guard lock(mutex);
                                      --running[note.customer];
                                      if (fails) throw std::runtime_error("not yet");
                                      done[note.customer].push_back(note.number);
                                    }});
  jobs_->start();
  std::vector<Enqueue> many;
  for (int number = 0; number < 100; ++number) {
    for (const char* const customer : {"ada", "bob", "cid"}) {
      many.push_back({.id = customer + std::to_string(number),
                      .event = {customer, number},
                      .partition_key = customer,
                      .priority = number % 5});
    }
  }
  client.enqueue_many(many);
  ASSERT_EQ(client.drain(60s), DrainOutcome::drained);
  for (const auto& [customer, numbers] : done) {
    EXPECT_EQ(numbers.size(), 100U);
    EXPECT_TRUE(std::ranges::is_sorted(numbers)) << customer;
  }
  EXPECT_GT(client.status().total_retries, 0U);
}

TEST_P(JobPoolTest, AnotherPartitionOfTheInstanceGoesOnWhileOneWaits) {
  const auto client =
      jobs_->define<Note>("notes", {.concurrency = 1,
                                    .retry = {.max_attempts = 2, .delay = fixed(1h), .jitter = 0},
                                    .execute = [&](JobContext&, const Note& note) {
                                      if (note.customer == "bad") throw std::runtime_error("later");
                                      witness_.see(note.customer);
                                    }});
  jobs_->start();
  client.enqueue({.id = "1", .event = {"bad", 1}, .partition_key = "bad"});
  client.enqueue({.id = "2", .event = {"bad", 2}, .partition_key = "bad"});
  client.enqueue({.id = "3", .event = {"good", 3}, .partition_key = "good"});
  while (witness_.count("good") == 0) std::this_thread::yield();
  EXPECT_EQ(client.drain(10ms), DrainOutcome::timed_out) << "the retry counts";
}

TEST_P(JobPoolTest, WhatHasUsedUpItsAttemptsIsADeadLetter) {
  std::atomic<int> letters = 0;
  Config config = noting();
  config.retry = at_once(3);
  config.execute = [&](JobContext& context, const Note&) {
    throw std::runtime_error("fault " + std::to_string(context.attempt()));
  };
  config.on_dead_letter = [&](const Note& note, const JobError& error, const DeadLetterInfo& info) {
    EXPECT_EQ(note.customer, "ada");
    EXPECT_EQ(error.what, "fault 3");
    EXPECT_EQ(info.job_id, "n1");
    EXPECT_EQ(info.attempts, 3U);
    ++letters;
    throw std::logic_error("and the handler is bad, too");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "n1", .event = {"ada", 1}, .partition_key = "p", .priority = 3});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(letters, 1);
  const std::vector<JobDeadLetter> dead = client.dead_letters();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].id, "n1");
  EXPECT_EQ(dead[0].partition_key, "p");
  EXPECT_EQ(dead[0].priority, 3);
  ASSERT_EQ(dead[0].errors.size(), 3U);
  EXPECT_EQ(dead[0].errors[0].what, "fault 1");
  EXPECT_EQ(client.status().total_dead, 1U);
  EXPECT_EQ(client.cancel("n1"), JobCancelOutcome::already_completed);
}

TEST_P(JobPoolTest, ADeadLetterIsReplayedOrDiscarded) {
  std::atomic<bool> is_fixed = false;
  Config config = noting();
  config.retry = at_once(1);
  config.execute = [&](JobContext& context, const Note&) {
    if (!is_fixed) throw std::runtime_error("no");
    EXPECT_EQ(context.attempt(), 1U);
    witness_.see(context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  client.enqueue({.id = "b", .event = {}});
  (void)client.drain(10s);
  is_fixed = true;
  EXPECT_TRUE(client.replay("a"));
  EXPECT_FALSE(client.replay("nobody"));
  EXPECT_TRUE(client.discard("b"));
  EXPECT_FALSE(client.discard("b"));
  (void)client.drain(10s);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(client.dead_letters().empty());
}

TEST_P(JobPoolTest, DeadLettersAreToldInPages) {
  Config config = noting();
  config.retry = at_once(1);
  config.execute = [](JobContext&, const Note&) { throw std::runtime_error("no"); };
  const auto client = jobs_->define<Note>("notes", config);
  for (int i = 0; i < 6; ++i) client.enqueue({.id = std::to_string(i), .event = {}});
  jobs_->start();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  std::vector<std::string> ids;
  std::vector<std::size_t> sizes;
  DeadLetterPage page{.limit = 3};
  do {
    const JobDeadLetters some = client.dead_letters(page);
    for (const JobDeadLetter& letter : some.letters) ids.push_back(letter.id);
    sizes.push_back(some.letters.size());
    page.after = some.next;
  } while (page.after != 0);
  EXPECT_EQ(ids, (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3}));
  EXPECT_EQ(client.dead_letters(2).size(), 2U);
}

TEST_P(JobPoolTest, IsRetryableDecidesFirst) {
  Config config = noting();
  config.retry = at_once(5);
  config.retry.is_retryable = [](const JobError& error) { return error.what != "final"; };
  config.execute = [&](JobContext& context, const Note& note) {
    witness_.see(note.customer);
    throw std::runtime_error(context.attempt() == 2 ? "final" : "again");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {"x", 1}});
  (void)client.drain(10s);
  EXPECT_EQ(witness_.count("x"), 2U);
  EXPECT_EQ(client.dead_letters().size(), 1U);
}

TEST_P(JobPoolTest, PrioritiesChooseBetweenThoseThatWait) {
  Door door;
  Config config = noting();
  config.concurrency = 1;
  config.execute = [&](JobContext& context, const Note&) {
    if (context.job_id() == "first") door.wait();
    witness_.see(context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "first", .event = {}});
  while (client.status().instances[0].current_job != "first") std::this_thread::yield();
  client.enqueue({.id = "low", .event = {}, .priority = -1});
  client.enqueue({.id = "normal", .event = {}});
  const EnqueueResult high = client.enqueue({.id = "high", .event = {}, .priority = 9});
  EXPECT_GE(high.position, 1U);
  EXPECT_LE(high.position, 3U) << "roughly";
  while (client.waiting(0).jobs.size() < 3) std::this_thread::yield();
  const std::vector<WaitingJobStatus> waiting = client.waiting(0).jobs;
  ASSERT_EQ(waiting.size(), 3U);
  EXPECT_EQ(waiting[0].id, "low");
  EXPECT_EQ(waiting[2].priority, 9);
  door.open();
  (void)client.drain(10s);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"first", "high", "normal", "low"}));
}

TEST_P(JobPoolTest, AJobForLaterWaitsForItsTime) {
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  const WallTime due = std::chrono::system_clock::now() + 500ms;
  client.enqueue({.id = "later", .event = {"later", 0}, .run_at = due});
  client.enqueue({.id = "now", .event = {"now", 0}});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_GE(std::chrono::system_clock::now(), due);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"now0", "later0"}));
}

TEST_P(JobPoolTest, WhatWaitsCanBeCancelled) {
  Door door;
  Config config = noting();
  config.concurrency = 1;
  config.execute = [&](JobContext& context, const Note&) {
    door.wait();
    witness_.see(context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "runs", .event = {}});
  while (!client.status().instances[0].current_job) std::this_thread::yield();
  client.enqueue({.id = "waits", .event = {}, .partition_key = "k"});
  client.enqueue({.id = "behind", .event = {}, .partition_key = "k"});
  client.enqueue({.id = "timed", .event = {}, .run_at = std::chrono::system_clock::now() + 1h});
  EXPECT_EQ(client.cancel("nobody"), JobCancelOutcome::not_found);
  EXPECT_EQ(client.cancel("runs"), JobCancelOutcome::already_processing);
  EXPECT_EQ(client.cancel("waits"), JobCancelOutcome::cancelled);
  EXPECT_EQ(client.cancel("timed"), JobCancelOutcome::cancelled);
  EXPECT_EQ(client.cancel("waits"), JobCancelOutcome::already_completed);
  EXPECT_FALSE(client.enqueue({.id = "waits", .event = {}}).created) << "its id stays taken";
  door.open();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"runs", "behind"}));
}

TEST_P(JobPoolTest, WhatWaitsForItsNextAttemptCanBeCancelled) {
  Config config = noting();
  config.retry = {.max_attempts = 2, .delay = fixed(1h), .jitter = 0};
  config.execute = [this](JobContext& context, const Note& note) {
    witness_.see(context.job_id());
    if (note.customer == "bad") throw std::runtime_error("later");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {"bad", 1}, .partition_key = "k"});
  client.enqueue({.id = "b", .event = {}, .partition_key = "k"});
  while (client.status().total_retries == 0) std::this_thread::yield();
  EXPECT_EQ(client.cancel("a"), JobCancelOutcome::cancelled);
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained) << "its partition goes on";
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(client.cancel("a"), JobCancelOutcome::already_completed);
  EXPECT_TRUE(client.dead_letters().empty());
}

TEST_P(JobPoolTest, AnIdleInstanceTakesWhatAnotherCannotRun) {
  Door door;
  Config config = noting();
  config.execute = [&](JobContext& context, const Note&) {
    if (context.job_id() == "long") door.wait();
    witness_.see(context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "long", .event = {}});
  while (!client.status().instances[0].current_job && !client.status().instances[1].current_job) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 20; ++i) client.enqueue({.id = std::to_string(i), .event = {}});
  while (witness_.seen().size() < 20) std::this_thread::yield();
  door.open();
  (void)client.drain(10s);
}

INSTANTIATE_TEST_SUITE_P(Stores, JobPoolTest, ::testing::Values("memory", "sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
