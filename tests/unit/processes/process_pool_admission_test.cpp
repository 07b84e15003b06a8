// process_pool_admission_test.cpp: what becomes of a task when as many wait as may.
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// A pool of one worker, which is busy until the end of the first task, and in which two may wait.
class Full {
 public:
  explicit Full(AdmissionOptions admission, int busy_ms = 100)
      : pool_({.workers = 1, .admission = limited(admission)}) {
    running_ = pool_.call<Bytes>("sleep_ms", busy_ms);
    while (pool_.metrics().in_flight == 0) pause_for(1ms);
    for (int i = 0; i < 2; ++i) waiting_.push_back(pool_.exec("echo", std::to_string(i)));
  }

  ProcessPool& pool() { return pool_; }
  Future<Bytes>& running() { return running_; }
  Future<Bytes>& waiting(std::size_t i) { return waiting_.at(i); }

 private:
  static AdmissionOptions limited(AdmissionOptions admission) {
    admission.max_queued = 2;
    return admission;
  }

  ProcessPool pool_;
  Future<Bytes> running_;
  std::vector<Future<Bytes>> waiting_;
};

TEST(ProcessPoolAdmission, ItsCallerWaitsForRoomUnlessTold) {
  Full full({});
  EXPECT_EQ(full.pool().exec("echo", "late").get().text(), "late");
  EXPECT_TRUE(full.running().is_ready()) << "it had to wait for that";
  const PoolSnapshot::BackPressure seen = full.pool().snapshot().back_pressure;
  EXPECT_EQ(seen.blocked, 1U);
  EXPECT_EQ(seen.block_timeouts, 0U);
}

TEST(ProcessPoolAdmission, ItsCallerWaitsNoLongerThanTold) {
  Full full({.block_timeout = 5ms}, 200);
  auto late = full.pool().exec("echo", "late");
  EXPECT_FALSE(full.running().is_ready());
  EXPECT_THROW((void)late.get(), QueueFull);
  EXPECT_EQ(full.pool().snapshot().back_pressure.block_timeouts, 1U);
  EXPECT_EQ(full.pool().metrics().rejected, 1U);
}

TEST(ProcessPoolAdmission, AStopLetsThoseGoWhoWaitForRoom) {
  Full full({}, 300);
  std::atomic<bool> is_stopped = false;
  std::thread caller([&] {
    EXPECT_THROW((void)full.pool().exec("echo", "late").get(), Stopped);
    is_stopped = true;
  });
  while (full.pool().snapshot().back_pressure.blocked == 0) pause_for(1ms);
  std::thread stopper([&] { full.pool().stop(); });
  caller.join();
  EXPECT_TRUE(is_stopped);
  stopper.join();
  EXPECT_EQ(full.waiting(1).get().text(), "1") << "what was accepted was run";
}

