// expected_time_test.cpp: strategies that look at times expect something of each task that they
// place. In the time of a simulation, in which a task takes exactly as long as it says.
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/strategy.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Queued = std::vector<std::uint64_t>;

// Nobody steals, and all tasks are timed.
class TimedPool {
 public:
  explicit TimedPool(unsigned workers, std::uint64_t seed = 7)
      : world_(seed),
        pool_({.workers = workers,
               .stealing = {.enabled = false},
               .timing = Timing::full,
               .simulation = &world_}) {}

  // One after the other on one worker.
  void run_on(std::size_t worker, int tasks, Duration time) {
    pool_.set_strategy(strategy_from(
        "always",
        [worker](std::span<const WorkerInfo>, const TaskInfo&) { return std::optional(worker); }));
    for (int i = 0; i < tasks; ++i) pool_.post([this, time] { world_.run_for(time); });
    pool_.wait_idle();
  }

  [[nodiscard]] Queued queued() const {
    Queued queued;
    for (const ThreadPoolStats::Worker& each : pool_.stats().workers) queued.push_back(each.queued);
    return queued;
  }

  ThreadPool& pool() { return pool_; }
  Simulation& world() { return world_; }

 private:
  Simulation world_;
  ThreadPool pool_;
};

void nothing() {}

TEST(ExpectedTime, ABurstIsSharedEvenlyHoweverLongTheLastTasksOfWorkersTook) {
  TimedPool timed(2);
  timed.run_on(0, 1, 20ms);
  timed.run_on(1, 20, 1ms);
  timed.pool().set_strategy(BuiltIn::fair_share);
  for (int i = 0; i < 40; ++i) timed.pool().post(nothing);
  EXPECT_EQ(timed.queued(), (Queued{20, 20}));
}

// If it began with nothing, it would get all 30, or half of them.
TEST(ExpectedTime, ANewWorkerBeginsWithTheLeastOfWhatOthersHaveBehindThem) {
  for (const BuiltIn strategy : {BuiltIn::least_used, BuiltIn::least_elu, BuiltIn::fair_share}) {
    TimedPool timed(2);
    timed.run_on(0, 30, 1ms);
    timed.run_on(1, 30, 1ms);
    timed.pool().set_strategy(strategy);
    timed.pool().submit(nothing).get();  // so that the past of these two is known by now
    timed.pool().resize(3);
    for (int i = 0; i < 30; ++i) timed.pool().post(nothing);
    const Queued queued = timed.queued();
    ASSERT_EQ(queued.size(), 3U);
    EXPECT_GE(queued[2], 10U) << to_string(strategy);
    EXPECT_LE(queued[2], 12U) << to_string(strategy);
  }
}

}  // namespace
}  // namespace muster
