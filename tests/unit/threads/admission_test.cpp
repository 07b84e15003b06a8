// admission_test.cpp: a pool that has no room, and what becomes of tasks then. Nothing vanishes.
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/strand.hpp>
#include <muster/task.hpp>
#include <muster/task_group.hpp>
#include <muster/thread_pool.hpp>

#include "support/hold.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::Hold;

// Where tasks wait, and whether they are counted: from 1024 per worker on they are not.
struct Place {
  const char* name;
  Queueing queueing;
  std::size_t max_queued;
};

class AdmissionTo : public ::testing::TestWithParam<Place> {
 protected:
  [[nodiscard]] ThreadPoolOptions options(WhenFull when_full) const {
    return {.workers = 1,
            .queueing = GetParam().queueing,
            .admission = {.max_queued = GetParam().max_queued, .when_full = when_full}};
  }
  [[nodiscard]] int room() const { return static_cast<int>(GetParam().max_queued); }
};

INSTANTIATE_TEST_SUITE_P(All, AdmissionTo,
                         ::testing::Values(Place{"counted", Queueing::stealing, 10},
                                           Place{"uncounted", Queueing::stealing, 1024},
                                           Place{"spilling", Queueing::stealing, 1500},
                                           Place{"global", Queueing::global, 10}),
                         [](const auto& parameter) { return parameter.param.name; });

void fill(ThreadPool& pool, int tasks, std::atomic<int>& runs) {
  for (int i = 0; i < tasks; ++i) pool.post([&runs] { ++runs; });
}

void wait_until_blocked(const ThreadPool& pool, std::uint64_t posters) {
  while (pool.stats().admission.blocked < posters) std::this_thread::yield();
}

TEST_P(AdmissionTo, RejectsWhatFindsNoRoom) {
  std::atomic<int> runs = 0;
  ThreadPool pool(options(WhenFull::reject));
  {
    Hold hold(pool);
    fill(pool, room(), runs);
    EXPECT_THROW(pool.post([&] { ++runs; }), QueueFull);
    Future<int> refused = pool.submit([&] { return ++runs; });
    EXPECT_THROW(refused.get(), QueueFull);
    EXPECT_THROW(pool.post({.priority = 5}, [&] { ++runs; }), QueueFull);
  }
  pool.wait_idle();
  EXPECT_EQ(runs, room());
  EXPECT_EQ(pool.stats().admission.rejected, 3U);
  pool.post([&] { ++runs; });  // there is room again
  pool.wait_idle();
  EXPECT_EQ(runs, room() + 1);
  pool.reset_stats();
  EXPECT_EQ(pool.stats().admission.rejected, 0U);
}

TEST_P(AdmissionTo, DropsTheNewestAndTellsOfIt) {
  std::atomic<int> runs = 0;
  std::vector<std::string> dropped;
  ThreadPoolOptions told = options(WhenFull::drop_newest);
  told.on_drop = [&](const DroppedTask& task) {
    EXPECT_EQ(task.when_full, WhenFull::drop_newest);
    dropped.push_back(task.name);
  };
  ThreadPool pool(told);
  {
    Hold hold(pool);
    fill(pool, room(), runs);
    Future<int> future = pool.submit({.name = "late"}, [&] { return ++runs; });
    EXPECT_TRUE(future.is_ready());
    EXPECT_THROW(future.get(), Dropped);
    pool.post([&] { ++runs; });
    pool.post({.name = "posted"}, [&] { ++runs; });
  }
  pool.wait_idle();
  EXPECT_EQ(runs, room());
  EXPECT_EQ(dropped, (std::vector<std::string>{"late", "", "posted"}));
  EXPECT_EQ(pool.stats().admission.dropped_newest, 3U);
}

TEST_P(AdmissionTo, DropsTheOldestInFavourOfTheNew) {
  std::atomic<int> runs = 0;
  std::vector<std::string> dropped;
  ThreadPoolOptions told = options(WhenFull::drop_oldest);
  told.on_drop = [&](const DroppedTask& task) { dropped.push_back(task.name); };
  ThreadPool pool(told);
  std::optional<Future<int>> oldest;
  std::optional<Future<int>> newest;
  {
    Hold hold(pool);
    oldest = pool.submit({.name = "oldest"}, [&] { return ++runs; });
    fill(pool, room() - 1, runs);
    newest = pool.submit([&] { return ++runs; });
    EXPECT_TRUE(oldest->is_ready()) << "it was dropped";
    EXPECT_FALSE(newest->is_ready());
  }
  EXPECT_THROW(oldest->get(), Dropped);
  EXPECT_GT(newest->get(), 0);
  pool.wait_idle();
  EXPECT_EQ(runs, room());
  EXPECT_EQ(dropped, std::vector<std::string>{"oldest"});
  const ThreadPoolStats stats = pool.stats();
  EXPECT_EQ(stats.admission.dropped_oldest, 1U);
  EXPECT_EQ(stats.submitted, static_cast<std::uint64_t>(room()) + 2) << "with the held one";
  EXPECT_EQ(stats.completed, static_cast<std::uint64_t>(room()) + 1) << "not what was dropped";
}

