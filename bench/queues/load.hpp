// load.hpp: what the contenders carry and how many threads carry it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace muster::bench {

// Items that fit into each queue. A constant, for one of the contenders takes its bound as one.
inline constexpr std::size_t kQueueCapacity = 1024;

inline constexpr std::size_t kBatch = 16;

// What most queues carry: an index or a pointer.
using SmallItem = std::uint64_t;

// The same number in every word, so that a torn item shows.
struct LargeItem {
  std::array<std::uint64_t, 8> words;
};
static_assert(sizeof(LargeItem) == 64, "cells say their size in bytes");

template <class Item>
Item item_of(std::uint64_t number) {
  if constexpr (std::is_same_v<Item, SmallItem>) {
    return number;
  } else {
    Item item;
    item.words.fill(number);
    return item;
  }
}

inline std::uint64_t checksum(const SmallItem& item) {
  return 2 * item;
}
inline std::uint64_t checksum(const LargeItem& item) {
  return item.words.front() + item.words.back();
}

// Of the items made from 1 to `items`.
inline std::uint64_t checksum_of_all(std::uint64_t items) {
  return items * (items + 1);
}

struct Shape {
  unsigned producers = 1;
  unsigned consumers = 1;
};

inline std::string to_text(const Shape& shape) {
  return std::to_string(shape.producers) + 'P' + std::to_string(shape.consumers) + 'C';
}

}  // namespace muster::bench
