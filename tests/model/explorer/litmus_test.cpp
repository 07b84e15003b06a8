// litmus_test.cpp: does the explorer show exactly the weak-memory behaviour that C++ allows?
//
// Each test is a classic: a program of a few accesses and an outcome. An explorer that misses an
// allowed outcome would miss bugs; one that shows a forbidden outcome would report bugs that are
// none.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include <muster/sync/atomic.hpp>
#include <muster/sync/fence.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/sync/plain.hpp>

#include "support/explorer/explorer.hpp"

namespace muster::explore {
namespace {

using Outcomes = std::set<std::string>;

struct Vars {
  Atomic<int> x = 0, y = 0;
  int a = -1, b = -1, c = -1, d = -1;
};

// All final values of a, b, c, d over every schedule and every read.
Outcomes outcomes(const std::vector<std::function<void(Vars&)>>& threads) {
  Outcomes seen;
  const Report report =
      explore({.preemptions = kUnbounded, .stale_reads = 4}, [&](Program& program) {
        auto vars = std::make_shared<Vars>();
        for (const auto& body : threads) program.thread([=] { body(*vars); });
        program.at_end([vars, &seen] {
          std::string outcome;
          for (const int value : {vars->a, vars->b, vars->c, vars->d}) {
            if (value >= 0) outcome += std::to_string(value);
          }
          seen.insert(outcome);
        });
      });
  EXPECT_TRUE(report.exhausted) << report.failure;
  return seen;
}

TEST(Litmus, StoreBufferingIsSeenWithoutSeqCst) {
  const auto program = [](std::memory_order store, std::memory_order load) {
    return outcomes({[=](Vars& v) { v.x.store(1, store), v.a = v.y.load(load); },
                     [=](Vars& v) { v.y.store(1, store), v.b = v.x.load(load); }});
  };
  EXPECT_EQ(program(release, acquire), (Outcomes{"00", "01", "10", "11"}));
  EXPECT_EQ(program(seq_cst, acquire), (Outcomes{"00", "01", "10", "11"}));
  EXPECT_EQ(program(seq_cst, seq_cst), (Outcomes{"01", "10", "11"}));
}

TEST(Litmus, StoreBufferingIsForbiddenByTwoFencesAndNotByOne) {
  const auto fenced = [](Vars& v) { v.x.store(1, relaxed), full_fence(), v.a = v.y.load(relaxed); };
  EXPECT_EQ(
      outcomes(
          {fenced, [](Vars& v) { v.y.store(1, relaxed), full_fence(), v.b = v.x.load(relaxed); }}),
      (Outcomes{"01", "10", "11"}));
  EXPECT_EQ(outcomes({fenced, [](Vars& v) { v.y.store(1, relaxed), v.b = v.x.load(relaxed); }}),
            (Outcomes{"00", "01", "10", "11"}));
}

TEST(Litmus, AFenceOnOneSideAndSeqCstAccessesOnTheOtherForbidStoreBuffering) {
  EXPECT_EQ(outcomes({[](Vars& v) { v.x.store(1, relaxed), full_fence(), v.a = v.y.load(relaxed); },
                      [](Vars& v) { v.y.store(1, seq_cst), v.b = v.x.load(seq_cst); }}),
            (Outcomes{"01", "10", "11"}));
}

TEST(Litmus, MessagePassingNeedsReleaseAndAcquire) {
  const auto program = [](std::memory_order store, std::memory_order load) {
    return outcomes({[=](Vars& v) { v.x.store(1, relaxed), v.y.store(1, store); },
                     [=](Vars& v) { v.a = v.y.load(load), v.b = v.x.load(relaxed); }});
  };
  EXPECT_EQ(program(release, acquire), (Outcomes{"00", "01", "11"}));
  EXPECT_EQ(program(relaxed, acquire), (Outcomes{"00", "01", "10", "11"}));
  EXPECT_EQ(program(release, relaxed), (Outcomes{"00", "01", "10", "11"}));
}

TEST(Litmus, MessagePassingThroughAReleaseSequence) {
  // The middle thread's relaxed read-modify-write hands the first thread's release on.
  const auto seen = outcomes({[](Vars& v) { v.x.store(1, relaxed), v.y.store(1, release); },
                              [](Vars& v) { v.y.fetch_add(1, relaxed); },
                              [](Vars& v) { v.a = v.y.load(acquire), v.b = v.x.load(relaxed); }});
  EXPECT_FALSE(seen.contains("20"));
  EXPECT_TRUE(seen.contains("21"));
  EXPECT_TRUE(seen.contains("10")) << "y may be 1 from the middle thread alone";
}

TEST(Litmus, ReadsOfOneLocationNeverGoBack) {
  const auto seen = outcomes({[](Vars& v) { v.x.store(1, relaxed), v.x.store(2, relaxed); },
                              [](Vars& v) { v.a = v.x.load(relaxed), v.b = v.x.load(relaxed); }});
  EXPECT_EQ(seen, (Outcomes{"00", "01", "02", "11", "12", "22"}));
}

TEST(Litmus, IndependentReadersMayDisagreeUnlessSeqCst) {
  const auto program = [](std::memory_order store, std::memory_order load) {
    return outcomes({[=](Vars& v) { v.x.store(1, store); }, [=](Vars& v) { v.y.store(1, store); },
                     [=](Vars& v) { v.a = v.x.load(load), v.b = v.y.load(load); },
                     [=](Vars& v) { v.c = v.y.load(load), v.d = v.x.load(load); }});
  };
  EXPECT_TRUE(program(release, acquire).contains("1010"));
  EXPECT_FALSE(program(seq_cst, seq_cst).contains("1010"));
  EXPECT_TRUE(program(seq_cst, acquire).contains("1010"));
}

TEST(Litmus, LoadBufferingIsNotProduced) {
  const auto seen = outcomes({[](Vars& v) { v.a = v.x.load(relaxed), v.y.store(1, relaxed); },
                              [](Vars& v) { v.b = v.y.load(relaxed), v.x.store(1, relaxed); }});
  EXPECT_EQ(seen, (Outcomes{"00", "01", "10"}));
}

TEST(Litmus, AnAcquireOfASeqCstUpdateDoesNotOrderTheNextSeqCstLoad) {
  // The heart of the deque's steal(): unless the first load is seq_cst too, the second may be
  // older. C++20 does not let acquire do it: happens-before from the update to a load of something
  // else does not bind seq_cst.
  const auto program = [](std::memory_order first) {
    return outcomes({[](Vars& v) { v.y.store(1, seq_cst), v.a = v.x.load(seq_cst); },
                     [](Vars& v) { v.x.fetch_add(1, seq_cst); },
                     [=](Vars& v) { v.b = v.x.load(first), v.c = v.y.load(seq_cst); }});
  };
  EXPECT_TRUE(program(relaxed).contains("010"));
  EXPECT_TRUE(program(acquire).contains("010"));
  EXPECT_FALSE(program(seq_cst).contains("010"));
}

TEST(Litmus, ACompareExchangeMayFailOnAnOldValue) {
  const auto seen = outcomes({[](Vars& v) { v.x.store(1, relaxed); },
                              [](Vars& v) {
                                int expected = 1;
                                v.a = v.x.compare_exchange_strong(expected, 5, relaxed, relaxed);
                                v.b = expected;
                              }});
  EXPECT_EQ(seen, (Outcomes{"00", "11"}));
}

TEST(Litmus, UnorderedPlainAccessesAreARace) {
  const auto race = [](std::memory_order store, std::memory_order load) {
    struct Shared {
      Plain<int> data;
      Atomic<int> flag = 0;
    };
    return explore({}, [=](Program& program) {
      auto shared = std::make_shared<Shared>();
      program.thread([=] { shared->data.set(7), shared->flag.store(1, store); });
      program.thread([=] {
        if (shared->flag.load(load) == 1) require(shared->data.get() == 7, "the data");
      });
    });
  };
  EXPECT_EQ(race(release, acquire).failure, "");
  EXPECT_EQ(race(relaxed, acquire).failure, "data race: read of plain memory");
  EXPECT_EQ(race(release, relaxed).failure, "data race: read of plain memory");
}

TEST(Litmus, APlainReadAfterTheReleaseIsNotCoveredByIt) {
  struct Shared {
    Plain<int> data;
    Atomic<int> flag = 0;
  };
  const Report report = explore({}, [](Program& program) {
    auto shared = std::make_shared<Shared>();
    program.thread([=] {
      shared->flag.store(1, release);
      (void)shared->data.get();
    });
    program.thread([=] {
      if (shared->flag.load(acquire) == 1) shared->data.set(1);
    });
  });
  EXPECT_NE(report.failure, "");
}

TEST(Explorer, CountsTheSchedulesOfIndependentThreads) {
  // Two threads of two steps each: 4! / (2! 2!) = 6 orders.
  const Report report =
      explore({.preemptions = kUnbounded, .stale_reads = 0}, [](Program& program) {
        auto vars = std::make_shared<Vars>();
        program.thread([=] { vars->x.store(1, relaxed), vars->x.store(2, relaxed); });
        program.thread([=] { vars->y.store(1, relaxed), vars->y.store(2, relaxed); });
      });
  EXPECT_TRUE(report.exhausted);
  EXPECT_EQ(report.schedules, 6);
}

TEST(Explorer, KeepsToTheBoundOnPreemptions) {
  const auto schedules = [](int preemptions) {
    return explore({.preemptions = preemptions, .stale_reads = 0},
                   [](Program& program) {
                     auto vars = std::make_shared<Vars>();
                     program.thread([=] { vars->x.store(1, relaxed), vars->x.store(2, relaxed); });
                     program.thread([=] { vars->y.store(1, relaxed), vars->y.store(2, relaxed); });
                   })
        .schedules;
  };
  EXPECT_EQ(schedules(0), 2);
  EXPECT_EQ(schedules(1), 4);
  EXPECT_EQ(schedules(2), 6);
}

TEST(Explorer, ReportsAThreadThatSleepsForEver) {
  const Report report = explore({}, [](Program& program) {
    auto turn = std::make_shared<Atomic<std::uint32_t>>(0U);
    program.thread([=] {
      if (turn->load(relaxed) == 0) futex_wait(*turn, 0, std::nullopt);
    });
    program.thread([=] {
      turn->store(1, relaxed);  // and forgets to wake
    });
  });
  EXPECT_EQ(report.failure, "deadlock: asleep for ever");
  EXPECT_NE(report.trail, "");
}

TEST(Explorer, CountsDownAsNarrowAsTheAtomicIs) {
  const Report report = explore({}, [](Program& program) {
    auto count = std::make_shared<Atomic<std::uint32_t>>(2U);
    program.thread([=] {
      require(count->fetch_sub(1, relaxed) == 2, "the value before");
      std::uint32_t expected = 1;
      require(count->compare_exchange_strong(expected, 0, relaxed, relaxed), "the value after");
    });
  });
  EXPECT_EQ(report.failure, "");
}

// Two sleepers and one who wakes them.
std::string failure_when_woken(const std::function<void(Atomic<std::uint32_t>&)>& wake) {
  return explore({},
                 [&](Program& program) {
                   auto turn = std::make_shared<Atomic<std::uint32_t>>(0U);
                   for (int i = 0; i < 2; ++i) {
                     program.thread([=] {
                       while (turn->load(relaxed) == 0) futex_wait(*turn, 0, std::nullopt);
                     });
                   }
                   program.thread([=] {
                     turn->store(1, relaxed);
                     wake(*turn);
                   });
                 })
      .failure;
}

TEST(Explorer, WakesOneSleeperOrAll) {
  EXPECT_EQ(failure_when_woken([](Atomic<std::uint32_t>& turn) { futex_wake_all(turn); }), "");
  EXPECT_EQ(failure_when_woken([](Atomic<std::uint32_t>& turn) { futex_wake_one(turn); }),
            "deadlock: asleep for ever");
}

// One reads an atomic and says so; the other ends its life once it has been told.
std::string failure_when_ended(std::memory_order telling, std::memory_order hearing) {
  return explore({},
                 [=](Program& program) {
                   auto told = std::make_shared<Atomic<int>>(0);
                   auto brief = std::make_shared<std::optional<Atomic<int>>>(std::in_place, 0);
                   program.thread([=] {
                     std::ignore = (*brief)->load(relaxed);
                     told->store(1, telling);
                   });
                   program.thread([=] {
                     if (told->load(hearing) == 1) brief->reset();
                   });
                 })
      .failure;
}

TEST(Explorer, ReportsAnAtomicWhoseLifeEndsWhileItIsInUse) {
  EXPECT_EQ(failure_when_ended(release, acquire), "");
  EXPECT_EQ(failure_when_ended(relaxed, acquire), "data race with the end of an atomic's life");
  EXPECT_EQ(failure_when_ended(release, relaxed), "data race with the end of an atomic's life");
}

TEST(Explorer, ReportsTheUseOfAnAtomicWhoseLifeHasEnded) {
  const Report report = explore({}, [](Program& program) {
    auto brief = std::make_shared<std::optional<Atomic<int>>>(std::in_place, 0);
    program.thread([=] {
      Atomic<int>& kept = **brief;
      brief->reset();
      kept.store(1, relaxed);
    });
  });
  EXPECT_EQ(report.failure, "access to an atomic whose life has ended");
}

TEST(Explorer, WeakensWhatAnExchangeDoesWhenItFails) {
  const auto setup = [](Program& program) {
    auto text = std::make_shared<Plain<int>>();
    auto told = std::make_shared<Atomic<int>>(0);
    program.thread([=] {
      text->set(7);
      told->store(1, release);
    });
    program.thread([=] {
      int expected = 0;
      if (!told->compare_exchange_strong(expected, 2, relaxed, acquire)) std::ignore = text->get();
    });
  };
  const Report report = explore({}, setup);
  EXPECT_EQ(report.failure, "");
  const auto failed = std::find_if(report.sites.begin(), report.sites.end(),
                                   [](const Site& site) { return site.operation == "failed"; });
  ASSERT_NE(failed, report.sites.end());
  Mutation mutation{.file = failed->file, .line = failed->line};
  mutation.weakening = Weakening::drop_failure_acquire;
  EXPECT_EQ(explore({}, setup, mutation).failure, "data race: read of plain memory");
}

// Two threads that each lock both mutexes, and where they begin.
std::string failure_with_two_locks(const std::array<std::size_t, 2>& begin) {
  return explore({},
                 [=](Program& program) {
                   auto locks = std::make_shared<std::array<Mutex, 2>>();
                   auto shared = std::make_shared<Plain<int>>();
                   for (const std::size_t first : begin) {
                     program.thread([=] {
                       const MutexLock outer((*locks)[first]);
                       const MutexLock inner((*locks)[1 - first]);
                       shared->set(shared->get() + 1);
                     });
                   }
                   program.at_end([=] { require(shared->get() == 2, "one after the other"); });
                 })
      .failure;
}

TEST(Explorer, AMutexOrdersWhatIsDoneUnderIt) {
  EXPECT_EQ(failure_with_two_locks({0, 0}), "");
}

TEST(Explorer, ReportsThreadsThatLockEachOtherOut) {
  EXPECT_EQ(failure_with_two_locks({0, 1}), "deadlock: locked out for ever");
}

TEST(Explorer, TryLockSaysThatAMutexIsTaken) {
  Outcomes seen;
  const Report report = explore({}, [&](Program& program) {
    auto mutex = std::make_shared<Mutex>();
    auto shared = std::make_shared<Plain<int>>();
    program.thread([=] {
      const MutexLock lock(*mutex);
      shared->set(1);
    });
    program.thread([=, &seen] {
      if (!mutex->try_lock()) {
        seen.insert("taken");
        return;
      }
      seen.insert("free, " + std::to_string(shared->get()));
      mutex->unlock();
    });
  });
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(seen, (Outcomes{"taken", "free, 0", "free, 1"}));
}

TEST(Explorer, ReportsALoopWithoutEnd) {
  const Report report = explore({}, [](Program& program) {
    auto flag = std::make_shared<Atomic<int>>(0);
    program.thread([=] {
      while (flag->load(acquire) == 0) spin_pause();
    });
  });
  EXPECT_EQ(report.failure, "loop without end");
}

}  // namespace
}  // namespace muster::explore