TEST_P(AdmissionTo, RunsItWithItsCaller) {
  std::atomic<int> runs = 0;
  ThreadPoolOptions telling = options(WhenFull::caller_runs);
  std::atomic<int> errors = 0;
  telling.on_error = [&](const std::exception_ptr&) { ++errors; };
  ThreadPool pool(telling);
  {
    Hold hold(pool);
    fill(pool, room(), runs);
    Future<std::thread::id> where = pool.submit([] { return std::this_thread::get_id(); });
    EXPECT_TRUE(where.is_ready());
    EXPECT_EQ(where.get(), std::this_thread::get_id());
    pool.post([] { throw 1; });
    EXPECT_EQ(errors, 1);
  }
  pool.wait_idle();
  EXPECT_EQ(runs, room());
  EXPECT_EQ(pool.stats().admission.caller_ran, 2U);
}

TEST_P(AdmissionTo, BlocksUntilThereIsRoom) {
  std::atomic<int> runs = 0;
  ThreadPool pool(options(WhenFull::block));
  {
    Hold hold(pool);
    fill(pool, room(), runs);
    std::jthread first([&] { pool.post([&] { ++runs; }); });
    std::jthread second([&] { EXPECT_EQ(pool.submit([&] { return ++runs, 7; }).get(), 7); });
    wait_until_blocked(pool, 2);
    EXPECT_EQ(runs, 0);
    hold.release();
  }
  pool.wait_idle();
  EXPECT_EQ(runs, room() + 2);
  EXPECT_EQ(pool.stats().admission.block_timeouts, 0U);
}

TEST_P(AdmissionTo, BlocksNoLongerThanItsTimeout) {
  std::atomic<int> runs = 0;
  ThreadPoolOptions impatient = options(WhenFull::block);
  impatient.admission.block_timeout = 2ms;
  ThreadPool pool(impatient);
  {
    Hold hold(pool);
    fill(pool, room(), runs);
    EXPECT_THROW(pool.post([&] { ++runs; }), QueueFull);
    EXPECT_THROW(pool.submit([&] { return ++runs; }).get(), QueueFull);
  }
  pool.wait_idle();
  EXPECT_EQ(runs, room());
  EXPECT_EQ(pool.stats().admission.block_timeouts, 2U);
  EXPECT_EQ(pool.stats().admission.rejected, 2U);
}

TEST_P(AdmissionTo, WhoIsBlockedLearnsThatThePoolHasStopped) {
  std::atomic<int> runs = 0;
  ThreadPool pool(options(WhenFull::block));
  std::optional<Hold> hold(pool);
  fill(pool, room(), runs);
  std::future<void> blocked = std::async(std::launch::async, [&] { pool.post([&] { ++runs; }); });
  wait_until_blocked(pool, 1);
  std::jthread stopper([&] { pool.stop(); });
  EXPECT_THROW(blocked.get(), Stopped);
  hold.reset();
  stopper.join();
  EXPECT_EQ(runs, room()) << "what was accepted was run";
}

TEST_P(AdmissionTo, LetsInWhatItsOwnTasksPost) {
  for (const WhenFull when_full : {WhenFull::block, WhenFull::reject, WhenFull::drop_newest}) {
    std::atomic<int> runs = 0;
    ThreadPool pool(options(when_full));
    pool.run([&] {
      fill(pool, room() + 100, runs);
      EXPECT_TRUE(pool.try_post([&] { ++runs; }));
    });
    pool.wait_idle();
    EXPECT_EQ(runs, room() + 101);
  }
}

