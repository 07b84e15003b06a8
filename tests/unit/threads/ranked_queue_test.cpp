// ranked_queue_test.cpp: which task comes first, what is counted, and that threads share it.
#include "threads/ranked_queue.hpp"

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

// A queue of tasks that note their number when they run.
class Numbered {
 public:
  void push(Priority priority, int number) {
    queue.push(priority, Closure([this, number] { ran_.push_back(number); }));
  }

  // Runs all that one of the ways of popping finds.
  std::vector<int> run_urgent() {
    for (Closure task; queue.try_pop_urgent(task);) std::move(task)();
    return std::exchange(ran_, {});
  }
  std::vector<int> run_idle() {
    for (Closure task; queue.try_pop_idle(task);) std::move(task)();
    return std::exchange(ran_, {});
  }

  RankedQueue queue;

 private:
  std::vector<int> ran_;
};

TEST(RankedQueue, IsEmptyAtFirst) {
  Numbered numbered;
  Closure task;
  EXPECT_FALSE(numbered.queue.try_pop_urgent(task));
  EXPECT_FALSE(numbered.queue.try_pop_idle(task));
  EXPECT_EQ(numbered.queue.size_approx(), 0U);
  EXPECT_EQ(numbered.queue.pushed_approx(), 0U);
}

TEST(RankedQueue, TheHighestPriorityComesFirstAndEqualsInTheirOrder) {
  Numbered numbered;
  const std::vector<std::pair<Priority, int>> tasks{{Priority{1}, 4},
                                                    {Priority{7}, 2},
                                                    {Priority{1}, 5},
                                                    {std::numeric_limits<Priority>::max(), 1},
                                                    {Priority{7}, 3}};
  for (const auto& [priority, number] : tasks) numbered.push(priority, number);
  EXPECT_EQ(numbered.run_urgent(), (std::vector{1, 2, 3, 4, 5}));
}

TEST(RankedQueue, BelowZeroTheOrderIsTheSame) {
  Numbered numbered;
  const std::vector<std::pair<Priority, int>> tasks{{std::numeric_limits<Priority>::min(), 5},
                                                    {Priority{-1}, 1},
                                                    {Priority{-3}, 3},
                                                    {Priority{-1}, 2},
                                                    {Priority{-3}, 4}};
  for (const auto& [priority, number] : tasks) numbered.push(priority, number);
  EXPECT_EQ(numbered.run_idle(), (std::vector{1, 2, 3, 4, 5}));
}

TEST(RankedQueue, UrgentAndIdleTasksAreFoundEachInTheirPlace) {
  Numbered numbered;
  numbered.push(-1, 1);
  EXPECT_EQ(numbered.run_urgent(), std::vector<int>{});
  numbered.push(1, 2);
  EXPECT_EQ(numbered.run_urgent(), std::vector{2});
  EXPECT_EQ(numbered.run_idle(), std::vector{1});
}

TEST(RankedQueue, CountsWhatWaitsAndWhatEverCame) {
  Numbered numbered;
  numbered.push(1, 1);
  numbered.push(-1, 2);
  numbered.push(2, 3);
  EXPECT_EQ(numbered.queue.size_approx(), 3U);
  EXPECT_EQ(numbered.queue.pushed_approx(), 3U);
  EXPECT_EQ(numbered.run_urgent().size(), 2U);
  EXPECT_EQ(numbered.queue.size_approx(), 1U);
  EXPECT_EQ(numbered.run_idle().size(), 1U);
  EXPECT_EQ(numbered.queue.size_approx(), 0U);
  EXPECT_EQ(numbered.queue.pushed_approx(), 3U);
}

TEST(RankedQueue, WhatIsLeftIsDestroyedWithIt) {
  const auto capture = std::make_shared<int>(1);
  {
    RankedQueue queue;
    queue.push(1, Closure([capture] {}));
    queue.push(-1, Closure([capture] {}));
    EXPECT_EQ(capture.use_count(), 3);
  }
  EXPECT_EQ(capture.use_count(), 1);
}

TEST(RankedQueue, ThreadsPopEachTaskOnceAndSeeWhatWasDoneBeforeItsPush) {
  constexpr int kTasks = 500;
  RankedQueue queue;
  std::vector<int> given(2 * kTasks);  // not atomic: the queue must publish them
  std::vector<std::atomic<int>> runs(2 * kTasks);
  std::atomic<int> ran = 0;
  std::vector<std::jthread> threads;
  for (const int producer : {0, 1}) {
    threads.emplace_back([&, producer] {
      for (int i = 0; i < kTasks; ++i) {
        const auto number = static_cast<std::size_t>(producer * kTasks + i);
        given[number] = 1;
        const auto priority = static_cast<Priority>(i % 2 == 0 ? 1 + i % 3 : -1 - i % 3);
        queue.push(priority, Closure([&, number] { runs[number] += given[number]; }));
      }
    });
  }
  for (int popper = 0; popper < 2; ++popper) {
    threads.emplace_back([&] {
      for (Closure task; ran < 2 * kTasks;) {
        if (!queue.try_pop_urgent(task) && !queue.try_pop_idle(task)) continue;
        std::move(task)();
        ++ran;
      }
    });
  }
  threads.clear();
  for (const std::atomic<int>& times : runs) EXPECT_EQ(times, 1);
  EXPECT_EQ(queue.size_approx(), 0U);
  EXPECT_EQ(queue.pushed_approx(), 2U * kTasks);
}

}  // namespace
}  // namespace muster
