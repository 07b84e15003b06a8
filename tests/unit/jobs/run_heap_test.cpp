// run_heap_test.cpp: the first one comes out first, however they went in.
#include "jobs/run_heap.hpp"

#include <functional>
#include <queue>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

namespace muster {
namespace {

using Numbers = RunHeap<int, std::less<>>;

std::vector<int> popped(Numbers& queue) {
  std::vector<int> numbers;
  for (; !queue.empty(); queue.pop()) numbers.push_back(queue.front());
  return numbers;
}

TEST(RunHeap, WhatComesInOrderGoesInOrder) {
  Numbers queue;
  EXPECT_TRUE(queue.empty());
  for (const int number : {1, 2, 2, 5}) queue.push(number);
  EXPECT_EQ(popped(queue), (std::vector{1, 2, 2, 5}));
}

TEST(RunHeap, WhatComesLateIsNotOvertaken) {
  Numbers queue;
  for (const int number : {5, 9, 1, 7, 3, 9, 2}) queue.push(number);
  EXPECT_EQ(popped(queue), (std::vector{1, 2, 3, 5, 7, 9, 9}));
}

TEST(RunHeap, TheRunIsMetInOrderAndNobodyIsLeftOut) {
  Numbers queue;
  for (const int number : {5, 9, 1, 12}) queue.push(number);
  std::vector<int> met;
  queue.for_each([&met](int number) {
    met.push_back(number);
    return true;
  });
  EXPECT_EQ(met, (std::vector{5, 9, 12, 1}));
  met.clear();
  queue.for_each([&met](int number) {
    met.push_back(number);
    return met.size() < 2;
  });
  EXPECT_EQ(met, (std::vector{5, 9}));
}

TEST(RunHeap, EqualsAPriorityQueueUnderRandomOperations) {
  Random random(7);
  Numbers queue;
  std::priority_queue<int, std::vector<int>, std::greater<>> model;
  for (int step = 0; step < 20'000; ++step) {
    if (random.below(3) > 0 || model.empty()) {
      const int number = random.below(4) > 0 ? step : static_cast<int>(random.below(20'000));
      queue.push(number);
      model.push(number);
    } else {
      ASSERT_EQ(queue.front(), model.top());
      queue.pop();
      model.pop();
    }
    ASSERT_EQ(queue.empty(), model.empty());
  }
}

}  // namespace
}  // namespace muster
