// job_modes_test.cpp: jobs that are run by hand or as they are enqueued, on a clock that stands
// still; schedules; jobs that are enqueued without waiting for the store.
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

class JobModesTest : public ::testing::Test {
 protected:
  Jobs open(JobsMode mode) { return Jobs::open("memory:", {.clock = &clock_, .mode = mode}); }
  Config naming() {
    return {.concurrency = 2,
            .retry = {.max_attempts = 2, .delay = fixed(10s), .jitter = 0},
            .execute = [this](JobContext& context, const Note& note) {
              witness_.see(context.job_id());
              if (note.customer == "bad") throw std::runtime_error("bad");
            }};
  }

  // Which is dead at once, and then another is enqueued in its place.
  Config replacing() {
    Config config = naming();
    config.retry.max_attempts = 1;
    config.on_dead_letter = [this](const Note&, const JobError&, const DeadLetterInfo& info) {
      client_->enqueue({.id = "instead of " + info.job_id, .event = {}});
    };
    return config;
  }

  FakeClock clock_;
  Witness witness_;
  std::optional<JobClient<Note>> client_;  // of replacing()
};

using Words = std::vector<std::string>;

TEST_F(JobModesTest, WhatIsDueIsRunByHand) {
  Jobs jobs = open(JobsMode::by_hand);
  const auto client = jobs.define<Note>("notes", naming());
  EXPECT_THROW(jobs.run_due(), InvalidArgument) << "before start()";
  jobs.start();
  client.enqueue({.id = "now", .event = {}});
  client.enqueue({.id = "later", .event = {}, .delay = 1h});
  EXPECT_TRUE(witness_.seen().empty());
  EXPECT_EQ(jobs.run_due(), 1U);
  EXPECT_EQ(witness_.seen(), (Words{"now"}));
  EXPECT_EQ(client.drain(1h), DrainOutcome::timed_out) << "nobody else would do it";
  clock_.advance(1h);
  EXPECT_EQ(jobs.run_due(), 1U);
  EXPECT_EQ(client.drain(1h), DrainOutcome::drained);
  EXPECT_EQ(client.status().total_processed, 2U);
}

TEST_F(JobModesTest, RetriesAndDeadLettersByHand) {
  Jobs jobs = open(JobsMode::by_hand);
  Config config = naming();
  config.on_dead_letter = [this](const Note&, const JobError& error, const DeadLetterInfo& info) {
    witness_.see(info.job_id + " is dead: " + error.what);
  };
  const auto client = jobs.define<Note>("notes", config);
  jobs.start();
  client.enqueue({.id = "a", .event = {"bad", 0}});
  EXPECT_EQ(jobs.run_due(), 1U);
  clock_.advance(9s);
  EXPECT_EQ(jobs.run_due(), 0U);
  clock_.advance(1s);
  EXPECT_EQ(jobs.run_due(), 1U);
  EXPECT_EQ(witness_.seen(), (Words{"a", "a", "a is dead: bad"}));
}

TEST_F(JobModesTest, WhoIsToldOfADeadLetterMayEnqueue) {
  for (const JobsMode mode : {JobsMode::by_hand, JobsMode::as_enqueued}) {
    Jobs jobs = open(mode);
    client_ = jobs.define<Note>("notes", replacing());
    jobs.start();
    client_->enqueue({.id = "a", .event = {"bad", 0}});
    if (mode == JobsMode::by_hand) {
      EXPECT_EQ(jobs.run_due(), 2U);
    }
  }
  EXPECT_EQ(witness_.seen(), (Words{"a", "instead of a", "a", "instead of a"}));
}

// When the workers are gone already, since their pool stops.
TEST_F(JobModesTest, WhoIsToldOfADeadLetterAtTheEndMayEnqueue) {
  Jobs jobs = open(JobsMode::threads);
  client_ = jobs.define<Note>("notes", replacing());
  jobs.start();
  for (int i = 0; i < 50; ++i) client_->enqueue({.id = std::to_string(i), .event = {"bad", 0}});
  // Two instances: when a third has begun, one has ended, and was not handed back.
  while (witness_.seen().size() < 3) std::this_thread::yield();
  jobs.stop();
  const std::vector<JobDeadLetter> letters = client_->dead_letters();
  EXPECT_FALSE(letters.empty());
  for (const JobDeadLetter& letter : letters) {
    EXPECT_FALSE(client_->enqueue({.id = "instead of " + letter.id, .event = {}}).created);
  }
}

