// work_stealing_deque.hpp: one owner pushes and pops, any thread steals.
//
//     muster::WorkStealingDeque<Task*> deque;
//     auto owner = deque.owner();           // one thread
//     owner.push(task);
//     std::optional<Task*> mine = owner.pop();
//     auto thief = deque.thief();           // any number of threads
//     muster::Steal<Task*> loot = thief.steal();
//
// The owner's end is last-in first-out (warm cache); thieves take the oldest item, usually the
// largest piece of work. Grows when full; old buffers are kept until the deque dies, since a thief
// may still read one, so all buffers together are at most twice the largest.
//
// After Chase and Lev (2005) with the orders of Le, Pop, Cohen and Zappa Nardelli (2013). One thing
// differs: the owner takes the last item as a thief would, which spares it the fence and leaves
// bottom alone.
//
// Thread safety: Owner belongs to one thread; Thief may be copied to any thread. Both must not
// outlive the deque.
// Ordering: whatever the owner did before push() is visible to whoever takes the item.
// Lock-free: yes; pop() and push() are wait-free but for growth.
// Design note: docs/design/work_stealing_deque.md
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <muster/error.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/fence.hpp>

namespace muster {

enum class StealOutcome {
  taken,
  empty,
  lost_race,  // another thread took the item: try again, here or elsewhere
};

template <class T>
struct Steal {
  StealOutcome outcome;
  T item;  // valid if taken
};

struct StealBatch {
  StealOutcome outcome;  // taken if count > 0, else why not
  std::size_t count;
};

template <class T>
class WorkStealingDeque {
  static_assert(
      // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
      std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
      "a thief reads the item before it knows whether it has won it: it must fit one atomic");

 public:
  class Owner;
  class Thief;

  // Throws InvalidArgument unless capacity is a power of two from 2.
  explicit WorkStealingDeque(std::size_t initial_capacity = 256);
  WorkStealingDeque(const WorkStealingDeque&) = delete;
  WorkStealingDeque& operator=(const WorkStealingDeque&) = delete;

  [[nodiscard]] Owner owner() noexcept { return Owner(*this); }
  [[nodiscard]] Thief thief() noexcept { return Thief(*this); }

 private:
  using Index = std::int64_t;  // signed: bottom is one below top for a moment in pop()

  struct Buffer {
    explicit Buffer(std::size_t capacity)
        : mask(static_cast<Index>(capacity) - 1), cells(std::make_unique<Atomic<T>[]>(capacity)) {}
    Atomic<T>& operator[](Index index) const noexcept {
      return cells[static_cast<std::size_t>(index & mask)];
    }

    const Index mask;
    const std::unique_ptr<Atomic<T>[]> cells;
  };

  static std::size_t checked(std::size_t capacity);
  void push(T item);
  bool pop(T& item) noexcept;
  template <class MayTake>
  Steal<T> steal(const MayTake& may_take) noexcept;
  StealBatch steal_half(std::span<T> out) noexcept;
  bool win_last(Index last) noexcept;
  void make_room(Index bottom);
  void adopt_newest_buffer() noexcept;

  // Any thread. Thieves write top, the owner writes bottom: lines of their own.
  alignas(kCacheLine) Atomic<Index> top_ = 0;
  alignas(kCacheLine) Atomic<Index> bottom_ = 0;
  Atomic<Buffer*> buffer_;

  // Owner thread only.
  alignas(kCacheLine) Index own_bottom_ = 0;  // the items end here, whatever pop() shows to thieves
  Index top_seen_ = 0;                        // top_ is at least this
  Index mask_ = 0;                            // of the newest buffer
  Atomic<T>* cells_ = nullptr;                // of the newest buffer
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

// The one thread that pushes and pops.
template <class T>
class WorkStealingDeque<T>::Owner {
 public:
  // Throws std::bad_alloc if the deque must grow and cannot; the item was not pushed then.
  void push(T item) { deque_->push(item); }

  // The item pushed last.
  [[nodiscard]] std::optional<T> pop() noexcept {
    T item;
    return deque_->pop(item) ? std::optional<T>(item) : std::nullopt;
  }

 private:
  friend class WorkStealingDeque;
  explicit Owner(WorkStealingDeque& deque) noexcept : deque_(&deque) {}
  WorkStealingDeque* deque_;
};

// Any thread.
template <class T>
class WorkStealingDeque<T>::Thief {
 public:
  // The item pushed first.
  [[nodiscard]] Steal<T> steal() noexcept {
    return deque_->steal([] { return true; });
  }

  // The same, but `empty` as well if `may_take()` is false. It is asked after the oldest item was
  // seen and before it is taken, and sees what the owner did before it pushed that item.
  template <class MayTake>
  [[nodiscard]] Steal<T> steal_if(const MayTake& may_take) noexcept {
    return deque_->steal(may_take);
  }

  // Up to half of the items (rounded up), the oldest first, at most out.size(): one steal after
  // another, for one exchange over several items would let the owner take one of them too. Ends at
  // the first that is not taken.
  [[nodiscard]] StealBatch steal_half(std::span<T> out) noexcept { return deque_->steal_half(out); }

  // Racy.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    // relaxed: racy by contract.
    const Index size = deque_->bottom_.load(relaxed) - deque_->top_.load(relaxed);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }

