// vyukov.hpp: the textbook bounded ring with a sequence number per slot, after Dmitry Vyukov. The
// yardstick.
//
// Written from the published description and kept as plain as it is there: nothing here is tuned,
// so that the distance to it says what muster's extras cost.
//
// A slot's sequence equals its position when it may be filled, and is one higher when it may be
// emptied. Emptying adds the capacity: the slot is ready for the next lap.
//
// Thread safety: push and pop from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace muster::bench {

template <class T>
class Vyukov {
 public:
  using Item = T;
  static constexpr const char* kName = "vyukov";

  // A power of two.
  explicit Vyukov(std::size_t capacity)
      : mask_(capacity - 1), slots_(std::make_unique<Slot[]>(capacity)) {
    for (std::size_t i = 0; i < capacity; ++i) {
      slots_[i].sequence.store(i, std::memory_order_relaxed);  // relaxed: not shared yet
    }
  }

  bool push(T& item) {
    // relaxed: a stale position is found out by the slot's sequence or by the exchange.
    std::size_t position = push_position_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position & mask_];
      // sync(ring-emptied): pairs with the store in pop().
      const std::size_t sequence = slot.sequence.load(std::memory_order_acquire);
      const auto lead = static_cast<std::intptr_t>(sequence - position);
      if (lead < 0) return false;
      if (lead > 0) {
        position = push_position_.load(std::memory_order_relaxed);  // relaxed: as above
        continue;
      }
      // relaxed: hands out positions; the sequences publish the items.
      if (push_position_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
        slot.item = item;
        slot.sequence.store(position + 1, std::memory_order_release);  // sync(ring-filled)
        return true;
      }
    }
  }

  bool pop(T& item) {
    // relaxed: as in push().
    std::size_t position = pop_position_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position & mask_];
      // sync(ring-filled): pairs with the store in push().
      const std::size_t sequence = slot.sequence.load(std::memory_order_acquire);
      const auto lead = static_cast<std::intptr_t>(sequence - (position + 1));
      if (lead < 0) return false;
      if (lead > 0) {
        position = pop_position_.load(std::memory_order_relaxed);  // relaxed: as in push()
        continue;
      }
      // relaxed: hands out positions; the sequences publish the items.
      if (pop_position_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
        item = slot.item;
        slot.sequence.store(position + mask_ + 1, std::memory_order_release);  // sync(ring-emptied)
        return true;
      }
    }
  }

 private:
  static constexpr std::size_t kLine = 64;

  struct Slot {
    std::atomic<std::size_t> sequence;
    T item;
  };

  // Fixed at construction.
  alignas(kLine) const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;

  // Any thread.
  alignas(kLine) std::atomic<std::size_t> push_position_ = 0;
  alignas(kLine) std::atomic<std::size_t> pop_position_ = 0;
};

}  // namespace muster::bench
