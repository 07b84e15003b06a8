// skynet.hpp: a tree with ten children at each node and a million leaves, whose numbers are added
// up. Many small children at once, where fib has two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "threads/kernels/repeated.hpp"

namespace muster::bench {

inline constexpr std::size_t kSkynetChildren = 10;

// The leaves from `first`, `count` of them: a power of ten.
template <class Pool>
std::uint64_t skynet(std::uint64_t first, std::uint64_t count) {
  if (count == 1) return first;
  std::array<std::uint64_t, kSkynetChildren> sums{};
  const std::uint64_t share = count / kSkynetChildren;
  Pool::each_child(kSkynetChildren, [&sums, first, share](std::size_t child) {
    sums[child] = skynet<Pool>(first + child * share, share);
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

class Skynet : public Repeated {
 public:
  static constexpr const char* kName = "skynet";
  static constexpr const char* kColumn = "skynet ns/leaf";

  // Items are leaves.
  explicit Skynet(std::uint64_t items) : Repeated(items, kLeaves) {}

  template <class Pool>
  void run(Pool& pool) {
    result_ = run_all(pool, [] { return skynet<Pool>(0, kLeaves); });
  }

  void verify() const {
    if (result_ != kLeaves * (kLeaves - 1) / 2) throw std::runtime_error("skynet lost a leaf");
  }

 private:
  static constexpr std::uint64_t kLeaves = 1'000'000;

  std::uint64_t result_ = 0;
};

}  // namespace muster::bench
