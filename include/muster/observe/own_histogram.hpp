// own_histogram.hpp: a histogram that one thread records into, for those who record all the time.
//
//     OwnHistogram runs;                                     // of one worker
//     if (!runs.record(took)) shared.record(took);           // no memory: where all may record
//     HistogramSnapshot seen = runs.snapshot();              // on any thread
//
// Buckets and figures are those of histogram.hpp. No other thread writes here, so recording is a
// load and a store instead of an atomic addition to a line that others write too; and there may be
// many of it, since it has memory only for the octaves that it has seen, 512 bytes each.
//
// Thread safety: record() by one thread, snapshot() by any.
// Ordering: as of a Histogram.
// Design note: docs/design/histogram.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/observe/histogram.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster {

class MUSTER_API OwnHistogram {
 public:
  OwnHistogram() = default;
  OwnHistogram(const OwnHistogram&) = delete;
  OwnHistogram& operator=(const OwnHistogram&) = delete;
  ~OwnHistogram();

  // As of a Histogram. False: there is no memory for its octave, and nothing was recorded.
  [[nodiscard]] bool record(Duration duration, std::uint64_t times = 1) noexcept {
    const std::size_t index = HistogramBuckets::index_of(duration);
    // relaxed: this thread has made it.
    Octave* octave = octaves_[index / HistogramBuckets::kPerOctave].load(relaxed);
    if (octave == nullptr) [[unlikely]] {
      octave = make_octave(index / HistogramBuckets::kPerOctave);
      if (octave == nullptr) return false;
    }
    Atomic<std::uint64_t>& bucket = octave->counts[index % HistogramBuckets::kPerOctave];
    bucket.store(bucket.load(relaxed) + times, relaxed);  // relaxed: a count, and nobody else's
    return true;
  }

  [[nodiscard]] HistogramSnapshot snapshot() const;

 private:
  // Its lines are nobody else's.
  struct alignas(kCacheLine) Octave {
    std::array<Atomic<std::uint64_t>, HistogramBuckets::kPerOctave> counts{};
  };
  static constexpr std::size_t kOctaves =
      HistogramBuckets::index_of(HistogramBuckets::kLimit) / HistogramBuckets::kPerOctave + 1;

  Octave* make_octave(std::size_t number) noexcept;

  // The recording thread makes them, any reads; null: nothing of it was recorded.
  std::array<Atomic<Octave*>, kOctaves> octaves_{};
};

}  // namespace muster
