// task_test.cpp: Task by itself, awaited by ordinary code, and spawned on a pool.
#include <atomic>
#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/task.hpp>
#include <muster/thread_pool.hpp>
#include <muster/when.hpp>

namespace muster {
namespace {

Task<int> give(int number) {
  co_return number;
}

Task<> set(bool& flag) {
  flag = true;
  co_return;
}

Task<int> fail(std::string why) {
  throw std::out_of_range(why);
  co_return 0;
}

TEST(Task, BeginsWhenItIsAwaitedAndNotBefore) {
  bool begun = false;
  Task<> task = set(begun);
  EXPECT_FALSE(begun);
  sync_wait(std::move(task));
  EXPECT_TRUE(begun);
}

TEST(Task, GivesValuesOfAnyKindOrNothing) {
  const auto all = []() -> Task<std::string> {
    bool begun = false;
    co_await set(begun);
    const auto move_only = []() -> Task<std::unique_ptr<int>> {
      co_return std::make_unique<int>(7);
    };
    const std::unique_ptr<int> seven = co_await move_only();
    const auto from_braces = []() -> Task<std::pair<int, std::string>> {
      co_return std::pair<int, std::string>{1, "one"};
    };
    const auto [one, text] = co_await from_braces();
    const auto converted = []() -> Task<std::string> { co_return "converted"; };
    co_return std::to_string(*seven + one) + text + co_await converted() + (begun ? "!" : "?");
  };
  EXPECT_EQ(sync_wait(all()), "8oneconverted!");
}

TEST(Task, WhatItThrowsComesOutOfEachAwaitUpwards) {
  int passed = 0;
  const auto middle = [&]() -> Task<int> {
    try {
      co_return co_await fail("deep");
    } catch (const std::out_of_range&) {
      ++passed;
      throw;
    }
  };
  const auto top = [&]() -> Task<int> {
    const int number = co_await middle();
    ++passed;  // not reached
    co_return number;
  };
  EXPECT_THROW(sync_wait(top()), std::out_of_range);
  EXPECT_EQ(passed, 1);
}

TEST(Task, MayBeAwaitedAgainAndAgainByWhoCatchesItsExceptions) {
  const auto stubborn = []() -> Task<int> {
    int caught = 0;
    for (int i = 0; i < 100; ++i) {
      try {
        co_await fail("again");
      } catch (const std::out_of_range&) {
        ++caught;
      }
    }
    co_return caught;
  };
  EXPECT_EQ(sync_wait(stubborn()), 100);
}

Task<> keep(std::shared_ptr<int> /*argument*/) {
  co_return;
}

TEST(Task, DestroysItsFrameIfItNeverBegins) {
  const auto argument = std::make_shared<int>(1);
  {
    const Task<> task = keep(argument);
    EXPECT_EQ(argument.use_count(), 2);
  }
  EXPECT_EQ(argument.use_count(), 1);
  Task<> task = keep(argument);
  task = Task<>();
  EXPECT_EQ(argument.use_count(), 1);
}

TEST(Task, DestroysItsFrameBeforeWhoAwaitedItGoesOn) {
  const auto argument = std::make_shared<int>(1);
  const auto count = [&]() -> Task<long> {
    co_await keep(argument);
    co_return argument.use_count();
  };
  EXPECT_EQ(sync_wait(count()), 1);
  sync_wait(keep(argument));
  EXPECT_EQ(argument.use_count(), 1);
}

// A coroutine that somebody owns, and may destroy where it stands.
class Owned {
 public:
  struct promise_type {
    Owned get_return_object() {
      return Owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    static void unhandled_exception() { std::terminate(); }
    static void return_void() {}
  };
  explicit Owned(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Owned(const Owned&) = delete;
  ~Owned() { handle_.destroy(); }
  [[nodiscard]] bool is_done() const { return handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

TEST(Task, DestroysItsFrameWithTheCoroutineThatAwaitsIt) {
  const auto local = std::make_shared<int>(1);
  const auto never_ends = [](std::shared_ptr<int> /*local*/) -> Task<> {
    co_await std::suspend_always();
  };
  const auto await_it = [&]() -> Owned { co_await never_ends(local); };
  {
    const Owned owned = await_it();
    EXPECT_FALSE(owned.is_done());
    EXPECT_EQ(local.use_count(), 2);
  }
  EXPECT_EQ(local.use_count(), 1);
}

TEST(Task, MayBeAwaitedByCoroutinesOfOtherTypes) {
  int sum = 0;
  const auto await_many = [&]() -> Owned {
    for (int i = 0; i < 100'000; ++i) sum += co_await give(1);
  };
  EXPECT_TRUE(await_many().is_done());
  EXPECT_EQ(sum, 100'000);
}

TEST(Task, AMillionAwaitsInALoopNeedNoMoreStackThanOne) {
  const auto loop = []() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await give(1);
    co_return sum;
  };
  EXPECT_EQ(sync_wait(loop()), 1'000'000);
}

Task<int> depth(int levels) {
  if (levels == 0) co_return 0;
  co_return co_await depth(levels - 1) + 1;
}

Task<int> throw_from(int levels) {
  if (levels == 0) throw std::out_of_range("the lowest");
  co_return co_await throw_from(levels - 1);
}

TEST(Task, AwaitsMayBeNestedDeeperThanAnyStack) {
  EXPECT_EQ(sync_wait(depth(200'000)), 200'000);
  EXPECT_THROW(sync_wait(throw_from(10'000)), std::out_of_range);
}

TEST(TaskDeathTest, AwaitingATaskTwiceOrNoneIsCaught) {
  const auto twice = []() -> Task<> {
    Task<int> task = give(1);
    co_await task;
    co_await task;
  };
  EXPECT_DEATH(sync_wait(twice()), "co_await of a Task that is not valid");
  EXPECT_DEATH(sync_wait(Task<int>()), "a Task that is not valid");
}

TEST(SyncWait, MayBeCalledInsideOfATaskAndFromManyThreads) {
  const auto nested = []() -> Task<int> { co_return sync_wait(depth(10)) + co_await depth(5); };
  std::vector<std::jthread> threads;
  std::atomic<int> sum = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) sum += sync_wait(nested());
    });
  }
  threads.clear();
  EXPECT_EQ(sum, 4 * 100 * 15);
}

Task<int> on(ThreadPool& pool, int number) {
  co_await pool.schedule();
  EXPECT_TRUE(pool.is_inside());
  co_return number;
}

TEST(SyncWait, OnAWorkerLeavesTheOthersToIt) {
  ThreadPool pool({.workers = 2});
  EXPECT_EQ(pool.run([&] { return sync_wait(on(pool, 3)); }), 3);
}

TEST(SyncWait, OnTheOnlyWorkerRunsWhatNeedsNoOther) {
  ThreadPool pool({.workers = 1});
  EXPECT_EQ(pool.run([&] { return sync_wait(depth(100)); }), 100);
}

TEST(Spawn, BeginsOnThePoolAndGivesAFuture) {
  ThreadPool pool({.workers = 2});
  const auto where = [&]() -> Task<bool> { co_return pool.is_inside(); };
  EXPECT_TRUE(spawn(pool, where()).get());
  bool begun = false;
  spawn(pool, set(begun)).get();
  EXPECT_TRUE(begun);
  EXPECT_THROW(spawn(pool, fail("spawned")).get(), std::out_of_range);
}

TEST(Spawn, ItsFuturesAreContinuedAndGatheredAsAllAre) {
  ThreadPool pool({.workers = 2});
  std::vector<Future<int>> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(spawn(pool, on(pool, i)));
  const int sum = when_all(futures)
                      .then([](const std::vector<int>& numbers) {
                        int total = 0;
                        for (const int number : numbers) total += number;
                        return total;
                      })
                      .get();
  EXPECT_EQ(sum, 4950);
  EXPECT_TRUE(spawn(pool, give(1)).then([&](int) { return pool.is_inside(); }).get());
}

TEST(Spawn, RunsToTheEndAlsoIfNobodyWantsTheFuture) {
  std::atomic<int> ends = 0;
  const auto local = std::make_shared<int>(1);
  {
    ThreadPool pool({.workers = 2});
    const auto count = [&](std::shared_ptr<int> /*local*/) -> Task<> {
      for (int i = 0; i < 10; ++i) co_await pool.schedule();
      ++ends;
    };
    for (int i = 0; i < 100; ++i) (void)spawn(pool, count(local));
    pool.wait_idle();
    EXPECT_EQ(ends, 100);
  }
  EXPECT_EQ(local.use_count(), 1);
}

// Notes what its future says when the frame that it stands in is destroyed.
struct Probe {
  const Future<void>* future;
  bool* was_ready;
  Probe(const Future<void>& own, bool& ready) : future(&own), was_ready(&ready) {}
  Probe(Probe&& other) noexcept
      : future(std::exchange(other.future, nullptr)), was_ready(other.was_ready) {}
  ~Probe() {
    if (future != nullptr) *was_ready = future->is_ready();
  }
};

TEST(Spawn, TheFrameIsGoneBeforeTheFutureIsReady) {
  ThreadPool pool({.workers = 1});
  std::atomic<bool> free = false;
  pool.post([&] {
    while (!free) std::this_thread::yield();
  });
  bool was_ready = true;
  Future<void> future;
  const auto probed = [](Probe /*probe*/) -> Task<> { co_return; };
  future = spawn(pool, probed(Probe(future, was_ready)));
  free = true;
  pool.wait_idle();
  EXPECT_TRUE(future.is_ready());
  EXPECT_FALSE(was_ready);
}

Task<int> hop(ThreadPool& pool) {
  co_await pool.schedule();
  co_return 8;
}

// The coroutine waits in the queue of the worker that waits for it: a spare resumes it.
TEST(SyncWait, OnTheOnlyWorkerDoesNotDeadlock) {
  ThreadPool pool({.workers = 1});
  EXPECT_EQ(pool.run([&] { return sync_wait(hop(pool)); }), 8);
}

TEST(Spawn, AfterStopTheFutureHoldsStoppedAndTheFrameIsGone) {
  ThreadPool pool({.workers = 1});
  pool.stop();
  const auto argument = std::make_shared<int>(1);
  Future<void> future = spawn(pool, keep(argument));
  EXPECT_EQ(argument.use_count(), 1);
  EXPECT_THROW(future.get(), Stopped);
}

TEST(Spawn, ACancelledTaskNeverBegins) {
  ThreadPool pool({.workers = 1});
  std::atomic<bool> free = false;
  pool.post([&] {
    while (!free) std::this_thread::yield();
  });
  bool begun = false;
  Future<void> cancelled = spawn(pool, set(begun));
  const auto argument = std::make_shared<int>(1);
  Future<void> kept = spawn(pool, keep(argument));
  EXPECT_TRUE(cancelled.cancel());
  EXPECT_TRUE(kept.cancel());
  EXPECT_EQ(argument.use_count(), 1);
  free = true;
  EXPECT_THROW(cancelled.get(), Cancelled);
  pool.wait_idle();
  EXPECT_FALSE(begun);
}

TEST(Spawn, WaitingOnTheOnlyWorkerBeginsTheTaskRightThere) {
  ThreadPool pool({.workers = 1});
  EXPECT_EQ(pool.run([&] { return spawn(pool, depth(3)).get(); }), 3);
}

}  // namespace
}  // namespace muster