TEST_F(JobModesTest, WhatAJobEnqueuesIsRunInTheSameCall) {
  Jobs jobs = open(JobsMode::by_hand);
  Config config = naming();
  config.execute = [this](JobContext& context, const Note& note) {
    witness_.see(context.job_id());
    if (note.number == 0) return;
    context.enqueue<Note>("notes", {.id = "next " + std::to_string(note.number - 1),
                                    .event = {"x", note.number - 1}});
  };
  const auto client = jobs.define<Note>("notes", config);
  jobs.start();
  client.enqueue({.id = "first", .event = {"x", 2}});
  EXPECT_EQ(jobs.run_due(), 3U);
  EXPECT_EQ(witness_.seen(), (Words{"first", "next 1", "next 0"}));
}

TEST_F(JobModesTest, WhoEnqueuesMayRunIt) {
  Jobs jobs = open(JobsMode::as_enqueued);
  const auto client = jobs.define<Note>("notes", naming());
  jobs.start();
  client.enqueue({.id = "a", .event = {}});
  EXPECT_EQ(witness_.seen(), (Words{"a"}));
  client.enqueue({.id = "later", .event = {}, .delay = 1s});
  EXPECT_EQ(witness_.seen(), (Words{"a"}));
  clock_.advance(1s);
  EXPECT_EQ(jobs.run_due(), 1U);
}

// A histogram is at most 0.8 % off.
TEST_F(JobModesTest, WaitsAreCountedFromWhenAJobWasDueAndRunsAsLongAsTheyTake) {
  Jobs jobs = open(JobsMode::by_hand);
  Config config = naming();
  config.concurrency = 1;
  config.limits.key = per_second(1);
  config.execute = [this](JobContext&, const Note& note) {
    clock_.advance(20ms);
    if (note.customer == "bad") throw std::runtime_error("bad");
  };
  const auto client = jobs.define<Note>("notes", config);
  jobs.start();
  std::chrono::duration<double> before{};
  const auto seconds_waited = [&] {
    (void)jobs.run_due();
    const std::chrono::duration<double> all = client.snapshot().latency.queue_wait.sum();
    return (all - std::exchange(before, all)).count();
  };
  client.enqueue({.id = "a", .event = {}, .partition_key = "k"});
  client.enqueue({.id = "b", .event = {}, .partition_key = "k"});
  EXPECT_EQ(seconds_waited(), 0) << "one at once, the other not yet";
  clock_.advance(3s);
  EXPECT_NEAR(seconds_waited(), 3.02, 0.03) << "also while the limit put it off";
  client.enqueue({.id = "later", .event = {}, .delay = 1h});
  clock_.advance(1h + 5min);
  EXPECT_NEAR(seconds_waited(), 300, 3) << "not the hour before";
  client.enqueue({.id = "bad", .event = {"bad", 0}});
  EXPECT_EQ(seconds_waited(), 0);
  clock_.advance(15s);
  EXPECT_NEAR(seconds_waited(), 5, 0.1) << "behind the delay of 10 s";
  clock_.advance(1h);
  EXPECT_TRUE(client.replay("bad"));
  clock_.advance(2s);
  EXPECT_NEAR(seconds_waited(), 2, 0.1) << "since it was replayed";
  const HistogramSnapshot runs = client.snapshot().latency.run;
  EXPECT_EQ(runs.count(), 6U);
  EXPECT_NEAR(std::chrono::duration<double>(runs.sum()).count(), 0.12, 0.002);
}

TEST_F(JobModesTest, OnlyTheModesForTestsRunByHand) {
  Jobs jobs = Jobs::open("memory:");
  jobs.start();
  EXPECT_THROW(jobs.run_due(), InvalidArgument);
}

TEST_F(JobModesTest, AScheduleEnqueuesAtItsTimes) {
  Jobs jobs = open(JobsMode::by_hand);
  jobs.define<Note>("notes", naming());
  jobs.schedule<Note>("hourly", {.pool = "notes", .cron = "0 * * * *", .event = {"x", 1}});
  jobs.start();
  EXPECT_EQ(jobs.run_due(), 0U) << "it begins now";
  clock_.advance(59min);
  EXPECT_EQ(jobs.run_due(), 0U);
  clock_.advance(1min);
  EXPECT_EQ(jobs.run_due(), 1U);
  EXPECT_EQ(jobs.run_due(), 0U);
  clock_.advance(3h);
  EXPECT_EQ(jobs.run_due(), 1U) << "one for all that were missed";
  EXPECT_EQ(witness_.seen(), (Words{"hourly@1970-01-01T01:00:00Z", "hourly@1970-01-01T04:00:00Z"}));
}

