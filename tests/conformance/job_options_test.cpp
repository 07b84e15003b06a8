// job_options_test.cpp: limits, timeouts, orders and times of pools, on every store.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

class JobOptionsTest : public JobPoolTest {
 protected:
  // Runs one at a time, and says which.
  Config naming() {
    return {.concurrency = 1, .execute = [this](JobContext& context, const Note&) {
              witness_.see(context.job_id());
            }};
  }

  void expect_retry_in_time(std::chrono::seconds by);
};

// Until asked to stop.
void wait_for_stop(const JobContext& context) {
  while (!context.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
}

TEST_P(JobOptionsTest, AnAttemptThatTakesTooLongIsAskedToStopAndFails) {
  Config config = naming();
  config.timeout = 50ms;
  config.retry = at_once(2);
  config.execute = [&](JobContext& context, const Note& note) {
    wait_for_stop(context);
    if (note.customer == "stubborn") return;
    throw std::runtime_error("stopped");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {"willing", 1}});
  client.enqueue({.id = "b", .event = {"stubborn", 1}});
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  const std::vector<JobDeadLetter> letters = client.dead_letters();
  ASSERT_EQ(letters.size(), 1U) << "who returns has done its work";
  EXPECT_EQ(letters[0].id, "a");
  ASSERT_EQ(letters[0].errors.size(), 2U);
  EXPECT_EQ(letters[0].errors[0].kind, FailureKind::timeout);
}

TEST_P(JobOptionsTest, APoolKeepsItsRate) {
  Config config = naming();
  config.concurrency = 4;
  config.limits.pool = per_second(50, 5);
  const auto client = jobs_->define<Note>("notes", config);
  std::vector<Enqueue> many;
  for (int i = 0; i < 15; ++i) many.push_back({.id = std::to_string(i), .event = {"x", i}});
  client.enqueue_many(many);
  const auto begin = std::chrono::steady_clock::now();
  jobs_->start();
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 10 * 20ms - 5ms) << "five at once, then one every 20 ms";
  EXPECT_EQ(witness_.seen().size(), 15U);
}

TEST_P(JobOptionsTest, AKeyKeepsItsRateAndHoldsUpNobodyElse) {
  std::mutex mutex;
  std::map<std::string, std::chrono::steady_clock::time_point> ends;
  Config config = naming();
  config.limits.key = per_second(4);
  config.execute = [&](JobContext& context, const Note&) {
    const std::lock_guard lock(mutex);
    ends[context.job_id()] = std::chrono::steady_clock::now();
    witness_.see(context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  for (const char* const id : {"a1", "a2", "a3", "b1"}) {
    client.enqueue({.id = id, .event = {}, .partition_key = std::string(1, id[0])});
  }
  client.enqueue({.id = "keyless", .event = {}});
  jobs_->start();
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_GE(ends["a3"] - ends["a1"], 400ms);
  EXPECT_LT(ends["b1"], ends["a2"]);
  EXPECT_LT(ends["keyless"], ends["a2"]);
  EXPECT_LT(ends["a2"], ends["a3"]);
}

TEST_P(JobOptionsTest, ADelayIsWaitedFor) {
  const auto client = jobs_->define<Note>("notes", naming());
  jobs_->start();
  const auto begin = std::chrono::steady_clock::now();
  client.enqueue({.id = "later", .event = {}, .delay = 500ms});
  client.enqueue({.id = "now", .event = {}});
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 490ms);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"now", "later"}));
  try {
    client.enqueue({.id = "x", .event = {}, .run_at = WallTime(), .delay = 1s});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.bad_fields()[0].field, "delay");
  }
  EXPECT_THROW(client.enqueue({.id = "x", .event = {}, .delay = -1s}), InvalidArgument);
}

