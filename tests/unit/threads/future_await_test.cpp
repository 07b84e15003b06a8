// future_await_test.cpp: co_await of a Future: what it gives, and where the coroutine goes on.
#include <atomic>
#include <memory>
#include <optional>
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

TEST(FutureAwait, GivesWhatTheFutureHoldsAndTakesIt) {
  ThreadPool pool({.workers = 2});
  const auto use_all = [&]() -> Task<std::string> {
    Future<int> number = pool.submit([] { return 6; });
    const int six = co_await number;
    EXPECT_FALSE(number.valid());
    const std::unique_ptr<int> seven =
        co_await pool.submit([] { return std::make_unique<int>(7); });
    co_await pool.submit([] {});
    co_return std::to_string(six * *seven);
  };
  EXPECT_EQ(sync_wait(use_all()), "42");
}

TEST(FutureAwait, ThrowsWhatTheFutureHolds) {
  ThreadPool pool({.workers = 1});
  const auto fail = [&]() -> Task<> {
    co_await pool.submit([] { throw std::out_of_range("awaited"); });
  };
  EXPECT_THROW(sync_wait(fail()), std::out_of_range);
  const auto cancelled = [&]() -> Task<> {
    std::atomic<bool> free = false;
    Future<void> held = pool.submit([&] {
      while (!free) std::this_thread::yield();
    });
    Future<void> next = pool.submit([] {});
    EXPECT_TRUE(next.cancel());
    free = true;
    co_await held;
    co_await next;
  };
  EXPECT_THROW(sync_wait(cancelled()), Cancelled);
}

TEST(FutureAwait, GoesOnAtOnceIfTheResultIsThere) {
  ThreadPool pool({.workers = 1});
  Future<int> ready = pool.submit([] { return 1; });
  pool.wait_idle();
  const auto where = [&]() -> Task<std::thread::id> {
    co_await ready;
    co_return std::this_thread::get_id();
  };
  EXPECT_EQ(sync_wait(where()), std::this_thread::get_id());
}

// A future that belongs to `home`, whose result comes from `elsewhere`, but not before `free`.
Future<void> result_from(ThreadPool& home, ThreadPool& elsewhere, std::atomic<bool>& free) {
  const auto slow = [](ThreadPool& pool, std::atomic<bool>& gate) -> Task<> {
    co_await pool.schedule();
    while (!gate) std::this_thread::yield();
  };
  return spawn(home, slow(elsewhere, free));
}

TEST(FutureAwait, OtherwiseGoesOnOnThePoolOfTheFutureWhereverTheResultCameFrom) {
  ThreadPool pool({.workers = 1});
  ThreadPool elsewhere({.workers = 1});
  ThreadPool waiting({.workers = 1});
  std::atomic<bool> free = false;
  Future<void> result = result_from(pool, elsewhere, free);
  const auto where = [&]() -> Task<bool> {
    co_await result;
    co_return pool.is_inside();
  };
  Future<bool> inside = spawn(waiting, where());
  waiting.wait_idle();  // it waits for the future now
  EXPECT_FALSE(inside.is_ready());
  free = true;
  EXPECT_TRUE(inside.get());
}

TEST(FutureAwait, GoesOnWhereTheResultCameFromIfThePoolHasEnded) {
  ThreadPool elsewhere({.workers = 1});
  ThreadPool waiting({.workers = 1});
  std::atomic<bool> free = false;
  Future<void> result;
  {
    ThreadPool pool({.workers = 1});
    result = result_from(pool, elsewhere, free);
  }
  const auto where = [&]() -> Task<bool> {
    co_await result;
    co_return elsewhere.is_inside();
  };
  Future<bool> inside = spawn(waiting, where());
  waiting.wait_idle();
  free = true;
  EXPECT_TRUE(inside.get());
}

// What a coroutine gets that waits for a task which ends with `then`, if the task is under way when
// its pool is told to discard what has not begun: that is the coroutine, once it could go on.
template <class Then>
void await_while_discarding(const Then& then) {
  ThreadPool pool({.workers = 1});
  ThreadPool waiting({.workers = 1});
  std::atomic<bool> begun = false;
  std::atomic<bool> free = false;
  const auto await_it = [&]() -> Task<> {
    co_await pool.submit([&] {
      begun = true;
      while (!free) std::this_thread::yield();
      then();
    });
  };
  Future<void> end = spawn(waiting, await_it());
  waiting.wait_idle();
  while (!begun) std::this_thread::yield();
  EXPECT_FALSE(pool.stop({.mode = Stop::discard, .timeout = Duration(1)}));
  free = true;
  end.get();
}

TEST(FutureAwait, GoesOnWithStoppedIfThePoolDiscardsIt) {
  try {
    await_while_discarding([] {});
    FAIL() << "nothing was thrown";
  } catch (const Stopped& stopped) {
    EXPECT_STREQ(stopped.what(),
                 "the coroutine was dropped before it could go on: its pool stopped");
  }
}

TEST(FutureAwait, GoesOnWithTheFuturesOwnErrorEvenIfThePoolDiscardsIt) {
  EXPECT_THROW(await_while_discarding([] { throw std::out_of_range("its own"); }),
               std::out_of_range);
}

TEST(FutureAwait, SeveralAreAwaitedTogether) {
  ThreadPool pool({.workers = 2});
  const auto gather = [&]() -> Task<int> {
    Future<int> one = pool.submit([] { return 1; });
    Future<int> two = pool.submit([] { return 2; });
    const auto [first, second] = co_await when_all(one, two);
    co_return first * 10 + second;
  };
  EXPECT_EQ(sync_wait(gather()), 12);
}

TEST(FutureAwait, ALoopOfManyNeedsNoMoreStackThanOne) {
  ThreadPool pool({.workers = 2});
  const auto loop = [&]() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 10'000; ++i) sum += co_await pool.submit([] { return 1; });
    co_return sum;
  };
  EXPECT_EQ(sync_wait(loop()), 10'000);
}

TEST(FutureAwaitDeathTest, AwaitingAFutureThatIsNotValidIsCaught) {
  const auto await_nothing = []() -> Task<> { co_await Future<void>(); };
  EXPECT_DEATH(sync_wait(await_nothing()), "co_await of a Future that is not valid");
}

}  // namespace
}  // namespace muster
