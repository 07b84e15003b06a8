// key_hash_test.cpp: keys are scattered evenly, and the same way everywhere.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/key_hash.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

// Written down, since a key must keep its worker from one version to the next.
static_assert(hash_key("") == 0x431a'01d8'5397'dc72);
static_assert(hash_key("user:42") == 0x991c'90b1'efbd'8588);
static_assert(hash_key("a key of more than eight bytes") == 0x1d7c'd9a5'50c3'ce49);

std::string random_key(Random& random, std::size_t length) {
  std::string key(length, '\0');
  for (char& character : key) character = static_cast<char>(random.below(256));
  return key;
}

// 1000 keys of each length: a bit of the hash changes 500 times, 16 either way is a standard
// deviation; the bound is six of them.
TEST(KeyHash, EachBitOfAKeyChangesEachBitOfItsHashInHalfOfAllCases) {
  Random random = testing::seeded();
  for (const std::size_t length : {3U, 8U, 9U, 17U}) {
    for (std::size_t bit = 0; bit < length * 8; bit += 5) {
      std::array<int, 64> changed{};
      for (int draw = 0; draw < 1000; ++draw) {
        std::string key = random_key(random, length);
        const std::uint64_t before = hash_key(key);
        key[bit / 8] = static_cast<char>(key[bit / 8] ^ (1 << (bit % 8)));
        const std::uint64_t difference = before ^ hash_key(key);
        for (std::size_t i = 0; i < 64; ++i) changed[i] += static_cast<int>(difference >> i & 1);
      }
      for (const int times : changed) {
        ASSERT_NEAR(times, 500, 96) << "bit " << bit << " of " << length << " bytes";
      }
    }
  }
}

TEST(KeyHash, CountedKeysDoNotMeet) {
  std::unordered_set<std::uint64_t> seen;
  for (int i = 0; i < 20'000; ++i) {
    seen.insert(hash_key("user:" + std::to_string(i)));
    seen.insert(hash_key("tenant-000000000000" + std::to_string(i)));
  }
  EXPECT_EQ(seen.size(), 40'000U);
}

TEST(KeyHash, KeysThatDifferInTheirLengthOnlyDoNotMeet) {
  std::unordered_set<std::uint64_t> seen;
  for (std::size_t length = 0; length < 200; ++length) {
    seen.insert(hash_key(std::string(length, '\0')));
  }
  EXPECT_EQ(seen.size(), 200U);
}

// 64 parts of 1000 keys each: the sum of squares is 63 on average, 11 either way is a standard
// deviation.
TEST(KeyHash, UpperAndLowerBitsSpreadCountedKeysEvenly) {
  std::array<double, 64> upper{};
  std::array<double, 64> lower{};
  for (int i = 0; i < 64'000; ++i) {
    const std::uint64_t hash = hash_key("order/" + std::to_string(i));
    ++upper[hash >> 58];
    ++lower[hash & 63];
  }
  for (const auto& parts : {upper, lower}) {
    double squares = 0;
    for (const double count : parts) squares += (count - 1000) * (count - 1000) / 1000;
    EXPECT_GT(squares, 63 - 45);
    EXPECT_LT(squares, 63 + 67);
  }
}

TEST(MixBits, NoTwoNumbersBecomeTheSame) {
  std::unordered_set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    seen.insert(mix_bits(i));
    seen.insert(mix_bits(i << 48));
  }
  EXPECT_EQ(seen.size(), 19'999U);
}

}  // namespace
}  // namespace muster
