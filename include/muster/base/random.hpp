// random.hpp: fast random numbers that a seed repeats exactly, on every machine.
//
//     Random random(seed);
//     const auto victim = random.below(worker_count);
//
// For stealing, jitter and tests; not for secrets. The generator is xoshiro256** by Blackman and
// Vigna, its state filled from the seed by their splitmix64, as they publish it.
//
// Satisfies std::uniform_random_bit_generator. Prefer the members to the distributions in <random>,
// whose results differ between standard libraries.
//
// Thread safety: one thread at a time; give each its own by split(). A copy repeats the original.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <muster/base/assert.hpp>

namespace muster {

class Random {
 public:
  using result_type = std::uint64_t;

  constexpr explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e37'79b9'7f4a'7c15;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11eb;
      word = mixed ^ (mixed >> 31);
    }
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  // 64 random bits.
  constexpr std::uint64_t operator()() {
    auto& [a, b, c, d] = state_;
    const std::uint64_t result = std::rotl(b * 5, 7) * 9;
    const std::uint64_t shifted = b << 17;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = std::rotl(d, 45);
    return result;
  }

  // One of 0 .. n-1, each exactly equally likely. n must not be 0.
  constexpr std::uint64_t below(std::uint64_t n) {
    MUSTER_DEBUG_ASSERT(n > 0);
    // Lemire 2019: scale 64 bits to n steps, and draw again in the few cases (2^64 mod n of 2^64)
    // that would make some steps longer than others. The division is rarely reached.
    Wide product = Wide{(*this)()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t unfair = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < unfair) product = Wide{(*this)()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // At least 0, below 1; a multiple of 2^-53.
  constexpr double real() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  // True with this probability: never at 0 or less, always at 1 or more.
  constexpr bool chance(double probability) { return real() < probability; }

  template <class T>
  constexpr void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(left)]);
    }
  }

  // A generator of its own for a child, for instance each worker; depends on this one's past only.
  constexpr Random split() { return Random((*this)()); }

 private:
  __extension__ using Wide = unsigned __int128;

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace muster
