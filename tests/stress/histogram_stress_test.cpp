// histogram_stress_test.cpp: many threads record and merge while others look; no value is lost.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/observe/histogram.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr std::uint64_t kRecorders = 3;
constexpr std::uint64_t kEach = 2000;

// Few different ones, so that threads meet in their buckets; the last is beyond the limit.
constexpr std::array<Duration, 4> kDurations = {Duration(7), Duration(100), Duration(5000),
                                                Histogram::kLimit};

class Round {
 public:
  void play(Random& random) {
    {
      Threads threads(random);
      threads.start([this](Random& /*own*/) { look(); });
      for (std::uint64_t i = 0; i < kRecorders; ++i) {
        threads.start([this](Random& own) { record(own); });
      }
    }
    const HistogramSnapshot seen = total_.snapshot();
    EXPECT_EQ(seen.count(), kRecorders * kEach);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < kDurations.size(); ++i) {
      expected += recorded_.at(i);
      EXPECT_EQ(seen.count_up_to(kDurations.at(i) + kDurations.at(i) / 100), expected);
    }
    EXPECT_EQ(seen.over_limit(), recorded_.back());
  }

 private:
  // Half of it here, half by way of an own histogram that is merged now and then.
  void record(Random& random) {
    auto own = std::make_unique<Histogram>();
    for (std::uint64_t i = 0; i < kEach; ++i) {
      const std::size_t which = random.below(kDurations.size());
      (random.chance(0.5) ? *own : total_).record(kDurations.at(which));
      recorded_.at(which).fetch_add(1);
      if (random.below(500) == 0) {
        total_.merge(*own);
        own = std::make_unique<Histogram>();
      }
    }
    total_.merge(*own);
    done_.fetch_add(1);
  }

  // Each snapshot has all of the one before, or subtract() throws.
  void look() {
    HistogramSnapshot earlier;
    while (done_.load() < kRecorders) {
      const HistogramSnapshot now = total_.snapshot();
      HistogramSnapshot since = now;
      EXPECT_NO_THROW(since.subtract(earlier));
      EXPECT_EQ(since.count(), now.count() - earlier.count());
      EXPECT_EQ(now.percentile(100), now.max());
      earlier = now;
    }
  }

  Histogram total_;
  std::array<std::atomic<std::uint64_t>, kDurations.size()> recorded_{};
  std::atomic<std::uint64_t> done_ = 0;
};

TEST(HistogramStress, EveryRecordedValueIsCountedOnce) {
  StressRun run;
  while (run.next_round()) std::make_unique<Round>()->play(run.random());
}

}  // namespace
}  // namespace muster::testing
