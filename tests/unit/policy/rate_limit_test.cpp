// rate_limit_test.cpp: no more starts than a limit allows, and no fewer; for long, and whatever the
// time does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/policy/rate_limit.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOneAYear = 1.0 / (365 * 24 * 3600);

std::vector<std::string> bad_fields(const RateLimit& limit) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(limit)) fields.push_back(bad.field);
  return fields;
}

// Counts in billionths of a token, so that a nanosecond brings as many of them as tokens come in a
// second. Exact, for whole rates and time that goes on.
class Reference {
 public:
  Reference(std::int64_t per_second, std::int64_t burst)
      : per_second_(per_second), most_(burst * kToken), tokens_(most_) {}

  bool take(Time now) {
    const Duration passed = now - last_;
    last_ = now;
    const bool fills = passed.count() >= (most_ - tokens_) / per_second_ + 1;
    tokens_ = fills ? most_ : tokens_ + passed.count() * per_second_;
    if (tokens_ < kToken) return false;
    tokens_ -= kToken;
    return true;
  }

 private:
  static constexpr std::int64_t kToken = 1'000'000'000;
  std::int64_t per_second_;
  std::int64_t most_;
  std::int64_t tokens_;
  Time last_{};
};

// From nothing to many intervals, most of them short.
Duration random_pause(Random& random, const RateLimit& limit) {
  const double interval = 1e9 / limit.per_second;
  const double most = random.chance(0.02) ? interval * 2 * limit.burst : interval;
  return Duration(static_cast<Duration::rep>(random.real() * random.real() * most));
}

Time random_time(Random& random, Duration most) {
  return Time(Duration(
      static_cast<Duration::rep>(random.below(static_cast<std::uint64_t>(most.count()) + 1))));
}

// All that can be had now.
std::size_t take_all(TokenBucket<>& bucket, const RateLimit& limit, Time now) {
  std::size_t taken = 0;
  while (bucket.take(limit, now)) ++taken;
  return taken;
}

void expect_bound(const RateLimit& limit, const std::vector<Time>& starts) {
  for (std::size_t first = 0; first < starts.size(); ++first) {
    for (std::size_t last = first; last < starts.size(); ++last) {
      const std::chrono::duration<double> window = starts[last] - starts[first];
      const double most = limit.burst + limit.per_second * window.count();
      ASSERT_LE(static_cast<double>(last - first + 1), most + 0.001)
          << limit.per_second << " a second, burst " << limit.burst;
    }
  }
}