TEST_F(JobModesTest, MissedRunsAreMadeUpForOrNot) {
  Jobs jobs = open(JobsMode::by_hand);
  jobs.define<Note>("notes", naming());
  jobs.schedule<Note>(
      "all",
      {.pool = "notes", .cron = "0 * * * *", .event = {}, .missed_runs = MissedRuns::run_all});
  jobs.schedule<Note>(
      "none", {.pool = "notes", .cron = "0 * * * *", .event = {}, .missed_runs = MissedRuns::skip});
  jobs.start();
  clock_.advance(3h + 10min);
  EXPECT_EQ(jobs.run_due(), 3U);
  clock_.advance(50min);
  EXPECT_EQ(jobs.run_due(), 2U) << "this one is not late";
  EXPECT_EQ(witness_.count("none@1970-01-01T04:00:00Z"), 1U);
}

// What it ran meanwhile it does not run again, and it goes on with the next one.
TEST_F(JobModesTest, AScheduleGoesOnThoughTheClockWasAheadForAWhile) {
  const TemporaryFolder folder;
  const WallTime right = clock_.wall_now();
  const auto open_hourly = [&] {
    Jobs jobs = Jobs::open("sqlite:" + folder.file("jobs.db"),
                           {.clock = &clock_, .mode = JobsMode::by_hand});
    jobs.define<Note>("notes", naming());
    jobs.schedule<Note>("hourly", {.pool = "notes", .cron = "0 * * * *", .event = {}});
    jobs.start();
    return jobs;
  };
  {
    Jobs jobs = open_hourly();
    clock_.set_wall(right + 48h);
    EXPECT_EQ(jobs.run_due(), 1U);
    clock_.set_wall(right + 30min);
    EXPECT_EQ(jobs.run_due(), 0U);
    clock_.set_wall(right + 1h);
    EXPECT_EQ(jobs.run_due(), 1U);
    clock_.set_wall(right + 48h);
    EXPECT_EQ(jobs.run_due(), 0U);
  }
  clock_.set_wall(right + 2h);
  (void)open_hourly().run_due();  // it learns what time it is
  clock_.set_wall(right + 4h);
  EXPECT_EQ(open_hourly().run_due(), 1U) << "and remembers it: what was missed is made up for";
  EXPECT_EQ(witness_.seen(), (Words{"hourly@1970-01-03T00:00:00Z", "hourly@1970-01-01T01:00:00Z",
                                    "hourly@1970-01-01T04:00:00Z"}));
}

TEST_F(JobModesTest, BadSchedulesAreRefused) {
  Jobs jobs = open(JobsMode::by_hand);
  jobs.define<Note>("notes", naming());
  const JobSchedule<Note> good{.pool = "notes", .cron = "@daily", .event = {}};
  jobs.schedule<Note>("a", good);
  EXPECT_THROW(jobs.schedule<Note>("a", good), InvalidArgument) << "twice";
  EXPECT_THROW(jobs.schedule<Note>("b", {.pool = "notes", .cron = "x", .event = {}}),
               InvalidArgument);
  EXPECT_THROW(jobs.schedule<Note>("c", {.pool = "nobody", .cron = "@daily", .event = {}}),
               InvalidArgument);
  EXPECT_THROW(jobs.schedule<Note>("", good), InvalidArgument);
  jobs.start();
  EXPECT_THROW(jobs.schedule<Note>("d", good), InvalidArgument) << "too late";
}

class IdsTest : public JobPoolTest {
 protected:
  // What is over is looked for all the time; how old it is this clock says.
  JobClient<Note> open_with(const JobsOptions& options) {
    JobsOptions all = options;
    all.clock = &clock_;
    all.prune_every = 1ms;
    reopen(all);
    const auto client = jobs_->define<Note>("notes", noting());
    jobs_->start();
    return client;
  }
  ~IdsTest() override { jobs_.reset(); }  // before its clock

  FakeClock clock_;
};

TEST_P(IdsTest, AnIdIsTakenUntilItIsNotKeptAnyLonger) {
  const auto client = open_with({.keep_completed = 1h, .keep_ids = 10h});
  for (const char* const id : {"old", "young"}) {
    EXPECT_TRUE(client.enqueue({.id = id, .event = {}}).created);
    ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
    clock_.advance(1h);
  }
  clock_.advance(7h + 59min);
  EXPECT_FALSE(client.enqueue({.id = "old", .event = {}}).created);
  for (const char* const id : {"old", "young"}) {
    clock_.advance(2min);
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!client.enqueue({.id = id, .event = {}}).created) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << id << " is not let go of";
    }
    EXPECT_FALSE(client.enqueue({.id = "young", .event = {}}).created) << "too early, or just now";
    clock_.advance(58min);
  }
}

