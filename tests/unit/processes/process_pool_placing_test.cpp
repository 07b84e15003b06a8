// process_pool_placing_test.cpp: by which strategy a pool of processes places its tasks, what it
// tells the strategy, and what it says of the times that tasks took.
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// How many of so many tasks, one after the other, each worker gets.
std::map<std::size_t, int> shares_of(ProcessPool& pool, int tasks) {
  std::map<std::size_t, int> shares;
  for (int i = 0; i < tasks; ++i) ++shares[pool.call<std::size_t>("worker").get()];
  return shares;
}

TEST(ProcessPoolPlacing, WeightedOnesShareByTheWeightsGiven) {
  for (const BuiltIn strategy : {BuiltIn::weighted_round_robin, BuiltIn::interleaved_weighted}) {
    ProcessPool pool({.workers = 2, .strategy = strategy, .weights = {3, 1}});
    await_ready(pool, 2);
    EXPECT_EQ(shares_of(pool, 40), (std::map<std::size_t, int>{{0, 30}, {1, 10}}));
    EXPECT_EQ(pool.snapshot().workers[0].weight, 3);
    EXPECT_EQ(pool.snapshot().workers[1].weight, 1);
  }
}

TEST(ProcessPoolPlacing, RoundRobinGoesFromOneToTheNext) {
  ProcessPool pool({.workers = 3, .strategy = BuiltIn::round_robin});
  await_ready(pool, 3);
  std::size_t last = pool.call<std::size_t>("worker").get();
  for (int i = 0; i < 30; ++i) {
    const std::size_t next = pool.call<std::size_t>("worker").get();
    ASSERT_EQ(next, (last + 1) % 3) << "task " << i;
    last = next;
  }
}

// How many of 20 tasks go to the other one, after `work` was done by one of two.
int left_to_the_other(BuiltIn strategy,
                      const std::function<void(ProcessPool&, const ExecOptions& kept)>& work) {
  ProcessPool pool({.workers = 2, .strategy = strategy});
  await_ready(pool, 2);
  (void)shares_of(pool, 2);  // what was before the first choice does not count
  const ExecOptions kept{.affinity = "a", .affinity_class = AffinityClass::hard};
  const std::size_t busy = pool.call_with<std::size_t>(kept, "worker").get();
  work(pool, kept);
  return shares_of(pool, 20)[1 - busy];
}

TEST(ProcessPoolPlacing, LeastUsedEvensOutWhatWorkersDidOfLate) {
  EXPECT_GE(left_to_the_other(BuiltIn::least_used,
                              [](ProcessPool& pool, const ExecOptions& kept) {
                                for (int i = 0; i < 29; ++i) {
                                  (void)pool.call_with<std::size_t>(kept, "worker").get();
                                }
                              }),
            15);
}

TEST(ProcessPoolPlacing, FairShareTurnsToThoseWhoHaveWorkedLess) {
  EXPECT_GE(left_to_the_other(BuiltIn::fair_share,
                              [](ProcessPool& pool, const ExecOptions& kept) {
                                (void)pool.call_with<Bytes>(kept, "sleep_ms", 50).get();
                              }),
            15);
}

// Remembers what it is told, and picks the last.
class Witness : public Strategy {
 public:
  std::string_view name() const override { return "witness"; }
  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    const std::lock_guard lock(mutex);
    infos.assign(workers.begin(), workers.end());
    if (on_select) on_select();
    return Selection{workers.back().id, "the last"};
  }
  void on_task_complete(std::size_t worker, Duration duration) override {
    const std::lock_guard lock(mutex);
    ended[worker].push_back(duration);
  }
  void on_worker_added(const WorkerInfo& worker) override {
    const std::lock_guard lock(mutex);
    added.insert(worker.id);
  }
  void on_worker_removed(std::size_t worker) override {
    const std::lock_guard lock(mutex);
    removed.insert(worker);
  }
  void reset() override { ++resets; }

  std::mutex mutex;
  std::function<void()> on_select;
  std::vector<WorkerInfo> infos;
  std::map<std::size_t, std::vector<Duration>> ended;
  std::multiset<std::size_t> added;
  std::multiset<std::size_t> removed;
  std::atomic<int> resets = 0;
};

