// resize_stress_test.cpp: pools that are resized all the time while everything else goes on: every
// task runs once, none waits for somebody who has left, and pools stop cleanly.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/strand.hpp>
#include <muster/task_group.hpp>
#include <muster/thread_pool.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr unsigned kMost = 6;

ThreadPoolOptions any_options(Random& random) {
  ThreadPoolOptions options{.workers = static_cast<unsigned>(1 + random.below(kMost)),
                            .max_workers = kMost};
  if (random.below(6) == 0) options.queueing = Queueing::global;
  if (random.below(2) == 0) options.stealing.enabled = false;
  if (random.below(4) == 0) options.start = Start::lazy;
  if (random.below(4) == 0) options.warm_up.prepare = [](unsigned) { std::this_thread::yield(); };
  if (random.below(4) == 0) options.warm_up.at_least = std::chrono::microseconds(50);
  if (random.below(4) == 0) options.max_spare_workers = 0;
  if (random.below(4) == 0) options.admission = {.max_queued = 100};
  // Shaken as its threads are that the test starts.
  const auto one_in = static_cast<std::uint32_t>(random.below(2) == 0 ? 0 : 20);
  options.on_worker_start = [one_in](unsigned worker) {
    this_threads_shaker.start(one_in, worker + 1);
  };
  return options;
}

// Of a key or of none. With one queue for all there are no keys.
TaskOptions any_task(Random& random, const ThreadPoolOptions& options) {
  if (options.queueing == Queueing::global || random.below(3) != 0) return {};
  constexpr std::array kClasses{AffinityClass::none, AffinityClass::soft, AffinityClass::hard};
  return {.priority = random.below(4) == 0 ? 1 : 0,
          .affinity = "key " + std::to_string(random.below(20)),
          .affinity_class = kClasses[random.below(kClasses.size())]};
}

// Waits, though not for ever: what loses a task must fail and not hang.
bool wait_for(const Ledger& ledger) {
  for (Patience patience; !ledger.all_out();) {
    if (!patience.pause()) return false;
  }
  return true;
}

// Nothing but posts and changes, also of the strategy, and after a while no more changes: whatever
// waits then with somebody who has left would wait for ever.
TEST(ResizeStress, EveryTaskRunsOnceWhileWorkersComeAndGo) {
  StressRun run;
  while (run.next_round()) {
    constexpr Ledger::Size kSize{.producers = 3, .each = 300};
    Ledger ledger(kSize);
    std::vector<Parcel> parcels(std::size_t{kSize.producers} * kSize.each);
    const ThreadPoolOptions options = any_options(run.random());
    ThreadPool pool(options);
    std::atomic<std::uint32_t> posting = kSize.producers;
    {
      Threads threads(run.random());
      for (std::uint32_t producer = 0; producer < kSize.producers; ++producer) {
        threads.start([&, producer](Random& random) {
          for (std::uint32_t i = 0; i < kSize.each; ++i) {
            Parcel* const parcel = &parcels[std::size_t{producer} * kSize.each + i];
            parcel->pack(producer, i);
            const bool from_inside = random.below(4) == 0;
            pool.post(any_task(random, options), [&ledger, &pool, parcel, from_inside] {
              if (!from_inside) return ledger.record(*parcel);
              pool.post([&ledger, parcel] { ledger.record(*parcel); });
            });
            if (random.below(32) == 0) std::this_thread::yield();
          }
          --posting;
        });
      }
      threads.start([&](Random& random) {
        while (posting != 0) {
          pool.resize(static_cast<unsigned>(1 + random.below(kMost)));
          if (options.queueing == Queueing::global || random.below(4) != 0) continue;
          pool.set_strategy(kBuiltIns[random.below(kBuiltIns.size())]);
        }
      });
    }
    const bool all_out = wait_for(ledger);
    ASSERT_TRUE(all_out) << pool.stats().queued << " tasks wait";
    pool.wait_idle();
    ASSERT_EQ(pool.stats().submitted, pool.stats().completed);
    pool.stop();
    ledger.expect_every_parcel_once_and_in_order();
  }
}

// One of two workers is dismissed in the middle of a task that goes on until all others are done;
// without stealing, nobody but who resizes and who posts can see to what waits with it.
TEST(ResizeStress, WhatComesLateDoesNotWaitForOneWhoLeaves) {
  StressRun run;
  constinit static thread_local unsigned worker_here = 0;
  ThreadPool pool({.workers = 2,
                   .max_workers = 2,
                   .stealing = {.enabled = false},
                   .on_worker_start = [](unsigned worker) { worker_here = worker; }});
  while (run.next_round()) {
    pool.resize(2);
    std::atomic<bool> is_held = false;
    std::atomic<bool> is_free = false;
    while (!is_held) {
      pool.post([&] {
        if (worker_here == 0 || is_held.exchange(true)) return;
        is_free.wait(false);
      });
    }
    constexpr int kTasks = 30;
    std::atomic<int> ran = 0;
    {
      Threads threads(run.random());
      threads.start([&](Random&) {
        for (int i = 0; i < kTasks; ++i) pool.post([&] { ++ran; });
      });
      threads.start([&](Random& random) {
        for (std::uint64_t i = random.below(2000); i > 0; --i) spin_pause();
        pool.resize(1);
      });
    }
    Patience patience;
    while (ran != kTasks && patience.pause()) {
    }
    const bool all_ran = ran == kTasks;
    is_free = true;
    is_free.notify_all();
    pool.wait_idle();
    ASSERT_TRUE(all_ran) << "a task waits behind one that does not end";
  }
}

