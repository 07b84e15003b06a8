// schedule_test.cpp: co_await pool.schedule(): from anywhere to a worker, or Stopped.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/task.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

class ScheduleIn : public ::testing::TestWithParam<Queueing> {};

INSTANTIATE_TEST_SUITE_P(Both, ScheduleIn, ::testing::Values(Queueing::stealing, Queueing::global),
                         [](const auto& parameter) {
                           return parameter.param == Queueing::global ? "global" : "stealing";
                         });

// Keeps the only worker of a pool busy as long as it lives.
class Held {
 public:
  explicit Held(ThreadPool& pool) {
    task_ = pool.submit([this] {
      begun_ = true;
      while (!free_) std::this_thread::yield();
    });
    while (!begun_) std::this_thread::yield();
  }
  ~Held() {
    free_ = true;
    task_.wait();
  }
  Held(const Held&) = delete;

 private:
  std::atomic<bool> begun_ = false;
  std::atomic<bool> free_ = false;
  Future<void> task_;
};

TEST_P(ScheduleIn, GoesOnOnAWorkerAndFromPoolToPool) {
  ThreadPool one({.workers = 1, .queueing = GetParam()});
  ThreadPool two({.workers = 2, .queueing = GetParam()});
  const auto hop = [&]() -> Task<int> {
    int hops = 0;
    for (int i = 0; i < 100; ++i) {
      co_await one.schedule();
      hops += one.is_inside() && !two.is_inside() ? 1 : 0;
      co_await two.schedule();
      hops += two.is_inside() && !one.is_inside() ? 1 : 0;
      co_await two.schedule();
      hops += two.is_inside() ? 1 : 0;
    }
    co_return hops;
  };
  EXPECT_EQ(sync_wait(hop()), 300);
}

TEST_P(ScheduleIn, WhoAwaitsGoesOnWhereTheAwaitedEnded) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const auto go_there = [&]() -> Task<> { co_await pool.schedule(); };
  const auto outer = [&]() -> Task<bool> {
    co_await go_there();
    co_return pool.is_inside();
  };
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(sync_wait(outer()));
}

TEST_P(ScheduleIn, AfterStopThrowsStoppedWhereItStands) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  pool.stop();
  const auto try_it = [&]() -> Task<std::thread::id> {
    try {
      co_await pool.schedule();
      ADD_FAILURE() << "was accepted";
    } catch (const Stopped&) {
    }
    co_return std::this_thread::get_id();
  };
  EXPECT_EQ(sync_wait(try_it()), std::this_thread::get_id());
}

// A coroutine that has got as far as a worker gets to its end there, as tasks that post others do.
TEST_P(ScheduleIn, AGracefulStopLetsCoroutinesOnItsWorkersGoOn) {
  ThreadPool pool({.workers = 2, .queueing = GetParam()});
  std::atomic<bool> closed = false;
  const auto long_one = [&]() -> Task<int> {
    while (!closed) std::this_thread::yield();
    int turns = 0;
    for (; turns < 100; ++turns) co_await pool.schedule();
    co_return turns;
  };
  Future<int> turns = spawn(pool, long_one());
  while (pool.stats().busy_workers == 0) std::this_thread::yield();
  EXPECT_FALSE(pool.stop({.timeout = Duration(1)}));
  closed = true;
  EXPECT_TRUE(pool.stop());
  EXPECT_EQ(turns.get(), 100);
}

TEST_P(ScheduleIn, DiscardingThrowsStoppedInEveryCoroutineThatWaits) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  const auto local = std::make_shared<int>(1);
  std::atomic<int> dropped = 0;
  std::atomic<int> on_a_worker = 0;
  std::atomic<int> reached = 0;
  const auto wait_in_vain = [&](std::shared_ptr<int> /*local*/) -> Task<> {
    try {
      co_await pool.schedule();
      ++reached;
    } catch (const Stopped&) {
      on_a_worker += pool.is_inside() ? 1 : 0;
      ++dropped;
      throw;
    }
  };
  ThreadPool starter({.workers = 1});
  std::vector<Future<void>> futures;
  {
    const Held held(pool);
    for (int i = 0; i < 100; ++i) futures.push_back(spawn(starter, wait_in_vain(local)));
    starter.wait_idle();
    const StopResult first = pool.stop({.mode = Stop::discard, .timeout = Duration(1)});
    EXPECT_EQ(first.unfinished, 101U);
  }
  EXPECT_TRUE(pool.stop());
  EXPECT_EQ(dropped, 100);
  EXPECT_EQ(on_a_worker, 100);
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(local.use_count(), 1);
  for (Future<void>& future : futures) {
    ASSERT_TRUE(future.is_ready()) << "stop() had returned";
    EXPECT_THROW(future.get(), Stopped);
  }
  EXPECT_EQ(pool.stats().workers[0].dropped, 100U);
}

TEST_P(ScheduleIn, ACoroutineThatWasDroppedMayGoOnElsewhere) {
  ThreadPool pool({.workers = 1, .queueing = GetParam()});
  ThreadPool refuge({.workers = 1});
  const auto flee = [&]() -> Task<bool> {
    try {
      co_await pool.schedule();
    } catch (const Stopped&) {
    }
    try {
      co_await pool.schedule();  // asks in vain once more, on the worker that drops it
      ADD_FAILURE() << "went on on a pool that discards";
    } catch (const Stopped&) {
    }
    co_await refuge.schedule();
    co_return refuge.is_inside();
  };
  Future<bool> fled;
  {
    const Held held(pool);
    fled = spawn(refuge, flee());
    refuge.wait_idle();
    EXPECT_FALSE(pool.stop({.mode = Stop::discard, .timeout = Duration(1)}));
  }
  EXPECT_TRUE(fled.get());
}

// Whether a coroutine is in time or late for a stop, it goes on on a worker or gets Stopped: once.
TEST_P(ScheduleIn, NoCoroutineIsLostBetweenAcceptingAndStopping) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool home({.workers = 2});
    ThreadPool pool({.workers = 2, .queueing = GetParam()});
    std::atomic<int> went_on = 0;
    std::atomic<int> stopped = 0;
    const auto until_stopped = [&]() -> Task<> {
      try {
        for (;;) {
          co_await pool.schedule();
          if (!pool.is_inside()) ADD_FAILURE() << "went on outside of the pool";
          ++went_on;
          co_await home.schedule();
        }
      } catch (const Stopped&) {
        ++stopped;
      }
    };
    std::vector<Future<void>> ends;
    for (int i = 0; i < 10; ++i) ends.push_back(spawn(home, until_stopped()));
    while (went_on < 100) std::this_thread::yield();
    pool.stop({.mode = round % 2 == 0 ? Stop::graceful : Stop::discard});
    for (Future<void>& end : ends) end.get();
    EXPECT_EQ(stopped, 10);
  }
}

TEST(ScheduleDeathTest, APoolMustNotEndOnItsOwnWorker) {
  const auto keeps_a_pool = []() -> Task<> {
    ThreadPool pool({.workers = 1});
    co_await pool.schedule();
  };
  EXPECT_DEATH(sync_wait(keeps_a_pool()), "a pool was destroyed by one of its own workers");
}

}  // namespace
}  // namespace muster
