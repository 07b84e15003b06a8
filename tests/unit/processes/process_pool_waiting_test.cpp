// process_pool_waiting_test.cpp: who waits for a result collects for others, and leaves all the
// same.
#include <atomic>
#include <chrono>
#include <utility>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Both results are collected at once, by a clerk who is held up until they are there: the second
// is in the hands of the very thread that waits for it.
TEST(ProcessPoolWaiting, WhatFollowsATaskMayWaitForOneThatWasCollectedWithIt) {
  ProcessPool pool({.workers = 1, .prefetch = 4});
  std::atomic<bool> is_held_up = false;
  std::atomic<bool> go_on = false;
  auto hold_up = pool.call<int>("sum", 1, 1).then([&](int) {
    is_held_up = true;
    while (!go_on) pause_for(1ms);
  });
  while (!is_held_up) pause_for(1ms);
  Future<int> first = pool.call<int>("sum", 1, 2);
  Future<int> second = pool.call<int>("sum", 2, 2);
  auto seen = std::move(first).then([&](int) { return second.wait_for(5s); });
  Future<Bytes> last = pool.call<Bytes>("hang");
  const auto runs_the_last = [&] { return pool.worker_status(0)->task == 4; };
  while (!runs_the_last()) pause_for(1ms);
  go_on = true;
  EXPECT_EQ(seen.get(), FutureStatus::ready);
  (void)pool.stop({.mode = Stop::discard});
}

}  // namespace
}  // namespace muster
