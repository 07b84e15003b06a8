// choice_allocation_test.cpp: choosing allocates nothing.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/choice.hpp>

#include "support/allocation_count.hpp"

namespace muster {
namespace {

TEST(Choose, AllocatesNothing) {
  Random random(1);
  for (const std::size_t workers : {1UL, 16UL, 17UL, 512UL}) {
    std::vector<WorkerLoad> loads(workers);
    const WeightedSchedule schedule(TurnOrder::interleaved, std::vector<double>(workers, 2.5));
    const auto load_of = [&loads](std::size_t worker) { return loads[worker]; };
    Rotation turn;
    const std::uint64_t before = testing::allocation_count();
    for (const BuiltIn strategy : kBuiltIns) {
      for (int i = 0; i < 100; ++i) {
        ++loads[choose(strategy, workers, turn, random, load_of)].pending;
        ++loads[choose(schedule, turn)].pending;
      }
    }
    EXPECT_EQ(testing::allocation_count() - before, 0U);
  }
}

}  // namespace
}  // namespace muster
