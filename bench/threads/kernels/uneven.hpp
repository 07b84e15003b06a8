// uneven.hpp: a loop whose last rounds cost hundreds of times as much as its first. Who cuts it
// into equal parts has most workers idle at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace muster::bench {

class Uneven {
 public:
  static constexpr const char* kName = "uneven";
  static constexpr const char* kColumn = "uneven ns/item";
  static constexpr double kUnitsPerSecond = 1e9;
  static constexpr std::uint64_t kFixedItems = 0;

  explicit Uneven(std::uint64_t items) : repeats_(1 + (items - 1) / kItems), results_(kItems) {}

  template <class Pool>
  void run(Pool& pool) {
    for (std::uint64_t i = 0; i < repeats_; ++i) {
      pool.for_each_index(kItems, [this](std::size_t index) { results_[index] = work(index); });
    }
  }

  void verify() const {
    constexpr std::size_t kStride = 1021;
    for (std::size_t index = 0; index < kItems; index += kStride) {
      if (results_[index] != work(index)) throw std::runtime_error("the loop left out an item");
    }
  }

  [[nodiscard]] std::uint64_t items() const { return repeats_ * kItems; }

 private:
  static constexpr std::size_t kItems = 1U << 18;
  static constexpr double kMostSteps = 300;

  // Grows with the fourth power of the index: half of the time goes into the last eighth.
  static std::uint64_t steps(std::size_t index) {
    const double share = static_cast<double>(index) / kItems;
    return 1 + static_cast<std::uint64_t>(kMostSteps * share * share * share * share);
  }

  // Steps of a linear congruential generator: each needs the one before.
  static std::uint64_t work(std::size_t index) {
    std::uint64_t value = index;
    for (std::uint64_t step = steps(index); step > 0; --step) {
      value = value * 6364136223846793005U + 1442695040888963407U;
    }
    return value;
  }

  const std::uint64_t repeats_;
  std::vector<std::uint64_t> results_;
};

}  // namespace muster::bench
