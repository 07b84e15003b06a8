// continuation_test.cpp: then, when_all and when_any, on a pool and after its end.
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>
#include <muster/when.hpp>

namespace muster {
namespace {

TEST(Then, PassesTheResultOnThroughThePool) {
  ThreadPool pool({.workers = 2});
  Future<std::string> text = pool.submit([] { return 20; })
                                 .then([](int number) { return number + 1; })
                                 .then([&](int number) {
                                   EXPECT_TRUE(pool.is_inside());
                                   return std::to_string(number);
                                 });
  EXPECT_EQ(text.get(), "21");
}

TEST(Then, TakesVoidAndMoveOnlyResults) {
  ThreadPool pool({.workers = 1});
  std::atomic<int> steps = 0;
  Future<void> done = pool.submit([&] { ++steps; })
                          .then([&] { return std::make_unique<int>(++steps); })
                          .then([&](std::unique_ptr<int> number) { steps += *number; });
  done.get();
  EXPECT_EQ(steps, 4);
}

TEST(Continuation, RunsOnAnotherPoolIfToldTo) {
  ThreadPool pool({.workers = 1});
  ThreadPool other({.workers = 1});
  Future<bool> on_other =
      pool.submit([] { return 1; }).then(other, [&](int) { return other.is_inside(); });
  EXPECT_TRUE(on_other.then([&](bool on) { return on && other.is_inside(); }).get());
}

TEST(Then, AnExceptionPassesItBy) {
  ThreadPool pool({.workers = 1});
  bool ran = false;
  Future<int> failed =
      pool.submit([]() -> int { throw std::out_of_range("first"); }).then([&](int number) {
        ran = true;
        return number;
      });
  EXPECT_THROW(failed.get(), std::out_of_range);
  EXPECT_FALSE(ran);
  Future<void> own = pool.submit([] {}).then([] { throw std::invalid_argument("second"); });
  EXPECT_THROW(own.get(), std::invalid_argument);
}

TEST(Then, WhatFollowsSeveralFuturesRunsOnThePoolOfTheFirst) {
  ThreadPool first({.workers = 1});
  ThreadPool second({.workers = 1});
  Future<int> one = first.submit([] { return 1; });
  Future<int> other = second.submit([] { return 2; });
  one.wait();
  other.wait();
  EXPECT_TRUE(when_all(one, other).then([&](const auto&) { return first.is_inside(); }).get());
}

TEST(Then, RunsRightHereIfThePoolHasEnded) {
  Future<int> before;
  {
    ThreadPool pool({.workers = 1});
    before = pool.submit([] { return 1; });
  }
  const std::thread::id here = std::this_thread::get_id();
  EXPECT_EQ(before.then([](int) { return std::this_thread::get_id(); }).get(), here);
  ThreadPool stopped({.workers = 1});
  Future<int> accepted = stopped.submit([] { return 1; });
  stopped.stop();
  EXPECT_EQ(accepted.then([](int) { return std::this_thread::get_id(); }).get(), here);
}

TEST(Then, MayBeAwaitedOnTheOnlyWorker) {
  ThreadPool pool({.workers = 1});
  const int sum = pool.run([&] {
    Future<int> chain =
        pool.submit([] { return 1; }).then([](int n) { return n + 1; }).then([](int n) {
          return n + 1;
        });
    return chain.get();
  });
  EXPECT_EQ(sum, 3);
}

TEST(Then, ACancelledContinuationNeverRuns) {
  ThreadPool pool({.workers = 1});
  std::atomic<bool> free = false;
  bool ran = false;
  const auto capture = std::make_shared<int>(1);
  Future<void> next = pool.submit([&] {
                            while (!free) std::this_thread::yield();
                          })
                          .then([&ran, capture] { ran = true; });
  EXPECT_TRUE(next.cancel());
  EXPECT_EQ(capture.use_count(), 1);
  free = true;
  EXPECT_THROW(next.get(), Cancelled);
  pool.wait_idle();
  EXPECT_FALSE(ran);
}

TEST(Then, AChainMayBeLong) {
  ThreadPool pool({.workers = 2});
  Future<int> chain = pool.submit([] { return 0; });
  for (int i = 0; i < 1000; ++i) {
    chain = chain.then([](int number) { return number + 1; });
  }
  EXPECT_EQ(chain.get(), 1000);
}

TEST(WhenAll, GivesATupleOfAllResults) {
  ThreadPool pool({.workers = 2});
  Future<int> number = pool.submit([] { return 7; });
  Future<void> nothing = pool.submit([] {});
  Future<std::string> text = pool.submit([] { return std::string("seven"); });
  auto [a, b, c] = when_all(number, nothing, text).get();
  EXPECT_EQ(a, 7);
  EXPECT_EQ(b, std::monostate());
  EXPECT_EQ(c, "seven");
  EXPECT_FALSE(number.valid());
}

TEST(WhenAll, GivesAVectorInTheirOrder) {
  ThreadPool pool({.workers = 2});
  std::vector<Future<int>> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(pool.submit([i] { return i; }));
  const std::vector<int> all = when_all(futures).get();
  ASSERT_EQ(all.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
  EXPECT_THROW((void)when_all(futures), InvalidArgument) << "it is empty now";
}

TEST(WhenAll, ThrowsTheFirstErrorInTheirOrderAfterAllHaveEnded) {
  ThreadPool pool({.workers = 2});
  std::atomic<bool> ended = false;
  Future<void> slow = pool.submit([&] {
    std::this_thread::yield();
    ended = true;
    throw std::out_of_range("slow");
  });
  Future<void> quick = pool.submit([] { throw std::invalid_argument("quick"); });
  EXPECT_THROW(when_all(slow, quick).get(), std::out_of_range);
  EXPECT_TRUE(ended);
}

TEST(WhenAll, MayBeAwaitedOnTheOnlyWorkerAndContinued) {
  ThreadPool pool({.workers = 1});
  const int sum = pool.run([&] {
    Future<int> one = pool.submit([] { return 1; });
    Future<int> two = pool.submit([] { return 2; }).then([](int n) { return n * 10; });
    return when_all(one, two)
        .then([](std::tuple<int, int> both) { return std::get<0>(both) + std::get<1>(both); })
        .get();
  });
  EXPECT_EQ(sum, 21);
}

TEST(WhenAny, SaysWhichWasReadyFirstAndGivesAllBack) {
  ThreadPool pool({.workers = 2});
  std::atomic<bool> free = false;
  std::vector<Future<int>> futures;
  futures.push_back(pool.submit([&] {
    while (!free) std::this_thread::yield();
    return 1;
  }));
  futures.push_back(pool.submit([] { return 2; }));
  AnyReady<int> any = when_any(futures).get();
  EXPECT_EQ(any.index, 1U);
  ASSERT_EQ(any.futures.size(), 2U);
  EXPECT_EQ(any.futures[1].get(), 2);
  free = true;
  EXPECT_EQ(any.futures[0].get(), 1);
}

TEST(WhenAny, IsReadyAtOnceIfOneIs) {
  ThreadPool pool({.workers = 1});
  std::vector<Future<void>> futures;
  futures.push_back(pool.submit([] { throw std::out_of_range("ready"); }));
  pool.wait_idle();
  AnyReady<void> any = when_any(std::move(futures)).get();
  EXPECT_EQ(any.index, 0U);
  EXPECT_THROW(any.futures[0].get(), std::out_of_range);
}

TEST(WhenAny, ACancelledOneLeavesItsInputsAlone) {
  ThreadPool pool({.workers = 1});
  std::atomic<bool> free = false;
  std::atomic<int> ran = 0;
  std::vector<Future<void>> futures;
  for (int i = 0; i < 3; ++i) {
    futures.push_back(pool.submit([&] {
      while (!free) std::this_thread::yield();
      ++ran;
    }));
  }
  Future<AnyReady<void>> any = when_any(futures);
  EXPECT_TRUE(any.cancel());
  EXPECT_THROW(any.get(), Cancelled);
  free = true;
  pool.wait_idle();
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace muster