TEST(ProcessPoolPlacing, YoursIsToldOfTasksThatEndAndOfWorkersThatComeAndGo) {
  const auto witness = std::make_shared<Witness>();
  ProcessPool pool({.workers = 2, .strategy = witness});
  await_ready(pool, 2);
  EXPECT_EQ(witness->resets, 1);
  (void)pool.call<Bytes>("sleep_ms", 20).get();
  (void)pool.call<std::size_t>("worker").get();
  {
    const std::lock_guard lock(witness->mutex);
    EXPECT_EQ(witness->added, (std::multiset<std::size_t>{0, 1}));
    ASSERT_EQ(witness->infos.size(), 2U);
    const std::size_t used = witness->ended.begin()->first;
    ASSERT_EQ(witness->ended[used].size() + witness->ended[1 - used].size(), 2U);
    EXPECT_GE(witness->ended[used].front(), 20ms);
    for (const WorkerInfo& info : witness->infos) {
      if (info.id != used) continue;
      EXPECT_EQ(info.tasks_done, 1U);
      EXPECT_GE(info.last_task_time, 20ms);
      EXPECT_GE(info.average_task_time, 20ms);
    }
  }
  const pid_t victim = pool.worker_status(0)->pid;
  kill(victim, SIGKILL);
  while (pool.worker_status(0)->restarts == 0) pause_for(1ms);
  await_ready(pool, 2);
  const std::lock_guard lock(witness->mutex);
  EXPECT_EQ(witness->removed, (std::multiset<std::size_t>{0}));
  EXPECT_EQ(witness->added.count(0), 2U);
}

TEST(ProcessPoolPlacing, YoursMayNotCallItsPool) {
  const auto witness = std::make_shared<Witness>();
  ProcessPool pool({.workers = 3, .strategy = witness});
  await_ready(pool, 3);
  std::atomic<int> refused = 0;
  auto earlier = pool.exec("echo");
  earlier.wait();
  auto running = pool.call<Bytes>("sleep_ms", 200);
  witness->on_select = [&] {
    EXPECT_THROW((void)running.wait_for(1h), WouldDeadlock);
    EXPECT_THROW((void)earlier.cancel(), WouldDeadlock);
    EXPECT_THROW((void)pool.replay(1), WouldDeadlock);
    EXPECT_THROW((void)pool.exec("echo"), WouldDeadlock);
    EXPECT_THROW((void)pool.metrics(), WouldDeadlock);
    EXPECT_THROW((void)pool.snapshot(), WouldDeadlock);
    EXPECT_THROW(pool.set_strategy(BuiltIn::least_busy), WouldDeadlock);
    EXPECT_THROW(pool.scale_up(1), WouldDeadlock);
    EXPECT_THROW(pool.stop(), WouldDeadlock);
    ++refused;
  };
  EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
  EXPECT_EQ(refused, 1);
}

TEST(ProcessPoolPlacing, TheStrategyIsExchangedWhileTasksRun) {
  ProcessPool pool({.workers = 2});
  await_ready(pool, 2);
  EXPECT_EQ(pool.strategy(), "least-busy");
  NoticeStream news = pool.subscribe();
  std::vector<Future<Bytes>> many;
  for (int i = 0; i < 200; ++i) {
    many.push_back(pool.exec("echo", std::to_string(i)));
    if (i == 100) pool.set_strategy(std::make_shared<Witness>());
  }
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_EQ(many[i].get().text(), std::to_string(i));
  EXPECT_EQ(pool.strategy(), "witness");
  const auto changed = await_news<StrategyChanged>(news);
  EXPECT_EQ(changed.from, "least-busy");
  EXPECT_EQ(changed.to, "witness");
  EXPECT_THROW(pool.set_strategy("no such strategy"), InvalidArgument);
  EXPECT_EQ(pool.strategy(), "witness");
}

