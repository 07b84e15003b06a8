// rate_limit.cpp: when a bucket is full, in 2^-48 ns.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/policy/rate_limit.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

constexpr double kSecondsPerYear = 365.0 * 24 * 3600;
constexpr double kSlowest = 1 / kSecondsPerYear;
constexpr double kFastest = 1e6;
constexpr double kMostBurst = 1e9;
constexpr double kLongestFill = 10 * kSecondsPerYear;

constexpr std::size_t kMostKeys = 16'777'216;
constexpr std::size_t kFewKeys = 1'024;  // not worth a look for full ones

// Times in fractions of a nanosecond. Ten years and any number of nanoseconds need 112 bits.
__extension__ using Wide = __int128;
constexpr int kFractionBits = 48;
constexpr Wide kNanosecond = Wide{1} << kFractionBits;

// As far back as times may come if threads read the clock and then had to wait.
constexpr Wide kOutOfOrder = 1'000'000'000 * kNanosecond;

// What is early by so little is on time. Most rates are no exact double, one a minute for instance:
// who waited for a minute might have to wait for another nanosecond.
constexpr Wide kOnTime = kNanosecond / 1'024;

template <class Moment>
Wide wide(Moment time) {
  return Wide{Duration(time.time_since_epoch()).count()} * kNanosecond;
}

// The first whole one that is not before.
template <class Moment>
Moment not_before(Wide time) {
  const Wide nanoseconds = (time + kNanosecond - 1) >> kFractionBits;
  const Wide last = Duration::max().count();
  const Duration rounded(static_cast<Duration::rep>(std::min(nanoseconds, last)));
  return Moment(std::chrono::ceil<typename Moment::duration>(rounded));
}

// From one token to the next. What the division rounds off is divided once more, since a double has
// too few bits: a million tokens, 7 a second, would be off by a nanosecond.
Wide interval(const RateLimit& limit) {
  const double rough = 1e9 / limit.per_second;
  const double rest = std::fma(-rough, limit.per_second, 1e9) / limit.per_second;
  return static_cast<Wide>(std::ldexp(rough, kFractionBits)) +
         static_cast<Wide>(std::ldexp(rest, kFractionBits));
}

// A limit as times.
struct Pace {
  explicit Pace(const RateLimit& limit) : step(interval(limit)) {
    MUSTER_DEBUG_ASSERT(validate(limit).empty());
    const double whole = std::floor(limit.burst);
    with_one = step * (static_cast<Wide>(whole) - 1) +
               static_cast<Wide>(static_cast<double>(step) * (limit.burst - whole));
  }

  Wide step;

  // Until a bucket with one token is full: `step` burst - 1 times, exactly, or the last token of a
  // full one would seem not to be there.
  Wide with_one;
};

// How long until a bucket is full. Not less than zero, but for a part of a nanosecond: next() had
// to round it up, and whoever comes then would lose it each time. And not later than is possible.
Wide until_full(Wide full_at, Wide now, const Pace& pace) {
  const Wide time = full_at - now;
  if (time <= -kNanosecond) return 0;
  const Wide with_none = pace.with_one + pace.step;
  return time > with_none + kOutOfOrder ? pace.with_one : time;
}

}  // namespace

RateLimit per_second(double starts, double burst) noexcept {
  return {.per_second = starts, .burst = burst};
}

RateLimit per_minute(double starts, double burst) noexcept {
  return {.per_second = starts / 60, .burst = burst};
}

RateLimit per_hour(double starts, double burst) noexcept {
  return {.per_second = starts / 3600, .burst = burst};
}

std::vector<BadField> validate(const RateLimit& limit) {
  std::vector<BadField> bad;
  // Written so that a NaN fails.
  const bool is_rate = limit.per_second >= kSlowest && limit.per_second <= kFastest;
  if (!is_rate) {
    bad.push_back({.field = "per_second",
                   .value = option_text(limit.per_second),
                   .rule = "must be from " + option_text(kSlowest) + ", which is one a year, to " +
                           option_text(kFastest)});
  }
  if (!(limit.burst >= 1 && limit.burst <= kMostBurst)) {
    bad.push_back({.field = "burst",
                   .value = option_text(limit.burst),
                   .rule = "must be from 1 to " + option_text(kMostBurst)});
  } else if (is_rate && limit.burst > kLongestFill * limit.per_second) {
    bad.push_back({.field = "burst",
                   .value = option_text(limit.burst),
                   .rule = "must be at most what comes in ten years, " +
                           option_text(kLongestFill * limit.per_second)});
  }
  return bad;
}

