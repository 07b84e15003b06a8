// snapshot_test.cpp: a snapshot says nothing until it is filled, and what its figures mean.
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

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