const std::vector<RateLimit> kLimits = {
    per_second(1),       per_second(3, 2), per_second(1e6, 5), per_second(123'456.789, 17),
    per_minute(7, 1.5),  per_hour(1, 4),   per_hour(50, 49.9), per_second(0.1, 1),
    per_second(997, 100)};

TEST(RateLimit, IsWrittenAsPeopleSayIt) {
  EXPECT_EQ(per_second(5), (RateLimit{.per_second = 5, .burst = 1}));
  EXPECT_EQ(per_minute(90, 3), (RateLimit{.per_second = 1.5, .burst = 3}));
  EXPECT_EQ(per_hour(7'200, 10), (RateLimit{.per_second = 2, .burst = 10}));
}

TEST(RateLimit, EveryBadFieldIsNamedAtOnce) {
  using Fields = std::vector<std::string>;
  EXPECT_EQ(bad_fields({}), Fields{"per_second"});
  for (const double bad : {0.0, -1.0, kNan, kInfinity, 1.1e6, 0.9 * kOneAYear}) {
    EXPECT_EQ(bad_fields({.per_second = bad}), Fields{"per_second"}) << bad;
  }
  for (const double bad : {0.0, 0.99, -1.0, kNan, kInfinity, 1.1e9}) {
    EXPECT_EQ(bad_fields({.per_second = 1, .burst = bad}), Fields{"burst"}) << bad;
  }
  EXPECT_EQ(bad_fields({.per_second = kNan, .burst = kNan}), (Fields{"per_second", "burst"}));
  EXPECT_EQ(bad_fields({.per_second = kOneAYear, .burst = 11}), Fields{"burst"});
  EXPECT_EQ(bad_fields({.per_second = kOneAYear, .burst = 10}), Fields{});
  EXPECT_EQ(bad_fields({.per_second = 1e6, .burst = 1e9}), Fields{});
  for (const RateLimit& limit : kLimits) EXPECT_EQ(bad_fields(limit), Fields{});
}

TEST(TokenBucket, StartsFullAndThenKeepsTheRate) {
  const RateLimit limit = per_minute(100, 3);
  TokenBucket bucket(limit, Time(1h));
  EXPECT_EQ(take_all(bucket, limit, Time(1h)), 3U);
  EXPECT_EQ(bucket.next(limit, Time(1h)), Time(1h + 600ms));
  EXPECT_FALSE(bucket.take(limit, Time(1h + 599'999'999ns)));
  EXPECT_TRUE(bucket.take(limit, Time(1h + 600ms)));
  EXPECT_EQ(bucket.next(limit, Time(1h + 700ms)), Time(1h + 1'200ms));
  EXPECT_FALSE(bucket.is_full(Time(1h + 2'399ms)));
  EXPECT_TRUE(bucket.is_full(Time(1h + 2'400ms)));
  EXPECT_EQ(take_all(bucket, limit, Time(9h)), 3U) << "no more, after a long time";
}

TEST(TokenBucket, APartOfABurstShortensTheNextWait) {
  const RateLimit limit = per_second(1, 2.25);
  TokenBucket bucket(limit, Time(0s));
  EXPECT_EQ(take_all(bucket, limit, Time(0s)), 2U);
  EXPECT_EQ(bucket.next(limit, Time(0s)), Time(750ms));
}

TEST(TokenBucket, TakesExactlyWhatAReferenceTakes) {
  Random random = testing::seeded();
  for (const std::int64_t rate : {1, 3, 7, 60, 999, 15'625, 1'000'000}) {
    for (const std::int64_t burst : {1, 2, 5, 1'000}) {
      const RateLimit limit = per_second(static_cast<double>(rate), static_cast<double>(burst));
      Time now{};
      TokenBucket bucket(limit, now);
      Reference reference(rate, burst);
      for (int i = 0; i < 500; ++i) {
        now += random_pause(random, limit);
        ASSERT_EQ(bucket.take(limit, now), reference.take(now)) << rate << ' ' << burst;
      }
    }
  }
}

TEST(TokenBucket, NoWindowHasMoreThanBurstAndRateAllow) {
  Random random = testing::seeded();
  for (const RateLimit& limit : kLimits) {
    Time now = random_time(random, 1'000h);
    TokenBucket bucket(limit, now);
    std::vector<Time> starts;
    while (starts.size() < 200) {
      now += random_pause(random, limit);
      if (bucket.take(limit, now)) starts.push_back(now);
    }
    expect_bound(limit, starts);
  }
}

TEST(TokenBucket, NextIsTheFirstMomentAtWhichTakeGetsOne) {
  Random random = testing::seeded();
  for (const RateLimit& limit : kLimits) {
    Time now = random_time(random, 1'000h);
    TokenBucket bucket(limit, now);
    for (int i = 0; i < 1'000; ++i) {
      now += random_pause(random, limit);
      const Time next = bucket.next(limit, now);
      ASSERT_GE(next, now);
      TokenBucket copy = bucket;
      ASSERT_TRUE(next == now || !copy.take(limit, next - 1ns));
      ASSERT_EQ(copy.next(limit, next), next);
      ASSERT_TRUE(copy.take(limit, next));
      ASSERT_EQ(bucket.take(limit, now), next == now);
    }
  }
}

TEST(TokenBucket, AMillionTakesDoNotDrift) {
  const RateLimit limit = per_second(7);
  TokenBucket bucket(limit, Time(0s));
  std::int64_t taken = 0;
  // To whole nanoseconds, later rather than earlier.
  const auto nth = [&] { return Time(Duration((taken * 1'000'000'000 + 6) / 7)); };
  while (taken < 1'000'000 && bucket.take(limit, nth())) {
    ++taken;
    if (taken % 1'000 != 0) continue;
    ASSERT_EQ(bucket.next(limit, nth() - 1ns), nth());
  }
  EXPECT_EQ(taken, 1'000'000);
}

TEST(TokenBucket, AnHourIsAnHourThoughTheRateIsNoExactNumber) {
  for (int starts = 1; starts <= 200; ++starts) {
    const RateLimit limit = per_hour(starts);
    Time now{};
    TokenBucket bucket(limit, now);
    for (int i = 0; i < starts; ++i) ASSERT_TRUE(bucket.take(limit, now = bucket.next(limit, now)));
    ASSERT_EQ(bucket.next(limit, now), Time(1h)) << starts;
  }
}

TEST(TokenBucket, TimesMayComeOutOfOrder) {
  Random random = testing::seeded();
  for (const RateLimit& limit : kLimits) {
    Time latest(1h);
    TokenBucket bucket(limit, latest);
    std::vector<Time> starts;
    for (int i = 0; i < 2'000 && starts.size() < 200; ++i) {
      latest += random_pause(random, limit);
      const Time now = latest - random_time(random, 1s).time_since_epoch();
      if (bucket.take(limit, now)) starts.push_back(now);
    }
    std::sort(starts.begin(), starts.end());
    expect_bound(limit, starts);
  }
}

TEST(TokenBucket, AClockThatIsSetBackNeitherStopsNorFloods) {
  const RateLimit limit = per_minute(1, 5);
  TokenBucket bucket(limit, WallTime(1'000h));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.take(limit, WallTime(1'000h)));
  EXPECT_FALSE(bucket.take(limit, WallTime(1'000h)));
  EXPECT_EQ(bucket.next(limit, WallTime(10h)), WallTime(10h));
  EXPECT_TRUE(bucket.take(limit, WallTime(10h))) << "one too many";
  EXPECT_FALSE(bucket.take(limit, WallTime(10h)));
  EXPECT_EQ(bucket.next(limit, WallTime(10h)), WallTime(10h + 1min));
  EXPECT_TRUE(bucket.take(limit, WallTime(10h + 1min)));
  EXPECT_FALSE(bucket.take(limit, WallTime(10h + 1min)));
}

TEST(TokenBucket, WhateverTimeDoesTheWaitAndTheTokensAreBounded) {
  Random random = testing::seeded();
  for (const RateLimit& limit : kLimits) {
    const Duration interval(static_cast<Duration::rep>(1e9 / limit.per_second) + 1);
    TokenBucket bucket(limit, Time(1h));
    for (int i = 0; i < 300; ++i) {
      const Time now = random_time(random, random.chance(0.5) ? 5s : 100'000h);
      ASSERT_LE(bucket.next(limit, now) - now, interval + 1s);
      ASSERT_EQ(bucket.take(limit, bucket.next(limit, now)), true);
      TokenBucket copy = bucket;
      if (limit.burst < 100) {
        ASSERT_LE(static_cast<double>(take_all(copy, limit, now)), limit.burst);
      }
      if (random.chance(0.1)) bucket.give_back(limit, now);
    }
  }
}

TEST(TokenBucket, AFasterLimitHoldsSoon) {
  TokenBucket bucket(per_hour(1), Time(1h));
  EXPECT_TRUE(bucket.take(per_hour(1), Time(1h)));
  const RateLimit faster = per_second(100);
  EXPECT_LE(bucket.next(faster, Time(1h)), Time(1h + 1'010ms));
  EXPECT_TRUE(bucket.take(faster, bucket.next(faster, Time(1h))));
  EXPECT_LE(bucket.next(faster, Time(1h)), Time(1h + 10ms));
}

TEST(TokenBucket, WhatIsGivenBackCanBeTakenAgainButNoMore) {
  const RateLimit limit = per_second(3, 2);
  TokenBucket bucket(limit, Time(0s));
  EXPECT_EQ(take_all(bucket, limit, Time(0s)), 2U);
  bucket.give_back(limit, Time(0s));
  EXPECT_EQ(take_all(bucket, limit, Time(0s)), 1U);
  for (int i = 0; i < 10; ++i) bucket.give_back(limit, Time(0s));
  bucket.give_back(limit, Time(9h));
  EXPECT_TRUE(bucket.is_full(Time(0s)));
  EXPECT_FALSE(bucket.is_full(Time(-1ns)));
  EXPECT_EQ(take_all(bucket, limit, Time(0s)), 2U);
}

TEST(TokenBucket, ExtremeLimitsAndTimesDoNotOverflow) {
  const std::vector<RateLimit> extremes = {{.per_second = kOneAYear, .burst = 1},
                                           {.per_second = kOneAYear, .burst = 10},
                                           {.per_second = 1e6, .burst = 1},
                                           {.per_second = 1e6, .burst = 1e9},
                                           {.per_second = 3.2, .burst = 1e9}};
  const std::vector<Time> times = {Time::min(), Time(-1ns), Time(0s), Time(438'000h), Time::max()};
  for (const RateLimit& limit : extremes) {
    ASSERT_TRUE(validate(limit).empty());
    for (const Time start : times) {
      for (const Time now : times) {
        TokenBucket bucket(limit, start);
        EXPECT_TRUE(bucket.take(limit, start));
        EXPECT_FALSE(bucket.is_full(start));
        EXPECT_GE(bucket.next(limit, now), now);
        (void)bucket.take(limit, now);
        EXPECT_GE(bucket.next(limit, start), start);
        bucket.give_back(limit, now);
      }
    }
  }
}

TEST(KeyedBuckets, EachKeyHasItsOwn) {
  const RateLimit limit = per_second(1, 2);
  KeyedBuckets buckets(limit);
  for (const std::uint64_t key : {7U, 8U}) {
    EXPECT_EQ(buckets.next(key, Time(0s)), Time(0s));
    EXPECT_TRUE(buckets.take(key, Time(0s)));
    EXPECT_TRUE(buckets.take(key, Time(0s)));
    EXPECT_FALSE(buckets.take(key, Time(0s)));
    EXPECT_EQ(buckets.next(key, Time(0s)), Time(1s));
  }
  buckets.give_back(7, Time(0s));
  buckets.give_back(9, Time(0s));
  EXPECT_TRUE(buckets.take(7, Time(0s)));
  EXPECT_FALSE(buckets.take(8, Time(0s)));
  EXPECT_EQ(buckets.size(), 2U) << "who asks or gives back only, has none";
}

TEST(KeyedBuckets, ForgettingFullOnesChangesNothing) {
  Random random = testing::seeded();
  const RateLimit limit = per_second(10, 3);
  KeyedBuckets buckets(limit);
  std::unordered_map<std::uint64_t, TokenBucket<>> all;
  Time now{};
  std::size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += random_time(random, 1ms).time_since_epoch();
    // Some come again and again, the others once.
    const std::uint64_t key = random.chance(0.5) ? random.below(50) : random();
    TokenBucket<>& bucket = all.try_emplace(key, limit, now).first->second;
    ASSERT_EQ(buckets.next(key, now), bucket.next(limit, now));
    const bool is_taken = bucket.take(limit, now);
    ASSERT_EQ(buckets.take(key, now), is_taken);
    refused += is_taken ? 0 : 1;
    ASSERT_LE(buckets.size(), 1'024U);
  }
  EXPECT_GT(refused, 1'000U);
  EXPECT_GT(all.size(), 8'000U);
}

TEST(KeyedBuckets, FullOnesAreForgottenNowAndThen) {
  const RateLimit limit = per_second(1);
  KeyedBuckets<WallTime> buckets(limit);
  std::size_t times = 0;
  std::size_t most = 0;
  for (std::uint64_t key = 0; key < 30'000; ++key) {
    const std::size_t before = buckets.size();
    ASSERT_TRUE(buckets.take(key, WallTime(key * 500us)));
    if (buckets.size() <= before) ++times;
    most = std::max(most, buckets.size());
  }
  EXPECT_LE(most, 4'000U) << "twice those that came in the last second, and are not full";
  EXPECT_LE(times, 30'000U / 2'000) << "so all in all each was looked at twice";
}

TEST(KeyedBuckets, BeyondTheBoundThoseNextToFullMakeRoom) {
  const RateLimit limit = per_hour(1);
  KeyedBuckets buckets(limit, 800);
  for (std::uint64_t key = 0; key < 800; ++key) EXPECT_TRUE(buckets.take(key, Time(key * 1s)));
  EXPECT_EQ(buckets.size(), 800U);
  EXPECT_TRUE(buckets.take(800, Time(800s)));
  EXPECT_EQ(buckets.size(), 701U);
  for (std::uint64_t key = 0; key <= 800; ++key) {
    EXPECT_EQ(buckets.next(key, Time(800s)), key < 100 ? Time(800s) : Time(1h + key * 1s)) << key;
  }
  KeyedBuckets one(limit, 1);
  for (std::uint64_t key = 0; key < 10; ++key) EXPECT_TRUE(one.take(key, Time(0s)));
  EXPECT_EQ(one.size(), 1U);
  EXPECT_FALSE(one.take(9, Time(0s)));
}

TEST(KeyedBuckets, EveryBadArgumentIsNamedAtOnce) {
  try {
    const KeyedBuckets<> buckets({.per_second = -1, .burst = 0}, 0);
    FAIL() << "made";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.bad_fields().size(), 3U);
  }
}

}  // namespace
}  // namespace muster
