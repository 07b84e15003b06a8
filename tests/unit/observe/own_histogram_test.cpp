// own_histogram_test.cpp: one thread's histogram says what a shared one would.
#include <cstdint>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/observe/own_histogram.hpp>

namespace muster {
namespace {

TEST(OwnHistogram, SaysWhatASharedOneSays) {
  Random random(1);
  OwnHistogram own;
  const auto shared = std::make_unique<Histogram>();
  for (int i = 0; i < 10'000; ++i) {
    const Duration duration(static_cast<Duration::rep>(random() >> random.below(64)));
    const std::uint64_t times = 1 + random.below(3);
    ASSERT_TRUE(own.record(duration, times));
    shared->record(duration, times);
  }
  ASSERT_TRUE(own.record(Duration(-1)));
  shared->record(Duration(-1));
  ASSERT_TRUE(own.record(Histogram::kLimit));
  shared->record(Histogram::kLimit);
  EXPECT_EQ(own.snapshot(), shared->snapshot());
}

TEST(OwnHistogram, HasNothingAtFirst) {
  EXPECT_EQ(OwnHistogram().snapshot(), HistogramSnapshot());
}

TEST(OwnHistogram, AnotherThreadSeesWhatWasRecordedAndLaterNoLess) {
  constexpr std::uint64_t kRecords = 200'000;
  OwnHistogram own;
  std::thread recorder([&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(own.record(Duration(static_cast<Duration::rep>(i))));
    }
  });
  HistogramSnapshot seen;
  while (seen.count() < kRecords) {
    HistogramSnapshot now = own.snapshot();
    HistogramSnapshot since = now;
    EXPECT_NO_THROW(since.subtract(seen));
    seen = now;
  }
  recorder.join();
  EXPECT_EQ(own.snapshot().count(), kRecords);
}

}  // namespace
}  // namespace muster
