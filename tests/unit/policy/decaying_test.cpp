// decaying_test.cpp: sums that fade with the rounds.
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <muster/policy/decaying.hpp>

namespace muster {
namespace {

TEST(Decaying, IsZeroAtFirst) {
  EXPECT_EQ(Decaying().at(0), 0);
  EXPECT_EQ(Decaying().at(1000), 0);
}

TEST(Decaying, WhatIsAddedInOneRoundAddsUp) {
  Decaying sum;
  sum.add(2, 7);
  sum.add(3, 7);
  EXPECT_DOUBLE_EQ(sum.at(7), 5);
}

TEST(Decaying, SevenTenthsAreKeptOfEachRound) {
  Decaying sum(10, 3);
  EXPECT_DOUBLE_EQ(sum.at(4), 7);
  EXPECT_DOUBLE_EQ(sum.at(5), 4.9);
  sum.add(1, 5);
  EXPECT_DOUBLE_EQ(sum.at(5), 5.9);
  EXPECT_DOUBLE_EQ(sum.at(6), 5.9 * 0.7);
}

TEST(Decaying, ReadingDoesNotDecay) {
  const Decaying sum(10, 0);
  EXPECT_DOUBLE_EQ(sum.at(1), 7);
  EXPECT_DOUBLE_EQ(sum.at(1), 7);
}

TEST(Decaying, ARoundOfThePastCountsAsTheLatest) {
  Decaying sum(10, 5);
  sum.add(1, 4);
  EXPECT_DOUBLE_EQ(sum.at(5), 11);
  EXPECT_DOUBLE_EQ(sum.at(0), 11);
  EXPECT_DOUBLE_EQ(sum.at(6), 11 * 0.7);
}

TEST(Decaying, EverythingIsForgottenInTheEnd) {
  const double hour_in_nanoseconds = 3.6e12;
  const Decaying sum(hour_in_nanoseconds, 0);
  EXPECT_GT(sum.at(50), 0);
  EXPECT_LT(sum.at(95), 1);
  EXPECT_EQ(sum.at(96), 0);
  EXPECT_EQ(sum.at(std::numeric_limits<std::uint64_t>::max()), 0);
}

}  // namespace
}  // namespace muster
