// parallel_test.cpp: loops and reductions over ranges of every awkward size.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

namespace muster {
namespace {

TEST(ParallelFor, CallsTheBodyOnceForEachIndex) {
  ThreadPool pool({.workers = 3});
  for (const std::size_t size : {0U, 1U, 2U, 3U, 7U, 64U, 1000U, 10'007U}) {
    for (const std::size_t grain : {0U, 1U, 5U, 100'000U}) {
      std::vector<std::atomic<int>> calls(size);
      pool.parallel_for(0, size, [&](std::size_t i) { ++calls[i]; }, grain);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(calls[i], 1) << i << " of " << size;
    }
  }
}

TEST(ParallelFor, BeginsWhereItIsTold) {
  ThreadPool pool({.workers = 2});
  std::atomic<std::size_t> sum = 0;
  pool.parallel_for(10, 20, [&](std::size_t i) { sum += i; });
  EXPECT_EQ(sum, 145U);
  pool.parallel_for(20, 10, [&](std::size_t) { FAIL() << "an empty range has no index"; });
}

TEST(ParallelFor, WhatABodyThrowsComesOut) {
  ThreadPool pool({.workers = 2});
  EXPECT_THROW(pool.parallel_for(0, 1000,
                                 [](std::size_t i) {
                                   if (i == 500) throw std::out_of_range("500");
                                 }),
               std::out_of_range);
}

TEST(ParallelFor, NestsInsideItself) {
  ThreadPool pool({.workers = 2});
  std::atomic<int> calls = 0;
  pool.parallel_for(0, 20,
                    [&](std::size_t) { pool.parallel_for(0, 20, [&](std::size_t) { ++calls; }); });
  EXPECT_EQ(calls, 400);
}

// Two indices wait for each other, so two workers must run at the same time.
TEST(ParallelFor, IsDividedAmongWorkersWhoHaveNothingToDo) {
  ThreadPool pool({.workers = 2});
  std::atomic<int> here = 0;
  pool.parallel_for(0, 2, [&](std::size_t) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  EXPECT_EQ(here, 2);
}

TEST(ParallelReduce, EqualsTheSerialSum) {
  ThreadPool pool({.workers = 3});
  const auto identity = [](std::size_t i) { return std::uint64_t{i}; };
  for (const std::size_t size : {0U, 1U, 2U, 5U, 1000U, 100'003U}) {
    EXPECT_EQ(pool.parallel_reduce(0, size, std::uint64_t{0}, identity, std::plus<>()),
              size * (size - 1) / 2 * (size != 0))
        << size;
  }
}

TEST(ParallelReduce, KeepsTheOrderOfItsRange) {
  ThreadPool pool({.workers = 3});
  std::string expected;
  for (int i = 0; i < 500; ++i) expected += std::to_string(i) + ' ';
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(pool.parallel_reduce(
                  0, 500, std::string(), [](std::size_t i) { return std::to_string(i) + ' '; },
                  std::plus<>()),
              expected);
  }
}

}  // namespace
}  // namespace muster