TEST_P(JobOptionsTest, ADrainLeavesOutWhatNobodyCouldBeginIfToldSo) {
  Config config = naming();
  config.retry = {.max_attempts = 2, .delay = fixed(1h), .jitter = 0};
  config.execute = [this](JobContext& context, const Note& note) {
    witness_.see(context.job_id());
    if (note.customer == "bad") throw std::runtime_error("later");
  };
  const auto client = jobs_->define<Note>("notes", config);
  client.enqueue({.id = "bad", .event = {"bad"}, .partition_key = "k"});
  client.enqueue({.id = "behind", .event = {}, .partition_key = "k"});
  client.enqueue({.id = "later", .event = {}, .delay = 1h});
  client.enqueue({.id = "now", .event = {}});
  jobs_->start();
  const DrainOptions now{.timeout = 20s, .delayed = DelayedJobs::leave_out};
  EXPECT_EQ(client.drain(now), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"bad", "now"}));
  EXPECT_EQ(client.drain({.index = 0, .timeout = 20s, .delayed = DelayedJobs::leave_out}),
            DrainOutcome::drained);
  EXPECT_EQ(client.drain(10ms), DrainOutcome::timed_out) << "unless told so";
  client.pause();
  EXPECT_EQ(client.drain(now), DrainOutcome::drained) << "nothing is held up";
  client.enqueue({.id = "more", .event = {}});
  EXPECT_EQ(client.drain(now), DrainOutcome::paused);
  EXPECT_THROW((void)client.drain({.index = 1}), InvalidArgument);
}

TEST_P(JobOptionsTest, WhatALimitPutsOffIsNotLeftOutOfADrain) {
  Config config = naming();
  config.limits.key = per_second(4);
  const auto client = jobs_->define<Note>("notes", config);
  for (const char* const id : {"a", "b", "c"}) {
    client.enqueue({.id = id, .event = {}, .partition_key = "k"});
  }
  jobs_->start();
  EXPECT_EQ(client.drain({.timeout = 20s, .delayed = DelayedJobs::leave_out}),
            DrainOutcome::drained);
  EXPECT_EQ(witness_.seen().size(), 3U);
}

TEST_P(JobOptionsTest, WhatADeadLetterBlocksIsLeftOutOfADrain) {
  Config config = naming();
  config.retry = at_once(1);
  config.when_dead = DeadLetterEffect::block;
  config.execute = [](JobContext&, const Note&) { throw std::runtime_error("no"); };
  const auto client = jobs_->define<Note>("notes", config);
  client.enqueue({.id = "a", .event = {}, .partition_key = "k"});
  client.enqueue({.id = "b", .event = {}, .partition_key = "k"});
  jobs_->start();
  EXPECT_EQ(client.drain({.timeout = 20s, .delayed = DelayedJobs::leave_out}),
            DrainOutcome::drained);
  EXPECT_EQ(client.dead_letters().size(), 1U);
}

TEST_P(JobOptionsTest, AnIdMayBeUniqueForATimeOnly) {
  const auto client = jobs_->define<Note>("notes", naming());
  jobs_->start();
  EXPECT_TRUE(client.enqueue({.id = "daily", .event = {}, .unique_for = 50ms}).created);
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_FALSE(client.enqueue({.id = "daily", .event = {}, .unique_for = 1h}).created);
  std::this_thread::sleep_for(60ms);
  EXPECT_FALSE(client.enqueue({.id = "daily", .event = {}}).created) << "as long as it is kept";
  EXPECT_TRUE(client.enqueue({.id = "daily", .event = {}, .unique_for = 50ms}).created);
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_EQ(witness_.count("daily"), 2U);
}

TEST_P(JobOptionsTest, APartitionMayGoByPriority) {
  Config config = naming();
  config.order = PartitionOrder::priority;
  const auto client = jobs_->define<Note>("notes", config);
  client.enqueue({.id = "low", .event = {}, .partition_key = "k", .priority = -1});
  client.enqueue({.id = "mid", .event = {}, .partition_key = "k"});
  client.enqueue({.id = "high", .event = {}, .partition_key = "k", .priority = 9});
  jobs_->start();
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"high", "mid", "low"}));
}

