// rate_limit.hpp: so many starts in a time and no more, by a bucket of tokens.
//
//     const RateLimit limit = per_minute(100, 10);     // 10 at once, then one every 600 ms
//     TokenBucket bucket(limit, now);
//     if (bucket.take(limit, now)) {
//       start();
//     } else {
//       try_again_at(bucket.next(limit, now));
//     }
//
// A start takes one token; tokens come back at the rate of the limit until there are `burst` of
// them. So in any time t, to the nanosecond, there are at most burst + rate * t starts.
//
// A bucket is one number, the time at which it will be full, kept finer than in nanoseconds: what
// is taken moves it on by exactly one interval, so nothing drifts, however long it runs.
//
// Any time may be given, also an earlier one than before; the bound holds for the times as given.
// If the clock was set back by more than a second, or the limit became much faster, a bucket might
// be full later than an empty one; then it has one token. So next() is never later than one
// interval and a second from now, and each such step gives one token too many at most.
//
// Thread safety: values and pure functions; KeyedBuckets none, its user guards it. Pure: no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

struct RateLimit {
  // Starts a second, in the long run: from one a year to a million. The default is no valid limit.
  double per_second = 0;

  // Starts at once, after a pause: from 1 to 1e9, and what comes in ten years at most. 1: they are
  // evenly spaced.
  double burst = 1;

  bool operator==(const RateLimit&) const = default;
};

[[nodiscard]] MUSTER_API RateLimit per_second(double starts, double burst = 1) noexcept;
[[nodiscard]] MUSTER_API RateLimit per_minute(double starts, double burst = 1) noexcept;
[[nodiscard]] MUSTER_API RateLimit per_hour(double starts, double burst = 1) noexcept;

// Every problem with the limit; empty: none.
MUSTER_API std::vector<BadField> validate(const RateLimit& limit);

// How many tokens there are. Moment is Time or WallTime. The limit is given to each call, so that a
// bucket stays small, and a limit may change; it must be valid.
template <class Moment = Time>
class MUSTER_API TokenBucket {
 public:
  // Starts full.
  explicit TokenBucket(const RateLimit& limit, Moment now) noexcept;

  // When there is a token: now, or later. If nobody takes it before, take() gets it then.
  [[nodiscard]] Moment next(const RateLimit& limit, Moment now) const noexcept;

  // False: there is none.
  [[nodiscard]] bool take(const RateLimit& limit, Moment now) noexcept;

  // Puts back what was taken, since nothing was started. A full bucket stays as it is.
  void give_back(const RateLimit& limit, Moment now) noexcept;

  // It may be forgotten: a new one is the same, to the nanosecond.
  [[nodiscard]] bool is_full(Moment now) const noexcept;

  // The one of two buckets with the same limit that is full first comes first.
  [[nodiscard]] bool is_full_before(const TokenBucket& other) const noexcept {
    return full_at_ < other.full_at_;
  }

 private:
  __extension__ using Wide = __int128;

  Wide full_at_;  // in fractions of a nanosecond, since the clock's epoch
};

static_assert(sizeof(TokenBucket<>) == 16, "there is one for each key");

// A bucket for each key, all with the same limit. Only those that are not full are kept, and some
// full ones: they are dropped, in constant amortised time, whenever the keys have doubled.
template <class Moment = Time>
class MUSTER_API KeyedBuckets {
 public:
  // `max_keys`: buckets that are kept, from 1 to 16 777 216, at some 70 bytes each. Beyond, an
  // eighth of them is dropped, those that would be full soonest: their keys may start early, by
  // what was missing. Throws InvalidArgument if either is not valid.
  explicit KeyedBuckets(const RateLimit& limit, std::size_t max_keys = 65'536);

  // As of the key's bucket.
  [[nodiscard]] Moment next(std::uint64_t key, Moment now) const noexcept;
  [[nodiscard]] bool take(std::uint64_t key, Moment now);
  void give_back(std::uint64_t key, Moment now) noexcept;

  // Buckets that are kept.
  [[nodiscard]] std::size_t size() const noexcept { return buckets_.size(); }

  [[nodiscard]] const RateLimit& limit() const noexcept { return limit_; }

 private:
  void make_room(Moment now);
  void drop_fullest(std::size_t count);

  // Fixed at construction.
  RateLimit limit_;
  std::size_t max_keys_;

  std::unordered_map<std::uint64_t, TokenBucket<Moment>> buckets_;
  std::size_t room_;  // at this size full ones are dropped
};

extern template class TokenBucket<Time>;
extern template class TokenBucket<WallTime>;
extern template class KeyedBuckets<Time>;
extern template class KeyedBuckets<WallTime>;

}  // namespace muster
