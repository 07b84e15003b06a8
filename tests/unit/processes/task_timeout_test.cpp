// task_timeout_test.cpp: nobody's time is over before he had it.
#include "processes/task_timeout.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time at(Duration since) {
  return Time(since);
}

TEST(TaskTimeout, CountsFromTheBeginning) {
  EXPECT_EQ(time_is_over_at(at(10s), 5s, {}, at(12s)), at(15s));
  EXPECT_EQ(time_is_over_at(at(10s), 5s, {}, at(15s)), at(15s));
  EXPECT_EQ(time_is_over_at(std::nullopt, 5s, {}, at(12s)), at(17s)) << "it has not begun";
}

TEST(TaskTimeout, IsPutOffByAStallButNotByMoreThanIsAllowed) {
  const Stall stall{.end = at(70s), .length = 60s};
  EXPECT_EQ(time_is_over_at(at(9s), 5s, stall, at(70s)), at(75s));
  EXPECT_EQ(time_is_over_at(at(9s), 100s, stall, at(70s)), at(130s));
  EXPECT_EQ(time_is_over_at(at(9s), 200s, stall, at(70s)), at(209s)) << "it has more anyhow";
  EXPECT_EQ(time_is_over_at(at(70s), 5s, stall, at(71s)), at(75s)) << "it began behind it";
}

TEST(TaskTimeout, MayBeForEver) {
  EXPECT_EQ(time_is_over_at(at(10s), Duration::max(), {}, at(12s)), Time::max());
}

}  // namespace
}  // namespace muster
