// job_trouble_test.cpp: handlers and hooks that throw anything, call back from anywhere, and die by
// the thousand. The pool goes on.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

class JobTroubleTest : public JobPoolTest {};

// More than an instance may have unsettled, and the only thread is the one that tells.
TEST_P(JobTroubleTest, ThousandsMayDieAndEachIsTold) {
  constexpr int kJobs = 2500;
  std::atomic<int> told = 0;
  Config config = noting();
  config.concurrency = 1;
  config.retry = at_once(1);
  config.execute = [](JobContext&, const Note&) { throw std::runtime_error("down"); };
  config.on_dead_letter = [&](const Note&, const JobError&, const DeadLetterInfo&) { ++told; };
  const auto client = jobs_->define<Note>("notes", config);
  std::vector<Enqueue> notes;
  for (int i = 0; i < kJobs; ++i) notes.push_back({.id = std::to_string(i), .event = {"a", i}});
  client.enqueue_many(notes);
  jobs_->start();
  EXPECT_EQ(client.drain(60s), DrainOutcome::drained);
  EXPECT_EQ(told, kJobs);
}

TEST_P(JobTroubleTest, WhatIsThrownNeedNotBeText) {
  Config config = noting();
  config.retry = at_once(1);
  config.execute = [](JobContext& context, const Note&) {
    context.log(std::string("before\xff and \0 after", 19));
    throw std::runtime_error("no \xff\xfe text");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {"a", 1}});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  const std::vector<JobDeadLetter> letters = client.dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].errors.at(0).what, "no \xEF\xBF\xBD\xEF\xBF\xBD text");
  EXPECT_EQ(client.log("a"), "before\xEF\xBF\xBD and   after\n");
}

// Not even an exception of the standard library's.
TEST_P(JobTroubleTest, HooksMayThrowAnything) {
  Config config = noting();
  config.concurrency = 1;
  config.retry = at_once(3);
  config.retry.is_retryable = [](const JobError&) -> bool { throw 1; };
  config.execute = [this](JobContext&, const Note& note) {
    witness_.see(note.customer);
    if (note.customer == "bad") throw 2;
  };
  config.on_dead_letter = [](const Note&, const JobError&, const DeadLetterInfo&) { throw 3; };
  config.on_empty = [](const EmptyInfo&) { throw 4; };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "bad", .event = {"bad", 1}});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(client.dead_letters().size(), 1U) << "that counts as not retryable";
  client.enqueue({.id = "late", .event = {"late", 1}, .delay = 20ms});
  client.enqueue({.id = "good", .event = {"good", 1}});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"bad", "good", "late"}));
}

// What a handler wants to be called when it is asked to stop may ask about the pool.
TEST_P(JobTroubleTest, WhoIsAskedToStopMayCallBack) {
  std::atomic<int> begun = 0;
  Config config = noting();
  config.execute = [&](JobContext& context, const Note&) {
    const auto client = jobs_->client<Note>("notes");
    std::atomic<bool> asked = false;
    const std::stop_callback callback(context.stop_token(), [&] {
      context.progress(1, "stopping");
      (void)context.pending_count();
      (void)client.status();
      asked = true;
      asked.notify_all();
    });
    ++begun;
    asked.wait(false);
    throw std::runtime_error("asked");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {"a", 1}});
  while (begun == 0) std::this_thread::yield();
  EXPECT_EQ(client.cancel("a", {.stop_running = true}), JobCancelOutcome::already_processing);
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  client.enqueue({.id = "b", .event = {"b", 1}});
  while (begun == 1) std::this_thread::yield();
  EXPECT_EQ(jobs_->stop({.timeout = 10s}).unfinished, 0U);
}

