// id_filter_test.cpp: what was added is never forgotten, and most of the rest is known to be new.
#include "jobs/stores/sqlite/id_filter.hpp"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

// Of these ids, those that the filter cannot tell from what it has.
int count_possible(const IdFilter& filter, PoolNumber pool, int first, int last) {
  int count = 0;
  for (int i = first; i <= last; ++i) count += filter.may_have(pool, std::to_string(i)) ? 1 : 0;
  return count;
}

TEST(IdFilter, NothingIsInANewOne) {
  const IdFilter filter;
  EXPECT_FALSE(filter.may_have(1, "a"));
  EXPECT_FALSE(filter.may_have(1, ""));
}

TEST(IdFilter, ForgetsNothingAndKnowsMostOfTheRestIsNew) {
  constexpr int kIds = 400'000;  // three layers
  IdFilter filter;
  for (int i = 0; i < kIds; ++i) filter.add(1, std::to_string(i));
  EXPECT_EQ(count_possible(filter, 1, 0, kIds - 1), kIds);
  EXPECT_LT(count_possible(filter, 1, kIds, 2 * kIds - 1), kIds / 20);
}

TEST(IdFilter, AnIdOfAnotherPoolIsAnother) {
  IdFilter filter;
  for (int i = 0; i < 1000; ++i) filter.add(1, std::to_string(i));
  EXPECT_LT(count_possible(filter, 2, 0, 999), 50);
}

TEST(IdFilter, WithTooManyAllArePossible) {
  IdFilter filter(100'000);
  for (int i = 0; i < 99'000; ++i) filter.add(1, std::to_string(i));
  EXPECT_LT(count_possible(filter, 2, 0, 999), 100);
  for (int i = 99'000; i < 120'000; ++i) filter.add(1, std::to_string(i));
  EXPECT_EQ(count_possible(filter, 2, 0, 999), 1000);
}

TEST(IdFilter, WhatIsThereTakesNoRoom) {
  IdFilter filter(1000);
  for (int i = 0; i < 10'000; ++i) filter.add(1, std::to_string(i % 500));
  EXPECT_LT(count_possible(filter, 1, 1000, 1999), 100);
}

TEST(IdFilter, WhoGivesUpHoldsAllForPossible) {
  IdFilter filter;
  filter.add(1, "a");
  filter.give_up();
  filter.add(1, "b");
  EXPECT_TRUE(filter.may_have(1, "c"));
}

}  // namespace
}  // namespace muster
