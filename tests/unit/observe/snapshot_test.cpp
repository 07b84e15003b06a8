// snapshot_test.cpp: a snapshot says nothing until it is filled, what its figures mean, and that
// counts never go back.
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <muster/observe/rates.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/observe/worker_state.hpp>

namespace muster {
namespace {

TEST(PoolSnapshot, OfNothingHasNoWorkersAndNoLatencies) {
  const PoolSnapshot snapshot;
  EXPECT_TRUE(snapshot.workers.empty());
  EXPECT_EQ(snapshot.latency.queue_wait.count(), 0U);
  EXPECT_EQ(snapshot.latency.run.count(), 0U);
  EXPECT_FALSE(snapshot.back_pressure.is_on);
}

TEST(PoolSnapshot, HitRateIsTheShareOfTasksThatRanWhereTheirKeyBelongs) {
  PoolSnapshot::Affinity affinity;
  EXPECT_EQ(affinity.hit_rate(), std::nullopt);
  affinity.misses = 2;
  EXPECT_EQ(affinity.hit_rate(), 0.0);
  affinity.hits = 6;
  EXPECT_EQ(affinity.hit_rate(), 0.75);
}

TEST(PoolSnapshot, ScalingCountsWhatCameInARow) {
  PoolSnapshot::Scaling scaling;
  scaling.count(3);
  scaling.count(1);
  EXPECT_EQ(scaling.ups, 2U);
  EXPECT_EQ(scaling.consecutive_ups, 2U);
  scaling.count(0);
  EXPECT_EQ(scaling.consecutive_ups, 2U) << "nothing was done in between";
  scaling.count(-2);
  EXPECT_EQ(scaling.ups, 2U);
  EXPECT_EQ(scaling.downs, 1U);
  EXPECT_EQ(scaling.consecutive_ups, 0U);
  EXPECT_EQ(scaling.consecutive_downs, 1U);
  scaling.count(1);
  EXPECT_EQ(scaling.consecutive_downs, 0U);
}

TEST(Rates, TellHowTasksEndedAndHowOften) {
  using namespace std::chrono_literals;
  Rates rates(1s, Time{});
  PoolSnapshot snapshot;
  snapshot.workers = {{.failed = 1}, {.failed = 2}};
  rates.fill(snapshot, 10, Time(2s));
  EXPECT_EQ(snapshot.tasks.succeeded, 7U);
  EXPECT_EQ(snapshot.tasks.failed, 3U);
  EXPECT_EQ(snapshot.throughput.tasks_per_second, 5);
}

// A failure may be seen before the end of its task, and a task that is moved is counted twice for a
// moment.
TEST(Rates, NoCountGoesBackWhateverWasReadFirst) {
  using namespace std::chrono_literals;
  Rates rates(1s, Time{});
  PoolSnapshot first;
  first.queue = {.enqueued = 20, .dequeued = 10, .stolen = 5};
  first.workers = {{.failed = 1}};
  rates.fill(first, 10, Time(1s));
  PoolSnapshot second;
  second.queue = {.size = 3, .enqueued = 19, .dequeued = 9, .stolen = 4};
  second.workers = {{.failed = 2}};
  rates.fill(second, 10, Time(1s));
  EXPECT_EQ(second.tasks.succeeded, 9U);
  EXPECT_EQ(second.tasks.failed, 2U);
  EXPECT_EQ(second.queue.size, 3U);
  EXPECT_EQ(second.queue.enqueued, 20U);
  EXPECT_EQ(second.queue.dequeued, 10U);
  EXPECT_EQ(second.queue.stolen, 5U);
  PoolSnapshot third;
  rates.fill(third, 0, Time(2s));
  EXPECT_EQ(third.tasks.failed, 2U);
}

TEST(Rates, AreThoseOfTheWindowHoweverManyLook) {
  using namespace std::chrono_literals;
  Rates rates(1s, Time{});
  PoolSnapshot seen;
  for (int i = 1; i <= 500; ++i) {  // 100 tasks a second for five
    rates.fill(seen, static_cast<std::uint64_t>(i), Time(i * 10ms));
  }
  EXPECT_NEAR(seen.throughput.tasks_per_second, 100, 1);
  rates.fill(seen, 500, Time(5s));
  EXPECT_NEAR(seen.throughput.tasks_per_second, 100, 1) << "another at the same moment";
  rates.fill(seen, 500, Time(5s + 500ms));
  EXPECT_NEAR(seen.throughput.tasks_per_second, 50, 6);
  rates.fill(seen, 500, Time(6s + 100ms));
  EXPECT_EQ(seen.throughput.tasks_per_second, 0);
}

TEST(Rates, AreThoseSinceTheLastSnapshotIfThatIsLongAgo) {
  using namespace std::chrono_literals;
  Rates rates(1s, Time{});
  PoolSnapshot seen;
  rates.fill(seen, 1000, Time(10s));
  rates.fill(seen, 1100, Time(20s));
  EXPECT_EQ(seen.throughput.tasks_per_second, 10);
}

TEST(WorkerState, EveryStateHasItsName) {
  using enum WorkerState;
  constexpr std::array<std::pair<WorkerState, std::string_view>, 9> kNames = {{
      {cold, "cold"},
      {warming, "warming"},
      {ready, "ready"},
      {busy, "busy"},
      {draining, "draining"},
      {terminating, "terminating"},
      {terminated, "terminated"},
      {failed, "failed"},
      {zombie, "zombie"},
  }};
  for (const auto& [state, name] : kNames) EXPECT_EQ(to_string(state), name);
}

}  // namespace
}  // namespace muster
