// timer_stress_test.cpp: tasks that end around their timeout, and timers that are cancelled around
// their time, each accounted for.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/thread_pool.hpp>
#include <muster/when.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

// Counts how many of its kind are alive; moving makes another.
class Counted {
 public:
  explicit Counted(std::atomic<int>& alive) : alive_(&alive) { ++*alive_; }
  Counted(const Counted& other) : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  std::atomic<int>* alive_;
};

Duration up_to(Duration most, Random& random) {
  return Duration(
      1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.count()))));
}

void spin_for(Duration duration) {
  for (const Time end = real_clock().now() + duration; real_clock().now() < end;) spin_pause();
}

ThreadPoolOptions any_pool(Random& random) {
  return {.workers = static_cast<unsigned>(1 + random.below(3)),
          .queueing = random.below(3) == 0 ? Queueing::global : Queueing::stealing,
          .idle = random.below(2) == 0 ? IdlePolicy::power : IdlePolicy::balanced};
}

// How the futures of a round have ended.
struct Ledger {
  int values = 0;
  int thrown = 0;
  int timed_out = 0;
  int cancelled = 0;
  int stopped = 0;

  int total() const { return values + thrown + timed_out + cancelled + stopped; }

  void add(Future<Counted>&& future) {
    try {
      (void)future.get();
      ++values;
    } catch (const std::out_of_range&) {
      ++thrown;
    } catch (const TimedOut&) {
      ++timed_out;
    } catch (const Cancelled&) {
      ++cancelled;
    } catch (const Stopped&) {
      ++stopped;
    }
  }
};

// One task around its timeout. What it found out itself stands in `finished`.
Future<Counted> submit_around(ThreadPool& pool, Duration timeout, std::atomic<int>& alive,
                              std::atomic<int>& finished, Random& random) {
  const Duration runs_for = up_to(timeout * 2, random);
  const bool throws = random.below(4) == 0;
  const bool obeys = random.below(2) == 0;
  return pool.submit({.priority = static_cast<int>(random.below(3)), .timeout = timeout},
                     [=, &alive, &finished, own = Counted(alive)](std::stop_token stop) {
                       const Time end = real_clock().now() + runs_for;
                       while (real_clock().now() < end && !(obeys && stop.stop_requested())) {
                         spin_pause();
                       }
                       ++finished;
                       if (throws) throw std::out_of_range("around its timeout");
                       return Counted(alive);
                     });
}

TEST(TimeoutStress, EachTaskEitherEndsOrTimesOutAndNothingStays) {
  Ledger whole_run;
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    constexpr int kTasks = 60;
    std::atomic<int> alive = 0;
    std::atomic<int> finished = 0;
    Ledger ledger;
    {
      ThreadPool pool(any_pool(random));
      const Duration timeout = up_to(100us, random);
      std::vector<Future<Counted>> futures;
      {
        Threads threads(random);
        std::array<std::vector<Future<Counted>>, 2> made;
        for (auto& own_futures : made) {
          threads.start([&](Random& own) {
            for (int i = 0; i < kTasks / 2; ++i) {
              own_futures.push_back(submit_around(pool, timeout, alive, finished, own));
              if (own.below(8) == 0) own_futures.back().cancel();
              if (own.below(4) == 0) own_futures.back().wait();
            }
          });
        }
        threads.join();
        for (auto& own_futures : made) {
          for (Future<Counted>& future : own_futures) futures.push_back(std::move(future));
        }
      }
      if (random.below(3) == 0) {
        pool.stop({.mode = random.below(2) == 0 ? Stop::discard : Stop::graceful});
      }
      for (Future<Counted>& future : futures) ledger.add(std::move(future));
      pool.wait_idle();
      ASSERT_EQ(alive.load(), 0) << "after all tasks are done";
    }
    ASSERT_EQ(ledger.total(), kTasks);
    // All that have begun have finished: with a result, in time or too late.
    ASSERT_EQ(ledger.values + ledger.thrown + ledger.timed_out, finished.load());
    whole_run.values += ledger.values;
    whole_run.timed_out += ledger.timed_out;
  }
  EXPECT_GT(whole_run.values, 0);
  EXPECT_GT(whole_run.timed_out, 0);
}

