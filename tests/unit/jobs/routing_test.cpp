// routing_test.cpp: keys stay where they are, and spread.
#include "jobs/routing.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr unsigned kKeys = 20'000;

std::uint32_t instance_of_key(unsigned number, std::uint32_t instances) {
  return instance_of(partition_hash("customer-" + std::to_string(number)), instances);
}

TEST(Routing, AKeyAlwaysBelongsToTheSameInstance) {
  for (unsigned key = 0; key < 100; ++key) {
    EXPECT_EQ(instance_of_key(key, 7), instance_of_key(key, 7));
  }
  // Written down: another answer would move the keys of every store there is.
  EXPECT_EQ(partition_hash("cust-7"), 6'509'853'995'808'429'787U);
  EXPECT_EQ(instance_of_key(1, 10), 3U);
}

TEST(Routing, OneInstanceHasAllKeys) {
  for (unsigned key = 0; key < 100; ++key) EXPECT_EQ(instance_of_key(key, 1), 0U);
}

TEST(Routing, KeysSpreadEvenly) {
  for (const std::uint32_t instances : {2U, 5U, 10U, 64U}) {
    std::vector<unsigned> counts(instances);
    for (unsigned key = 0; key < kKeys; ++key) ++counts.at(instance_of_key(key, instances));
    const auto [least, most] = std::ranges::minmax(counts);
    const double mean = static_cast<double>(kKeys) / instances;
    EXPECT_GT(least, 0.7 * mean) << instances;
    EXPECT_LT(most, 1.3 * mean) << instances;
  }
}

TEST(Routing, WhenInstancesAreAddedKeysMoveOnlyToThose) {
  for (const std::uint32_t instances : {1U, 4U, 10U}) {
    unsigned moved = 0;
    for (unsigned key = 0; key < kKeys; ++key) {
      const std::uint32_t before = instance_of_key(key, instances);
      const std::uint32_t after = instance_of_key(key, instances + 1);
      if (before == after) continue;
      ++moved;
      EXPECT_EQ(after, instances) << "to the new one and nowhere else";
    }
    const double share = static_cast<double>(kKeys) / (instances + 1);
    EXPECT_NEAR(moved, share, 0.15 * share);
  }
}

}  // namespace
}  // namespace muster
