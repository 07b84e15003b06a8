// blocking_test.cpp: a worker that waits is stood in for, within bounds, and no longer than needed.
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/blocking.hpp>
#include <muster/task_group.hpp>
#include <muster/thread_pool.hpp>

#include "threads/spares.hpp"

namespace muster {
namespace {

TEST(Blocking, IsAPlainCallOutsideOfPools) {
  EXPECT_EQ(blocking([] { return 7; }), 7);
  int value = 0;
  int& same = blocking([&]() -> int& { return value; });
  EXPECT_EQ(&same, &value);
  EXPECT_THROW(blocking([] { throw std::runtime_error("no"); }), std::runtime_error);
}

class BlockingIn : public testing::TestWithParam<Queueing> {};
INSTANTIATE_TEST_SUITE_P(Both, BlockingIn, testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& tested) {
                           return tested.param == Queueing::global ? "global" : "stealing";
                         });

// The one worker waits for a task that only another can run.
TEST_P(BlockingIn, ASpareRunsTasksMeanwhile) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::latch other_ran(1);
  pool.run([&] {
    pool.post([&] { other_ran.count_down(); });
    blocking([&] { other_ran.wait(); });
  });
  EXPECT_EQ(pool.stats().spare_workers, 1U);
  EXPECT_EQ(pool.stats().blocked_workers, 0U);
}

// Each blocks until the next has run, so the spares block too.
TEST_P(BlockingIn, ABlockedSpareIsStoodInForToo) {
  constexpr int kDepth = 5;
  ThreadPool pool({.workers = 1, .queueing = GetParam(), .max_spare_workers = kDepth});
  int reached = 0;
  std::function<void(int)> descend = [&](int depth) {
    reached = depth;
    if (depth == kDepth) return;
    std::latch below(1);
    pool.post([&, depth] {
      descend(depth + 1);
      below.count_down();
    });
    blocking([&] { below.wait(); });
  };
  pool.run([&] { descend(0); });
  EXPECT_EQ(reached, kDepth);
  EXPECT_EQ(pool.stats().spare_workers, unsigned{kDepth});
}

TEST_P(BlockingIn, SparesAreKeptForTheNextTime) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  for (int i = 0; i < 100; ++i) {
    std::latch other_ran(1);
    pool.run([&] {
      pool.post([&] { other_ran.count_down(); });
      blocking([&] { other_ran.wait(); });
    });
  }
  EXPECT_EQ(pool.stats().spare_workers, 1U);
}

TEST_P(BlockingIn, ASpareThatIsNotNeededSitsOut) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  std::latch other_ran(1);
  pool.run([&] {
    pool.post([&] { other_ran.count_down(); });
    blocking([&] { other_ran.wait(); });
  });
  // With two at work, two of the tasks would run at once now and then.
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  pool.post([] {});  // the spare may take one more before it notices
  pool.wait_idle();
  for (int i = 0; i < 2000; ++i) {
    pool.post([&] {
      const int now = ++running;
      if (now > most) most = now;
      std::this_thread::yield();
      --running;
    });
  }
  pool.wait_idle();
  const ThreadPoolStats stats = pool.stats();
  ASSERT_EQ(stats.workers.size(), 2U);
  EXPECT_LE(stats.workers[1].completed, 3U) << "at most " << most << " ran at once";
}

TEST(Blocking, WithoutSparesNobodyStandsIn) {
  ThreadPool pool({.workers = 1, .max_spare_workers = 0});
  bool other_ran = false;
  bool too_early = false;
  pool.run([&] {
    pool.post([&] { other_ran = true; });
    blocking([&] { too_early = other_ran; });
  });
  pool.wait_idle();
  EXPECT_FALSE(too_early);
  EXPECT_TRUE(other_ran);
  EXPECT_EQ(pool.stats().spare_workers, 0U);
}

