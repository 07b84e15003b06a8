// process_pool_workers_test.cpp: the workers of a pool: their health, their ends, their number.
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

HealthOptions quick_health() {
  return {.heartbeat = 10ms,
          .warning = 50ms,
          .zombie = 100ms,
          .busy_zombie = 100ms,
          .terminate_grace = 20ms};
}

TEST(ProcessPoolWorkers, BeatAndTellWhatTheyUse) {
  ProcessPool pool({.workers = 1, .health = quick_health()});
  auto task = pool.call_with<Bytes>({.killable = true}, "progress", 0.25);
  wait_until([&] { return pool.worker_status(0)->history.size() >= 3; });
  wait_until([&] { return pool.worker_status(0)->history.back().progress > 0; });
  const WorkerStatus status = *pool.worker_status(0);
  EXPECT_EQ(status.state, WorkerState::busy);
  EXPECT_EQ(status.history.back().progress, 0.25F);
  EXPECT_EQ(status.history.back().task, status.task);
  EXPECT_GT(status.history.back().anonymous_bytes, 10'000U);
  EXPECT_EQ(kill(status.pid, 0), 0);
  EXPECT_FALSE(pool.worker_status(1));
  wait_until([&] { return pool.worker_status(0)->history.size() == 100; });
  const Time oldest = pool.worker_status(0)->history.front().time;
  wait_until([&] { return pool.worker_status(0)->history.front().time != oldest; });
  EXPECT_EQ(pool.worker_status(0)->history.size(), 100U);
  pool.stop({.mode = Stop::discard});
  EXPECT_THROW((void)task.get(), Stopped);
}

TEST(ProcessPoolWorkers, OneThatIsStoppedIsWarnedOfThenAZombieThenReplaced) {
  ProcessPool pool({.workers = 1, .retry = at_once(2), .health = quick_health()});
  NoticeStream news = pool.subscribe();
  const pid_t pid = pool.worker_status(0)->pid;
  auto task = pool.exec("echo", "after all");
  (void)task.get();
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  auto next = pool.exec("echo", "by another");
  EXPECT_GE(await_news<HeartbeatMissed>(news).silence, 50ms);
  EXPECT_GE(await_news<ZombieFound>(news).silence, 100ms);
  EXPECT_EQ(await_news<WorkerDied>(news).worker, 0U);
  EXPECT_EQ(next.get().text(), "by another");
  EXPECT_NE(pool.worker_status(0)->pid, pid);
  EXPECT_EQ(pool.worker_status(0)->last_exit->kind, ExitKind::silence);
  EXPECT_EQ(pool.worker_status(0)->restarts, 1U);
  EXPECT_EQ(pool.metrics().zombies, 1U);
}

TEST(ProcessPoolWorkers, OneThatIsSilentAndComputesIsNoZombieYet) {
  HealthOptions patient{.heartbeat = 100ms, .warning = 200ms, .zombie = 400ms, .busy_zombie = 20s};
  for (const bool is_patient : {true, false}) {
    if (!is_patient) patient.busy_zombie = patient.zombie;
    ProcessPool pool({.workers = 1, .retry = at_once(1), .health = patient});
    NoticeStream news = pool.subscribe();
    auto task = pool.exec("work_without_heartbeat");
    EXPECT_GE(await_news<HeartbeatMissed>(news).silence, 200ms);
    if (is_patient) {
      EXPECT_EQ(task.get().size(), 0U);
    } else {
      EXPECT_THROW((void)task.get(), WorkerCrashed);
    }
    EXPECT_EQ(pool.metrics().zombies, is_patient ? 0U : 1U);
  }
}

TEST(ProcessPoolWorkers, ALongTaskIsNoReasonToBeKilled) {
  ProcessPool pool({.workers = 1, .health = quick_health()});
  EXPECT_EQ(pool.call<Bytes>("sleep_ms", 400).get().size(), 0U);
  EXPECT_EQ(pool.metrics().crashes, 0U);
}

TEST(ProcessPoolWorkers, TheirEndsAreClassified) {
  ProcessPool pool({.workers = 1, .retry = at_once(1)});
  const auto kind_after = [&](auto future) {
    try {
      (void)future.get();
    } catch (const WorkerCrashed& crash) {
      return crash.exit().kind;
    }
    return ExitKind::unknown;
  };
  EXPECT_EQ(kind_after(pool.call<Bytes>("exit", 3)), ExitKind::exit_code);
  EXPECT_EQ(kind_after(pool.call<Bytes>("signal", SIGABRT)), ExitKind::signal);
  EXPECT_EQ(kind_after(pool.call<Bytes>("signal", SIGKILL)), ExitKind::out_of_memory);
}

// A task that was given ahead to it may have begun, for all that the pool can tell of such memory,
// and is tried again.
TEST(ProcessPoolWorkers, OneThatGoesMadIsKilledAndNobodyElseNotices) {
  ProcessPool pool({.workers = 2, .retry = at_once(10), .respawn = {.deaths_after_ready = 1000}});
  for (int i = 0; i < 20; ++i) {
    auto mad = pool.exec("mad", {}, {.retry = at_once(1)});
    EXPECT_EQ(pool.exec("echo", "sane").get().text(), "sane");
    EXPECT_THROW((void)mad.get(), Error);
  }
}

TEST(ProcessPoolWorkers, AreReplacedAfterAsManyTasksAsTheyMayRunAndNotOneMore) {
  ProcessPool pool({.workers = 1, .recycling = {.max_tasks = 5, .jitter = 0}});
  std::vector<Future<int>> many;
  for (int i = 0; i < 50; ++i) many.push_back(pool.call<int>("pid"));
  std::map<int, int> tasks;
  for (Future<int>& each : many) ++tasks[each.get()];
  EXPECT_EQ(tasks.size(), 10U);
  for (const auto& [pid, count] : tasks) EXPECT_EQ(count, 5) << pid;
  EXPECT_EQ(pool.metrics().crashes, 0U);
  EXPECT_GE(pool.metrics().recycled, 9U);
  EXPECT_EQ(pool.worker_status(0)->last_exit->kind, ExitKind::asked);
}

TEST(ProcessPoolWorkers, AreReplacedBeforeTheirNextTaskIfTheirMemoryHasGrown) {
  ProcessPool pool({.workers = 1, .recycling = {.max_growth_bytes = 20 << 20, .jitter = 0}});
  NoticeStream news = pool.subscribe();
  const pid_t pid = pool.call<int>("pid").get();
  EXPECT_EQ(pool.call<int>("pid").get(), pid);
  auto leak = pool.call<Bytes>("leak", std::uint64_t{40} << 20);
  auto next = pool.call<int>("pid");
  (void)leak.get();
  EXPECT_NE(next.get(), pid);
  EXPECT_EQ(await_news<WorkerRecycled>(news).reason, "memory");
}

TEST(ProcessPoolWorkers, AreReplacedAtAnAge) {
  ProcessPool pool(
      {.workers = 1, .health = quick_health(), .recycling = {.max_age = 30ms, .jitter = 0}});
  NoticeStream news = pool.subscribe();
  EXPECT_EQ(await_news<WorkerRecycled>(news).reason, "age");
  EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
}

TEST(ProcessPoolWorkers, AreReplacedOneAtATime) {
  ProcessPool pool({.workers = 2, .recycling = {.max_tasks = 1, .jitter = 0}});
  await_ready(pool, 2);
  wait_until([&] {
    auto one = pool.call<int>("pid");
    auto other = pool.call<int>("pid");
    while (!one.is_ready() || !other.is_ready()) EXPECT_GE(pool.metrics().ready, 1U);
    EXPECT_GE(pool.metrics().ready, 1U);
    return pool.metrics().recycled >= 3;
  });
}

TEST(ProcessPoolWorkers, ACrashLoopIsBrokenByAPause) {
  ProcessPool pool({.workers = 1,
                    .retry = at_once(1),
                    .respawn = {.deaths_after_ready = 2, .pause = fixed(100ms)}});
  NoticeStream news = pool.subscribe();
  for (int i = 0; i < 3; ++i) EXPECT_THROW((void)pool.call<Bytes>("exit", 1).get(), WorkerCrashed);
  EXPECT_GT(await_news<CrashLoop>(news).pause, 0ms);
  EXPECT_EQ(pool.exec("echo", "in the end").get().text(), "in the end");
}

TEST(ProcessPoolWorkers, WithoutAutoRestartTheyStayDown) {
  ProcessPool pool({.workers = 2, .retry = at_once(1), .auto_restart = false});
  wait_until([&] { return pool.metrics().ready == 2; });
  EXPECT_THROW((void)pool.call<Bytes>("exit", 1).get(), WorkerCrashed);
  EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
  EXPECT_EQ(pool.metrics().ready, 1U);
  EXPECT_EQ(pool.metrics().starts, 2U);
  auto last = pool.call<Bytes>("exit", 1);
  auto behind = pool.exec("echo");
  EXPECT_THROW((void)last.get(), WorkerCrashed);
  EXPECT_THROW((void)behind.get(), Stopped) << "nobody is left to run it";
  EXPECT_THROW((void)pool.exec("echo").get(), Stopped);
}

TEST(ProcessPoolWorkers, ANewSpawnerIsStartedIfTheirsIsKilled) {
  ProcessPool pool({.workers = 2, .retry = at_once(5), .respawn = {.deaths_after_ready = 100}});
  wait_until([&] { return pool.metrics().ready == 2; });
  for (int round = 0; round < 3; ++round) {
    auto task = pool.call<Bytes>("sleep_ms", 20);
    ASSERT_EQ(kill(parent_of(pool.worker_status(0)->pid), SIGKILL), 0);
    EXPECT_EQ(task.get().size(), 0U) << "it was tried again";
    wait_until([&] { return pool.metrics().ready == 2; });
  }
}

TEST(ProcessPoolWorkers, ComeAndGoWithoutLosingATask) {
  ProcessPool pool({.workers = 2});
  wait_until([&] { return pool.metrics().ready == 2; });
  NoticeStream news = pool.subscribe();
  std::vector<Future<int>> sums;
  const auto submit = [&](int count) {
    for (int i = 0; i < count; ++i) sums.push_back(pool.call<int>("sum", i, 0));
  };
  submit(500);
  pool.scale_up(2);
  EXPECT_EQ(await_news<ScaledUp>(news).total, 4U);
  EXPECT_GE(await_news<WorkerAdded>(news).worker, 2U);
  submit(500);
  wait_until([&] { return pool.metrics().ready == 4; });
  pool.scale_down(3);
  EXPECT_EQ(await_news<ScaledDown>(news).total, 1U);
  EXPECT_GE(await_news<WorkerRemoved>(news).worker, 1U);
  submit(500);
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i].get(), static_cast<int>(i % 500));
  wait_until([&] { return pool.metrics().ready == 1; });
  EXPECT_THROW(pool.scale_down(1), InvalidArgument);
  EXPECT_THROW(pool.scale_up(5000), InvalidArgument);
  pool.scale_up(1);
  wait_until([&] { return pool.metrics().ready == 2; });
}

