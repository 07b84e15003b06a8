// join_test.cpp: results, exceptions and nesting of joins, inside a pool and outside.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <variant>

#include <gtest/gtest.h>

#include <muster/join.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

long fib(int n) {
  if (n < 2) return n;
  auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

TEST(Join, OutsideOfPoolsTheCallsRunInTurn) {
  std::string order;
  auto [a, b] = join([&] { return order += 'a', 1; }, [&] { return order += 'b', 2; });
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
}

TEST(Join, GivesWhatBothCallsGive) {
  for (const unsigned workers : {1U, 2U, 3U, 8U}) {
    ThreadPool pool({.workers = workers});
    EXPECT_EQ(pool.run([] { return fib(20); }), 6765) << workers;
  }
}

TEST(Join, ResultsMayBeVoidOrMoveOnly) {
  ThreadPool pool({.workers = 2});
  const auto check = [&] {
    bool ran = false;
    auto [nothing, owner] = join([&] { ran = true; }, [] { return std::make_unique<int>(5); });
    static_assert(std::is_same_v<decltype(nothing), std::monostate>);
    EXPECT_TRUE(ran);
    EXPECT_EQ(*owner, 5);
  };
  check();
  pool.run(check);
}

TEST(Join, WhatTheSecondCallThrowsComesOut) {
  ThreadPool pool({.workers = 2});
  const auto throws = [] {
    for (int i = 0; i < 100; ++i) {
      bool ran = false;
      EXPECT_THROW(join([&] { ran = true; }, [] { throw std::out_of_range("second"); }),
                   std::out_of_range);
      EXPECT_TRUE(ran);
    }
  };
  throws();
  pool.run(throws);
}

TEST(Join, TheFirstCallsExceptionIsKeptAndBothHaveEnded) {
  ThreadPool pool({.workers = 2});
  const auto throws = [] {
    for (int i = 0; i < 100; ++i) {
      std::atomic<bool> second_ended = false;
      try {
        join([] { throw std::invalid_argument("first"); },
             [&] {
               std::this_thread::yield();
               second_ended = true;
               throw std::out_of_range("second");
             });
        FAIL() << "nothing was thrown";
      } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "first");
      }
      EXPECT_TRUE(second_ended);
    }
  };
  throws();
  pool.run(throws);
}

// Someone must take the second call, or this would wait for ever.
TEST(Join, AnotherWorkerTakesTheSecondCall) {
  ThreadPool pool({.workers = 2});
  std::atomic<bool> second_runs = false;
  const auto [first, second] = pool.run([&] {
    return join(
        [&] {
          while (!second_runs) std::this_thread::yield();
          return std::this_thread::get_id();
        },
        [&] {
          second_runs = true;
          return std::this_thread::get_id();
        });
  });
  EXPECT_NE(first, second);
}

TEST(Join, ExceptionsOfACallThatAnotherWorkerTookComeOut) {
  ThreadPool pool({.workers = 2});
  std::atomic<bool> second_runs = false;
  EXPECT_THROW(pool.run([&] {
    join(
        [&] {
          while (!second_runs) std::this_thread::yield();
        },
        [&] {
          second_runs = true;
          throw std::out_of_range("taken");
        });
  }),
               std::out_of_range);
}

int depth_of_joins(int depth) {
  if (depth == 0) return 0;
  auto [below, one] = join([depth] { return depth_of_joins(depth - 1); }, [] { return 1; });
  return below + one;
}

TEST(Join, NestsDeeply) {
  ThreadPool pool({.workers = 1});
  EXPECT_EQ(pool.run([] { return depth_of_joins(2000); }), 2000);
}

// The whole stack of forks is used, and further joins run in turn.
TEST(Join, RunsInTurnWhenTheStackOfForksIsFull) {
  Roster roster(1);
  ForkStack forks(roster);
  current_fork_stack = &forks;
  struct Nothing : Fork {
    Nothing() : Fork([](Fork&) {}) {}
  } nothing;
  std::vector<ForkStack::Place> places;
  while (!forks.full()) places.push_back(forks.push(nothing));
  EXPECT_EQ(places.size(), ForkStack::kCapacity);
  auto [a, b] = join([] { return 1; }, [] { return 2; });
  EXPECT_EQ(a + b, 3);
  while (!places.empty()) {
    EXPECT_TRUE(forks.pop(places.back()));
    places.pop_back();
  }
  current_fork_stack = nullptr;
}

}  // namespace
}  // namespace muster