TEST_P(BlockingIn, StoppingWaitsForBlockedTasksAndTheirSpares) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool({.workers = 1, .queueing = GetParam()});
    std::latch begun(1);
    pool.post([&] {
      std::latch other_ran(1);
      pool.post([&] {
        ++ran;
        other_ran.count_down();
      });
      begun.count_down();
      blocking([&] { other_ran.wait(); });
      ++ran;
    });
    begun.wait();
    pool.stop();
    EXPECT_EQ(ran, 2);
  }
}

TEST(Blocking, HooksAreCalledForSparesToo) {
  std::atomic<unsigned> started = 0;
  std::atomic<unsigned> ended = 0;
  {
    ThreadPool pool({.workers = 1,
                     .max_workers = 1,
                     .on_worker_start = [&](unsigned worker) { started |= 1U << worker; },
                     .on_worker_exit = [&](unsigned worker) { ended |= 1U << worker; }});
    std::latch other_ran(1);
    pool.run([&] {
      pool.post([&] { other_ran.count_down(); });
      blocking([&] { other_ran.wait(); });
    });
  }
  EXPECT_EQ(started, 3U);
  EXPECT_EQ(ended, 3U);
}

// What a worker waits for runs in another pool, and that waits for a task of the worker's own pool.
TEST(Blocking, AWorkerThatWaitsForAFutureIsStoodInFor) {
  ThreadPool pool({.workers = 1});
  ThreadPool elsewhere({.workers = 1});
  const int answer = pool.run([&] {
    return elsewhere
        .submit([&] {
          std::promise<int> promise;
          pool.post([&] { promise.set_value(42); });
          return promise.get_future().get();
        })
        .get();
  });
  EXPECT_EQ(answer, 42);
}

TEST(Blocking, AWorkerThatWaitsForAGroupIsStoodInFor) {
  ThreadPool pool({.workers = 1});
  ThreadPool elsewhere({.workers = 1});
  bool ran = false;
  pool.run([&] {
    TaskGroup group(elsewhere);
    group.run([&] {
      std::latch other_ran(1);
      pool.post([&] {
        ran = true;
        other_ran.count_down();
      });
      other_ran.wait();
    });
    group.wait();
  });
  EXPECT_TRUE(ran);
}

TEST(Blocking, AWorkerThatWaitsForAnotherPoolToBeIdleIsStoodInFor) {
  ThreadPool pool({.workers = 1});
  ThreadPool elsewhere({.workers = 1});
  pool.run([&] {
    elsewhere.post([&] {
      std::latch other_ran(1);
      pool.post([&] { other_ran.count_down(); });
      other_ran.wait();
    });
    elsewhere.wait_idle();
  });
  EXPECT_EQ(pool.stats().blocked_workers, 0U);
}

TEST(Spares, AreStartedUpToTheLimit) {
  Spares spares(2);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::too_few);
  EXPECT_EQ(spares.blocked_approx(), 3U);
}

TEST(Spares, OnDutyAnotherBlockedWorkerNeedsNoNewOne) {
  Spares spares(2);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  spares.end_blocking();
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::none);
}

TEST(Spares, LeaveOnlyIfThereIsOneTooMany) {
  Spares spares(2);
  EXPECT_FALSE(spares.leave());
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  EXPECT_FALSE(spares.leave());
  spares.end_blocking();
  EXPECT_TRUE(spares.leave());
  EXPECT_FALSE(spares.leave());
}

TEST(Spares, WhoeverLeftIsRecalledFirst) {
  Spares spares(1);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  spares.end_blocking();
  ASSERT_TRUE(spares.leave());
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::none);
  spares.sit_out();  // returns: it was recalled before it sat down
  EXPECT_FALSE(spares.leave());
}

TEST(Spares, OneThatCouldNotBeStartedIsTriedAgain) {
  Spares spares(1);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  spares.not_started();
  spares.end_blocking();
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
}

TEST(Spares, NobodyLeavesAfterClosing) {
  Spares spares(2);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  EXPECT_EQ(spares.begin_blocking(), Spares::Need::start);
  spares.end_blocking();
  ASSERT_TRUE(spares.leave());
  spares.end_blocking();
  spares.close();
  spares.sit_out();
  EXPECT_FALSE(spares.leave());
}

}  // namespace
}  // namespace muster
