// coming_and_going_test.cpp: what strategies and keys make of workers that come and go.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/strategy.hpp>
#include <muster/thread_pool.hpp>

#include "support/held_workers.hpp"
#include "support/run_order.hpp"

namespace muster {
namespace {

using testing::HeldWorkers;
using testing::RunOrder;

std::string key_named(int number) {
  return "key " + std::to_string(number);
}

// A key that belongs to this worker.
std::string key_of(ThreadPool& pool, unsigned worker) {
  int i = 0;
  while (pool.workers_for(key_named(i)).at(0) != worker) ++i;
  return key_named(i);
}

class KeysWithAndWithoutStealing : public ::testing::TestWithParam<bool> {};

TEST_P(KeysWithAndWithoutStealing, HardTasksOfOneThatLeavesGoWhereTheirKeyBelongsThen) {
  RunOrder workers;
  std::atomic<int> runs = 0;
  ThreadPoolOptions options{.workers = 3};
  options.stealing.enabled = GetParam();
  HeldWorkers held(options);
  const std::string key = key_of(held.pool(), 2);
  const std::vector<unsigned> order = held.pool().workers_for(key, 3);
  for (int i = 0; i < 3; ++i) {
    held.pool().post({.affinity = key, .affinity_class = AffinityClass::hard}, [&] {
      workers.add(static_cast<int>(HeldWorkers::here()));
      ++runs;
    });
  }
  held.pool().resize(2);  // the third is in the middle of a task
  held.free(0);
  held.free(1);
  while (runs != 3) std::this_thread::yield();
  const int heir = static_cast<int>(order.at(1));
  EXPECT_EQ(workers.get(), (std::vector<int>{heir, heir, heir}));
  EXPECT_EQ(held.pool().workers_for(key), std::vector<unsigned>{order.at(1)});
}

TEST_P(KeysWithAndWithoutStealing, TheHeirOfAHardTaskIsWoken) {
  std::atomic<int> runs = 0;
  ThreadPoolOptions options{.workers = 3};
  options.stealing.enabled = GetParam();
  HeldWorkers held(options);
  int i = 0;
  while (held.pool().workers_for(key_named(i), 2) != std::vector<unsigned>{2, 1}) ++i;
  held.pool().post({.affinity = key_named(i), .affinity_class = AffinityClass::hard},
                   [&] { ++runs; });
  held.free(0);
  held.free(1);
  held.wait_until_asleep(2);
  held.pool().resize(2);
  while (runs != 1) std::this_thread::yield();
}

INSTANTIATE_TEST_SUITE_P(Both, KeysWithAndWithoutStealing, ::testing::Bool());

TEST(ComingAndGoing, OnlyTheKeysOfOneThatLeavesMove) {
  ThreadPool pool({.workers = 4});
  std::vector<std::vector<unsigned>> before;
  for (int i = 0; i < 200; ++i) before.push_back(pool.workers_for(key_named(i), 2));
  pool.resize(3);
  int moved = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<unsigned>& was = before[static_cast<std::size_t>(i)];
    const bool moves = was[0] == 3;
    EXPECT_EQ(pool.workers_for(key_named(i)).at(0), was[moves ? 1 : 0]) << i;
    moved += moves ? 1 : 0;
  }
  EXPECT_GT(moved, 10);
  EXPECT_EQ(pool.snapshot().affinity.moves, static_cast<std::uint64_t>(moved));
}

TEST(ComingAndGoing, OneThatComesTakesItsShareOfNewKeys) {
  ThreadPool grown({.workers = 3});
  ThreadPool other({.workers = 4});
  const unsigned old_home = grown.workers_for("old").at(0);
  grown.resize(4);
  EXPECT_EQ(grown.workers_for("old").at(0), old_home) << "its session goes on";
  std::set<unsigned> homes;
  for (int i = 0; i < 100; ++i) {
    homes.insert(grown.workers_for(key_named(i)).at(0));
    EXPECT_EQ(grown.workers_for(key_named(i)), other.workers_for(key_named(i)));
  }
  EXPECT_EQ(homes.size(), 4U);
}

TEST(ComingAndGoing, WhatIsHandedOverStillCountsForItsKey) {
  ThreadPoolOptions options{.workers = 2};
  options.admission = {.max_queued_per_key = 2};
  HeldWorkers held(options);
  const TaskOptions keyed{.affinity = key_of(held.pool(), 1)};
  held.pool().post(keyed, [] {});
  held.pool().post(keyed, [] {});
  held.pool().resize(1);
  EXPECT_FALSE(held.pool().try_post(keyed, [] {}));
  held.free_all();
  held.pool().wait_idle();
  EXPECT_TRUE(held.pool().try_post(keyed, [] {}));
}

TEST(ComingAndGoing, KeysAreDividedAmongAllThatALazyPoolMayStart) {
  ThreadPool lazy({.workers = 3, .start = Start::lazy});
  ThreadPool eager({.workers = 3});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(lazy.workers_for(key_named(i), 3), eager.workers_for(key_named(i), 3));
  }
  EXPECT_EQ(lazy.stats().total_workers, 3U);
}