TEST_P(AdmissionTo, TryingNeverWaits) {
  for (const WhenFull when_full : {WhenFull::block, WhenFull::drop_oldest, WhenFull::caller_runs}) {
    std::atomic<int> runs = 0;
    ThreadPool pool(options(when_full));
    {
      Hold hold(pool);
      for (int i = 0; i < room(); ++i) EXPECT_TRUE(pool.try_post([&] { ++runs; }));
      EXPECT_FALSE(pool.try_post([&] { ++runs; }));
      EXPECT_FALSE(pool.try_post({.priority = 3}, [&] { ++runs; }));
      EXPECT_FALSE(pool.try_submit([&] { return ++runs; }));
      EXPECT_FALSE(pool.try_submit({.name = "late"}, [&] { return ++runs; }));
    }
    pool.wait_idle();
    EXPECT_EQ(runs, room());
    std::optional<Future<int>> submitted = pool.try_submit([&] { return ++runs; });
    ASSERT_TRUE(submitted);
    EXPECT_EQ(submitted->get(), room() + 1);
    pool.stop();
    EXPECT_THROW((void)pool.try_post([] {}), Stopped);
    EXPECT_THROW(pool.try_submit([] { return 1; })->get(), Stopped);
  }
}

Task<int> hop(ThreadPool& pool) {
  co_await pool.schedule();
  co_return 5;
}

// What goes on with accepted work is not refused, and not dropped in favour of something new.
TEST_P(AdmissionTo, KeepsContinuationsCoroutinesTimersGroupsAndStrands) {
  std::atomic<int> kept = 0;
  std::atomic<int> runs = 0;
  std::atomic<int> dropped = 0;
  ThreadPoolOptions dropping = options(WhenFull::drop_oldest);
  dropping.on_drop = [&](const DroppedTask&) { ++dropped; };
  ThreadPool pool(dropping);
  ThreadPool other({.workers = 1});
  TaskGroup group(pool);
  Strand strand(pool);
  {
    Hold hold(pool);
    fill(pool, room(), runs);
    group.run([&] { ++kept; });
    strand.post([&] { ++kept; });
    Future<void> continued = other.submit([] {}).then(pool, [&] { ++kept; });
    Future<int> coroutine = spawn(other, hop(pool));
    Timer timer = pool.after(0ms, [&] { ++kept; });
    other.wait_idle();
    fill(pool, room(), runs);
    hold.release();
    EXPECT_EQ(coroutine.get(), 5);
    continued.get();
  }
  group.wait();
  while (kept < 4) std::this_thread::yield();
  pool.wait_idle();
  EXPECT_EQ(kept, 4);
  EXPECT_EQ(runs + dropped, 2 * room());
  EXPECT_GE(dropped, room());
}

TEST(Admission, WhatItsOwnTasksPostLeavesLessRoomForOthers) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.workers = 1, .admission = {.max_queued = 10}});
  pool.run([&] {
    fill(pool, 11, runs);
    std::thread outside([&] { EXPECT_FALSE(pool.try_post([&] { ++runs; })); });
    outside.join();
  });
  pool.wait_idle();
  EXPECT_TRUE(pool.try_post([&] { ++runs; }));
  pool.wait_idle();
  EXPECT_EQ(runs, 12);
}

// All that wait, in words.
std::vector<std::string> texts_of(NoticeStream& stream) {
  std::vector<std::string> texts;
  while (const std::optional<Notice> notice = stream.try_next()) {
    if (const auto* on = std::get_if<BackPressureOn>(&notice->news)) {
      texts.push_back("on at " + std::to_string(on->queued) + " of " + std::to_string(on->limit));
    } else if (const auto* off = std::get_if<BackPressureOff>(&notice->news)) {
      texts.push_back("off at " + std::to_string(off->queued));
    } else if (const auto* dropped = std::get_if<TaskDropped>(&notice->news)) {
      texts.push_back(dropped->policy + ' ' + dropped->name);
    } else if (const auto* failed = std::get_if<TaskFailed>(&notice->news)) {
      texts.push_back(failed->name + ": " + failed->what);
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Admission, TellsOfBackPressureAtTheWatermarksOnly) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.workers = 1, .admission = {.max_queued = 10}});
  NoticeStream stream = pool.notices();
  {
    Hold hold(pool);
    fill(pool, 7, runs);
    EXPECT_EQ(texts_of(stream), Texts{});
    fill(pool, 3, runs);
    EXPECT_EQ(texts_of(stream), Texts{"on at 8 of 10"});
  }
  pool.wait_idle();
  EXPECT_EQ(texts_of(stream), Texts{"off at 5"});
}