TEST(ProcessPoolWorkers, ScaleByThemselves) {
  ProcessPool pool({.workers = 1,
                    .scaling = ScalingOptions{.max_workers = 3,
                                              .check_every = 5ms,
                                              .scale_up_cooldown = 5ms,
                                              .scale_down_cooldown = 5ms,
                                              .ratio = {.scale_down_idle_timeout = 20ms}}});
  std::vector<Future<Bytes>> tasks;
  for (int i = 0; i < 60; ++i) tasks.push_back(pool.call<Bytes>("sleep_ms", 10));
  wait_until([&] { return pool.metrics().workers == 3; });
  for (auto& task : tasks) (void)task.get();
  wait_until([&] { return pool.metrics().workers == 1; });
}

TEST(ProcessPoolWorkers, ScaleByWhatTheirTasksTake) {
  ProcessPool pool({.workers = 1,
                    .scaling = ScalingOptions{.policy = ScalingPolicy::predictive,
                                              .max_workers = 3,
                                              .check_every = 5ms,
                                              .scale_up_cooldown = 5ms}});
  NoticeStream news = pool.subscribe();
  for (int i = 0; i < 3; ++i) (void)pool.call<Bytes>("sleep_ms", 10).get();
  std::vector<Future<Bytes>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(pool.call<Bytes>("sleep_ms", 500));
  const auto scaled = await_news<ScaledUp>(news);
  EXPECT_NE(scaled.reason.find("workers needed"), std::string::npos) << scaled.reason;
  pool.stop({.mode = Stop::discard});
}