std::uint64_t sum_to(std::uint64_t first, std::uint64_t last) {
  if (last - first < 8) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = first; i < last; ++i) sum += i;
    return sum;
  }
  const std::uint64_t middle = first + (last - first) / 2;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  join([&] { left = sum_to(first, middle); }, [&] { right = sum_to(middle, last); });
  return left + right;
}

// One thing that a user does with a pool; false: it came out wrong.
bool do_something(ThreadPool& pool, Random& random) {
  switch (random.below(6)) {
    case 0:
      return pool.run([] { return sum_to(0, 200); }) == 19'900;
    case 1: {
      std::vector<int> seen(300, 0);
      pool.parallel_for(0, seen.size(), [&](std::size_t i) { ++seen[i]; });
      return std::accumulate(seen.begin(), seen.end(), 0) == 300;
    }
    case 2: {
      std::atomic<int> ran = 0;
      TaskGroup group(pool);
      for (int i = 0; i < 20; ++i) group.run([&] { ++ran; });
      group.wait();
      return ran == 20;
    }
    case 3: {
      Future<int> future = pool.submit([&pool] {
        return pool.submit([] { return 3; }).get() + 1;  // waits inside
      });
      return future.get() == 4;
    }
    case 4:
      return pool.submit({.priority = 3}, [] { return 5; }).get() == 5;
    default:
      pool.run([&pool, workers = static_cast<unsigned>(1 + random.below(kMost))] {
        pool.resize(workers);
      });
      return true;
  }
}

TEST(ResizeStress, EverythingElseGoesOnMeanwhile) {
  StressRun run;
  while (run.next_round()) {
    ThreadPoolOptions options = any_options(run.random());
    options.max_spare_workers = 16;
    ThreadPool pool(options);
    std::atomic<int> busy = 3;
    std::atomic<int> wrong = 0;
    Threads threads(run.random());
    for (int i = 0; i < 3; ++i) {
      threads.start([&](Random& random) {
        for (int j = 0; j < 30; ++j) wrong += do_something(pool, random) ? 0 : 1;
        --busy;
      });
    }
    threads.start([&](Random& random) {
      while (busy != 0) {
        pool.resize(static_cast<unsigned>(1 + random.below(kMost)));
        (void)pool.snapshot();
      }
    });
    threads.join();
    pool.wait_idle();
    ASSERT_EQ(wrong, 0);
    ASSERT_EQ(pool.stats().submitted, pool.stats().completed);
  }
}

// Every future ends, and what was accepted is run.
TEST(ResizeStress, AStopInTheMiddleLosesNothing) {
  StressRun run;
  while (run.next_round()) {
    std::atomic<std::uint64_t> ran = 0;
    std::atomic<std::uint64_t> accepted = 0;
    std::atomic<bool> has_stopped = false;
    const ThreadPoolOptions options = any_options(run.random());
    ThreadPool pool(options);
    Threads threads(run.random());
    for (int i = 0; i < 2; ++i) {
      threads.start([&](Random& random) {
        try {
          for (int j = 0; j < 1000 || !has_stopped; ++j) {
            pool.post(any_task(random, options), [&] { ++ran; });
            ++accepted;
          }
        } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): is the end
        }
      });
    }
    threads.start([&](Random& random) {
      try {
        for (;;) pool.resize(static_cast<unsigned>(1 + random.below(kMost)));
      } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): is the end
      }
    });
    threads.start([&](Random& random) {
      for (std::uint64_t i = random.below(50); i > 0; --i) std::this_thread::yield();
      pool.stop();
      has_stopped = true;
    });
    threads.join();
    pool.stop();
    ASSERT_EQ(ran, accepted);
  }
}

// By the pool itself, on its timer thread, while it is resized by others too.
TEST(ResizeStress, PoolsThatScaleThemselves) {
  StressRun run;
  while (run.next_round()) {
    ThreadPoolOptions options = any_options(run.random());
    ScalingOptions scaling{.policy = ScalingPolicy::custom,
                           .max_workers = kMost,
                           .check_every = std::chrono::microseconds(20),
                           .scale_up_cooldown = {},
                           .scale_down_cooldown = {}};
    Random wishes = run.random().split();
    scaling.custom = [&](const ScalingInput& input) {
      EXPECT_LE(input.workers, kMost);
      return static_cast<int>(wishes.below(9)) - 4;
    };
    options.scaling = scaling;
    std::atomic<std::uint64_t> changes = 0;
    options.on_scaling = [&](const ScalingChange&) { ++changes; };
    ThreadPool pool(options);
    std::atomic<int> ran = 0;
    Threads threads(run.random());
    for (int i = 0; i < 2; ++i) {
      threads.start([&](Random& random) {
        for (int j = 0; j < 500; ++j) {
          pool.post([&] { ++ran; });
          if (random.below(64) == 0) pool.resize(static_cast<unsigned>(1 + random.below(kMost)));
        }
      });
    }
    threads.join();
    pool.wait_idle();
    ASSERT_EQ(ran, 1000);
    pool.stop();
    const PoolSnapshot::Scaling seen = pool.snapshot().scaling;
    ASSERT_EQ(seen.ups + seen.downs, changes);
  }
}

}  // namespace
}  // namespace muster::testing