template <class Moment>
TokenBucket<Moment>::TokenBucket(const RateLimit& limit, Moment now) noexcept
    : full_at_(wide(now)) {
  MUSTER_DEBUG_ASSERT(validate(limit).empty());
}

template <class Moment>
Moment TokenBucket<Moment>::next(const RateLimit& limit, Moment now) const noexcept {
  const Pace pace(limit);
  const Wide wait = until_full(full_at_, wide(now), pace) - pace.with_one - kOnTime;
  return wait <= 0 ? now : not_before<Moment>(wide(now) + wait);
}

template <class Moment>
bool TokenBucket<Moment>::take(const RateLimit& limit, Moment now) noexcept {
  const Pace pace(limit);
  const Wide before = until_full(full_at_, wide(now), pace);
  if (before > pace.with_one + kOnTime) return false;
  full_at_ = wide(now) + before + pace.step;
  return true;
}

template <class Moment>
void TokenBucket<Moment>::give_back(const RateLimit& limit, Moment now) noexcept {
  full_at_ = std::min(full_at_, std::max(full_at_ - Pace(limit).step, wide(now)));
}

template <class Moment>
bool TokenBucket<Moment>::is_full(Moment now) const noexcept {
  return full_at_ <= wide(now) + kOnTime;
}

template <class Moment>
KeyedBuckets<Moment>::KeyedBuckets(const RateLimit& limit, std::size_t max_keys)
    : limit_(limit), max_keys_(max_keys), room_(std::min(max_keys, kFewKeys)) {
  std::vector<BadField> bad = validate(limit);
  if (max_keys < 1 || max_keys > kMostKeys) {
    bad.push_back({.field = "max_keys",
                   .value = std::to_string(max_keys),
                   .rule = "must be from 1 to " + std::to_string(kMostKeys)});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
}

template <class Moment>
Moment KeyedBuckets<Moment>::next(std::uint64_t key, Moment now) const noexcept {
  const auto found = buckets_.find(key);
  return found == buckets_.end() ? now : found->second.next(limit_, now);
}

template <class Moment>
bool KeyedBuckets<Moment>::take(std::uint64_t key, Moment now) {
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    if (buckets_.size() >= room_) make_room(now);
    found = buckets_.try_emplace(key, limit_, now).first;
  }
  return found->second.take(limit_, now);
}

template <class Moment>
void KeyedBuckets<Moment>::give_back(std::uint64_t key, Moment now) noexcept {
  const auto found = buckets_.find(key);
  if (found != buckets_.end()) found->second.give_back(limit_, now);
}

// There is room for as many as stay, or an eighth of all: what this costs is paid by those that
// come until the next time.
template <class Moment>
void KeyedBuckets<Moment>::make_room(Moment now) {
  std::erase_if(buckets_, [&](const auto& each) { return each.second.is_full(now); });
  const std::size_t most = max_keys_ - std::max<std::size_t>(max_keys_ / 8, 1);
  if (room_ == max_keys_ && buckets_.size() > most) drop_fullest(buckets_.size() - most);
  room_ = std::min(std::max(2 * buckets_.size(), kFewKeys), max_keys_);
}

template <class Moment>
void KeyedBuckets<Moment>::drop_fullest(std::size_t count) {
  std::vector<std::pair<TokenBucket<Moment>, std::uint64_t>> all;
  all.reserve(buckets_.size());
  for (const auto& [key, bucket] : buckets_) all.emplace_back(bucket, key);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(all.begin(), end, all.end(), [](const auto& left, const auto& right) {
    return left.first.is_full_before(right.first);
  });
  std::for_each(all.begin(), end, [&](const auto& each) { buckets_.erase(each.second); });
}

template class TokenBucket<Time>;
template class TokenBucket<WallTime>;
template class KeyedBuckets<Time>;
template class KeyedBuckets<WallTime>;

}  // namespace muster
