// cache_line_test.cpp: a CacheAligned value shares its cache line with nobody; prefetching has no
// effect that a program could see.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <muster/sync/cache_line.hpp>

namespace muster {
namespace {

using Byte = CacheAligned<char>;
using LineAndAByte = CacheAligned<std::array<char, kCacheLine + 1>>;

static_assert(kCacheLine == 64, "what x86-64 and arm64 servers have");
static_assert(alignof(Byte) == kCacheLine && sizeof(Byte) == kCacheLine);
static_assert(offsetof(Byte, value) == 0, "the value begins its line");
static_assert(sizeof(CacheAligned<std::array<char, kCacheLine>>) == kCacheLine,
              "what fits a line exactly takes one line");
static_assert(alignof(LineAndAByte) == kCacheLine && sizeof(LineAndAByte) == 2 * kCacheLine,
              "what does not fit a line takes whole lines");

TEST(CacheAligned, TheValueStartsAtZero) {
  const CacheAligned<int> number;
  EXPECT_EQ(number.value, 0);
}

TEST(CacheAligned, NeighboursOnTheHeapStandOnLinesOfTheirOwn) {
  const std::vector<Byte> row(3);
  for (const Byte& byte : row) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&byte.value) % kCacheLine, 0U);
  }
}

TEST(PrefetchForWrite, ChangesNothingAndTakesAnyAddress) {
  const int number = 7;
  prefetch_for_write(&number);
  prefetch_for_write(nullptr);
  EXPECT_EQ(number, 7);
}

}  // namespace
}  // namespace muster