TEST_P(IdsTest, ALetterThatIsLetGoOfLeavesItsIdForAsLongAsOthers) {
  JobsOptions options{.keep_completed = 1h, .keep_ids = 10h, .keep_dead = 2h};
  options.clock = &clock_;
  options.prune_every = 1ms;
  reopen(options);
  Config config = noting();
  config.retry = at_once(1);
  config.execute = [](JobContext&, const Note&) { throw std::runtime_error("dead"); };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  EXPECT_TRUE(client.enqueue({.id = "a", .event = {}}).created);
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  clock_.advance(2h + 1min);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!client.dead_letters().empty()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_FALSE(client.enqueue({.id = "a", .event = {}}).created);
  EXPECT_FALSE(client.replay("a"));
  clock_.advance(8h);
  while (!client.enqueue({.id = "a", .event = {}}).created) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

TEST_P(IdsTest, AnIdCannotBeUniqueForLongerThanItIsKept) {
  const auto client = open_with({.keep_completed = 1h, .keep_ids = 10h});
  EXPECT_TRUE(client.enqueue({.id = "a", .event = {}, .unique_for = 10h}).created);
  try {
    client.enqueue({.id = "b", .event = {}, .unique_for = 10h + 1ns});
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.bad_fields().at(0).field, "unique_for");
    EXPECT_EQ(error.bad_fields().at(0).value, "36000000000001 ns");
    EXPECT_NE(error.bad_fields().at(0).rule.find("keep_ids"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, IdsTest, ::testing::Values("memory", "sqlite"),
                         [](const auto& store) { return std::string(store.param); });

class ScheduleTest : public JobPoolTest {};

// Every second, by the real clock.
TEST_P(ScheduleTest, TwoNodesRunEachTimeOnceAndARestartGoesOn) {
  const auto open = [&] {
    Jobs jobs = Jobs::open(url_);
    jobs.define<Note>("notes",
                      {.concurrency = 1, .execute = [this](JobContext& context, const Note&) {
                         witness_.see(context.job_id());
                       }});
    jobs.schedule<Note>("tick", {.pool = "notes", .cron = "* * * * * *", .event = {}});
    return jobs;
  };
  jobs_.reset();
  {
    std::vector<Jobs> nodes;
    nodes.push_back(open());
    if (std::string(GetParam()) == "postgresql") nodes.push_back(open());
    for (Jobs& node : nodes) node.start();
    while (witness_.seen().size() < 2) std::this_thread::sleep_for(10ms);
  }
  std::this_thread::sleep_for(2100ms);
  Jobs again = open();
  again.start();
  const std::size_t before = witness_.seen().size();
  while (witness_.seen().size() < before + 2) std::this_thread::sleep_for(10ms);
  (void)again.stop();
  const Words seen = witness_.seen();
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size()) << "each once";
}

INSTANTIATE_TEST_SUITE_P(Stores, ScheduleTest, ::testing::Values("sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

class MemoryLevelTest : public JobPoolTest {};

TEST_P(MemoryLevelTest, CreatedNeverLiesThoughNobodyWaits) {
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  std::atomic<int> created = 0;
  constexpr int kIds = 500;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kIds; ++i) {
        const auto durability = (i + thread) % 3 == 0 ? Durability::written : Durability::memory;
        const EnqueueResult result =
            client.enqueue({.id = std::to_string(i), .event = {"x", i}}, durability);
        if (result.created) ++created;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, kIds);
  EXPECT_EQ(client.drain(60s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen().size(), static_cast<std::size_t>(kIds));
  EXPECT_EQ(client.status().total_processed, static_cast<std::uint64_t>(kIds));
}

TEST_P(MemoryLevelTest, AStopWritesWhatWasAccepted) {
  const auto client = jobs_->define<Note>("notes", noting());
  client.enqueue({.id = "first", .event = {"x", 0}}, Durability::memory);
  for (int i = 1; i < 100; ++i) {
    EXPECT_TRUE(
        client.enqueue({.id = std::to_string(i), .event = {"x", i}}, Durability::memory).created);
  }
  reopen();
  jobs_->define<Note>("notes", noting());
  jobs_->start();
  EXPECT_EQ(jobs_->client<Note>("notes").drain(60s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen().size(), 100U);
}

INSTANTIATE_TEST_SUITE_P(Stores, MemoryLevelTest, ::testing::Values("sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
