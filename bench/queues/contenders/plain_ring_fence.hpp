// plain_ring_fence.hpp: a ring of plain memory plus one full fence per pop. The yardstick for an
// owner.
//
// A deque with thieves must make its claim visible before it looks whether a thief was faster: a
// store, a full fence, a load. Nothing cheaper is known to be right, so a deque that costs little
// more than this costs little more than it must. The fence, sync(ring-claim), has no partner here:
// nobody steals.
//
// Thread safety: none, one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::bench {

template <class T>
class PlainRingFence {
 public:
  using Item = T;
  static constexpr const char* kName = "plain ring + fence";

  // A power of two, and enough for what is in it at once: a push does not look.
  explicit PlainRingFence(std::size_t capacity) : mask_(capacity - 1), slots_(capacity) {}

  class Owner {
   public:
    explicit Owner(PlainRingFence& ring) : ring_(ring) {}

    void push(T item) {
      ring_.slots_[ring_.bottom_ & ring_.mask_] = item;
      ++ring_.bottom_;
    }

    bool pop(T& item) {
      --ring_.bottom_;
      std::atomic_thread_fence(std::memory_order_seq_cst);  // sync(ring-claim)
      if (static_cast<std::int64_t>(ring_.bottom_ - ring_.top_) < 0) {
        ++ring_.bottom_;
        return false;
      }
      item = ring_.slots_[ring_.bottom_ & ring_.mask_];
      return true;
    }

   private:
    PlainRingFence& ring_;
  };

 private:
  // Fixed at construction.
  const std::size_t mask_;

  // Owner thread only.
  std::vector<T> slots_;
  std::size_t top_ = 0;
  std::size_t bottom_ = 0;
};

}  // namespace muster::bench
