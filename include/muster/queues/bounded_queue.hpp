// bounded_queue.hpp: a bounded first-in first-out queue that any threads push to and pop from.
//
//     muster::BoundedQueue<std::string> queue(1024);
//     if (!queue.try_push("hello")) { /* full */ }
//     if (std::optional<std::string> item = queue.try_pop()) { /* use *item */ }
//
// A ring of slots. A slot's turn says whose move it is: turn == position, the pusher of that
// position may fill it; turn == position + 1, the popper of that position may empty it; then the
// turn is handed on to the next lap. Pushers meet only at tail_, poppers only at head_, and a
// pusher meets a popper only in a slot.
//
// Items come out in the order of their positions: globally first-in first-out, hence also per
// producer. "full" and "empty" are ordinary outcomes. They may also be reported while the operation
// that would change them is under way in another thread: an item counts as arrived when every push
// that began before it in the ring is done.
//
// Thread safety: try_* from any thread. Construction and destruction by one thread, alone.
// Ordering: whatever the pusher did before try_push is visible to whoever pops the item.
// Lock-free: no; a thread stopped between its two steps holds up that slot, and with it those
// behind it.
// Design note: docs/design/bounded_queue.md
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <muster/error.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/plain.hpp>

namespace muster {

struct BoundedQueueOptions {
  // Items that fit: a power of two from 2.
  std::size_t capacity = 1024;

  // Single pushes that leave at least this many items waiting say so in their result; 0: never.
  // Costs one more load per push.
  std::size_t high_water = 0;
};

enum class PushOutcome {
  pushed,
  pushed_at_high_water,  // and at least `high_water` items wait now
  full,                  // the item is still the caller's
};

struct PushResult {
  PushOutcome outcome;
  explicit operator bool() const noexcept { return outcome != PushOutcome::full; }
};

template <class T>
class BoundedQueue {
 public:
  // Throws InvalidArgument naming the field, or std::bad_alloc.
  explicit BoundedQueue(const BoundedQueueOptions& options);
  explicit BoundedQueue(std::size_t capacity) : BoundedQueue(BoundedQueueOptions{capacity, 0}) {}
  ~BoundedQueue();
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Moves `item` in, or leaves it as it was if the queue is full.
  PushResult try_push(T&& item) noexcept;
  PushResult try_push(const T& item) { return try_push(T(item)); }

  // The oldest item, or none.
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    std::optional<T> item;
    pop_into(item);
    return item;
  }

  // The same into an object that exists already, which spares large items a move. False: empty.
  [[nodiscard]] bool try_pop(T& out) noexcept { return pop_into(out); }

  // Moves in as many of the first items as fit, in order and next to each other, and says how many.
  std::size_t try_push_batch(std::span<T> items) noexcept;

  // Moves the oldest items into `out`, as many as are there and fit, and says how many.
  std::size_t try_pop_batch(std::span<T> out) noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

  // Racy: right only while nobody pushes or pops.
  [[nodiscard]] std::size_t size_approx() const noexcept;

  // Racy: whether try_pop would find something. Stays away from the pushers' line.
  [[nodiscard]] bool empty_approx() const noexcept { return !holds_approx(1); }

  // The same for at least so many items, from 1 to the capacity.
  [[nodiscard]] bool holds_approx(std::size_t items) const noexcept {
    // relaxed: racy by contract.
    const Position last = head_.next.load(relaxed) + items - 1;
    return slots_[last & mask_].turn.load(relaxed) == last + 1;  // relaxed: as above
  }

  // Items ever pushed. Counts an item before it can be popped, and may count it later for others
  // than its pusher.
  [[nodiscard]] std::uint64_t pushed_approx() const noexcept {
    return tail_.next.load(relaxed);  // relaxed: a count
  }

 private:
  using Position = std::uint64_t;

  // Aligned so that a slot which fits into a line lies in one line.
  static constexpr std::size_t kSlotBytes = sizeof(Atomic<Position>) + sizeof(Cell<T>);
  static constexpr std::size_t kSlotAlignment =
      kSlotBytes <= kCacheLine && std::has_single_bit(kSlotBytes) ? kSlotBytes : 1;

  struct alignas(Atomic<Position>) alignas(Cell<T>) alignas(kSlotAlignment) Slot {
    Atomic<Position> turn;
    Cell<T> item;
  };

  // One end of the queue, alone on its line: pushers and poppers are different threads.
  struct alignas(kCacheLine) End {
    Atomic<Position> next = 0;  // the position to hand out
    // A recent value of `next`: a CPU stalls when it loads what it has just exchanged.
    Atomic<Position> hint = 0;
  };

  static std::size_t checked_mask(const BoundedQueueOptions& options);

  // Claims up to `wanted` positions at `end`, whose slots have reached their turn: `offset` is 0
  // for pushers and 1 for poppers; `wanted` is at least 1. Returns how many, beginning at `first`.
  std::size_t claim(End& end, Position offset, std::size_t wanted, Position& first) noexcept;

  // The second step, for whoever claimed `position`.
  void fill(Position position, T&& item) noexcept {
    slot(position).item.put(std::move(item));
    slot(position).turn.store(position + 1, release);  // sync(item-visible): pairs with claim()
  }
  void empty_into(Position position, auto& out) noexcept {
    slot(position).item.take_into(out);
    // sync(slot-free): pairs with claim().
    slot(position).turn.store(position + mask_ + 1, release);
  }

  bool pop_into(auto& out) noexcept;
  [[nodiscard]] bool at_high_water(Position pushed) noexcept;