// On a thread: nobody can end it.
TEST_P(JobTroubleTest, AStopSaysHowManyDoNotListen) {
  std::atomic<int> begun = 0;
  Door door;
  Config config = noting();
  config.execute = [&](JobContext&, const Note&) {
    ++begun;
    door.wait();
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  while (begun == 0) std::this_thread::yield();
  EXPECT_EQ(jobs_->stop({.timeout = 10ms}).unfinished, 1U);
  door.open();
  EXPECT_EQ(jobs_->stop({.timeout = 20s}).unfinished, 0U);
  EXPECT_EQ(client.status().total_processed, 1U);
}

// PostgreSQL has no place for it, and would refuse all that is written with it.
TEST_P(JobTroubleTest, AZeroByteInAnIdIsRefused) {
  Config config = noting();
  config.execute = [](JobContext& context, const Note& note) {
    if (note.number == 1) context.enqueue<Note>("notes", {.id = {"a\0b", 3}, .event = {"b", 2}});
  };
  config.retry = at_once(1);
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  EXPECT_THROW(client.enqueue({.id = {"a\0b", 3}, .event = {}}), InvalidArgument);
  EXPECT_THROW(client.enqueue({.id = "a", .event = {}, .partition_key = std::string("\0", 1)}),
               InvalidArgument);
  client.enqueue({.id = "a", .event = {"a", 1}});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  ASSERT_EQ(client.dead_letters().size(), 1U);
  EXPECT_NE(client.dead_letters()[0].errors.at(0).what.find("zero"), std::string::npos);
}

// Who is idle takes what has no key from whoever has some, not only from whoever has most.
TEST_P(JobTroubleTest, NobodyIsIdleWhileAJobWithoutAKeyWaits) {
  Door door;
  Config config = noting();
  config.concurrency = 3;
  config.execute = [&](JobContext&, const Note& note) {
    if (note.customer == "held") door.wait();
    witness_.see(note.customer);
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  // Two instances are held up; one of them has many jobs that nobody else may run.
  const std::uint32_t crowded =
      client.enqueue({.id = "k", .event = {"held", 0}, .partition_key = "k"}).instance_index;
  std::string other = "l";
  const auto instance_of_key = [&](const std::string& key) {
    const std::string id = "probe " + key;
    return client.enqueue({.id = id, .event = {"keyed", 0}, .partition_key = key}).instance_index;
  };
  while (instance_of_key(other) == crowded) other += "l";
  client.enqueue({.id = "other", .event = {"held", 0}, .partition_key = other});
  for (int i = 0; i < 20; ++i) {
    client.enqueue({.id = "k" + std::to_string(i), .event = {"keyed", i}, .partition_key = "k"});
  }
  for (int i = 0; i < 6; ++i) {
    client.enqueue({.id = "free" + std::to_string(i), .event = {"free", i}});
  }
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (witness_.count("free") < 6 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(witness_.count("free"), 6U);
  door.open();
  EXPECT_EQ(client.drain(20s), DrainOutcome::drained);
}

// As soon as it is not kept any longer.
TEST_P(JobTroubleTest, ADeadLetterThatIsLetGoOfReleasesItsPartition) {
  reopen({.keep_dead = 100ms, .prune_every = 20ms, .lease = 1s});
  Config config = noting();
  config.retry = at_once(1);
  config.when_dead = DeadLetterEffect::block;
  config.execute = [this](JobContext&, const Note& note) {
    witness_.see(note.customer + std::to_string(note.number));
    if (note.number == 0) throw std::runtime_error("broken");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "0", .event = {"k", 0}, .partition_key = "k"});
  client.enqueue({.id = "1", .event = {"k", 1}, .partition_key = "k"});
  EXPECT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"k0", "k1"}));
}

TEST_P(JobTroubleTest, NobodyWaitsForAPoolThatHasStopped) {
  if (std::string(GetParam()) == "postgresql") return;  // other nodes may run it
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  client.enqueue({.id = "a", .event = {"a", 1}, .delay = 1h});
  jobs_->stop();
  EXPECT_EQ(client.drain(60s), DrainOutcome::paused) << "at once";
}

// It waits behind one that runs, and is due.
TEST_P(JobTroubleTest, AJobThatIsDueStaysSoWhateverTheClockSays) {
  if (std::string(GetParam()) == "postgresql") return;  // goes by the database's clock
  FakeClock clock;
  reopen({.clock = &clock, .mode = JobsMode::by_hand});
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  client.enqueue({.id = "a", .event = {"a", 1}});
  clock.set_wall(clock.wall_now() - 1h);
  EXPECT_EQ(jobs_->run_due(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Stores, JobTroubleTest,
                         ::testing::Values("memory", "sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