TEST(ProcessPoolWorkers, AStrategyOfYoursPicksAmongThemAndCannotBreakThePool) {
  const auto pool_with = [](SelectFunction function) {
    return ProcessPoolOptions{
        .workers = 3,
        .strategy = std::shared_ptr<Strategy>(strategy_from("mine", std::move(function)))};
  };
  {
    ProcessPool pool(pool_with([](auto workers, const TaskInfo& task) {
      EXPECT_EQ(task.name, "worker");
      return std::optional(workers.size() == 3 ? std::size_t{2} : std::size_t{0});
    }));
    wait_until([&] { return pool.metrics().ready == 3; });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(pool.call<std::size_t>("worker").get(), 2U);
    EXPECT_EQ(pool.metrics().strategy_fallbacks, 0U);
  }
  ProcessPool pool(pool_with([](auto, const TaskInfo&) -> std::optional<std::size_t> {
    throw std::runtime_error("no idea");
  }));
  wait_until([&] { return pool.metrics().ready == 3; });
  EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
  EXPECT_EQ(pool.metrics().strategy_fallbacks, 1U);
  EXPECT_THROW(ProcessPool({.workers = 1, .strategy = "no such strategy"}), InvalidArgument);
}

TEST(ProcessPoolWorkers, EveryBuiltInStrategyServes) {
  for (const std::string& name : strategy_names()) {
    ProcessPool pool({.workers = 3, .strategy = name});
    wait_until([&] { return pool.metrics().ready == 3; });
    std::set<std::size_t> used;
    for (int i = 0; i < 30; ++i) used.insert(pool.call<std::size_t>("worker").get());
    EXPECT_EQ(used.size(), 3U) << name;
    std::vector<Future<Bytes>> many;
    for (int i = 0; i < 3; ++i) many.push_back(pool.call<Bytes>("sleep_ms", 20));
    wait_until([&] { return pool.metrics().busy == 3; });
    for (auto& one : many) (void)one.get();
  }
}

