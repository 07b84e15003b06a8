// affinity_stress_test.cpp: tasks with keys from several threads: each runs once, and those of a
// hard key one after the other, in the order in which a thread posted them.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

// What the tasks of one key and one producer see; written by one task at a time, or TSan tells.
struct Line {
  std::uint64_t last = 0;
  bool in_order = true;
};

TEST(AffinityStress, HardKeysRunInOrderAndAllTasksOnce) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    constexpr std::uint64_t kEach = 300;
    constexpr std::uint64_t kKeys = 5;
    const std::uint64_t producers = 1 + random.below(3);
    ThreadPoolOptions options{.workers = static_cast<unsigned>(1 + random.below(4))};
    options.stealing.enabled = random.below(3) != 0;
    if (random.below(2) == 0) options.start = Start::lazy;
    if (random.below(3) == 0) options.admission.max_queued_per_key = 1 + random.below(10);
    ThreadPool pool(options);
    std::atomic<std::uint64_t> runs = 0;
    std::vector<std::vector<Line>> lines(producers, std::vector<Line>(kKeys));
    std::vector<std::thread> threads;
    for (std::uint64_t p = 0; p < producers; ++p) {
      threads.emplace_back([&, p, seed = random()] {
        Random own(seed);
        for (std::uint64_t i = 1; i <= kEach; ++i) {
          const std::uint64_t key = own.below(kKeys);
          const std::string name = "key " + std::to_string(key);
          if (own.below(3) == 0) {
            pool.post({.affinity = name, .affinity_class = AffinityClass::soft}, [&] { ++runs; });
          } else if (own.below(4) == 0) {
            pool.post([&] { ++runs; });
          } else {
            pool.post({.affinity = name, .affinity_class = AffinityClass::hard}, [&, p, key, i] {
              Line& line = lines[p][key];
              line.in_order = line.in_order && line.last < i;
              line.last = i;
              ++runs;
            });
          }
        }
      });
    }
    for (std::thread& each : threads) each.join();
    pool.wait_idle();
    ASSERT_EQ(runs, producers * kEach);
    for (const std::vector<Line>& each : lines) {
      for (const Line& line : each) ASSERT_TRUE(line.in_order);
    }
    const PoolSnapshot::Affinity affinity = pool.snapshot().affinity;
    ASSERT_LE(affinity.hits + affinity.misses, producers * kEach);
  }
}

}  // namespace
}  // namespace muster::testing
