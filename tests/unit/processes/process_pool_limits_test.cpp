// process_pool_limits_test.cpp: workers with little memory. Sanitizers need more, so not for them.
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(ProcessPoolLimits, LimitsAreKeptAndAnAllocationTooLargeIsAnError) {
  ProcessPool pool(
      {.workers = 1, .limits = {.memory_bytes = std::uint64_t{256} << 20}, .retry = at_once(1)});
  EXPECT_EQ(pool.call<int>("eat", std::uint64_t{1} << 20).get(), 'x');
  EXPECT_THROW((void)pool.call<int>("eat", std::uint64_t{1} << 30).get(), RemoteError);
  EXPECT_EQ(pool.metrics().crashes, 0U);
}

TEST(ProcessPoolLimits, LiveThroughATaskThatTakesAllMemory) {
  ProcessPool pool(
      {.workers = 1,
       .limits = {.memory_bytes = std::uint64_t{256} << 20},
       .retry = at_once(1),
       .health = {.heartbeat = 10ms, .warning = 50ms, .zombie = 100ms, .busy_zombie = 100ms}});
  auto task = pool.exec("devour");  // holds all there is for some heartbeats
  EXPECT_THROW((void)task.get(), RemoteError);
  EXPECT_EQ(pool.metrics().crashes, 0U);
}

}  // namespace
}  // namespace muster
