// ledger.hpp: proves that what came out is what went in, and tells the takers when to stop.
//
// Each taker counts and adds up what it took. It publishes its count while it waits, not on every
// item, so that the ledger costs nothing while items flow.
//
// Thread safety: each taker writes its own entry; any thread may ask is_complete(). verify() after
// the join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster::bench {

// What one taker took.
struct Haul {
  std::uint64_t items = 0;
  std::uint64_t checksum = 0;

  void add(std::uint64_t item_checksum) {
    ++items;
    checksum += item_checksum;
  }
};

class Ledger {
 public:
  Ledger(std::size_t takers, std::uint64_t expected_items)
      : expected_items_(expected_items), entries_(takers) {}

  void publish(std::size_t taker, const Haul& haul) {
    // relaxed: a stale count makes others wait a little longer, nothing else
    entries_[taker].items.store(haul.items, relaxed);
  }

  // Before the taker's thread ends.
  void close(std::size_t taker, const Haul& haul) {
    publish(taker, haul);
    entries_[taker].checksum = haul.checksum;
  }

  [[nodiscard]] std::uint64_t published_items() const {
    std::uint64_t items = 0;
    for (const Entry& entry : entries_) items += entry.items.load(relaxed);  // relaxed: as above
    return items;
  }

  [[nodiscard]] bool is_complete() const { return published_items() >= expected_items_; }

  // Throws std::runtime_error if an item was lost, doubled or changed.
  void verify(std::uint64_t expected_checksum) const;

 private:
  struct alignas(kCacheLine) Entry {
    Atomic<std::uint64_t> items = 0;
    std::uint64_t checksum = 0;
  };

  // Fixed at construction.
  const std::uint64_t expected_items_;

  // Each by its taker.
  std::vector<Entry> entries_;
};

}  // namespace muster::bench