TEST_P(JobOptionsTest, ADeadLetterMayBlockItsPartition) {
  std::atomic<bool> fails = true;
  Config config = naming();
  config.when_dead = DeadLetterEffect::block;
  config.retry = at_once(1);
  config.execute = [&](JobContext& context, const Note& note) {
    if (note.number == 0 && fails) throw std::runtime_error("broken");
    witness_.see(context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  for (const char* const key : {"k", "l"}) {
    client.enqueue({.id = key + std::string("0"), .event = {key, 0}, .partition_key = key});
    client.enqueue({.id = key + std::string("1"), .event = {key, 1}, .partition_key = key});
  }
  client.enqueue({.id = "other", .event = {"o", 1}, .partition_key = "o"});
  while (client.dead_letters().size() < 2 || witness_.count("other") == 0) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"other"}));
  if (std::string(GetParam()) != "memory") {
    reopen();
    jobs_->define<Note>("notes", config);
    jobs_->start();
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"other"})) << "also after a restart";
  }
  const auto now = jobs_->client<Note>("notes");
  fails = false;
  EXPECT_TRUE(now.replay("k0"));
  EXPECT_TRUE(now.discard("l0"));
  ASSERT_EQ(now.drain(20s), DrainOutcome::drained);
  const std::vector<std::string> seen = witness_.seen();
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_LT(std::ranges::find(seen, "k0"), std::ranges::find(seen, "k1"));
  EXPECT_NE(std::ranges::find(seen, "l1"), seen.end());
}

class LastingOptionsTest : public JobPoolTest {};

// They died before anybody wanted that to block.
TEST_P(LastingOptionsTest, EachDeadLetterOfAPartitionBlocksItAndIsReplayedInItsPlace) {
  std::atomic<bool> fails = true;
  Config config = noting();
  config.concurrency = 1;
  config.retry = at_once(1);
  config.execute = [&](JobContext& context, const Note&) {
    if (fails) throw std::runtime_error("broken");
    witness_.see(context.job_id());
  };
  jobs_->define<Note>("notes", config);
  jobs_->start();
  const auto before = jobs_->client<Note>("notes");
  for (const char* const id : {"k1", "k2", "k3"}) {
    before.enqueue({.id = id, .event = {}, .partition_key = "k"});
  }
  ASSERT_EQ(before.drain(20s), DrainOutcome::drained);
  fails = false;
  config.when_dead = DeadLetterEffect::block;
  reopen();
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "k4", .event = {}, .partition_key = "k"});
  // What comes behind k4 is run, and k4 is not.
  const auto expect_blocked = [&](const std::string& sentinel) {
    client.enqueue({.id = sentinel, .event = {}});
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (witness_.count(sentinel) == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(witness_.seen().back(), sentinel);
    EXPECT_EQ(witness_.count("k4") + witness_.count("k1"), 0U) << sentinel;
  };
  expect_blocked("at first");
  EXPECT_TRUE(client.replay("k3"));
  expect_blocked("one is replayed");
  EXPECT_TRUE(client.discard("k2"));
  expect_blocked("one is discarded");
  EXPECT_TRUE(client.replay("k1"));
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  const std::vector<std::string> seen = witness_.seen();
  EXPECT_EQ(std::vector<std::string>(seen.begin() + 3, seen.end()),
            (std::vector<std::string>{"k1", "k3", "k4"}));
}

TEST_P(JobOptionsTest, WhatAJobLogsIsKept) {
  Config config = naming();
  config.retry = at_once(2);
  config.execute = [&](JobContext& context, const Note&) {
    EXPECT_EQ(context.partition_key(), "k");
    context.log("attempt " + std::to_string(context.attempt()));
    context.log("two");
    if (context.attempt() == 1) throw std::runtime_error("once more");
    context.log(std::string(100'000, 'x'));
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}, .partition_key = "k"});
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_EQ(client.log("a"), "attempt 2\ntwo\n");
  EXPECT_EQ(client.log("nobody"), std::nullopt);
}

TEST_P(JobOptionsTest, WhatWaitsIsToldInPages) {
  const auto client = jobs_->define<Note>("notes", naming());
  for (int i = 0; i < 25; ++i) client.enqueue({.id = std::to_string(i), .event = {}});
  std::vector<std::string> ids;
  WaitingPage page{.limit = 10};
  int pages = 0;
  do {
    const WaitingJobs waiting = client.waiting(0, page);
    for (const WaitingJobStatus& job : waiting.jobs) ids.push_back(job.id);
    page.after = waiting.next;
    ++pages;
  } while (page.after != 0);
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(ids.size(), 25U);
  EXPECT_EQ(ids.front(), "0");
  EXPECT_EQ(ids.back(), "24");
  const WaitingJobs inside = client.instance_status(0, {.limit = 2, .after = page.after}).waiting;
  ASSERT_EQ(inside.jobs.size(), 2U);
  EXPECT_EQ(inside.jobs[1].id, "1");
  EXPECT_EQ(client.instance_status(0, {.after = inside.next}).waiting.jobs.size(), 23U);
  EXPECT_TRUE(client.instance_status(0).waiting.jobs.empty()) << "not asked for";
  EXPECT_THROW((void)client.waiting(1), InvalidArgument);
}