TEST(TimeoutStress, EachPostedTaskIsReportedAtMostOnce) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    constexpr int kTasks = 60;
    std::atomic<int> alive = 0;
    std::atomic<std::uint64_t> timed_out = 0;
    std::atomic<std::uint64_t> thrown = 0;
    std::atomic<int> finished = 0;
    std::atomic<std::uint64_t> meant_to_throw = 0;
    ThreadPoolOptions options = any_pool(random);
    options.on_error = [&](std::exception_ptr error) {
      try {
        std::rethrow_exception(error);
      } catch (const TimedOut&) {
        ++timed_out;
      } catch (const std::out_of_range&) {
        ++thrown;
      }
    };
    ThreadPool pool(options);
    const Duration timeout = up_to(100us, random);
    for (int i = 0; i < kTasks; ++i) {
      const Duration runs_for = up_to(timeout * 2, random);
      const bool throws = random.below(2) == 0;
      if (throws) ++meant_to_throw;
      pool.post({.timeout = timeout}, [=, &finished, own = Counted(alive)] {
        spin_for(runs_for);
        ++finished;
        if (throws) throw std::out_of_range("around its timeout");
      });
    }
    pool.wait_idle();
    std::uint64_t failed = 0;
    for (const ThreadPoolStats::Worker& worker : pool.stats().workers) failed += worker.failed;
    ASSERT_EQ(finished.load(), kTasks);
    ASSERT_EQ(alive.load(), 0);
    ASSERT_EQ(failed, timed_out + thrown);
    ASSERT_LE(thrown.load(), meant_to_throw.load());
    ASSERT_GE(timed_out + thrown, meant_to_throw.load());
  }
}

// What is told of a timeout posts, on the timer thread, while the pool stops.
TEST(TimeoutStress, WhatATimeoutPostsIsRunOrRefusedAlsoWhileThePoolStops) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    std::atomic<int> accepted = 0;
    std::atomic<int> ran = 0;
    std::unique_ptr<ThreadPool> pool;
    ThreadPoolOptions options = any_pool(random);
    options.on_error = [&](std::exception_ptr) {
      try {
        pool->post([&] { ++ran; });
        ++accepted;
      } catch (const Stopped&) {
      }
    };
    pool = std::make_unique<ThreadPool>(options);
    const Duration timeout = up_to(50us, random);
    for (int i = 0; i < 10; ++i) {
      pool->post({.timeout = timeout}, [](std::stop_token stop) {
        for (Patience patience; !stop.stop_requested();) ASSERT_TRUE(patience.pause());
      });
    }
    spin_for(up_to(500us, random));
    pool->stop();
    ASSERT_EQ(ran.load(), accepted.load());
  }
}

// A timer as its ledger sees it.
struct Entry {
  Timer timer;
  std::atomic<int> runs = 0;
  bool cancelled = false;
  bool repeats = false;
};

