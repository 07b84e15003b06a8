// job_helping_test.cpp: no instance is idle while a job without a key waits for a busy one.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

class JobHelpingTest : public JobPoolTest {
 protected:
  // On a shared store each beat wakes all instances, whoever has called them or not.
  JobHelpingTest() { reopen({.lease = 1h}); }
  ~JobHelpingTest() override {
    early_door_.open();
    door_.open();
    jobs_.reset();  // before the doors go, whatever has failed
  }

  // "slow" ones wait at the door, "held" ones at one that is opened before. "bad" ones fail the
  // first time, when the held one has begun.
  Config config(unsigned concurrency) {
    return {.concurrency = concurrency,
            .retry = {.max_attempts = 2, .delay = fixed(500ms), .jitter = 0},
            .execute = [this](JobContext& context, const Note& note) {
              witness_.see(context.job_id());
              if (note.customer == "slow") door_.wait();
              if (note.customer == "held") early_door_.wait();
              if (note.customer != "bad" || context.attempt() > 1) return;
              EXPECT_TRUE(has_begun("held"));
              throw std::runtime_error("no");
            }};
  }

  // Jobs without a key are shared out in turn: the next one is the first instance's.
  void fill_up(const JobClient<Note>& client) {
    const unsigned last = client.status().concurrency - 1;
    const auto fill = [&] {
      return client.enqueue({.id = "fill" + std::to_string(fillers_++), .event = {}});
    };
    while (fill().instance_index != last) {
    }
  }
  void enqueue_to_first(const JobClient<Note>& client, const Enqueue& job) {
    fill_up(client);
    EXPECT_EQ(client.enqueue(job).instance_index, 0U);
  }

  // Asks by jobs that never run.
  std::string key_of(const JobClient<Note>& client, std::uint32_t index) {
    for (;;) {
      const std::string key = "key" + std::to_string(fillers_++);
      const EnqueueResult result =
          client.enqueue({.id = key, .event = {}, .partition_key = key, .delay = 1h});
      EXPECT_EQ(client.cancel(key), JobCancelOutcome::cancelled);
      if (result.instance_index == index) return key;
    }
  }

  bool has_begun(const std::string& id, std::size_t times = 1) const {
    const Time deadline = real_clock().now() + 10s;
    while (witness_.count(id) < times) {
      if (real_clock().now() >= deadline) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  // Nobody else may run it.
  void keep_first_busy(const JobClient<Note>& client) {
    const std::string key = key_of(client, 0);
    client.enqueue({.id = "slow", .event = {"slow"}, .partition_key = key});
    EXPECT_TRUE(has_begun("slow"));
  }

  // Three instances of which the first is at a job and the others have nothing to do. What they are
  // called for they cannot begin: dead letters are told on their threads until the early door
  // opens. The next job without a key is the first instance's.
  JobClient<Note> with_slow_workers() {
    Config slow = config(3);
    slow.execute = [this](JobContext& context, const Note& note) {
      witness_.see(context.job_id());
      if (note.customer == "slow") door_.wait();
      if (note.customer == "dead") throw std::runtime_error("no");
    };
    slow.retry.max_attempts = 1;
    slow.on_dead_letter = [this](const Note&, const JobError&, const DeadLetterInfo&) {
      witness_.see("told");
      early_door_.wait();
    };
    const auto client = jobs_->define<Note>("notes", slow);
    jobs_->start();
    key_ = key_of(client, 1);
    keep_first_busy(client);
    fill_up(client);
    for (const char* const id : {"dead0", "dead1"}) {
      client.enqueue({.id = id, .event = {"dead"}, .partition_key = key_});
    }
    EXPECT_TRUE(has_begun("told", 2));
    return client;
  }

  int fillers_ = 0;
  std::string key_;  // of the second instance
  Door door_;
  Door early_door_;
};

TEST_P(JobHelpingTest, AJobForLaterIsRunByWhoeverIsFreeThen) {
  const auto client = jobs_->define<Note>("notes", config(2));
  jobs_->start();
  keep_first_busy(client);
  enqueue_to_first(client, {.id = "later", .event = {}, .delay = 200ms});
  EXPECT_TRUE(has_begun("later"));
}

// Its own instance runs another's job when its time comes, and that one is free.
TEST_P(JobHelpingTest, ARetryIsRunByWhoeverIsFreeThen) {
  const auto client = jobs_->define<Note>("notes", config(2));
  enqueue_to_first(client, {.id = "quick", .event = {}});
  EXPECT_EQ(client.enqueue({.id = "held", .event = {"held"}}).instance_index, 1U);
  EXPECT_EQ(client.enqueue({.id = "bad", .event = {"bad"}}).instance_index, 0U);
  EXPECT_EQ(client.enqueue({.id = "slow", .event = {"slow"}}).instance_index, 1U);
  jobs_->start();
  EXPECT_TRUE(has_begun("slow"));
  early_door_.open();
  EXPECT_TRUE(has_begun("bad", 2));
}

// All of them wait for the same instance, and for the same time; one wakes the other.
TEST_P(JobHelpingTest, AsManyHelpAsThereAreJobs) {
  const auto client = jobs_->define<Note>("notes", config(4));
  jobs_->start();
  const WallTime then = real_clock().wall_now() + 1s;
  for (const char* const id : {"slow0", "slow1", "slow2", "slow3"}) {
    enqueue_to_first(client, {.id = id, .event = {"slow"}, .run_at = then});
  }
  for (const char* const id : {"slow0", "slow1", "slow2", "slow3"}) EXPECT_TRUE(has_begun(id));
}

TEST_P(JobHelpingTest, WhoIsCalledAndHasAJobOfItsOwnCallsAnother) {
  const auto client = with_slow_workers();
  EXPECT_EQ(client.enqueue({.id = "next", .event = {}}).instance_index, 0U);
  client.enqueue({.id = "own", .event = {"slow"}, .partition_key = key_});
  early_door_.open();
  EXPECT_TRUE(has_begun("own"));
  EXPECT_TRUE(has_begun("next"));
}

TEST_P(JobHelpingTest, WhoIsCalledAndPausedMeanwhileCallsAnother) {
  const auto client = with_slow_workers();
  EXPECT_EQ(client.enqueue({.id = "next", .event = {}}).instance_index, 0U);
  client.pause(1);
  early_door_.open();
  EXPECT_TRUE(has_begun("next"));
}

// A limit of the pool makes all instances rest, also those that have nothing of their own, or only
// for much later.
TEST_P(JobHelpingTest, AnIdleInstanceHelpsWhenALimitLetsIt) {
  Config limited = config(2);
  limited.limits.pool = RateLimit{.per_second = 0.5, .burst = 3};
  const auto client = jobs_->define<Note>("notes", limited);
  jobs_->start();
  keep_first_busy(client);
  client.enqueue({.id = "far", .event = {}, .partition_key = key_of(client, 1), .delay = 1h});
  for (const std::string id : {"second", "third", "next"}) {
    client.enqueue({.id = id, .event = {}});
    EXPECT_TRUE(has_begun(id));
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, JobHelpingTest,
                         ::testing::Values("memory", "sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