TEST(ProcessPoolAdmission, ThereIsRoomAsSoonAsOneThatWaitsIsCancelled) {
  Full full({}, 60'000);
  std::optional<Future<Bytes>> late;
  std::thread caller([&] { late = full.pool().exec("echo", "late"); });
  while (full.pool().snapshot().back_pressure.blocked == 0) pause_for(1ms);
  EXPECT_EQ(full.pool().metrics().queued, 2U);
  EXPECT_TRUE(full.waiting(0).cancel());
  caller.join();
  EXPECT_EQ(full.pool().metrics().queued, 2U);
  EXPECT_FALSE(full.running().is_ready());
  (void)full.pool().stop({.mode = Stop::discard});
  EXPECT_THROW((void)late->get(), Stopped);
}

TEST(ProcessPoolAdmission, ATaskForLaterThatIsCancelledLeavesItsPlace) {
  ProcessPool pool({.workers = 1, .admission = {.max_queued = 1, .when_full = WhenFull::reject}});
  auto later = pool.exec("echo", "later", {.run_at = Time::clock::now() + 1h});
  EXPECT_THROW((void)pool.exec("echo", "now").get(), QueueFull);
  EXPECT_TRUE(later.cancel());
  EXPECT_EQ(pool.metrics().delayed, 0U);
  EXPECT_EQ(pool.exec("echo", "now").get().text(), "now");
  EXPECT_THROW((void)later.get(), Cancelled);
}

TEST(ProcessPoolAdmission, TheOldestGivesWay) {
  Full full({.when_full = WhenFull::drop_oldest});
  NoticeStream news = full.pool().subscribe();
  auto late = full.pool().exec("echo", "late");
  EXPECT_THROW((void)full.waiting(0).get(), Dropped);
  const auto dropped = await_news<TaskDropped>(news);
  EXPECT_EQ(dropped.name, "echo");
  EXPECT_EQ(dropped.policy, "drop_oldest");
  EXPECT_EQ(full.waiting(1).get().text(), "1");
  EXPECT_EQ(late.get().text(), "late");
  EXPECT_EQ(full.pool().metrics().dropped, 1U);
  EXPECT_EQ(full.pool().snapshot().back_pressure.dropped_oldest, 1U);
}

TEST(ProcessPoolAdmission, TheOldestIsThatWhateverItsPriority) {
  ProcessPool pool(
      {.workers = 1, .admission = {.max_queued = 2, .when_full = WhenFull::drop_oldest}});
  auto running = pool.call<Bytes>("sleep_ms", 100);
  while (pool.metrics().in_flight == 0) pause_for(1ms);
  auto urgent = pool.exec("echo", "urgent", {.priority = 5});
  auto plain = pool.exec("echo", "plain");
  auto late = pool.exec("echo", "late");
  EXPECT_THROW((void)urgent.get(), Dropped);
  EXPECT_EQ(plain.get().text(), "plain");
  EXPECT_EQ(late.get().text(), "late");
}

TEST(ProcessPoolAdmission, WhatWaitsForItsTimeDoesNotGiveWay) {
  ProcessPool pool(
      {.workers = 1, .admission = {.max_queued = 1, .when_full = WhenFull::drop_oldest}});
  auto later = pool.exec("echo", "later", {.run_at = std::chrono::steady_clock::now() + 50ms});
  auto now = pool.exec("echo", "now");
  EXPECT_THROW((void)now.get(), Dropped) << "the newest, since nothing else can go";
  EXPECT_EQ(later.get().text(), "later");
}

TEST(ProcessPoolAdmission, TheNewestIsDropped) {
  Full full({.when_full = WhenFull::drop_newest});
  EXPECT_THROW((void)full.pool().exec("echo", "late").get(), Dropped);
  EXPECT_EQ(full.waiting(0).get().text(), "0");
  EXPECT_EQ(full.pool().snapshot().back_pressure.dropped_newest, 1U);
}

TEST(ProcessPoolAdmission, ATryTakesNoForAnAnswer) {
  Full full({});
  EXPECT_FALSE(full.pool().try_exec("echo", "late"));
  EXPECT_FALSE(full.running().is_ready()) << "it did not wait";
  EXPECT_EQ(full.waiting(1).get().text(), "1");
  std::optional<Future<Bytes>> taken = full.pool().try_exec("echo", "later");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->get().text(), "later");
}

TEST(ProcessPoolAdmission, WhatFollowsATaskIsLetIn) {
  Full full({});
  auto after = full.running().then([&](const Bytes&) {
    std::vector<Future<Bytes>> more;
    for (int i = 0; i < 5; ++i) more.push_back(full.pool().exec("echo", "more"));
    return more.size();
  });
  EXPECT_EQ(after.get(), 5U);
  EXPECT_EQ(full.pool().snapshot().back_pressure.blocked, 0U);
}

TEST(ProcessPoolAdmission, ADeadLetterIsReplayedWhetherThereIsRoomOrNot) {
  ProcessPool pool({.workers = 1,
                    .admission = {.max_queued = 1, .when_full = WhenFull::reject},
                    .retry = {.max_attempts = 1}});
  EXPECT_THROW((void)pool.exec("throw", "boom").get(), RemoteError);
  const std::uint64_t id = pool.dead_letters().at(0).id;
  auto running = pool.call<Bytes>("sleep_ms", 50);
  while (pool.metrics().in_flight == 0) pause_for(1ms);
  auto waiting = pool.exec("echo", "x");
  EXPECT_THROW((void)pool.exec("echo", "y").get(), QueueFull);
  std::optional<Future<Bytes>> again = pool.replay(id);
  ASSERT_TRUE(again);
  EXPECT_THROW((void)again->get(), RemoteError);
  EXPECT_EQ(pool.dead_letters().size(), 1U) << "it is one again";
}

TEST(ProcessPoolAdmission, WhatAProcessPoolCannotDoIsRefused) {
  try {
    const ProcessPool pool(
        {.workers = 1, .admission = {.max_queued_per_key = 1, .when_full = WhenFull::caller_runs}});
    FAIL() << "it was made";
  } catch (const InvalidArgument& error) {
    std::set<std::string> fields;
    for (const BadField& bad : error.bad_fields()) fields.insert(bad.field);
    EXPECT_EQ(fields,
              (std::set<std::string>{"admission.max_queued_per_key", "admission.when_full"}));
  }
}

}  // namespace
}  // namespace muster