TEST(TimerStress, EachTimerRunsOrIsCancelledOrDropped) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    std::atomic<int> alive = 0;
    std::array<std::vector<std::unique_ptr<Entry>>, 3> made;
    const bool waits = random.below(2) == 0;
    {
      ThreadPool pool(any_pool(random));
      Threads threads(random);
      for (auto& entries : made) {
        threads.start([&](Random& own) {
          try {
            for (int i = 0; i < 40; ++i) {
              auto entry = std::make_unique<Entry>();
              entry->repeats = own.below(3) == 0;
              const Duration wait = up_to(60us, own);
              auto task = [&runs = entry->runs, counted = Counted(alive)] { ++runs; };
              entry->timer = entry->repeats ? pool.every(wait, task) : pool.after(wait, task);
              entries.push_back(std::move(entry));
              Entry& chosen = *entries[own.below(entries.size())];
              if (own.below(2) == 0) spin_for(up_to(40us, own));
              if (!chosen.cancelled && own.below(2) == 0) chosen.cancelled = chosen.timer.cancel();
            }
            // Those that repeat are ended, so that the others can be waited for.
            for (const auto& entry : entries) {
              if (entry->repeats && !entry->cancelled) entry->cancelled = entry->timer.cancel();
            }
          } catch (const Stopped&) {
          }
        });
      }
      if (waits) {
        threads.join();
        for (const auto& entries : made) {
          for (const auto& entry : entries) {
            while (entry->timer.is_active()) std::this_thread::yield();
          }
        }
      } else {
        spin_for(up_to(2ms, random));
        pool.stop({.mode = random.below(2) == 0 ? Stop::discard : Stop::graceful});
      }
    }
    ASSERT_EQ(alive.load(), 0);
    for (const auto& entries : made) {
      for (const auto& entry : entries) {
        ASSERT_FALSE(entry->timer.is_active());
        if (entry->repeats) continue;
        const int ends = entry->runs + (entry->cancelled ? 1 : 0);
        ASSERT_TRUE(waits ? ends == 1 : ends <= 1) << entry->runs << entry->cancelled;
      }
    }
  }
}

// What is cancelled does not run afterwards, though it may be running when cancel() returns.
TEST(TimerStress, TicksDoNotOverlapAndEndWhenCancelled) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    ThreadPool pool(any_pool(random));
    std::atomic<int> inside = 0;
    std::atomic<int> runs = 0;
    std::atomic<bool> overlapped = false;
    const Duration takes = up_to(50us, random);
    Timer tick = pool.every(up_to(30us, random), [&] {
      if (++inside != 1) overlapped = true;
      spin_for(takes);
      ++runs;
      --inside;
    });
    for (Patience patience; runs < 5;) ASSERT_TRUE(patience.pause()) << runs << " runs";
    ASSERT_TRUE(tick.cancel());
    pool.wait_idle();
    const int then = runs;
    spin_for(up_to(100us, random));
    pool.stop();
    ASSERT_EQ(runs.load(), then);
    ASSERT_FALSE(overlapped);
  }
}

// Two pools whose workers wait for each other's tasks, and so run them: also while one stops.
TEST(TimeoutStress, TasksOfOnePoolMayRunOnAnotherThatOutlivesIt) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    constexpr int kTasks = 30;
    std::atomic<int> alive = 0;
    std::atomic<int> finished = 0;
    Ledger ledger;
    {
      ThreadPool outer(any_pool(random));
      std::optional<ThreadPool> inner(any_pool(random));
      const Duration timeout = up_to(60us, random);
      std::vector<Future<Counted>> futures;
      for (int i = 0; i < kTasks; ++i) {
        futures.push_back(submit_around(*inner, timeout, alive, finished, random));
      }
      std::vector<Future<void>> waits;
      for (Future<Counted>& future : futures) waits.push_back(outer.submit([&] { future.wait(); }));
      // What follows a timeout is posted by the timer thread, also to a pool that stops.
      std::vector<Future<Counted>> raced;
      raced.push_back(submit_around(*inner, timeout, alive, finished, random));
      Future<std::size_t> first =
          when_any(std::move(raced)).then([](AnyReady<Counted> ready) { return ready.index; });
      if (random.below(2) == 0) inner.reset();
      for (Future<void>& wait : waits) wait.get();
      for (Future<Counted>& future : futures) ledger.add(std::move(future));
      ASSERT_EQ(first.get(), 0U);
    }
    ASSERT_EQ(ledger.total(), kTasks);
    ASSERT_EQ(ledger.cancelled, 0);
    ASSERT_EQ(alive.load(), 0);
  }
}

}  // namespace
}  // namespace muster::testing
