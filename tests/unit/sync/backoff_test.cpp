// backoff_test.cpp: spinning has a bound, after which a thread is told to give up.
#include <gtest/gtest.h>

#include <muster/sync/backoff.hpp>

namespace muster {
namespace {

// Pauses until exhausted, and says how many that took; stops counting at 1000.
int pauses_until_exhausted(Backoff& backoff) {
  int pauses = 0;
  while (!backoff.exhausted() && pauses < 1000) {
    backoff.pause();
    ++pauses;
  }
  return pauses;
}

TEST(Backoff, IsNotExhaustedBeforeItHasPaused) {
  const Backoff backoff;
  EXPECT_FALSE(backoff.exhausted());
}

TEST(Backoff, IsExhaustedAfterAFewPauses) {
  Backoff backoff;
  const int pauses = pauses_until_exhausted(backoff);
  EXPECT_GT(pauses, 1);
  EXPECT_LT(pauses, 20);
}

TEST(Backoff, StaysExhaustedHoweverOftenItPauses) {
  Backoff backoff;
  pauses_until_exhausted(backoff);
  for (int i = 0; i < 100; ++i) backoff.pause();
  EXPECT_TRUE(backoff.exhausted());
}

TEST(Backoff, BeginsAnewAfterAReset) {
  Backoff backoff;
  const int first = pauses_until_exhausted(backoff);
  backoff.reset();
  EXPECT_FALSE(backoff.exhausted());
  EXPECT_EQ(pauses_until_exhausted(backoff), first);
}

}  // namespace
}  // namespace muster
