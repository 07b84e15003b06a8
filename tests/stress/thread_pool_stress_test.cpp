// thread_pool_stress_test.cpp: tasks and joins of every kind at once, each counted.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/blocking.hpp>
#include <muster/thread_pool.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

// A tree of joins with a seed of its own: some nodes are leaves, some throw, some spin.
class Tree {
 public:
  // The number of nodes.
  static std::uint64_t count_nodes(std::uint64_t seed, int depth) {
    Random random(seed);
    for (std::uint64_t i = random.below(20); i > 0; --i) spin_pause();
    if (depth == 0 || random.below(10) == 0) return 1;
    const std::uint64_t left_seed = random();
    const std::uint64_t right_seed = random();
    const bool throws = random.below(50) == 0;
    auto [left, right] =
        join([&] { return count_nodes(left_seed, depth - 1); },
             [&] { return throws ? thrown() : count_nodes(right_seed, depth - 1); });
    return left + right + 1;
  }

  // The same, without joins.
  static std::uint64_t count_serially(std::uint64_t seed, int depth) {
    Random random(seed);
    random.below(20);
    if (depth == 0 || random.below(10) == 0) return 1;
    const std::uint64_t left_seed = random();
    const std::uint64_t right_seed = random();
    const bool throws = random.below(50) == 0;
    const std::uint64_t left = count_serially(left_seed, depth - 1);
    return left + (throws ? thrown() : count_serially(right_seed, depth - 1)) + 1;
  }

 private:
  static std::uint64_t thrown() { throw std::out_of_range("a node that throws"); }
};

// What a tree gives, or 0 if a node threw.
template <class Count>
std::uint64_t outcome_of(const Count& count) {
  try {
    return count();
  } catch (const std::out_of_range&) {
    return 0;
  }
}

template <class Round>
void run_rounds(const Round& round) {
  StressRun run;
  while (run.next_round()) round(run.random());
}

IdlePolicy any_policy(Random& random) {
  constexpr IdlePolicy kPolicies[] = {IdlePolicy::power, IdlePolicy::balanced, IdlePolicy::latency};
  return kPolicies[random.below(3)];
}

TEST(ThreadPoolStress, EveryTaskRunsOnceWhoeverPostsIt) {
  run_rounds([](Random& random) {
    ThreadPool pool(
        {.workers = static_cast<unsigned>(1 + random.below(4)), .idle = any_policy(random)});
    constexpr std::size_t kProducers = 3;
    constexpr std::size_t kEach = 2000;
    std::vector<std::atomic<int>> runs(kProducers * kEach * 3);
    {
      Threads threads(random);
      for (std::size_t producer = 0; producer < kProducers; ++producer) {
        threads.start([&, producer](Random& own) {
          for (std::size_t i = 0; i < kEach; ++i) {
            // Each task posts one more and submits one more, for which it waits now and then.
            const std::size_t first = (producer * kEach + i) * 3;
            const bool waits = own.below(4) == 0;
            pool.post([&, first, waits] {
              ++runs[first];
              pool.post([&, first] { ++runs[first + 1]; });
              Future<void> last = pool.submit([&, first] { ++runs[first + 2]; });
              if (waits) last.get();
            });
            if (own.below(500) == 0) pool.wait_idle();
          }
        });
      }
    }
    pool.wait_idle();
    for (const std::atomic<int>& run : runs) ASSERT_EQ(run.load(), 1);
    EXPECT_EQ(pool.stats().submitted, runs.size());
    EXPECT_EQ(pool.stats().completed, runs.size());
  });
}

TEST(ThreadPoolStress, JoinsGiveWhatPlainCallsGive) {
  run_rounds([](Random& random) {
    ThreadPool pool(
        {.workers = static_cast<unsigned>(1 + random.below(4)), .idle = any_policy(random)});
    Threads threads(random);
    for (int i = 0; i < 2; ++i) {
      threads.start([&](Random& own) {
        for (int tree = 0; tree < 20; ++tree) {
          const std::uint64_t seed = own();
          const auto depth = static_cast<int>(1 + own.below(9));
          const std::uint64_t expected =
              outcome_of([&] { return Tree::count_serially(seed, depth); });
          const std::uint64_t found =
              outcome_of([&] { return pool.run([&] { return Tree::count_nodes(seed, depth); }); });
          ASSERT_EQ(found, expected) << "seed " << seed << ", depth " << depth;
        }
      });
    }
  });
}

// As many tasks as workers, each of which waits for all others to have begun: if one were left
// waiting while a worker sleeps, none would end.
TEST(ThreadPoolStress, NoWorkerSleepsWhileATaskWaits) {
  constexpr unsigned kWorkers = 3;
  StressRun run;
  Random& random = run.random();
  ThreadPool pool({.workers = kWorkers, .idle = any_policy(random)});
  while (run.next_round()) {
    pool.wait_idle();
    if (random.below(4) == 0) {
      while (pool.stats().sleeping_workers < kWorkers) std::this_thread::yield();
    }
    pool.post([] {});
    for (std::uint64_t i = random.below(4000); i > 0; --i) spin_pause();
    std::atomic<unsigned> begun = 0;
    std::atomic<bool> in_vain = false;
    for (unsigned i = 0; i < kWorkers; ++i) {
      pool.post([&] {
        ++begun;
        for (Patience patience; begun < kWorkers && !in_vain;) {
          if (!patience.pause()) in_vain = true;
        }
      });
    }
    pool.wait_idle();
    ASSERT_FALSE(in_vain) << begun << " of " << kWorkers << " tasks had begun";
  }
}

