// histogram_test.cpp: where values fall, how far off they are told, and what snapshots say of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/error.hpp>
#include <muster/observe/histogram.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr double kWorstError = 1.0 / 128;  // half of one of 64 steps
static_assert(kWorstError < 0.008);

constexpr Duration told(Duration duration) {
  return HistogramBuckets::middle_of(HistogramBuckets::index_of(duration));
}

double error_of(Duration duration) {
  return std::abs(static_cast<double>((told(duration) - duration).count())) /
         static_cast<double>(duration.count());
}

HistogramSnapshot snapshot_of(const std::vector<Duration>& durations) {
  const auto histogram = std::make_unique<Histogram>();
  for (const Duration duration : durations) histogram->record(duration);
  return histogram->snapshot();
}

// Of any length: as many tiny ones as huge ones.
std::vector<Duration> any_durations(std::size_t count, Random& random) {
  std::vector<Duration> durations(count);
  for (Duration& duration : durations) duration = Duration(random() >> (22 + random.below(42)));
  return durations;
}

TEST(Histogram, ValuesBelow128AreExact) {
  for (Duration duration = 0ns; duration < 128ns; ++duration) EXPECT_EQ(told(duration), duration);
}

TEST(Histogram, EveryDoublingHas64BucketsOfOneWidth) {
  for (std::int64_t low = 64; low < Histogram::kLimit.count(); low *= 2) {
    const std::size_t first = HistogramBuckets::index_of(Duration(low));
    EXPECT_EQ(HistogramBuckets::index_of(Duration(2 * low)), first + 64);
    for (std::int64_t step = 0; step < 64; ++step) {
      const std::int64_t begin = low + step * (low / 64);
      const std::int64_t end = begin + low / 64;
      const std::size_t index = first + static_cast<std::size_t>(step);
      ASSERT_EQ(HistogramBuckets::index_of(Duration(begin)), index);
      ASSERT_EQ(HistogramBuckets::index_of(Duration(end - 1)), index);
      ASSERT_EQ(HistogramBuckets::middle_of(index), Duration(begin + low / 128));
    }
  }
}

TEST(Histogram, NoValueBelowTheLimitIsToldMoreThan0Point8PercentOff) {
  Random random(1);
  double worst = 0;
  for (const Duration duration : any_durations(30'000, random)) {
    if (duration > 0ns && duration < Histogram::kLimit) {
      worst = std::max(worst, error_of(duration));
    }
  }
  EXPECT_LE(worst, kWorstError);
  EXPECT_DOUBLE_EQ(error_of(Histogram::kLimit / 2), kWorstError);  // the lowest of its bucket
}

TEST(Histogram, FromTheLimitOnAllFallIntoTheLastBucketAndAreCounted) {
  const HistogramSnapshot seen =
      snapshot_of({Histogram::kLimit - 1ns, Histogram::kLimit, 5h, Duration::max()});
  EXPECT_EQ(seen.count(), 4U);
  EXPECT_EQ(seen.over_limit(), 3U);
  EXPECT_EQ(seen.max(), Histogram::kLimit);
  EXPECT_LT(seen.min(), Histogram::kLimit);
}

TEST(Histogram, ANegativeDurationCountsAsNone) {
  const HistogramSnapshot seen = snapshot_of({-1ns, Duration::min()});
  EXPECT_EQ(seen.count(), 2U);
  EXPECT_EQ(seen.max(), 0ns);
}

TEST(Histogram, AnEmptyOneCountsNothingAndHasNoPercentiles) {
  for (const HistogramSnapshot& seen : {HistogramSnapshot(), snapshot_of({})}) {
    EXPECT_EQ(seen.count(), 0U);
    EXPECT_EQ(seen.over_limit(), 0U);
    EXPECT_EQ(seen.count_up_to(1h), 0U);
    EXPECT_EQ(seen.sum().count(), 0);
    EXPECT_EQ(seen.min(), std::nullopt);
    EXPECT_EQ(seen.max(), std::nullopt);
    EXPECT_EQ(seen.percentile(50), std::nullopt);
  }
}

TEST(Histogram, SumMinAndMaxAreOfTheMiddles) {
  const HistogramSnapshot seen = snapshot_of({3ns, 100ns, 100ns, 256ns, 1024ns});
  EXPECT_EQ(seen.min(), 3ns);
  EXPECT_EQ(seen.max(), 1032ns);
  EXPECT_EQ(seen.sum().count(), 3 + 100 + 100 + 258 + 1032);
}

TEST(Histogram, ASumBeyond292YearsIsStillRight) {
  const auto histogram = std::make_unique<Histogram>();
  for (int doubling = 0; doubling < 30; ++doubling) {
    histogram->merge(*histogram);
    if (doubling == 0) histogram->record(Histogram::kLimit);
  }
  EXPECT_DOUBLE_EQ(histogram->snapshot().sum().count(), std::pow(2.0, 29 + 42));
}

TEST(Histogram, PercentilesAreThoseOfTheSortedValues) {
  Random random(2);
  for (int round = 0; round < 8; ++round) {
    std::vector<Duration> durations = any_durations(1 + random.below(3000), random);
    const HistogramSnapshot seen = snapshot_of(durations);
    std::ranges::sort(durations);
    for (const std::size_t per_mille : {0U, 1U, 500U, 900U, 950U, 990U, 999U, 1000U}) {
      const std::size_t rank = (per_mille * durations.size() + 999) / 1000;
      EXPECT_EQ(seen.percentile(static_cast<double>(per_mille) / 10),
                told(durations[std::max<std::size_t>(rank, 1) - 1]))
          << per_mille << " of " << durations.size();
    }
    EXPECT_EQ(seen.percentile(0), seen.min());
    EXPECT_EQ(seen.percentile(100), seen.max());
  }
}

TEST(Histogram, APercentileThatIsAWholeNumberOfValuesTakesNoMore) {
  for (const int thousands : {1, 2, 41}) {
    const auto histogram = std::make_unique<Histogram>();
    for (int i = 0; i < 999 * thousands; ++i) histogram->record(1ns);
    for (int i = 0; i < thousands; ++i) histogram->record(2ns);
    EXPECT_EQ(histogram->snapshot().percentile(99.9), 1ns) << thousands;
    EXPECT_EQ(histogram->snapshot().percentile(99.91), 2ns) << thousands;
  }
}

TEST(Histogram, PercentileZeroIsTheLeastValue) {
  EXPECT_EQ(snapshot_of({5ns, 9ns}).percentile(0), 5ns);
}

TEST(Histogram, APercentileOutsideOf0To100IsRefused) {
  const HistogramSnapshot seen = snapshot_of({1ns});
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const double percent : {-0.1, 100.1, none}) {
    EXPECT_THROW(static_cast<void>(seen.percentile(percent)), InvalidArgument) << percent;
  }
}

