// process_pool_mishaps_test.cpp: what goes wrong around a pool, and what must not go wrong with it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <map>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Of this process, until it goes.
class LowerLimit {
 public:
  LowerLimit(int resource, rlim_t limit) : resource_(resource) {
    (void)getrlimit(static_cast<__rlimit_resource>(resource_), &before_);
    const rlimit lower{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    (void)setrlimit(static_cast<__rlimit_resource>(resource_), &lower);
  }
  ~LowerLimit() { (void)setrlimit(static_cast<__rlimit_resource>(resource_), &before_); }
  LowerLimit(const LowerLimit&) = delete;
  LowerLimit& operator=(const LowerLimit&) = delete;

 private:
  const int resource_;
  rlimit before_{};
};

rlim_t address_space() {
  return std::stoull(read_all("/proc/self/statm")) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// The lowest that is free: with that as the limit no more can be opened.
rlim_t next_descriptor() {
  return static_cast<rlim_t>(FileDescriptor(dup(STDIN_FILENO)).get());
}

RespawnOptions quick_respawn() {
  return {.deaths_before_ready = 1, .deaths_after_ready = 100, .pause = fixed(20ms)};
}

TEST(ProcessPoolMishaps, AWorkerForWhichThereIsNoMemoryIsStartedWhenThereIs) {
  ProcessPool pool({.workers = 1, .respawn = quick_respawn()});
  NoticeStream news = pool.subscribe();
  {
    constexpr rlim_t kTooLittle = 100 << 20;  // a worker's blocks take more
    const LowerLimit limit(RLIMIT_AS, address_space() + kTooLittle);
    pool.scale_up(1);
    (void)await_news<CrashLoop>(news);
    EXPECT_EQ(pool.exec("echo", "the other").get().text(), "the other");
  }
  await_ready(pool, 2);
}

TEST(ProcessPoolMishaps, ASpawnerThatCannotBeReplacedIsReplacedLater) {
  ProcessPool pool({.workers = 1, .retry = at_once(5), .respawn = quick_respawn()});
  NoticeStream news = pool.subscribe();
  const pid_t spawner = parent_of(pool.worker_status(0)->pid);
  Future<Bytes> task;
  {
    const LowerLimit limit(RLIMIT_NOFILE, next_descriptor());
    ASSERT_EQ(kill(spawner, SIGKILL), 0);
    (void)await_news<CrashLoop>(news);
    task = pool.exec("echo", "after all");
  }
  EXPECT_EQ(task.get().text(), "after all");
  EXPECT_TRUE(pool.stop());
}

TEST(ProcessPoolMishaps, WhatWasCancelledBeforeItBeganIsNotRunIfItsWorkerDies) {
  ProcessPool pool({.workers = 1, .prefetch = 2, .retry = at_once(1)});
  auto first = pool.exec("hang");
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  auto behind = pool.exec("hang");
  ASSERT_EQ(pool.worker_status(0)->in_flight, 2U);
  EXPECT_TRUE(behind.cancel());
  ASSERT_EQ(kill(pool.worker_status(0)->pid, SIGKILL), 0);
  EXPECT_THROW((void)first.get(), WorkerCrashed);
  EXPECT_THROW((void)behind.get(), Cancelled);
}

TEST(ProcessPoolMishaps, WhatWasCancelledBeforeItBeganIsNotRunIfItIsTakenBack) {
  ProcessPool pool({.workers = 1});
  run_short_tasks(pool);
  auto running = pool.exec("until_cancelled");
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  auto ahead = pool.exec("hang");
  ASSERT_EQ(pool.worker_status(0)->in_flight, 2U);
  EXPECT_TRUE(ahead.cancel());
  auto urgent = pool.exec("echo", "now", {.priority = 1});
  EXPECT_GE(pool.metrics().recalled, 1U);
  EXPECT_THROW((void)ahead.get(), Cancelled);
  (void)running.cancel();
  EXPECT_EQ(urgent.get().text(), "now");
}

TEST(ProcessPoolMishaps, APoolThatStopsIsNotScaled) {
  ProcessPool pool({.workers = 1});
  auto task = pool.exec("until_cancelled");
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  EXPECT_EQ(pool.stop({.timeout = 1ms}).unfinished, 1U);
  EXPECT_THROW(pool.scale_up(1), Stopped);
  (void)task.cancel();
  EXPECT_TRUE(pool.stop());
  EXPECT_THROW(pool.scale_up(1), Stopped);
}

TEST(ProcessPoolMishaps, NumbersAndTimesThatAreTooLargeAreNotTakenForSmallOnes) {
  constexpr unsigned kMost = std::numeric_limits<unsigned>::max();
  ProcessPool pool({.workers = 2, .start_timeout = Duration::max()});
  EXPECT_THROW(pool.scale_up(kMost), InvalidArgument);
  EXPECT_THROW(pool.scale_down(kMost), InvalidArgument);
  EXPECT_EQ(pool.metrics().workers, 2U);
  EXPECT_EQ(pool.exec("echo", "x", {.timeout = Duration::max()}).get().text(), "x");
  EXPECT_EQ(pool.metrics().timeouts, 0U);
}

TEST(ProcessPoolMishaps, WhatBelongsToAWorkerThatStaysDownGoesToOthers) {
  ProcessPool pool({.workers = 2, .retry = at_once(1), .auto_restart = false});
  await_ready(pool, 2);
  const ExecOptions hard{.affinity = "x", .affinity_class = AffinityClass::hard};
  auto last = pool.call_with<Bytes>(hard, "exit", 1);
  auto behind = pool.exec("echo", "by another", hard);
  EXPECT_THROW((void)last.get(), WorkerCrashed);
  EXPECT_EQ(behind.get().text(), "by another");
  EXPECT_EQ(pool.exec("echo", "too", hard).get().text(), "too");
}

TEST(ProcessPoolMishaps, OneThatNeverSaysThatItIsReadyIsAnErrorOfTheConstructor) {
  ProcessPoolOptions options{.workers = 1,
                             .program = "sleep",
                             .arguments = {"1000"},
                             .start_timeout = 100ms,
                             .respawn = quick_respawn()};
  try {
    const ProcessPool pool(options);
    ADD_FAILURE() << "it is ready";
  } catch (const SystemFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("ready"), std::string::npos) << failure.what();
  }
}

TEST(ProcessPoolMishaps, ATaskThatTookTooLongIsTriedAgainUnlessItShallNot) {
  ProcessPool pool({.workers = 1, .retry = at_once(3)});
  EXPECT_THROW((void)pool.exec("hang", {}, {.timeout = 20ms}).get(), TimedOut);
  EXPECT_EQ(pool.metrics().retries, 2U);
  EXPECT_EQ(pool.dead_letters().at(0).attempts, 3U);
  RetryOptions without = at_once(3);
  without.retry_on.timeout = false;
  EXPECT_THROW((void)pool.exec("hang", {}, {.timeout = 20ms, .retry = without}).get(), TimedOut);
  EXPECT_EQ(pool.metrics().retries, 2U);
  without = at_once(3);
  without.retry_on.error = false;
  EXPECT_THROW((void)pool.exec("throw_number", {}, {.retry = without}).get(), RemoteError);
  EXPECT_EQ(pool.metrics().retries, 2U);
}

TEST(ProcessPoolMishaps, ADeadLetterIsNews) {
  ProcessPool pool({.workers = 1, .retry = at_once(2)});
  NoticeStream news = pool.subscribe();
  EXPECT_THROW((void)pool.exec("throw_number").get(), RemoteError);
  const auto letter = await_news<DeadLettered>(news);
  EXPECT_EQ(letter.attempts, 2U);
  EXPECT_EQ(letter.id, std::to_string(pool.dead_letters().at(0).id));
  EXPECT_EQ(letter.what, pool.dead_letters().at(0).what);
}

}  // namespace
}  // namespace muster