TEST(Admission, TheWatermarksAreWhereTheOptionsSay) {
  std::atomic<int> runs = 0;
  ThreadPool pool(
      {.workers = 1, .admission = {.max_queued = 10, .high_watermark = 0.3, .low_watermark = 0.1}});
  NoticeStream stream = pool.notices();
  {
    Hold hold(pool);
    fill(pool, 10, runs);
    EXPECT_EQ(texts_of(stream), Texts{"on at 3 of 10"});
  }
  pool.wait_idle();
  EXPECT_EQ(texts_of(stream), Texts{"off at 1"});
}

TEST(Admission, TellsOfBackPressureAlsoIfTasksAreNotCounted) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.workers = 1, .admission = {.max_queued = 2000}});
  NoticeStream stream = pool.notices();
  {
    Hold hold(pool);
    fill(pool, 1599, runs);
    EXPECT_EQ(texts_of(stream), Texts{});
    fill(pool, 1, runs);
    EXPECT_EQ(texts_of(stream), Texts{"on at 1600 of 2000"});
  }
  pool.wait_idle();
  pool.stop();  // by now the worker has found that there is nothing to do
  const Texts texts = texts_of(stream);
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_EQ(texts[0].substr(0, 7), "off at ");
}

TEST(Admission, TellsOfTasksThatAreDroppedOrFail) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.workers = 1,
                   .admission = {.max_queued = 1, .when_full = WhenFull::drop_newest},
                   .on_error = [](const std::exception_ptr&) {}});
  std::optional<Hold> hold(pool);
  NoticeStream stream = pool.notices();
  pool.post({.name = "bad"}, [] { throw std::runtime_error("no disk"); });
  pool.post({.name = "late"}, [&] { ++runs; });
  hold.reset();
  pool.wait_idle();
  const Texts texts = texts_of(stream);
  EXPECT_EQ(texts, (Texts{"on at 1 of 1", "drop_newest late", "off at 0", "bad: no disk"}));
}

TEST(Admission, PrioritiesCountToo) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.workers = 1, .admission = {.max_queued = 4, .when_full = WhenFull::reject}});
  {
    Hold hold(pool);
    for (int i = 0; i < 2; ++i) pool.post({.priority = 9}, [&] { ++runs; });
    for (int i = 0; i < 2; ++i) pool.post({.priority = -9}, [&] { ++runs; });
    EXPECT_THROW(pool.post([&] { ++runs; }), QueueFull);
    EXPECT_THROW(pool.post({.priority = 9}, [&] { ++runs; }), QueueFull);
  }
  pool.wait_idle();
  EXPECT_EQ(runs, 4);
}

TEST(Admission, AlsoWithAging) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.workers = 1,
                   .admission = {.max_queued = 4, .when_full = WhenFull::reject},
                   .priority_aging = 1s});
  {
    Hold hold(pool);
    fill(pool, 4, runs);
    EXPECT_THROW(pool.post([&] { ++runs; }), QueueFull);
  }
  pool.wait_idle();
  EXPECT_EQ(runs, 4);
}

TEST(Admission, OnlyPrioritiesWaitSoTheNewestIsDroppedForTheOldest) {
  std::atomic<int> runs = 0;
  ThreadPool pool(
      {.workers = 1, .admission = {.max_queued = 2, .when_full = WhenFull::drop_oldest}});
  {
    Hold hold(pool);
    for (int i = 0; i < 2; ++i) pool.post({.priority = 9}, [&] { ++runs; });
    pool.post([&] { runs += 100; });
  }
  pool.wait_idle();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(pool.stats().admission.dropped_newest, 1U);
}

TEST(Admission, InASimulationWhoBlocksLetsWorkersPlay) {
  Simulation world(7);
  int runs = 0;
  ThreadPool pool({.workers = 2, .admission = {.max_queued = 3}, .simulation = &world});
  for (int i = 0; i < 100; ++i) pool.post([&] { ++runs; });
  EXPECT_GE(runs, 97);
  pool.wait_idle();
  EXPECT_EQ(runs, 100);
}

TEST(Admission, BadOptionsAreNamed) {
  try {
    ThreadPool pool({.admission = {.max_queued = 0, .high_watermark = 2}});
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) {
    ASSERT_GE(error.bad_fields().size(), 2U);
    EXPECT_EQ(error.bad_fields()[0].field, "admission.max_queued");
    EXPECT_EQ(error.bad_fields()[1].field, "admission.high_watermark");
  }
}

}  // namespace
}  // namespace muster