TEST(Histogram, CountsUpToABoundByTheMiddles) {
  const HistogramSnapshot seen = snapshot_of({0ns, 127ns, 256ns, 259ns, 1ms, 2h});
  EXPECT_EQ(seen.count_up_to(-1ns), 0U);
  EXPECT_EQ(seen.count_up_to(0ns), 1U);
  EXPECT_EQ(seen.count_up_to(127ns), 2U);
  EXPECT_EQ(seen.count_up_to(257ns), 2U);  // the middle of 256 to 259 is 258
  EXPECT_EQ(seen.count_up_to(258ns), 4U);
  EXPECT_EQ(seen.count_up_to(1h), 5U);
  EXPECT_EQ(seen.count_up_to(2h), 6U);
}

TEST(Histogram, MergedOnesAreAsIfAllWasRecordedInOne) {
  Random random(3);
  const auto one = std::make_unique<Histogram>();
  const auto other = std::make_unique<Histogram>();
  const auto both = std::make_unique<Histogram>();
  for (const Duration duration : any_durations(1000, random)) {
    (random.chance(0.3) ? one : other)->record(duration);
    both->record(duration);
  }
  one->record(Histogram::kLimit);
  both->record(Histogram::kLimit);

  // The other is shorter: it has nothing in the last bucket.
  HistogramSnapshot longer_first = one->snapshot();
  longer_first.merge(other->snapshot());
  EXPECT_EQ(longer_first, both->snapshot());
  HistogramSnapshot shorter_first = other->snapshot();
  shorter_first.merge(one->snapshot());
  EXPECT_EQ(shorter_first, both->snapshot());
  one->merge(*other);
  EXPECT_EQ(one->snapshot(), both->snapshot());
}

TEST(Histogram, SubtractingAnEarlierSnapshotLeavesWhatCameAfterIt) {
  Random random(4);
  const std::vector<Duration> durations = any_durations(1000, random);
  const auto histogram = std::make_unique<Histogram>();
  for (const Duration duration : durations) histogram->record(duration);
  const HistogramSnapshot earlier = histogram->snapshot();
  for (const Duration duration : {1ns, 5000ns, 5000ns}) histogram->record(duration);

  HistogramSnapshot since = histogram->snapshot();
  since.subtract(earlier);
  EXPECT_EQ(since, snapshot_of({1ns, 5000ns, 5000ns}));
  EXPECT_EQ(since.max(), told(5000ns));
  since.subtract(since);
  EXPECT_EQ(since.count(), 0U);
  EXPECT_EQ(since.max(), std::nullopt);
}

TEST(Histogram, SubtractingWhatWasNotRecordedIsRefusedAndChangesNothing) {
  HistogramSnapshot seen = snapshot_of({1ns, 2ns});
  for (const HistogramSnapshot& wrong : {snapshot_of({1ns, 2ns, 2ns}), snapshot_of({1ns, 1h})}) {
    EXPECT_THROW(seen.subtract(wrong), InvalidArgument);
    EXPECT_EQ(seen, snapshot_of({1ns, 2ns}));
  }
  try {
    seen.subtract(snapshot_of({2ns, 2ns}));
    FAIL() << "subtracted more than there is";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "invalid argument: earlier is 2 times about 2 ns but must be in the later "
                 "snapshot, which has 1");
  }
}

}  // namespace
}  // namespace muster
