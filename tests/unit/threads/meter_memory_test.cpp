// meter_memory_test.cpp: what a worker measures when there is no memory for its histograms.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "threads/meter.hpp"

namespace {
bool aligned_news_fail = false;
}

// Of histograms only the octaves of a worker's own come here.
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned_news_fail ? nullptr
                           : std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace muster {
namespace {

TEST(OwnHistogram, WithoutMemoryForAnOctaveItSaysSoAndGoesOnAsBefore) {
  OwnHistogram own;
  ASSERT_TRUE(own.record(Duration(5)));
  aligned_news_fail = true;
  EXPECT_TRUE(own.record(Duration(5)));  // its octave is there
  EXPECT_FALSE(own.record(Duration(1000)));
  aligned_news_fail = false;
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
  aligned_news_fail = true;
  time_one();
  aligned_news_fail = false;
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
