// affinity_test.cpp: tasks with a key find their worker, wait there in order, and are stolen last.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/thread_pool.hpp>

#include "support/held_workers.hpp"
#include "support/run_order.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::HeldWorkers;
using testing::RunOrder;

void nothing() {}

// A key that belongs to this worker.
std::string key_of(ThreadPool& pool, unsigned worker) {
  for (int i = 0;; ++i) {
    std::string key = "key " + std::to_string(i);
    if (pool.workers_for(key).at(0) == worker) return key;
  }
}

TEST(Affinity, TasksOfOneKeyRunInOrderOnOneWorker) {
  RunOrder order;
  std::set<std::thread::id> threads;
  ThreadPool pool({.workers = 4});
  for (int i = 0; i < 1000; ++i) {
    pool.post({.affinity = "user 42", .affinity_class = AffinityClass::hard}, [&, i] {
      order.add(i);
      threads.insert(std::this_thread::get_id());  // one at a time, as they are in order
    });
    pool.post(nothing);
  }
  pool.wait_idle();
  const std::vector<int> seen = order.get();
  ASSERT_EQ(seen.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(threads.size(), 1U);
  const PoolSnapshot::Affinity affinity = pool.snapshot().affinity;
  EXPECT_EQ(affinity.hits, 1000U);
  EXPECT_EQ(affinity.misses, 0U);
  EXPECT_EQ(affinity.sessions, 1U);
}

TEST(Affinity, KeysSpreadOverTheWorkers) {
  ThreadPool pool({.workers = 4});
  std::vector<int> keys(4);
  for (int i = 0; i < 400; ++i) ++keys[pool.workers_for("key " + std::to_string(i)).at(0)];
  for (const int each : keys) EXPECT_GT(each, 50);
}

TEST(Affinity, MoreVirtualNodesSpreadTheKeysMoreEvenly) {
  const auto largest_share = [](std::size_t virtual_nodes) {
    ThreadPool pool({.workers = 4, .affinity = {.virtual_nodes = virtual_nodes}});
    std::vector<int> keys(4);
    for (int i = 0; i < 1000; ++i) ++keys[pool.workers_for("key " + std::to_string(i)).at(0)];
    return *std::max_element(keys.begin(), keys.end());
  };
  EXPECT_GT(largest_share(1), 400);
  EXPECT_LT(largest_share(1000), 300);
}

TEST(Affinity, TheOrderOfPreferenceNamesEveryWorkerOnce) {
  ThreadPool pool({.workers = 4});
  const std::vector<unsigned> order = pool.workers_for("user", 9);
  EXPECT_EQ(order.size(), 4U);
  EXPECT_EQ(std::set<unsigned>(order.begin(), order.end()).size(), 4U);
  EXPECT_EQ(pool.workers_for("user", 2), (std::vector<unsigned>{order[0], order[1]}));
}

TEST(Affinity, NobodyStealsAHardOne) {
  std::atomic<int> runs = 0;
  HeldWorkers held({.workers = 2});
  held.pool().post({.affinity = key_of(held.pool(), 0), .affinity_class = AffinityClass::hard},
                   [&] { ++runs; });
  held.free(1);
  held.wait_until_asleep(1);
  EXPECT_EQ(runs, 0);
  held.free(0);
  held.pool().wait_idle();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(held.pool().snapshot().affinity.hits, 1U);
}

TEST(Affinity, ASoftOneIsStolenWhenNothingElseIsThere) {
  RunOrder order;
  HeldWorkers held({.workers = 2, .stealing = {.patience = 0s}});
  const std::string key = key_of(held.pool(), 0);
  held.pool().post({.affinity = key}, [&] { order.add(100); });
  held.pool().post({.affinity = key, .affinity_class = AffinityClass::none}, [&] { order.add(1); });
  for (int i = 0; i < 6; ++i) held.pool().post([&] { order.add(0); });
  held.free(1);
  held.wait_until_asleep(1);
  const std::vector<int> seen = order.get();
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_EQ(seen.back(), 100);
  EXPECT_EQ(held.pool().snapshot().affinity.misses, 2U);
  EXPECT_EQ(held.pool().snapshot().affinity.hit_rate(), 0.0);
  EXPECT_GE(held.pool().stats().workers.at(1).stolen_from.at(0), 4U)
      << "and two at least of the six others";
}

// The only task of a busy worker that nobody else is allowed to take yet.
TEST(Affinity, ASoftOneIsLeftToItsWorkerAsLongAsPatienceLasts) {
  std::atomic<int> runs = 0;
  HeldWorkers held({.workers = 3, .stealing = {.patience = 1h}});
  held.pool().post({.affinity = key_of(held.pool(), 0)}, [&] { ++runs; });
  held.free(1);
  held.free(2);
  held.wait_until_asleep(2);
  EXPECT_EQ(runs, 0);
  held.free(0);
  held.pool().wait_idle();
  EXPECT_EQ(held.pool().snapshot().affinity.hits, 1U);
}

// Its worker never comes back to it, and nothing else happens that could wake another.
TEST(Affinity, WhenPatienceEndsASleepingWorkerComesForASoftOne) {
  HeldWorkers held({.workers = 3, .stealing = {.patience = 2ms}});
  held.free(1);
  held.free(2);
  const TaskOptions soft{.affinity = key_of(held.pool(), 0)};
  for (int i = 0; i < 5; ++i) {
    held.wait_until_asleep(2);
    auto first = held.pool().submit(soft, nothing);
    auto second = held.pool().submit(soft, nothing);
    EXPECT_EQ(first.wait_for(10s), FutureStatus::ready);
    EXPECT_EQ(second.wait_for(10s), FutureStatus::ready);
  }
  EXPECT_EQ(held.pool().snapshot().affinity.misses, 10U);
}

TEST(Affinity, PatienceIsCountedFromWhenATaskCame) {
  Simulation world(7);
  ThreadPoolOptions options{.workers = 2, .simulation = &world};
  options.stealing.patience = 10ms;
  ThreadPool pool(options);
  std::vector<Duration> begun;
  const auto note = [&] { begun.push_back(world.now() - Time{}); };
  const TaskOptions soft{.affinity = key_of(pool, 0)};
  const TaskOptions urgent{.priority = 5, .affinity = soft.affinity};
  pool.post({.affinity = soft.affinity, .affinity_class = AffinityClass::hard}, [&] {
    pool.post(soft, note);
    world.run_for(4ms);
    pool.post(soft, note);
    pool.post(urgent, note);  // comes first, but later: does not hide the others
    world.run_for(100ms);
  });
  pool.wait_idle();
  EXPECT_EQ(begun, (std::vector<Duration>{10ms, 14ms, 14ms}));
  EXPECT_EQ(pool.snapshot().affinity.misses, 3U);
}

TEST(Affinity, NobodyStealsASoftOneIfStealingIsOff) {
  ThreadPoolOptions options{.workers = 2};
  options.stealing.enabled = false;
  std::atomic<int> runs = 0;
  HeldWorkers held(options);
  held.pool().post({.affinity = key_of(held.pool(), 0)}, [&] { ++runs; });
  held.free(1);
  held.wait_until_asleep(1);
  EXPECT_EQ(runs, 0);
}

TEST(Affinity, APriorityCountsAmongTheTasksOfAWorker) {
  RunOrder order;
  HeldWorkers held({.workers = 1});
  const auto post = [&](int priority, int number) {
    held.pool().post({.priority = priority, .affinity = "key"}, [&, number] { order.add(number); });
  };
  post(-1, 5);
  post(0, 3);
  post(7, 1);
  held.pool().post([&] { order.add(4); });
  post(7, 2);
  held.free(0);
  held.pool().wait_idle();
  const std::vector<int> seen = order.get();
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(seen[1], 2);
  EXPECT_EQ(seen[4], 5) << "below 0: after all others";
}

TEST(Affinity, ATaskPostedFromInsideGoesToTheWorkerOfItsKey) {
  HeldWorkers held({.workers = 2}, [](ThreadPool& pool, unsigned worker) {
    if (worker != 0) return;
    pool.post({.affinity = key_of(pool, 1)}, nothing);
    pool.post({.affinity = key_of(pool, 1), .affinity_class = AffinityClass::hard}, nothing);
  });
  EXPECT_EQ(held.queued(), (std::vector<std::uint64_t>{0, 2}));
}

TEST(Affinity, ABulkGoesToOneWorker) {
  HeldWorkers held({.workers = 3});
  const std::string key = key_of(held.pool(), 2);
  const std::vector<void (*)()> tasks(5, nothing);
  const auto futures = held.pool().submit_bulk({.affinity = key}, tasks);
  EXPECT_EQ(futures.size(), 5U);
  EXPECT_EQ(held.queued(), (std::vector<std::uint64_t>{0, 0, 5}));
}

TEST(Affinity, ASessionEndsWhenNoTaskHasComeForItsTime) {
  Simulation world(7);
  ThreadPoolOptions options{.workers = 2, .simulation = &world};
  options.affinity.session_ttl = 1min;
  ThreadPool pool(options);
  pool.submit({.affinity = "key"}, nothing).get();
  EXPECT_EQ(pool.snapshot().affinity.sessions, 1U);
  world.run_for(59s);
  EXPECT_EQ(pool.snapshot().affinity.sessions, 1U);
  world.run_for(2s);
  EXPECT_EQ(pool.snapshot().affinity.sessions, 0U);
}

TEST(Affinity, SoManySessionsAreRemembered) {
  ThreadPoolOptions options{.workers = 1};
  options.affinity.max_sessions = 3;
  ThreadPool pool(options);
  for (int i = 0; i < 5; ++i) pool.post({.affinity = std::to_string(i)}, nothing);
  EXPECT_EQ(pool.snapshot().affinity.sessions, 3U);
}

TEST(Affinity, ALazyPoolHasItsWorkersWhenAKeyNeedsThem) {
  ThreadPool pool({.workers = 4, .start = Start::lazy});
  pool.post({.affinity = "key"}, nothing);
  EXPECT_EQ(pool.stats().total_workers, 4U);
}

TEST(Affinity, WhatWaitsIsRunByAStopOrSettledByADiscard) {
  std::atomic<int> runs = 0;
  {
    ThreadPool pool({.workers = 3});
    for (int i = 0; i < 300; ++i) {
      pool.post({.affinity = std::to_string(i % 7), .affinity_class = AffinityClass::hard},
                [&] { ++runs; });
    }
  }
  EXPECT_EQ(runs, 300);
  HeldWorkers held({.workers = 2});
  auto future = held.pool().submit({.affinity = key_of(held.pool(), 1)}, nothing);
  EXPECT_FALSE(held.pool().stop({.mode = Stop::discard, .timeout = 0ms}));
  held.free_all();
  EXPECT_THROW(future.get(), Stopped);
}

// --- how many of one key may wait ---

class PerKey : public ::testing::Test {
 protected:
  static ThreadPoolOptions options(WhenFull when_full) {
    ThreadPoolOptions options{.workers = 2};
    options.admission = {.max_queued_per_key = 2, .when_full = when_full};
    return options;
  }
};

TEST_F(PerKey, ATaskTooManyIsRejected) {
  HeldWorkers held(options(WhenFull::reject));
  const TaskOptions key{.affinity = "full"};
  held.pool().post(key, nothing);
  held.pool().post(key, nothing);
  try {
    held.pool().post(key, nothing);
    FAIL() << "was taken";
  } catch (const QueueFull& full) {
    EXPECT_NE(std::string(full.what()).find("max_queued_per_key"), std::string::npos);
  }
  EXPECT_FALSE(held.pool().try_post(key, nothing));
  held.pool().post({.affinity = "another"}, nothing);
  held.pool().post(nothing);
  held.free_all();
  held.pool().wait_idle();
  held.pool().post(key, nothing);
}

TEST_F(PerKey, TheOldestOfItsKeyIsDropped) {
  HeldWorkers held(options(WhenFull::drop_oldest));
  auto other = held.pool().submit({.affinity = "another"}, nothing);
  auto first = held.pool().submit({.affinity = "full"}, nothing);
  auto second = held.pool().submit({.affinity = "full"}, nothing);
  auto third = held.pool().submit({.affinity = "full"}, nothing);
  EXPECT_THROW(first.get(), Dropped);
  held.free_all();
  EXPECT_NO_THROW(second.get());
  EXPECT_NO_THROW(third.get());
  EXPECT_NO_THROW(other.get());
}

TEST_F(PerKey, TheNewestIsDropped) {
  HeldWorkers held(options(WhenFull::drop_newest));
  auto first = held.pool().submit({.affinity = "full"}, nothing);
  auto second = held.pool().submit({.affinity = "full"}, nothing);
  EXPECT_THROW(held.pool().submit({.affinity = "full"}, nothing).get(), Dropped);
}

TEST_F(PerKey, TheCallerRunsIt) {
  HeldWorkers held(options(WhenFull::caller_runs));
  held.pool().post({.affinity = "full"}, nothing);
  held.pool().post({.affinity = "full"}, nothing);
  std::thread::id ran_by{};
  held.pool().post({.affinity = "full"}, [&] { ran_by = std::this_thread::get_id(); });
  EXPECT_EQ(ran_by, std::this_thread::get_id());
}

TEST_F(PerKey, TheCallerWaitsUntilItsKeyHasRoom) {
  HeldWorkers held(options(WhenFull::block));
  held.pool().post({.affinity = "full"}, nothing);
  held.pool().post({.affinity = "full"}, nothing);
  std::atomic<bool> is_in = false;
  std::thread poster([&] {
    held.pool().post({.affinity = "full"}, nothing);
    is_in = true;
  });
  while (held.pool().stats().admission.blocked == 0) std::this_thread::yield();
  held.pool().post({.affinity = "another"}, nothing);
  EXPECT_FALSE(is_in);
  held.free_all();
  poster.join();
  EXPECT_TRUE(is_in);
}

TEST_F(PerKey, WhatTasksPostIsCountedButLetIn) {
  HeldWorkers held(options(WhenFull::reject), [](ThreadPool& pool, unsigned worker) {
    if (worker != 0) return;
    for (int i = 0; i < 5; ++i) pool.post({.affinity = "full"}, nothing);
  });
  EXPECT_THROW(held.pool().post({.affinity = "full"}, nothing), QueueFull);
  held.free_all();
  held.pool().wait_idle();
  held.pool().post({.affinity = "full"}, nothing);
}

TEST(Affinity, AFullPoolDropsTasksWithAKeyToo) {
  ThreadPoolOptions options{.workers = 1};
  options.admission = {.max_queued = 2, .when_full = WhenFull::drop_oldest};
  HeldWorkers held(options);
  auto first = held.pool().submit({.affinity = "key"}, nothing);
  auto second = held.pool().submit({.affinity = "key"}, nothing);
  auto third = held.pool().submit(nothing);
  EXPECT_THROW(first.get(), Dropped);
  held.free_all();
  EXPECT_NO_THROW(second.get());
  EXPECT_NO_THROW(third.get());
}

TEST(Affinity, BadOptionsAreNamed) {
  ThreadPoolOptions options{.workers = 1};
  options.affinity = {.virtual_nodes = 0, .session_ttl = 0s, .max_sessions = 0};
  try {
    ThreadPool pool(options);
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) {
    ASSERT_EQ(error.bad_fields().size(), 3U);
    EXPECT_EQ(error.bad_fields()[0].field, "affinity.virtual_nodes");
  }
  ThreadPool one_queue({.workers = 1, .queueing = Queueing::global});
  EXPECT_THROW(one_queue.post({.affinity = "key"}, nothing), InvalidArgument);
  EXPECT_THROW(static_cast<void>(one_queue.workers_for("key")), InvalidArgument);
  one_queue.submit(nothing).get();
}

// Two wait for room of their keys; room of the second one's is not lost on the first.
TEST(Affinity, RoomOfAKeyIsFoundByWhoWaitsForIt) {
  std::atomic<bool> is_in = false;
  ThreadPoolOptions options{.workers = 2};
  options.admission = {.max_queued_per_key = 1, .block_timeout = 20s};
  HeldWorkers held(options);
  const auto keyed = [&](unsigned worker) {
    return TaskOptions{.affinity = key_of(held.pool(), worker),
                       .affinity_class = AffinityClass::hard};
  };
  const TaskOptions first = keyed(0);
  const TaskOptions second = keyed(1);
  held.pool().post(first, nothing);
  held.pool().post(second, nothing);
  const auto wait_as = [&](std::uint64_t waiters) {
    while (held.pool().stats().admission.blocked != waiters) std::this_thread::yield();
  };
  std::thread for_first([&] { held.pool().post(first, nothing); });
  wait_as(1);
  std::thread for_second([&] {
    held.pool().post(second, nothing);
    is_in = true;
    is_in.notify_all();
  });
  wait_as(2);
  held.free(1);
  is_in.wait(false);
  held.free(0);
  for_first.join();
  for_second.join();
}

}  // namespace
}  // namespace muster
