// histogram.cpp: what is read off the buckets.
#include <cmath>
#include <numeric>
#include <string>

#include <muster/error.hpp>
#include <muster/observe/histogram.hpp>

namespace muster {

std::uint64_t HistogramSnapshot::count() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::uint64_t HistogramSnapshot::over_limit() const noexcept {
  const std::size_t last = HistogramBuckets::index_of(HistogramBuckets::kLimit);
  return last < counts_.size() ? counts_[last] : 0;
}

std::uint64_t HistogramSnapshot::count_up_to(Duration bound) const noexcept {
  std::uint64_t count = 0;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    if (HistogramBuckets::middle_of(index) > bound) break;
    count += counts_[index];
  }
  return count;
}

std::chrono::duration<double, std::nano> HistogramSnapshot::sum() const noexcept {
  std::chrono::duration<double, std::nano> sum{0};
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    sum += HistogramBuckets::middle_of(index) * static_cast<double>(counts_[index]);
  }
  return sum;
}

std::optional<Duration> HistogramSnapshot::min() const noexcept {
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    if (counts_[index] != 0) return HistogramBuckets::middle_of(index);
  }
  return std::nullopt;
}

std::optional<Duration> HistogramSnapshot::max() const noexcept {
  if (counts_.empty()) return std::nullopt;
  return HistogramBuckets::middle_of(counts_.size() - 1);
}

std::optional<Duration> HistogramSnapshot::percentile(double percent) const {
  if (!(percent >= 0 && percent <= 100)) {  // so that NaN is refused too
    throw InvalidArgument(
        {.field = "percent", .value = std::to_string(percent), .rule = "must be from 0 to 100"});
  }
  // The rank is a whole number of values, at least the first. A hair less is asked for, since the
  // double that stands for 99.9 is more, and would ask for all 1000 of 1000.
  const double share = std::nextafter(percent, 0) / 100;
  const double rank = std::max(1.0, std::ceil(share * static_cast<double>(count())));
  std::uint64_t passed = 0;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    passed += counts_[index];
    if (static_cast<double>(passed) >= rank) return HistogramBuckets::middle_of(index);
  }
  return std::nullopt;
}

void HistogramSnapshot::add(std::size_t index, std::uint64_t count) {
  if (count == 0) return;
  if (index >= counts_.size()) counts_.resize(index + 1);
  counts_[index] += count;
}

void HistogramSnapshot::merge(const HistogramSnapshot& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t index = 0; index < other.counts_.size(); ++index) {
    counts_[index] += other.counts_[index];
  }
}

void HistogramSnapshot::subtract(const HistogramSnapshot& earlier) {
  for (std::size_t index = 0; index < earlier.counts_.size(); ++index) {
    const std::uint64_t here = index < counts_.size() ? counts_[index] : 0;
    if (earlier.counts_[index] <= here) continue;
    throw InvalidArgument(
        {.field = "earlier",
         .value = std::to_string(earlier.counts_[index]) + " times about " +
                  std::to_string(HistogramBuckets::middle_of(index).count()) + " ns",
         .rule = "must be in the later snapshot, which has " + std::to_string(here)});
  }
  for (std::size_t index = 0; index < earlier.counts_.size(); ++index) {
    counts_[index] -= earlier.counts_[index];
  }
  while (!counts_.empty() && counts_.back() == 0) counts_.pop_back();
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t index = 0; index < kBuckets; ++index) {
    // relaxed: as in record().
    const std::uint64_t count = other.buckets_[index].load(relaxed);
    // relaxed: as in record(); most buckets are empty, and their lines stay clean.
    if (count != 0) buckets_[index].fetch_add(count, relaxed);
  }
}

HistogramSnapshot Histogram::snapshot() const {
  HistogramSnapshot snapshot;
  for (std::size_t index = 0; index < kBuckets; ++index) {
    // relaxed: as in record(). Counts never go back, so of two snapshots the later has no less.
    snapshot.add(index, buckets_[index].load(relaxed));
  }
  return snapshot;
}

}  // namespace muster
