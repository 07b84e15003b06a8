// admission_stress_test.cpp: pools with little room under many producers: what was run, refused and
// dropped adds up.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr WhenFull kPolicies[] = {WhenFull::block, WhenFull::reject, WhenFull::drop_oldest,
                                  WhenFull::drop_newest, WhenFull::caller_runs};

// How the futures of one producer ended.
struct Tally {
  std::uint64_t ran = 0;
  std::uint64_t full = 0;
  std::uint64_t dropped = 0;
  std::uint64_t stopped = 0;

  void add(Future<void>& future) {
    try {
      future.get();
      ++ran;
    } catch (const QueueFull&) {
      ++full;
    } catch (const Dropped&) {
      ++dropped;
    } catch (const Stopped&) {
      ++stopped;
    }
  }
  [[nodiscard]] std::uint64_t all() const { return ran + full + dropped + stopped; }
};

ThreadPoolOptions any_options(Random& random) {
  ThreadPoolOptions options{.workers = static_cast<unsigned>(1 + random.below(3))};
  if (random.below(4) == 0) options.queueing = Queueing::global;
  options.admission = {.max_queued = 1 + random.below(random.below(3) == 0 ? 4000 : 20),
                       .when_full = kPolicies[random.below(std::size(kPolicies))]};
  if (options.admission.when_full == WhenFull::block && random.below(2) == 0) {
    options.admission.block_timeout = std::chrono::microseconds(1 + random.below(500));
  }
  return options;
}

Tally produce(ThreadPool& pool, std::uint64_t tasks, std::atomic<std::uint64_t>& runs) {
  std::vector<Future<void>> futures;
  futures.reserve(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i) {
    futures.push_back(i % 7 == 0 ? pool.submit({.priority = 3}, [&] { ++runs; })
                                 : pool.submit([&] { ++runs; }));
  }
  Tally tally;
  for (Future<void>& future : futures) tally.add(future);
  return tally;
}

TEST(AdmissionStress, WhatWasRunRefusedAndDroppedAddsUp) {
  StressRun run;
  while (run.next_round()) {
    constexpr std::uint64_t kProducers = 4;
    constexpr std::uint64_t kEach = 400;
    const bool stops_early = run.random().below(4) == 0;
    ThreadPoolOptions options = any_options(run.random());
    std::atomic<std::uint64_t> told = 0;
    options.on_drop = [&](const DroppedTask&) { ++told; };
    ThreadPool pool(options);
    std::atomic<std::uint64_t> runs = 0;
    std::vector<Tally> tallies(kProducers);
    {
      std::vector<std::jthread> producers;
      for (Tally& tally : tallies) {
        producers.emplace_back([&] { tally = produce(pool, kEach, runs); });
      }
      if (stops_early) pool.stop();
    }
    pool.stop();
    Tally sum;
    for (const Tally& tally : tallies) {
      sum.ran += tally.ran;
      sum.full += tally.full;
      sum.dropped += tally.dropped;
      sum.stopped += tally.stopped;
    }
    const PoolSnapshot::BackPressure counts = pool.stats().admission;
    ASSERT_EQ(sum.all(), kProducers * kEach);
    ASSERT_EQ(sum.ran, runs);
    ASSERT_EQ(sum.full, counts.rejected);
    ASSERT_EQ(sum.dropped, counts.dropped_oldest + counts.dropped_newest);
    ASSERT_EQ(sum.dropped, told);
    ASSERT_TRUE(stops_early || sum.stopped == 0);
  }
}

}  // namespace
}  // namespace muster::testing
