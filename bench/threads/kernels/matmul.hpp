// matmul.hpp: the product of two matrices of 1024 x 1024 floats, by a parallel loop over the 256
// tiles of the result. The work is large and even; a pool can hardly win here, only lose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace muster::bench {

class Matmul {
 public:
  static constexpr const char* kName = "matmul";
  static constexpr const char* kColumn = "matmul ms";
  static constexpr double kUnitsPerSecond = 1e3;
  static constexpr std::uint64_t kFixedItems = 1;

  // Items are products.
  explicit Matmul(std::uint64_t /*items*/)
      : left_(kSize * kSize), right_(kSize * kSize), product_(kSize * kSize) {
    for (std::size_t i = 0; i < left_.size(); ++i) {
      left_[i] = static_cast<float>(i % 7);
      right_[i] = static_cast<float>(i % 5);
    }
  }

  template <class Pool>
  void run(Pool& pool) {
    pool.for_each_index(kTiles * kTiles,
                        [this](std::size_t tile) { make_tile(tile / kTiles, tile % kTiles); });
  }

  // All numbers are small and whole, so the sums are exact.
  void verify() const {
    constexpr std::size_t kStride = 4099;
    for (std::size_t i = 0; i < product_.size(); i += kStride) {
      float sum = 0;
      for (std::size_t k = 0; k < kSize; ++k) {
        sum += left_[i / kSize * kSize + k] * right_[k * kSize + i % kSize];
      }
      if (product_[i] != sum) throw std::runtime_error("the product is wrong");
    }
  }

  [[nodiscard]] std::uint64_t items() const { return 1; }

 private:
  static constexpr std::size_t kSize = 1024;
  static constexpr std::size_t kTile = 64;  // 16 KiB: half of a first-level cache
  static constexpr std::size_t kTiles = kSize / kTile;

  void make_tile(std::size_t tile_row, std::size_t tile_column) {
    std::array<float, kTile * kTile> sums{};
    const float* left = left_.data() + tile_row * kTile * kSize;
    const float* right = right_.data() + tile_column * kTile;
    for (std::size_t k = 0; k < kSize; k += kTile) {
      add_product(left + k, right + k * kSize, sums.data());
    }
    float* product = product_.data() + tile_row * kTile * kSize + tile_column * kTile;
    for (std::size_t row = 0; row < kTile; ++row) {
      for (std::size_t column = 0; column < kTile; ++column) {
        product[row * kSize + column] = sums[row * kTile + column];
      }
    }
  }

  // The same code for every contender.
  [[gnu::noinline]] static void add_product(const float* left, const float* right, float* sums) {
    for (std::size_t row = 0; row < kTile; ++row) {
      for (std::size_t k = 0; k < kTile; ++k) {
        const float factor = left[row * kSize + k];
        for (std::size_t column = 0; column < kTile; ++column) {
          sums[row * kTile + column] += factor * right[k * kSize + column];
        }
      }
    }
  }

  std::vector<float> left_;
  std::vector<float> right_;
  std::vector<float> product_;
};

}  // namespace muster::bench