TEST(ProcessPoolPlacing, BadWeightsAreNamed) {
  try {
    const ProcessPool pool({.workers = 2, .weights = {1, 0}});
    FAIL() << "took a weight of 0";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("weights[1]"), std::string::npos) << error.what();
  }
}

TEST(ProcessPoolSnapshot, TellsHowLongTasksWaitedAndRan) {
  ProcessPool pool({.workers = 1});
  await_ready(pool, 1);
  std::vector<Future<Bytes>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(pool.call<Bytes>("sleep_ms", 20));
  for (auto& task : tasks) (void)task.get();
  EXPECT_THROW((void)pool.exec("throw", "boom", {.retry = RetryOptions{.max_attempts = 1}}).get(),
               RemoteError);
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.latency.run.count(), 6U);
  EXPECT_GE(seen.latency.run.percentile(50).value(), 19ms);
  EXPECT_EQ(seen.latency.queue_wait.count(), 6U);
  EXPECT_GE(seen.latency.queue_wait.max().value(), 60ms);
  EXPECT_LT(seen.latency.queue_wait.min().value(), 20ms);
  EXPECT_GT(seen.throughput.tasks_per_second, 0);
  EXPECT_GT(seen.throughput.average_latency, 20ms);
  EXPECT_EQ(seen.tasks.succeeded, 5U);
  EXPECT_EQ(seen.tasks.failed, 1U);
  EXPECT_EQ(seen.workers[0].failed, 1U);
  EXPECT_GT(seen.workers[0].average_task_time, Duration::zero());
}

TEST(ProcessPoolSnapshot, CountsAllProcessesOfAWorkerAndNoTaskThatWasCalledOff) {
  ProcessPool pool({.workers = 1, .retry = at_once(1)});
  for (int i = 0; i < 3; ++i) (void)pool.exec("echo").get();
  EXPECT_THROW((void)pool.exec("throw_number").get(), RemoteError);
  EXPECT_THROW((void)pool.call<Bytes>("exit", 1).get(), WorkerCrashed);
  (void)pool.exec("echo").get();
  EXPECT_TRUE(pool.exec("echo", {}, {.run_at = Time::clock::now() + 1h}).cancel());
  const PoolSnapshot seen = pool.snapshot();
  EXPECT_EQ(seen.workers[0].completed, 5U);
  EXPECT_EQ(seen.workers[0].failed, 1U);
  EXPECT_EQ(seen.tasks.succeeded, 4U);
  EXPECT_EQ(seen.tasks.failed, 2U);
}

TEST(ProcessPoolSnapshot, TellsWhetherAWorkerWasBusyOfLate) {
  ProcessPool pool({.workers = 1});
  const auto utilisation = [&] { return pool.snapshot().workers[0].utilisation; };
  EXPECT_LT(utilisation(), 0.2);
  (void)pool.call<Bytes>("sleep_ms", 500).get();
  EXPECT_GT(utilisation(), 0.3);
  pause_for(1500ms);
  EXPECT_EQ(utilisation(), 0);
  auto task = pool.call_with<Bytes>({.killable = true}, "sleep_ms", 60'000);
  wait_until([&] { return utilisation() > 0.5; });
  EXPECT_TRUE(task.cancel());
}

TEST(ProcessPoolSnapshot, TellsWhetherTasksRanWhereTheirKeyBelongs) {
  ProcessPool pool({.workers = 2});
  await_ready(pool, 2);
  const ExecOptions soft{.affinity = "a"};
  auto slow = pool.call_with<Bytes>(soft, "sleep_ms", 100);
  while (pool.metrics().busy == 0) pause_for(1ms);
  (void)pool.call_with<Bytes>(soft, "sleep_ms", 1).get();  // by the other, which is free
  (void)slow.get();
  const PoolSnapshot::Affinity seen = pool.snapshot().affinity;
  EXPECT_EQ(seen.hits, 1U);
  EXPECT_EQ(seen.misses, 1U);
}

}  // namespace
}  // namespace muster