TEST_P(JobOptionsTest, AHotPartitionIsNoticed) {
  Door door;
  Config config = naming();
  config.execute = [&](JobContext&, const Note&) { door.wait(); };
  const auto client = jobs_->define<Note>("notes", config);
  NoticeStream notices = jobs_->subscribe();
  jobs_->start();
  std::vector<Enqueue> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back({.id = std::to_string(i),
                    .event = {},
                    .partition_key = i % 3 == 0 ? std::to_string(i) : "hot"});
  }
  client.enqueue_many(many);
  std::optional<Notice> notice = notices.next(10s);
  EXPECT_EQ(client.status().hot_partitions, 1U);
  EXPECT_TRUE(client.instance_status(0).has_hot_partition);
  door.open();
  ASSERT_TRUE(notice);
  const auto* const hot = std::get_if<HotPartition>(&notice->news);
  ASSERT_NE(hot, nullptr);
  EXPECT_EQ(hot->key, "hot");
  EXPECT_EQ(hot->instance, "notes:0");
  EXPECT_GE(hot->waiting, 100U);
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
}

TEST_P(JobOptionsTest, ARunningJobCanBeAskedToStopForGood) {
  Config config = naming();
  config.retry = at_once(10);
  config.execute = [&](JobContext& context, const Note&) {
    witness_.see(context.job_id());
    wait_for_stop(context);
    throw std::runtime_error("stopped");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  while (witness_.count("a") == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(client.cancel("a"), JobCancelOutcome::already_processing);
  EXPECT_EQ(client.cancel("a", {.stop_running = true}), JobCancelOutcome::already_processing);
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_EQ(witness_.count("a"), 1U);
  EXPECT_EQ(client.cancel("a"), JobCancelOutcome::already_completed);
  EXPECT_TRUE(client.dead_letters().empty());
}

// The system's clock, which somebody sets.
class SetClock final : public Clock {
 public:
  Time now() const override { return real_clock().now(); }
  WallTime wall_now() const override { return real_clock().wall_now() + set_by_.load(); }
  void set(std::chrono::seconds by) { set_by_ = by; }

 private:
  std::atomic<std::chrono::seconds> set_by_ = 0s;
};

// `by`: how the clock is set while the job is run for the first time.
void JobOptionsTest::expect_retry_in_time(std::chrono::seconds by) {
  SetClock clock;
  reopen({.clock = &clock});
  Config config = naming();
  config.retry = {.max_attempts = 2, .delay = fixed(800ms), .jitter = 0};
  std::vector<std::chrono::steady_clock::time_point> attempts;
  config.execute = [&](JobContext& context, const Note&) {
    attempts.push_back(std::chrono::steady_clock::now());  // one after the other
    if (context.attempt() > 1) return;
    clock.set(by);
    throw std::runtime_error("once more");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained) << "an hour would be too long";
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_GE(attempts[1] - attempts[0], 790ms);
  jobs_.reset();  // before its clock
}

TEST_P(JobOptionsTest, ARetryWaitsForItsTimeThoughTheClockIsSetBack) {
  expect_retry_in_time(-3600s);
}

TEST_P(JobOptionsTest, ARetryWaitsForItsTimeThoughTheClockIsSetAhead) {
  expect_retry_in_time(3600s);
}

TEST_P(JobOptionsTest, BadOptionsAreNamed) {
  Config config = naming();
  config.timeout = 0ms;
  config.limits.pool = RateLimit{};
  config.limits.key = per_second(1, 0);
  config.kill_after = -1s;
  try {
    jobs_->define<Note>("notes", config);
    FAIL();
  } catch (const InvalidArgument& error) {
    std::vector<std::string> fields;
    for (const BadField& bad : error.bad_fields()) fields.push_back(bad.field);
    EXPECT_EQ(fields, (std::vector<std::string>{"timeout", "kill_after", "limits.pool.per_second",
                                                "limits.key.burst"}));
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, LastingOptionsTest, ::testing::Values("sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });
INSTANTIATE_TEST_SUITE_P(Stores, JobOptionsTest,
                         ::testing::Values("memory", "sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
