// job_figures_test.cpp: the figures that handlers, hooks and status are told.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

class JobFiguresTest : public JobPoolTest {};

using Counts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_P(JobFiguresTest, AHandlerKnowsHowManyWereBeforeItAndAreBehindIt) {
  Counts counts;  // one after the other
  Config config = noting();
  config.concurrency = 1;
  config.execute = [&](JobContext& context, const Note&) {
    counts.emplace_back(context.processed_count(), context.pending_count());
  };
  const auto client = jobs_->define<Note>("notes", config);
  std::vector<Enqueue> many;
  for (int i = 0; i < 3; ++i) many.push_back({.id = std::to_string(i), .event = {}});
  client.enqueue_many(many);
  jobs_->start();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(counts, (Counts{{0, 2}, {1, 1}, {2, 0}}));
}

TEST_P(JobFiguresTest, StatusTellsWhatRunsSinceWhenAndHowFarItIs) {
  Door door;
  Config config = noting();
  config.concurrency = 1;
  WallTime started_at;
  config.execute = [&](JobContext& context, const Note&) {
    started_at = context.processing_started_at();
    context.progress(0.25, "a quarter");
    door.wait();
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  const Time deadline = real_clock().now() + 10s;
  while (client.instance_status(0).progress.fraction == 0 && real_clock().now() < deadline) {
    std::this_thread::yield();
  }
  const InstanceStatus status = client.instance_status(0);
  door.open();
  EXPECT_EQ(status.state, InstanceState::processing);
  EXPECT_EQ(status.current_job, "a");
  EXPECT_EQ(status.progress.fraction, 0.25);
  EXPECT_EQ(status.progress.text, "a quarter");
  ASSERT_TRUE(status.started_at);
  EXPECT_LE(*status.started_at, started_at);
  EXPECT_GT(*status.started_at, started_at - 1s);
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_FALSE(client.instance_status(0).started_at);
  EXPECT_EQ(client.instance_status(0).progress.fraction, 0);
}

TEST_P(JobFiguresTest, WhoIsToldOfADeadLetterKnowsWhenAndWhereItFailed) {
  std::optional<DeadLetterInfo> told;
  Config config = noting();
  config.retry = at_once(2);
  config.execute = [](JobContext&, const Note&) { throw std::runtime_error("no"); };
  config.on_dead_letter = [&](const Note&, const JobError&, const DeadLetterInfo& info) {
    told = info;
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  for (const char* const key : {"a", "b", "c", "d"}) {  // of either instance
    told.reset();
    const EnqueueResult result =
        client.enqueue({.id = key, .event = {key, 1}, .partition_key = key});
    ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->job_id, key);
    EXPECT_EQ(told->instance_index, result.instance_index);
  }
  const JobDeadLetter letter = client.dead_letters().back();
  EXPECT_EQ(told->attempts, 2U);
  EXPECT_EQ(told->enqueued_at, letter.enqueued_at);
  EXPECT_EQ(told->failed_at, letter.failed_at);
  EXPECT_GT(told->failed_at, told->enqueued_at);
}

TEST_P(JobFiguresTest, ASnapshotTellsWhatThisProcessDoes) {
  Door door;
  Config config = noting();
  config.concurrency = 2;
  config.retry = at_once(2);
  config.execute = [&](JobContext&, const Note& note) {
    if (note.number == 0) throw std::runtime_error("no");
    door.wait();
  };
  const auto client = jobs_->define<Note>("notes", config);
  NoticeStream notices = jobs_->subscribe();
  jobs_->start();
  client.enqueue({.id = "bad", .event = {"x", 0}, .partition_key = "k"});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  const std::optional<Notice> notice = notices.next(10s);
  ASSERT_TRUE(notice);
  const DeadLettered news = std::get<DeadLettered>(notice->news);
  EXPECT_EQ(news, (DeadLettered{.name = "notes", .id = "bad", .what = "no", .attempts = 2}));
  for (int i = 0; i < 3; ++i) {
    client.enqueue({.id = std::to_string(i), .event = {"x", 1}, .partition_key = "k"});
  }
  const Time deadline = real_clock().now() + 10s;
  const auto is_busy = [](const PoolSnapshot::Worker& worker) { return worker.active == 1; };
  PoolSnapshot seen = client.snapshot();
  const auto is_as_expected = [&] {
    return seen.queue.size == 2 && std::ranges::any_of(seen.workers, is_busy);
  };
  while (!is_as_expected() && real_clock().now() < deadline) seen = client.snapshot();
  ASSERT_TRUE(is_as_expected());
  ASSERT_EQ(seen.workers.size(), 2U);
  const PoolSnapshot::Worker& one = *std::ranges::find_if(seen.workers, is_busy);
  EXPECT_EQ(one.state, WorkerState::busy);
  EXPECT_EQ(one.queued, 2U) << "all have one key";
  EXPECT_EQ(one.completed, 1U);
  EXPECT_EQ(one.failed, 1U);
  EXPECT_EQ(seen.tasks.failed, 1U);
  EXPECT_EQ(seen.tasks.succeeded, 0U);
  door.open();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  seen = client.snapshot();
  EXPECT_EQ(seen.tasks.succeeded, 3U);
  EXPECT_EQ(seen.queue.size, 0U);
  EXPECT_EQ(seen.queue.enqueued, 5U) << "a retry counts";
  EXPECT_EQ(seen.queue.dequeued, 5U);
  EXPECT_EQ(seen.latency.run.count(), 5U);
  EXPECT_EQ(seen.latency.queue_wait.count(), 5U);
  EXPECT_GT(seen.throughput.tasks_per_second, 0);
  EXPECT_EQ(seen.scaling.current, 2U);
}

INSTANTIATE_TEST_SUITE_P(Stores, JobFiguresTest,
                         ::testing::Values("memory", "sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
