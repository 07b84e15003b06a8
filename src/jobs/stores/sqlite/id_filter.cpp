// id_filter.cpp: a hash says which block, and which bits of it.
#include "jobs/stores/sqlite/id_filter.hpp"

#include <algorithm>
#include <xxhash.h>

namespace muster {
namespace {

constexpr std::size_t kFirstRoom = 65'536;
constexpr std::size_t kGrowth = 4;
constexpr std::size_t kBitsPerId = 10;
constexpr unsigned kBits = 7;  // of an id
constexpr unsigned kBlockBits = 512;

constexpr std::uint64_t kMix = 0x9E37'79B9'7F4A'7C15;

// With seeds that are near each other, short ids that are, too, would have the same hash.
std::uint64_t hash_of(PoolNumber pool, std::string_view id) {
  return XXH3_64bits_withSeed(id.data(), id.size(), static_cast<std::uint64_t>(pool) * kMix);
}

// By its upper half; the bits go by all of it.
std::size_t block_of(std::uint64_t hash, std::size_t blocks) {
  return (hash >> 32U) * blocks >> 32U;
}

// use(word, mask) for each of its bits, as long as it returns true.
template <class Use>
bool for_each_bit(std::uint64_t hash, const Use& use) {
  std::uint64_t bits = hash * kMix;
  for (unsigned i = 0; i < kBits; ++i, bits /= kBlockBits) {
    const std::uint64_t bit = bits % kBlockBits;
    if (!use(bit / 64, std::uint64_t{1} << (bit % 64))) return false;
  }
  return true;
}

}  // namespace

void IdFilter::add(PoolNumber pool, std::string_view id) {
  if (may_have(pool, id)) return;
  if (size_ == most_) return give_up();
  if (layers_.empty() || layers_.back().room == 0) {
    const std::size_t grown = layers_.empty() ? kFirstRoom : size_ * (kGrowth - 1) + kFirstRoom;
    const std::size_t room = std::min(grown, most_ - size_);
    layers_.push_back(
        {.blocks = std::vector<Block>(room * kBitsPerId / kBlockBits + 1), .room = room});
  }
  Layer& layer = layers_.back();
  --layer.room;
  ++size_;
  const std::uint64_t hash = hash_of(pool, id);
  Block& block = layer.blocks[block_of(hash, layer.blocks.size())];
  (void)for_each_bit(hash, [&block](std::uint64_t word, std::uint64_t mask) {
    block.words[word] |= mask;
    return true;
  });
}

bool IdFilter::may_have(PoolNumber pool, std::string_view id) const noexcept {
  if (is_useless_) return true;
  const std::uint64_t hash = hash_of(pool, id);
  return std::ranges::any_of(layers_, [hash](const Layer& layer) {
    const Block& block = layer.blocks[block_of(hash, layer.blocks.size())];
    return for_each_bit(hash, [&block](std::uint64_t word, std::uint64_t mask) {
      return (block.words[word] & mask) != 0;
    });
  });
}

void IdFilter::give_up() {
  is_useless_ = true;
  layers_ = {};
}

}  // namespace muster