 private:
  friend class WorkStealingDeque;
  explicit Thief(WorkStealingDeque& deque) noexcept : deque_(&deque) {}
  WorkStealingDeque* deque_;
};

template <class T>
WorkStealingDeque<T>::WorkStealingDeque(std::size_t initial_capacity) {
  buffers_.push_back(std::make_unique<Buffer>(checked(initial_capacity)));
  adopt_newest_buffer();
}

template <class T>
std::size_t WorkStealingDeque<T>::checked(std::size_t capacity) {
  if (capacity >= 2 && std::has_single_bit(capacity)) return capacity;
  throw InvalidArgument({.field = "initial_capacity",
                         .value = std::to_string(capacity),
                         .rule = "must be a power of two, at least 2"});
}

template <class T>
[[gnu::always_inline]] inline void WorkStealingDeque<T>::push(T item) {
  const Index bottom = own_bottom_;
  if (bottom - top_seen_ > mask_) [[unlikely]]
    make_room(bottom);
  Atomic<T>& cell = cells_[bottom & mask_];
  note_plain_write(&cell);             // whoever took the cell's last item must be done reading it
  cell.store(item, relaxed);           // relaxed: published by the store below
  bottom_.store(bottom + 1, release);  // sync(item-pushed): pairs with the load in steal()
  own_bottom_ = bottom + 1;
}

template <class T>
[[gnu::always_inline]] inline bool WorkStealingDeque<T>::pop(T& item) noexcept {
  const Index last = own_bottom_ - 1;
  // Loading top_ here would wait for the exchange by which the pop before took its last item.
  if (top_seen_ > last) return false;
  item = cells_[last & mask_].load(relaxed);  // relaxed: this thread wrote it
  if (top_seen_ < last) {
    // sync(item-pushed): thieves may learn of older items by this store.
    bottom_.store(last, release);
    // sync(last-item): or the owner could miss a thief's advance of top while that thief misses
    // this retreat of bottom, and both would take the same item.
    full_fence();
    // relaxed: the fence decides what must be seen.
    if (top_.load(relaxed) < last) [[likely]] {
      own_bottom_ = last;
      return true;
    }
  }
  return win_last(last);
}

// The only item left goes to whoever advances top: the owner takes it as a thief would. Afterwards
// thieves see bottom at top or one below, empty either way, until the next push sets it.
template <class T>
[[gnu::always_inline]] inline bool WorkStealingDeque<T>::win_last(Index last) noexcept {
  Index top = last;
  // sync(cell-free): whoever advanced top so far has read its cell. More is not needed: the
  // exchange alone decides who takes the item, and this thread wrote it; whoever sees the new top
  // also sees how far bottom has retreated, for a full fence stands behind each retreat.
  const bool won = top_.compare_exchange_strong(top, last + 1, acquire, acquire);
  top_seen_ = last + 1;
  return won;
}

template <class T>
template <class MayTake>
Steal<T> WorkStealingDeque<T>::steal(const MayTake& may_take) noexcept {
  // sync(last-item): both seq_cst, so that a thief which sees another's
  // advance of top sees the retreat of bottom that the advance raced with. Acquire would not do:
  // litmus_test.cpp has the counterexample.
  Index top = top_.load(seq_cst);
  const Index bottom = bottom_.load(seq_cst);  // sync(last-item), sync(item-pushed)
  if (top >= bottom || !may_take()) return {StealOutcome::empty, T{}};
  const Buffer& buffer = *buffer_.load(acquire);  // sync(buffer-grown): its cells are filled
  const Atomic<T>& cell = buffer[top];
  const Moment when = plain_moment();
  const T item = cell.load(relaxed);  // relaxed: valid only if the exchange succeeds
  // sync(last-item), sync(cell-free). relaxed: a failure says all there is to know.
  if (!top_.compare_exchange_strong(top, top + 1, seq_cst, relaxed)) {
    return {StealOutcome::lost_race, T{}};
  }
  note_plain_read(&cell, when);
  return {StealOutcome::taken, item};
}

template <class T>
StealBatch WorkStealingDeque<T>::steal_half(std::span<T> out) noexcept {
  const std::size_t half = (thief().size_approx() + 1) / 2;
  const std::size_t wanted = std::min(std::max<std::size_t>(half, 1), out.size());
  std::size_t count = 0;
  StealOutcome last = StealOutcome::empty;
  while (count < wanted) {
    const Steal<T> loot = thief().steal();
    last = loot.outcome;
    if (last != StealOutcome::taken) break;
    out[count++] = loot.item;
  }
  return {count > 0 ? StealOutcome::taken : last, count};
}

template <class T>
[[gnu::noinline]] void WorkStealingDeque<T>::make_room(Index bottom) {
  // sync(cell-free): whoever advanced top has read its cell, so the cell may be written again.
  top_seen_ = top_.load(acquire);
  if (bottom - top_seen_ <= mask_) return;
  const Buffer& old = *buffers_.back();
  auto bigger = std::make_unique<Buffer>(static_cast<std::size_t>(old.mask + 1) * 2);
  for (Index i = top_seen_; i < bottom; ++i) {
    (*bigger)[i].store(old[i].load(relaxed), relaxed);  // relaxed: published with the buffer
  }
  buffers_.push_back(std::move(bigger));
  adopt_newest_buffer();
}

template <class T>
void WorkStealingDeque<T>::adopt_newest_buffer() noexcept {
  Buffer* const newest = buffers_.back().get();
  mask_ = newest->mask;
  cells_ = newest->cells.get();
  buffer_.store(newest, release);  // sync(buffer-grown): pairs with the load in steal()
}

}  // namespace muster
