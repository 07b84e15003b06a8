// recycling_test.cpp: who has done enough, grown too large or become too old.
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/recycling.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr WorkerLife kLong{.tasks = std::numeric_limits<std::uint64_t>::max(),
                           .growth_bytes = std::numeric_limits<std::uint64_t>::max(),
                           .age = Duration::max()};

TEST(Recycling, IsOffUnlessALimitIsGiven) {
  EXPECT_EQ(reason_to_recycle({}, kLong, 1), RecycleReason::none);
}

TEST(Recycling, EachLimitHasItsReason) {
  const RecyclingOptions tasks{.max_tasks = 100, .jitter = 0};
  EXPECT_EQ(reason_to_recycle(tasks, {.tasks = 99, .growth_bytes = 1000, .age = 1h}, 1),
            RecycleReason::none);
  EXPECT_EQ(reason_to_recycle(tasks, {.tasks = 100}, 1), RecycleReason::tasks);
  const RecyclingOptions memory{.max_growth_bytes = 100, .jitter = 0};
  EXPECT_EQ(reason_to_recycle(memory, {.tasks = 1000, .growth_bytes = 99, .age = 1h}, 1),
            RecycleReason::none);
  EXPECT_EQ(reason_to_recycle(memory, {.growth_bytes = 100}, 1), RecycleReason::memory);
  const RecyclingOptions age{.max_age = 10s, .jitter = 0};
  EXPECT_EQ(reason_to_recycle(age, {.tasks = 1000, .growth_bytes = 1000, .age = 10s - 1ns}, 1),
            RecycleReason::none);
  EXPECT_EQ(reason_to_recycle(age, {.age = 10s}, 1), RecycleReason::age);
}

TEST(Recycling, JitterMakesLimitsOnlyLower) {
  const RecyclingOptions options{.max_tasks = 100, .jitter = 0.2};
  EXPECT_EQ(reason_to_recycle(options, {.tasks = 99}, 0), RecycleReason::none);
  EXPECT_EQ(reason_to_recycle(options, {.tasks = 100}, 0), RecycleReason::tasks);
  EXPECT_EQ(reason_to_recycle(options, {.tasks = 79}, 1), RecycleReason::none);
  EXPECT_EQ(reason_to_recycle(options, {.tasks = 80}, 1), RecycleReason::tasks);
}

TEST(Recycling, NobodyIsGivenATaskThatItsSuccessorShouldHave) {
  const RecyclingOptions options{.max_tasks = 10, .jitter = 0.2};
  EXPECT_EQ(tasks_at_hand(options, 0, 0), 10U);
  EXPECT_EQ(tasks_at_hand(options, 0, 1), 8U);
  EXPECT_EQ(tasks_at_hand(options, 7, 0.75), 2U) << "of 8.5";
  EXPECT_EQ(tasks_at_hand(options, 10, 0), 1U) << "while it cannot be replaced";
  EXPECT_EQ(tasks_at_hand({.max_growth_bytes = 1}, 0, 0), 1U);
  EXPECT_EQ(tasks_at_hand({}, 1000, 0), std::numeric_limits<unsigned>::max());
}

TEST(Recycling, EveryBadFieldIsNamedAtOnce) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(
           RecyclingOptions{.max_tasks = 0, .max_growth_bytes = 0, .max_age = 0s, .jitter = 1})) {
    fields.push_back(bad.field);
  }
  EXPECT_EQ(fields,
            (std::vector<std::string>{"max_tasks", "max_growth_bytes", "max_age", "jitter"}));
  EXPECT_TRUE(validate(RecyclingOptions{}).empty());
}

}  // namespace
}  // namespace muster
