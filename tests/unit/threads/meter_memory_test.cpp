// meter_memory_test.cpp: what a worker measures when there is no memory for its histograms.
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "support/failing_news.hpp"
#include "threads/meter.hpp"

namespace muster {
namespace {

// Of histograms only the octaves of a worker's own are aligned to more than usual.
constexpr int kAll = std::numeric_limits<int>::max();

TEST(OwnHistogram, WithoutMemoryForAnOctaveItSaysSoAndGoesOnAsBefore) {
  OwnHistogram own;
  ASSERT_TRUE(own.record(Duration(5)));
  testing::fail_aligned_news(kAll);
  EXPECT_TRUE(own.record(Duration(5)));  // its octave is there
  EXPECT_FALSE(own.record(Duration(1000)));
  testing::fail_aligned_news(0);
  EXPECT_EQ(own.snapshot().count(), 2U);
  EXPECT_TRUE(own.record(Duration(1000)));
  EXPECT_EQ(own.snapshot().count(), 3U);
}

TEST(Meter, WhatAWorkerHasNoMemoryForIsCountedAllTheSame) {
  Meter meter(Timing::full);
  WorkerTimes times(std::chrono::seconds(1), Time::clock::now());
  const auto time_one = [&] {
    const Time begin = meter.begin(std::nullopt, times);
    meter.record({.stamp = 1, .begin = begin, .end = meter.end(begin, times)}, times);
  };
  testing::fail_aligned_news(kAll);
  time_one();
  testing::fail_aligned_news(0);
  time_one();
  for (const auto& [shared, own] :
       {std::pair(meter.queue_wait().snapshot(), times.queue_wait.snapshot()),
        std::pair(meter.run().snapshot(), times.run.snapshot())}) {
    EXPECT_EQ(shared.count(), 1U);
    EXPECT_EQ(own.count(), 1U);
  }
}

}  // namespace
}  // namespace muster
