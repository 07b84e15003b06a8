// spilling_queue.hpp: a first-in first-out queue that is a ring while it is short, and grows.
//
// Items go through a BoundedQueue until that is full; from then on into chunks behind a mutex,
// until those are used up. Whoever finds the ring empty takes a whole chunk and fills the ring from
// it, without the lock. So an ordinary load never meets a lock or an allocation, and in a burst the
// lock is held for one item at a time by who pushes, and once in a chunk by who pops.
//
// Items of one producer come out in the order they went in, if one thread pops.
//
// Thread safety: any member from any thread. Construction and destruction by one thread, alone.
// Ordering: whatever the pusher did before push is visible to whoever pops the item.
// Bound: none of its own; whoever pushes must see to it.
// Design note: docs/design/spilling_queue.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include <muster/queues/bounded_queue.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

enum class SpillPop {
  empty,  // or on its way: whoever pushes or moves it is not done yet, and tells sleepers then
  popped,
  refilled,  // popped, and others have become available that were in nobody's sight: tell sleepers
};

template <class T>
class SpillingQueue {
 public:
  // Throws InvalidArgument unless `ring_capacity` is a power of two from 2.
  explicit SpillingQueue(std::size_t ring_capacity) : ring_(ring_capacity) {}

  // Throws std::bad_alloc if there is no memory for another chunk; the item is the caller's then.
  void push(T&& item) {
    // NOLINTNEXTLINE(bugprone-use-after-move): a push that is refused moves nothing
    if (!try_push(std::move(item))) spill(std::move(item));
  }

  // False, and the item is the caller's, if it would have to be spilled.
  [[nodiscard]] bool try_push(T&& item) noexcept {
    // sync(spill): what this producer has spilled is in the ring already, hence before this item.
    return spilled_.load(acquire) == 0 && ring_.try_push(std::move(item));
  }

  [[nodiscard]] SpillPop try_pop(T& out) noexcept {
    if (ring_.try_pop(out)) return SpillPop::popped;
    // relaxed: what was spilled is read under the lock.
    return spilled_.load(relaxed) != 0 ? refill(out) : SpillPop::empty;
  }

  // Racy: whether try_pop would find something. Stays away from the pushers' line.
  [[nodiscard]] bool empty_approx() const noexcept {
    return ring_.empty_approx() && spilled_.load(relaxed) == 0;  // relaxed: racy by contract
  }

  // The same for at least so many items; what was spilled counts as many.
  [[nodiscard]] bool holds_approx(std::size_t items) const noexcept {
    return ring_.holds_approx(items) || spilled_.load(relaxed) != 0;  // relaxed: racy by contract
  }

  // Racy.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return ring_.size_approx() + spilled_.load(relaxed);  // relaxed: racy by contract
  }

  // Racy: of those, in chunks.
  [[nodiscard]] std::size_t spilled_approx() const noexcept {
    return spilled_.load(relaxed);  // relaxed: racy by contract
  }

  // Items ever pushed. Counts an item before it can be popped; may count those twice that are on
  // their way from a chunk to the ring.
  [[nodiscard]] std::uint64_t pushed_approx() const noexcept {
    // sync(refilled): what was moved is counted in the ring.
    const std::uint64_t refilled = refilled_.load(acquire);
    // relaxed: a count.
    return spilled_ever_.load(relaxed) + ring_.pushed_approx() - refilled;
  }

 private:
#ifdef MUSTER_ATOMICS
  static constexpr std::size_t kChunk = 4;  // explored: a little more than the ring takes
  static constexpr int kTries = 1;
#else
  // Enough to make a lock per chunk cheap, few enough that others find chunks too.
  static constexpr std::size_t kChunk = 64;
  // To lock, before sleeping for it.
  static constexpr int kTries = 50;
#endif

  using Chunk = std::vector<T>;
  using Chunks = std::list<Chunk>;

  // Sections under the lock are short, and to sleep for one is dear.
  void lock_briefly() MUSTER_THREAD_ANNOTATION(acquire_capability(mutex_)) {
    for (int i = 0; i < kTries; ++i) {
      if (mutex_.try_lock()) return;
      spin_pause();
    }
    mutex_.lock();
  }

  [[gnu::noinline]] void spill(T&& item) MUSTER_EXCLUDES(mutex_) {
    lock_briefly();
    try {
      if (chunks_.empty() || chunks_.back().size() == kChunk) add_chunk();
    } catch (...) {
      mutex_.unlock();
      throw;
    }
    chunks_.back().push_back(std::move(item));  // within its reserve
    // relaxed: a count, before anybody can pop the item.
    spilled_ever_.store(spilled_ever_.load(relaxed) + 1, relaxed);
    spilled_.fetch_add(1, relaxed);  // relaxed: a count; the lock publishes the item
    mutex_.unlock();
  }

  void add_chunk() MUSTER_REQUIRES(mutex_) {
    if (spare_.empty()) {
      Chunks fresh(1);
      fresh.front().reserve(kChunk);
      spare_.splice(spare_.end(), fresh);
    }
    chunks_.splice(chunks_.end(), spare_, spare_.begin());
  }

  [[gnu::noinline]] SpillPop refill(T& out) noexcept MUSTER_EXCLUDES(mutex_) {
    Chunks taken;
    lock_briefly();
    // Somebody in the middle of a push may hold up items in the ring that are older than those in
    // the chunks. All that whoever spilled has pushed before is seen here, because of the lock.
    const bool ring_is_empty = ring_.size_approx() == 0;
    if (ring_is_empty && !chunks_.empty()) taken.splice(taken.begin(), chunks_, chunks_.begin());
    mutex_.unlock();
    if (taken.empty()) return ring_.try_pop(out) ? SpillPop::popped : SpillPop::empty;
    Chunk& chunk = taken.front();
    out = std::move(chunk.front());
    const bool others = chunk.size() > 1;
    std::size_t moved = 1;
    while (moved < chunk.size() && ring_.try_push(std::move(chunk[moved]))) ++moved;
    refilled_.fetch_add(moved - 1, release);  // sync(refilled): pairs with pushed_approx()
    chunk.erase(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(moved));
    lock_briefly();
    // What found no room goes back to the front; there are others in sight again, then as well.
    Chunks& next = chunk.empty() && spare_.empty() ? spare_ : chunks_;
    if (!chunk.empty() || spare_.empty()) next.splice(next.begin(), taken);
    spilled_.fetch_sub(moved, release);  // sync(spill): pairs with try_push(), who use the ring now
    mutex_.unlock();
    return others ? SpillPop::refilled : SpillPop::popped;
  }

  // Any thread.
  BoundedQueue<T> ring_;
  alignas(kCacheLine) Atomic<std::size_t> spilled_ = 0;  // items in chunks
  Atomic<std::uint64_t> spilled_ever_ = 0;
  Atomic<std::uint64_t> refilled_ = 0;  // of those, moved to the ring

  // Guarded by mutex_.
  Mutex mutex_;
  Chunks chunks_ MUSTER_GUARDED_BY(mutex_);  // oldest first
  Chunks spare_ MUSTER_GUARDED_BY(mutex_);   // one empty chunk, or none
};

}  // namespace muster
