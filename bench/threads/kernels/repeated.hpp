// repeated.hpp: a tree of fixed size, computed as often as it takes to make up the items asked for.
#pragma once

#include <cstdint>

namespace muster::bench {

class Repeated {
 public:
  static constexpr double kUnitsPerSecond = 1e9;
  static constexpr std::uint64_t kFixedItems = 0;

  [[nodiscard]] std::uint64_t items() const { return repeats_ * items_each_; }

 protected:
  Repeated(std::uint64_t items, std::uint64_t items_each)
      : items_each_(items_each), repeats_(1 + (items - 1) / items_each) {}

  // What the last of them gave.
  template <class Pool, class Tree>
  auto run_all(Pool& pool, const Tree& tree) const {
    auto result = pool.run(tree);
    for (std::uint64_t i = 1; i < repeats_; ++i) result = pool.run(tree);
    return result;
  }

 private:
  const std::uint64_t items_each_;
  const std::uint64_t repeats_;
};

}  // namespace muster::bench
