// histogram.hpp: how long things took, counted by any thread, told as percentiles.
//
//     Histogram waits;
//     waits.record(now - queued_at);                     // on any thread, one atomic addition
//     const HistogramSnapshot seen = waits.snapshot();
//     if (seen.count() > 0) print(seen.percentile(99).value());
//
// Up to 128 ns each nanosecond has a bucket of its own; above, each doubling is cut into 64 equal
// ones. What falls into a bucket is told as its middle, at most 0.8 % off. From kLimit on there is
// one bucket for all, told as kLimit and counted by over_limit().
//
// Thread safety: a Histogram by any thread, recording never waits; a HistogramSnapshot is a value.
// Ordering: a snapshot has all that was recorded before it, and may have some of what is recorded
// meanwhile. It agrees with itself: all its figures come from the same counts.
// Design note: docs/design/histogram.md
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ratio>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster {

// Which durations share a bucket.
struct HistogramBuckets {
  static constexpr std::size_t kPerOctave = 64;

  // Some 73 minutes.
  static constexpr Duration kLimit{std::int64_t{1} << 42};

  // A negative duration counts as 0.
  [[nodiscard]] static constexpr std::size_t index_of(Duration duration) noexcept {
    const auto value =
        static_cast<std::uint64_t>(std::clamp(duration, Duration::zero(), kLimit).count());
    // How many low bits do not matter, so that from 64 to 127 are left; small values stay whole.
    const auto shift = static_cast<std::size_t>(std::bit_width(value | kPerOctave)) - 7;
    return shift * kPerOctave + (value >> shift);
  }

  // What a bucket is told as; itself falls into that bucket.
  [[nodiscard]] static constexpr Duration middle_of(std::size_t index) noexcept {
    if (index == index_of(kLimit)) return kLimit;
    const std::size_t shift = std::max(index / kPerOctave, std::size_t{1}) - 1;
    const std::uint64_t low = (index - shift * kPerOctave) << shift;
    const std::uint64_t width = std::uint64_t{1} << shift;
    return Duration(low + width / 2);
  }
};

// What was recorded up to a moment, or between two.
class MUSTER_API HistogramSnapshot {
 public:
  // Nothing recorded.
  HistogramSnapshot() = default;

  [[nodiscard]] std::uint64_t count() const noexcept;

  // Of those, kLimit or longer.
  [[nodiscard]] std::uint64_t over_limit() const noexcept;

  // Of those, up to `bound`; exact unless values fell into the bucket of `bound`, which counts if
  // its middle is no longer than `bound`.
  [[nodiscard]] std::uint64_t count_up_to(Duration bound) const noexcept;

  // Of the middles. Floating: a million tasks that wait use up the 292 years of a Duration in
  // hours.
  [[nodiscard]] std::chrono::duration<double, std::nano> sum() const noexcept;

  // The middles of the lowest and the highest bucket in use; none if nothing was recorded.
  [[nodiscard]] std::optional<Duration> min() const noexcept;
  [[nodiscard]] std::optional<Duration> max() const noexcept;

  // The least value that `percent` of all do not exceed: 50 asks for the median, 99.9 for one that
  // a thousandth exceeds. None if nothing was recorded. Throws InvalidArgument unless 0 <= percent
  // <= 100.
  [[nodiscard]] std::optional<Duration> percentile(double percent) const;

  // Adds what another has counted, for instance of another worker.
  void merge(const HistogramSnapshot& other);

  // Leaves what was recorded since `earlier`, a snapshot of the same histogram. Throws
  // InvalidArgument, and changes nothing, if that has counted what this has not.
  void subtract(const HistogramSnapshot& earlier);

  bool operator==(const HistogramSnapshot&) const = default;

 private:
  friend class Histogram;
  friend class OwnHistogram;

  void add(std::size_t index, std::uint64_t count);

  // By index, up to the highest in use.
  std::vector<std::uint64_t> counts_;
};

class MUSTER_API Histogram {
 public:
  static constexpr Duration kLimit = HistogramBuckets::kLimit;

  Histogram() = default;
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  // A negative duration counts as 0. `times`: how many it stands for, if not all are recorded.
  void record(Duration duration, std::uint64_t times = 1) noexcept {
    // relaxed: each bucket is a counter by itself. A read-modify-write loses no other one whatever
    // its order, and nobody concludes from a count that other memory may be read.
    buckets_[HistogramBuckets::index_of(duration)].fetch_add(times, relaxed);
  }

  // Adds what another has counted, for instance of a worker that leaves.
  void merge(const Histogram& other) noexcept;

  [[nodiscard]] HistogramSnapshot snapshot() const;

 private:
  static constexpr std::size_t kBuckets = HistogramBuckets::index_of(kLimit) + 1;

  // Any thread. Apart from what stands beside it, which others may write.
  alignas(kCacheLine) std::array<Atomic<std::uint64_t>, kBuckets> buckets_{};
};

}  // namespace muster