TEST(ProcessPoolWorkers, KeysStayWithTheirWorker) {
  ProcessPool pool({.workers = 3});
  wait_until([&] { return pool.metrics().ready == 3; });
  std::set<int> all;
  for (int key = 0; key < 12; ++key) {
    const ExecOptions options{.affinity = std::to_string(key),
                              .affinity_class = AffinityClass::hard};
    std::set<int> pids;
    for (int i = 0; i < 5; ++i) pids.insert(pool.call_with<int>(options, "pid").get());
    EXPECT_EQ(pids.size(), 1U);
    all.insert(pids.begin(), pids.end());
  }
  EXPECT_EQ(all.size(), 3U);
}

TEST(ProcessPoolWorkers, ATaskThatNeedsACapabilityGoesToWhoHasIt) {
  ProcessPool pool({.workers = 3, .worker_environment = [](unsigned worker) {
                      std::vector<EnvironmentVariable> more;
                      if (worker == 1) more.push_back({"TEST_CAPABILITY", "gpu"});
                      return more;
                    }});
  const ExecOptions on_gpu{.capability = "gpu"};
  std::vector<Future<std::uint64_t>> workers;
  std::vector<Future<Bytes>> others;
  for (int i = 0; i < 100; ++i) {
    workers.push_back(pool.call_with<std::uint64_t>(on_gpu, "worker"));
    others.push_back(pool.call<Bytes>("sleep_ms", 1));
  }
  for (Future<std::uint64_t>& worker : workers) EXPECT_EQ(worker.get(), 1U);
  for (Future<Bytes>& other : others) (void)other.get();
  await_ready(pool, 3);
  EXPECT_EQ(pool.worker_status(1)->capabilities, std::vector<std::string>{"gpu"});
  EXPECT_THROW((void)pool.exec("echo", {}, {.capability = "tpu"}), InvalidArgument);
  pool.scale_down(2);
  EXPECT_THROW((void)pool.exec("echo", {}, on_gpu), InvalidArgument) << "who had it is to go";
}

