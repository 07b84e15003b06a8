// coroutine_stress_test.cpp: coroutines that hop between two pools, each step of each counted.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/task.hpp>
#include <muster/thread_pool.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

// What the coroutines of a round have in common.
struct Ledger {
  std::atomic<std::uint64_t> steps = 0;
  std::atomic<std::int64_t> frames = 0;  // begun and not destroyed
  std::atomic<std::uint64_t> ended = 0;
  std::atomic<std::uint64_t> stopped = 0;
  std::atomic<std::uint64_t> twice = 0;  // coroutines found running on two threads
};

// Stands in a frame.
struct Counted {
  explicit Counted(Ledger& ledger) : owner(ledger) { ++owner.frames; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --owner.frames; }
  Ledger& owner;
};

struct Pools {
  ThreadPool& one;
  ThreadPool& two;
  ThreadPool& either(Random& random) { return random.below(2) == 0 ? one : two; }
};

class Walk {
 public:
  // A walk of so many steps. Each goes to a pool in one way or another, or down into a nested walk.
  static Task<std::uint64_t> along(Pools pools, Ledger& ledger, std::uint64_t seed, int steps,
                                   int depth) {
    const Counted counted(ledger);
    Random random(seed);
    std::atomic<bool> running = true;
    std::uint64_t taken = 0;
    for (int i = 0; i < steps; ++i) {
      ThreadPool& pool = pools.either(random);
      running = false;
      switch (random.below(depth > 0 ? 5 : 3)) {
        case 0:
          co_await pool.schedule();
          if (!pool.is_inside()) throw std::logic_error("not on the pool");
          break;
        case 1:
          taken += co_await pool.submit([] { return std::uint64_t{1}; }) - 1;
          break;
        case 2: {
          Future<void> early = pool.submit([] {});
          for (std::uint64_t spin = random.below(200); spin > 0; --spin) spin_pause();
          co_await early;
          break;
        }
        case 3:
          taken += co_await along(pools, ledger, random(), 3, depth - 1);
          break;
        default:
          co_await caught(pools, ledger, random(), depth - 1);
      }
      if (running.exchange(true)) ++ledger.twice;
      ++ledger.steps;
      ++taken;
    }
    co_return taken;
  }

 private:
  // A nested walk that throws in the end, on whatever thread it got to.
  static Task<> caught(Pools pools, Ledger& ledger, std::uint64_t seed, int depth) {
    const Counted counted(ledger);
    try {
      co_await thrown(pools, ledger, seed, depth);
    } catch (const std::out_of_range&) {
    }
  }
  static Task<> thrown(Pools pools, Ledger& ledger, std::uint64_t seed, int depth) {
    const Counted counted(ledger);
    ledger.steps -= co_await along(pools, ledger, seed, 2, depth);  // nobody hears of these
    throw std::out_of_range("the end of a walk");
  }
};

ThreadPoolOptions any_options(Random& random) {
  constexpr std::uint32_t kOneIn[] = {0, 3, 10, 100};
  const std::uint32_t one_in = kOneIn[random.below(4)];
  const auto seed = static_cast<std::uint32_t>(random());
  return {.workers = static_cast<unsigned>(1 + random.below(3)),
          .queueing = random.below(4) == 0 ? Queueing::global : Queueing::stealing,
          .idle = random.below(2) == 0 ? IdlePolicy::balanced : IdlePolicy::power,
          .on_worker_start = [=](unsigned worker) {
            this_threads_shaker.start(one_in, seed + worker);
          }};
}

TEST(CoroutineStress, EveryStepIsTakenOnceWhereverItLeads) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    Ledger ledger;
    std::uint64_t taken = 0;
    {
      ThreadPool one(any_options(random));
      ThreadPool two(any_options(random));
      const Pools pools{one, two};
      std::vector<Future<std::uint64_t>> walks;
      for (int i = 0; i < 50; ++i) {
        walks.push_back(spawn(i % 2 == 0 ? one : two, Walk::along(pools, ledger, random(), 20, 2)));
      }
      taken += sync_wait(Walk::along(pools, ledger, random(), 20, 2));
      for (Future<std::uint64_t>& walk : walks) taken += walk.get();
      // Frames go before their future is settled.
      ASSERT_EQ(ledger.frames.load(), 0);
    }
    ASSERT_EQ(taken, ledger.steps.load());
    ASSERT_EQ(ledger.twice.load(), 0U);
  }
}

// One pool is stopped, in one way or the other, while coroutines come and go.
TEST(CoroutineStress, EachEndsOnceAlsoWhenAPoolStopsUnderIt) {
  constexpr std::uint64_t kWalks = 50;
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    Ledger ledger;
    {
      ThreadPool home(any_options(random));
      ThreadPool other(any_options(random));
      const Pools pools{home, other};
      const auto walk = [&](std::uint64_t seed) -> Task<> {
        const Counted counted(ledger);
        try {
          (void)co_await Walk::along(pools, ledger, seed, 20, 1);
          ++ledger.ended;
        } catch (const Stopped&) {
          ++ledger.stopped;
        }
      };
      std::vector<Future<void>> walks;
      for (std::uint64_t i = 0; i < kWalks; ++i) walks.push_back(spawn(home, walk(random())));
      const std::uint64_t steps = random.below(500);
      for (Patience patience; ledger.steps < steps && patience.pause();) {
        if (ledger.ended == kWalks) break;
      }
      other.stop({.mode = random.below(2) == 0 ? Stop::graceful : Stop::discard});
      for (Future<void>& end : walks) end.get();
      ASSERT_EQ(ledger.frames.load(), 0);
    }
    ASSERT_EQ(ledger.ended + ledger.stopped, kWalks);
    ASSERT_EQ(ledger.twice.load(), 0U);
  }
}

// The coroutine ends on `two`, and the pool with it, while the worker of `one` that sent it there
// may still be about to tell somebody.
TEST(CoroutineStress, APoolMayEndAsSoonAsItsLastCoroutineHas) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    ThreadPool one(any_options(random));
    for (int i = 0; i < 10; ++i) {
      ThreadPool two(any_options(random));
      const auto hop = [&]() -> Task<> {
        co_await one.schedule();
        co_await two.schedule();
      };
      sync_wait(hop());
    }
  }
}

}  // namespace
}  // namespace muster::testing