// The same while up to four others block: as many tasks as there are workers run nevertheless.
TEST(ThreadPoolStress, BlockedWorkersAreStoodInFor) {
  constexpr unsigned kWorkers = 2;
  StressRun run;
  Random& random = run.random();
  ThreadPool pool({.workers = kWorkers,
                   .queueing = random.below(4) == 0 ? Queueing::global : Queueing::stealing,
                   .idle = any_policy(random),
                   .max_spare_workers = 8});
  while (run.next_round()) {
    const auto blockers = static_cast<unsigned>(random.below(5));
    std::atomic<bool> gate = false;
    std::atomic<unsigned> begun = 0;
    std::atomic<bool> in_vain = false;
    for (unsigned i = 0; i < blockers; ++i) {
      pool.post([&] { blocking([&] { gate.wait(false); }); });
    }
    for (unsigned i = 0; i < kWorkers; ++i) {
      pool.post([&] {
        ++begun;
        for (Patience patience; begun < kWorkers && !in_vain;) {
          if (!patience.pause()) in_vain = true;
        }
        if (begun == kWorkers) {
          gate = true;
          gate.notify_all();
        }
      });
    }
    pool.wait_idle();
    ASSERT_FALSE(in_vain) << begun << " of " << kWorkers << " tasks had begun beside " << blockers;
    ASSERT_EQ(pool.stats().blocked_workers, 0U);
  }
  ASSERT_LE(pool.stats().spare_workers, 5U);
}

TEST(ThreadPoolStress, LoopsMissNoIndex) {
  run_rounds([](Random& random) {
    ThreadPool pool(
        {.workers = static_cast<unsigned>(1 + random.below(4)), .idle = any_policy(random)});
    std::vector<std::uint32_t> marks(random.below(20'000));
    pool.parallel_for(0, marks.size(), [&](std::size_t i) { ++marks[i]; });
    for (const std::uint32_t mark : marks) ASSERT_EQ(mark, 1U);
    const auto sum = pool.parallel_reduce(
        0, marks.size(), std::uint64_t{0}, [&](std::size_t i) { return std::uint64_t{marks[i]}; },
        std::plus<>());
    ASSERT_EQ(sum, marks.size());
  });
}

TEST(ThreadPoolStress, PoolsStartAndStopUnderLoad) {
  run_rounds([](Random& random) {
    std::atomic<std::uint64_t> accepted = 0;
    std::atomic<std::uint64_t> ran = 0;
    {
      ThreadPool pool({.workers = static_cast<unsigned>(1 + random.below(3)),
                       .queueing = random.below(4) == 0 ? Queueing::global : Queueing::stealing,
                       .idle = any_policy(random),
                       .start = random.below(2) == 0 ? Start::lazy : Start::eager});
      const std::uint64_t posts = random.below(200);
      Threads threads(random);
      for (int i = 0; i < 2; ++i) {
        threads.start([&](Random& /*own*/) {
          try {
            for (std::uint64_t post = 0; post < posts; ++post) {
              pool.post([&] { ++ran; });
              ++accepted;
            }
          } catch (const Stopped&) {
          }
        });
      }
      if (random.below(2) == 0) pool.stop();
    }
    ASSERT_EQ(ran.load(), accepted.load());
  });
}

TEST(ThreadPoolStress, TenThousandPoolsComeAndGo) {
  std::uint64_t ran = 0;
  for (int i = 0; i < 10'000; ++i) {
    ThreadPool pool({.workers = 1 + static_cast<unsigned>(i) % 2,
                     .start = i % 3 == 0 ? Start::lazy : Start::eager});
    if (i % 5 != 0) pool.post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 8000U);
}

TEST(ThreadPoolStress, AThousandThreadsSubmit) {
  constexpr std::uint64_t kThreads = 1000;
  constexpr std::uint64_t kTasks = 50;
  ThreadPool pool({.workers = 2});
  std::atomic<std::uint64_t> sum = 0;
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      std::uint64_t own = 0;
      for (std::uint64_t i = 0; i < kTasks; ++i) own += pool.submit([i] { return i; }).get();
      sum += own;
    });
  }
  threads.clear();
  EXPECT_EQ(sum, kThreads * kTasks * (kTasks - 1) / 2);
  pool.wait_idle();  // the last one may be settled and not yet counted
  EXPECT_EQ(pool.stats().completed, kThreads * kTasks);
}

TEST(ThreadPoolStress, AThousandWorkersStartAndStop) {
  ThreadPool pool({.workers = 1024});
  std::atomic<int> runs = 0;
  for (int i = 0; i < 1000; ++i) pool.post([&] { ++runs; });
  pool.stop();
  EXPECT_EQ(runs.load(), 1000);
}

}  // namespace
}  // namespace muster::testing