TEST(ProcessPoolWorkers, TheQueueIsBounded) {
  ProcessPool pool({.workers = 1, .admission = {.max_queued = 2, .when_full = WhenFull::reject}});
  NoticeStream news = pool.subscribe();
  auto first = pool.call<Bytes>("sleep_ms", 100);
  std::vector<Future<Bytes>> others;
  for (int i = 0; i < 3; ++i) others.push_back(pool.exec("echo", "x"));
  EXPECT_THROW((void)others[2].get(), QueueFull);
  EXPECT_EQ(await_news<BackPressureOn>(news).limit, 2U);
  EXPECT_EQ(others[0].get().text(), "x");
  EXPECT_EQ(await_news<BackPressureOff>(news).limit, 2U);
  EXPECT_EQ(pool.metrics().rejected, 1U);
}

TEST(ProcessPoolWorkers, AStoppedPoolHasNoProcessesAndTakesNoTasks) {
  ProcessPool pool({.workers = 2});
  wait_until([&] { return pool.metrics().ready == 2; });
  auto task = pool.call<Bytes>("sleep_ms", 30);
  const pid_t pid = pool.worker_status(0)->pid;
  EXPECT_TRUE(pool.stop());
  EXPECT_TRUE(task.is_ready()) << "what was accepted was run";
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(pool.metrics().state, PoolState::shut_down);
  EXPECT_THROW((void)pool.exec("echo").get(), Stopped);
  EXPECT_TRUE(pool.stop()) << "twice is harmless";
}

TEST(ProcessPoolWorkers, MayBeStoppedByManyThreadsAtOnce) {
  ProcessPool pool({.workers = 2});
  auto task = pool.call<Bytes>("sleep_ms", 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&pool] { EXPECT_TRUE(pool.stop()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(task.is_ready());
}

TEST(ProcessPoolWorkers, AStopWithATimeoutTellsWhatIsLeft) {
  ProcessPool pool({.workers = 1});
  auto hangs = pool.exec("hang");
  auto waits = pool.exec("echo");
  EXPECT_EQ(pool.stop({.timeout = 20ms}).unfinished, 2U);
  EXPECT_EQ(pool.metrics().state, PoolState::shutting_down);
  EXPECT_TRUE(pool.stop({.mode = Stop::discard}));
  EXPECT_THROW((void)hangs.get(), Stopped);
  EXPECT_THROW((void)waits.get(), Stopped);
}

TEST(ProcessPoolWorkers, AManyTimesStartedAndStoppedPoolLeavesNothingBehind) {
  const std::size_t before = count_descriptors("self");
  for (int i = 0; i < 20; ++i) {
    ProcessPool pool({.workers = 2});
    EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
  }
  EXPECT_EQ(count_descriptors("self"), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace muster