// A task with a key from a worker that warms up, before there is anybody to send it to.
TEST(ComingAndGoing, AKeyedTaskFromAWarmUpIsRun) {
  std::atomic<int> runs = 0;
  ThreadPool* own = nullptr;
  std::mutex made;
  ThreadPoolOptions options{.workers = 2, .start = Start::lazy};
  options.warm_up.prepare = [&](unsigned) {
    const std::lock_guard lock(made);
    own->post({.affinity = "key", .affinity_class = AffinityClass::hard}, [&] { ++runs; });
  };
  std::optional<ThreadPool> pool;
  {
    const std::lock_guard lock(made);
    pool.emplace(options);
    own = &*pool;
  }
  pool->post([] {});
  pool->wait_idle();
  EXPECT_GE(runs, 1);
}

// Writes down whom it was told of.
class Doorkeeper : public Strategy {
 public:
  std::string_view name() const override { return "doorkeeper"; }
  std::optional<Selection> select(std::span<const WorkerInfo> workers, const TaskInfo&) override {
    add("?" + std::to_string(workers.size()));
    return Selection{.worker = workers.size() - 1};
  }
  void on_worker_added(const WorkerInfo& worker) override { add("+" + std::to_string(worker.id)); }
  void on_worker_removed(std::size_t worker) override { add("-" + std::to_string(worker)); }
  void reset() override { add("reset"); }

  std::string seen() {
    const std::lock_guard lock(mutex_);
    return std::exchange(seen_, {});
  }

 private:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    seen_ += (seen_.empty() ? "" : " ") + what;
  }
  std::mutex mutex_;  // the test looks while workers come
  std::string seen_;
};

TEST(ComingAndGoing, AStrategyIsToldOfEveryWorker) {
  const auto doorkeeper = std::make_shared<Doorkeeper>();
  ThreadPool pool({.workers = 2});
  pool.set_strategy(doorkeeper);
  EXPECT_EQ(doorkeeper->seen(), "reset +0 +1");
  pool.resize(4);
  EXPECT_EQ(doorkeeper->seen(), "+2 +3");
  pool.post([] {});
  EXPECT_EQ(doorkeeper->seen(), "?4");
  pool.resize(1);
  EXPECT_EQ(doorkeeper->seen(), "-3 -2 -1");
  pool.post([] {});
  EXPECT_EQ(doorkeeper->seen(), "?1");
  pool.set_strategy(BuiltIn::least_busy);
  pool.resize(2);
  EXPECT_EQ(doorkeeper->seen(), "") << "it is not the pool's any more";
}

// It had been dismissed while it was at work.
TEST(ComingAndGoing, AStrategyDoesNotHearOfTasksOfOneThatHasLeft) {
  class Listener : public Strategy {
   public:
    std::string_view name() const override { return "listener"; }
    std::optional<Selection> select(std::span<const WorkerInfo>, const TaskInfo&) override {
      return std::nullopt;
    }
    void on_worker_added(const WorkerInfo&) override { ++workers; }
    void on_worker_removed(std::size_t) override { --workers; }
    void on_task_complete(std::size_t worker, Duration) override {
      unknown += worker < workers ? 0 : 1;
      ++ended;
    }
    std::size_t workers = 0;
    std::atomic<int> unknown = 0;
    std::atomic<int> ended = 0;
  };
  const auto listener = std::make_shared<Listener>();
  ThreadPoolOptions options{.workers = 2};
  options.timing = Timing::full;
  HeldWorkers held(options);
  held.pool().set_strategy(listener);
  held.pool().resize(1);
  held.free_all();
  held.pool().wait_idle();
  EXPECT_EQ(listener->unknown, 0);
  EXPECT_LE(listener->ended, 1) << "the first one's";
}

// The first of a lazy pool is slow to warm up, and one who is dismissed meanwhile has tasks.
TEST(ComingAndGoing, NobodyLeavesBeforeSomebodyServes) {
  std::atomic<bool> is_free = false;
  std::atomic<int> begun = 0;
  std::atomic<int> runs = 0;
  std::atomic<ThreadPool*> own = nullptr;
  ThreadPoolOptions options{.workers = 2, .start = Start::lazy};
  options.warm_up.prepare = [&](unsigned worker) {
    ++begun;
    if (worker == 0) return is_free.wait(false);
    own.wait(nullptr);
    for (int i = 0; i < 3; ++i) own.load()->post([&] { ++runs; });
    const TaskOptions keyed{.affinity = "key", .affinity_class = AffinityClass::hard};
    for (int i = 0; i < 3; ++i) own.load()->post(keyed, [&] { ++runs; });
  };
  ThreadPool pool(options);
  own = &pool;
  own.notify_all();
  std::thread poster([&] { pool.post({.affinity = "key"}, [&] { ++runs; }); });
  while (begun != 2) std::this_thread::yield();
  pool.resize(1);
  while (runs != 6) std::this_thread::yield();
  is_free = true;
  is_free.notify_all();
  poster.join();
  pool.stop();
  EXPECT_EQ(runs, 7);
}

// Turns are planned far ahead.
TEST(ComingAndGoing, OneThatComesHasItsTurnsAtOnce) {
  ThreadPoolOptions options{
      .workers = 1, .strategy = BuiltIn::weighted_round_robin, .weights = {1, 3}};
  options.stealing.enabled = false;
  ThreadPool pool(options);
  for (int i = 0; i < 100; ++i) pool.post([] {});
  pool.wait_idle();
  pool.resize(2);
  pool.reset_stats();
  for (int i = 0; i < 16; ++i) pool.post([] {});
  pool.wait_idle();
  EXPECT_EQ(pool.stats().workers.at(1).completed, 12U);
}

}  // namespace
}  // namespace muster
