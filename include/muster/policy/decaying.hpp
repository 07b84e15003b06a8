// decaying.hpp: a sum in which what is old counts less and less.
//
//     Decaying run_time;
//     run_time.add(3.5, round);
//     run_time.at(round + 2);           // 3.5 * 0.7 * 0.7
//
// Sums of different workers can be compared, since all of them decay with the same rounds, whether
// something is added or not. What a round is, its user decides: so much time, or so many tasks. If
// each sum decayed by what is added to it alone, all busy workers would end up with the same sum;
// if none did, a worker that was slow once would be avoided for ever.
//
// Thread safety: a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace muster {

class Decaying {
 public:
  // What is left of a sum after each round.
  static constexpr double kKept = 0.7;

  constexpr Decaying() = default;
  constexpr Decaying(double sum, std::uint64_t round) : sum_(sum), round_(round) {}

  // A round that has passed already counts as the latest one seen.
  constexpr void add(double amount, std::uint64_t round) {
    sum_ = at(round) + amount;
    if (round > round_) round_ = round;
  }

  [[nodiscard]] constexpr double at(std::uint64_t round) const {
    // Without branches: who compares workers would mispredict every other one.
    const std::uint64_t age = std::min(round - std::min(round, round_), kLongestAge);
    return sum_ * kPowers[static_cast<std::size_t>(age)];
  }

 private:
  // At this age a sum counts as nothing: an hour in nanoseconds has shrunk to less than one.
  static constexpr std::uint64_t kLongestAge = 96;

  static constexpr std::array<double, kLongestAge + 1> kPowers = [] {
    std::array<double, kLongestAge + 1> powers{};
    double power = 1;
    for (double& each : powers) {
      each = power;
      power *= kKept;
    }
    powers[kLongestAge] = 0;
    return powers;
  }();

  double sum_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace muster
