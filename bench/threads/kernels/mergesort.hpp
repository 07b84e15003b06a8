// mergesort.hpp: sorts ten million integers: halves are sorted at the same time, and merged in
// parts that are merged at the same time. Below the cutoff std::sort and std::merge take over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace muster::bench {

using Integers = std::span<std::uint32_t>;

// Parts of this size are sorted or merged by one worker alone.
inline constexpr std::size_t kMergesortCutoff = 16'384;

// Splits at the middle of the longer one, and the other where that element belongs.
template <class Pool>
void merge_parts(Integers one, Integers two, Integers out) {
  if (out.size() <= kMergesortCutoff) {
    std::merge(one.begin(), one.end(), two.begin(), two.end(), out.begin());
    return;
  }
  if (one.size() < two.size()) std::swap(one, two);
  const std::size_t middle = one.size() / 2;
  const auto place = std::lower_bound(two.begin(), two.end(), one[middle]);
  const auto other = static_cast<std::size_t>(place - two.begin());
  Pool::both(
      [=] { merge_parts<Pool>(one.first(middle), two.first(other), out.first(middle + other)); },
      [=] {
        merge_parts<Pool>(one.subspan(middle), two.subspan(other), out.subspan(middle + other));
      });
}

enum class Into { place, scratch };

// The result stands in `numbers` or in `scratch`.
template <class Pool>
void merge_sort(Integers numbers, Integers scratch, Into target) {
  if (numbers.size() <= kMergesortCutoff) {
    std::sort(numbers.begin(), numbers.end());
    if (target == Into::scratch) std::copy(numbers.begin(), numbers.end(), scratch.begin());
    return;
  }
  const std::size_t middle = numbers.size() / 2;
  const Into halves = target == Into::place ? Into::scratch : Into::place;
  Pool::both([=] { merge_sort<Pool>(numbers.first(middle), scratch.first(middle), halves); },
             [=] { merge_sort<Pool>(numbers.subspan(middle), scratch.subspan(middle), halves); });
  const Integers from = target == Into::place ? scratch : numbers;
  const Integers to = target == Into::place ? numbers : scratch;
  merge_parts<Pool>(from.first(middle), from.subspan(middle), to);
}

class Mergesort {
 public:
  static constexpr const char* kName = "mergesort";
  static constexpr const char* kColumn = "mergesort ms";
  static constexpr double kUnitsPerSecond = 1e3;
  static constexpr std::uint64_t kFixedItems = 1;

  // Items are sorts. Both arrays are touched here, before the clock starts.
  explicit Mergesort(std::uint64_t /*items*/) : numbers_(kCount), scratch_(kCount) {
    std::mt19937 random(kCount);
    std::generate(numbers_.begin(), numbers_.end(),
                  [&] { return static_cast<std::uint32_t>(random()); });
    sum_ = sum();
  }

  template <class Pool>
  void run(Pool& pool) {
    pool.run([this] { merge_sort<Pool>(numbers_, scratch_, Into::place); });
  }

  void verify() const {
    if (!std::is_sorted(numbers_.begin(), numbers_.end()) || sum() != sum_) {
      throw std::runtime_error("the integers are not sorted");
    }
  }

  [[nodiscard]] std::uint64_t items() const { return 1; }

 private:
  static constexpr std::size_t kCount = 10'000'000;

  [[nodiscard]] std::uint64_t sum() const {
    return std::accumulate(numbers_.begin(), numbers_.end(), std::uint64_t{0});
  }

  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> scratch_;
  std::uint64_t sum_ = 0;
};

}  // namespace muster::bench