  // Both ends write to every slot they read, at the latest its turn. Of a slot longer than two
  // lines only those two: the CPU sees by itself where a longer copy is going.
  static void prefetch(const Slot& slot) noexcept {
    const auto* bytes = reinterpret_cast<const char*>(&slot);
    prefetch_for_write(bytes);
    if constexpr (sizeof(Slot) > kCacheLine / 2) {
      prefetch_for_write(bytes + std::min(sizeof(Slot) - 1, kCacheLine));
    }
  }
  Slot& slot(Position position) noexcept { return slots_[position & mask_]; }

  // Fixed at construction.
  const std::size_t mask_;
  const std::size_t high_water_;
  std::vector<Slot> slots_;  // never an array by `new`: its length in front would misalign slots

  // Any thread.
  End tail_;
  End head_;
};

template <class T>
BoundedQueue<T>::BoundedQueue(const BoundedQueueOptions& options)
    : mask_(checked_mask(options)), high_water_(options.high_water), slots_(options.capacity) {
  // relaxed: nobody else has the queue yet.
  for (Position p = 0; p <= mask_; ++p) slots_[p].turn.store(p, relaxed);
}

template <class T>
BoundedQueue<T>::~BoundedQueue() {
  while (try_pop()) {
  }
}

template <class T>
std::size_t BoundedQueue<T>::checked_mask(const BoundedQueueOptions& options) {
  const std::size_t most = std::bit_floor(std::vector<Slot>().max_size());
  if (options.capacity < 2 || options.capacity > most || !std::has_single_bit(options.capacity)) {
    throw InvalidArgument({.field = "capacity",
                           .value = std::to_string(options.capacity),
                           .rule = "must be a power of two from 2 to " + std::to_string(most)});
  }
  if (options.high_water > options.capacity) {
    throw InvalidArgument(
        {.field = "high_water",
         .value = std::to_string(options.high_water),
         .rule = "must not be above capacity " + std::to_string(options.capacity)});
  }
  return options.capacity - 1;
}

template <class T>
[[gnu::always_inline]] inline std::size_t BoundedQueue<T>::claim(End& end, Position offset,
                                                                 std::size_t wanted,
                                                                 Position& first) noexcept {
  Position position = end.hint.load(relaxed);  // relaxed: checked by what follows
  for (;;) {
    std::size_t ready = 0;
    Position turn = 0;
    while (ready < wanted) {
      prefetch(slot(position + ready));
      // sync(item-visible): the popper sees what the pusher put in.
      // sync(slot-free): the pusher sees that the popper of the lap before is done with the slot.
      turn = slot(position + ready).turn.load(acquire);
      if (turn != position + ready + offset) break;
      ++ready;
    }
    if (ready > 0) {
      // relaxed: only divides positions among us; the slots' turns publish what matters.
      if (end.next.compare_exchange_weak(position, position + ready, relaxed, relaxed)) {
        end.hint.store(position + ready, relaxed);  // relaxed: a hint
        first = position;
        return ready;
      }
      continue;
    }
    // relaxed: too old a value is found out by the slot's turn or by the exchange.
    const Position next = end.next.load(relaxed);
    const bool behind = static_cast<std::int64_t>(turn - (position + offset)) < 0;
    if (behind && next == position) return 0;
    position = next;
  }
}

template <class T>
[[gnu::always_inline]] inline PushResult BoundedQueue<T>::try_push(T&& item) noexcept {
  Position position = 0;
  if (claim(tail_, 0, 1, position) == 0) return {PushOutcome::full};
  fill(position, std::move(item));
  if (high_water_ != 0 && at_high_water(position)) return {PushOutcome::pushed_at_high_water};
  return {PushOutcome::pushed};
}

template <class T>
[[gnu::always_inline]] inline bool BoundedQueue<T>::pop_into(auto& out) noexcept {
  Position position = 0;
  if (claim(head_, 1, 1, position) == 0) return false;
  empty_into(position, out);
  return true;
}

template <class T>
std::size_t BoundedQueue<T>::try_push_batch(std::span<T> items) noexcept {
  Position first = 0;
  const std::size_t count = items.empty() ? 0 : claim(tail_, 0, items.size(), first);
  for (std::size_t i = 0; i < count; ++i) fill(first + i, std::move(items[i]));
  return count;
}

template <class T>
std::size_t BoundedQueue<T>::try_pop_batch(std::span<T> out) noexcept {
  Position first = 0;
  const std::size_t count = out.empty() ? 0 : claim(head_, 1, out.size(), first);
  for (std::size_t i = 0; i < count; ++i) empty_into(first + i, out[i]);
  return count;
}

// At least high_water items wait if the one pushed high_water - 1 positions earlier was not popped
// yet. Looking at its slot instead of head_ keeps pushers away from the poppers' line.
template <class T>
bool BoundedQueue<T>::at_high_water(Position pushed) noexcept {
  if (pushed + 1 < high_water_) return false;
  const Position oldest = pushed + 1 - high_water_;
  // relaxed: a signal by contract, nothing is read on the strength of it.
  return slot(oldest).turn.load(relaxed) <= oldest + 1;
}

template <class T>
std::size_t BoundedQueue<T>::size_approx() const noexcept {
  // relaxed: racy by contract; head first, so that the difference is rarely too small.
  const Position head = head_.next.load(relaxed);
  const Position tail = tail_.next.load(relaxed);  // relaxed: as above
  return tail > head ? static_cast<std::size_t>(tail - head) : 0;
}

}  // namespace muster
