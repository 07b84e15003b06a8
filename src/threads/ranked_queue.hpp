// ranked_queue.hpp: the pool's tasks whose priority is not 0, in exact order.
//
// Two heaps behind a mutex: urgent tasks (above 0) go before all others, idle ones (below 0) after
// them. Whether there are any is a relaxed load, which is all that ordinary tasks pay.
//
// Thread safety: any member from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <muster/base/clock.hpp>
#include <muster/queues/stable_heap.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class RankedQueue {
 public:
  // Without `aging` the order is that of the priorities alone.
  explicit RankedQueue(std::optional<Duration> aging = std::nullopt) : aging_(aging) {}

  // Requires: priority is not 0.
  void push(Priority priority, Closure&& task) MUSTER_EXCLUDES(mutex_) {
    push(priority > 0 ? Rank::urgent : Rank::idle, priority, std::move(task));
  }

  // Requires: aging. All tasks wait here, also ordinary ones, and all count as urgent. They age
  // equally fast, so who comes first never changes while they wait: the one whose priority would
  // have been 0 first.
  void push_aging(Priority priority, Time now, Closure&& task) MUSTER_EXCLUDES(mutex_) {
    const Key head_start = priority * aging_.value_or(Duration::zero()).count();
    push(Rank::urgent, head_start - now.time_since_epoch().count(), std::move(task));
  }

  // The most urgent, if one is above 0; first come, first served among equals.
  [[nodiscard]] bool try_pop_urgent(Closure& out) noexcept {
    // relaxed: whoever was told of a task sees that there is one; the lock shows the task itself.
    return urgent_size_.load(relaxed) != 0 && pop(Rank::urgent, out);
  }

  // The same below 0.
  [[nodiscard]] bool try_pop_idle(Closure& out) noexcept {
    return idle_size_.load(relaxed) != 0 && pop(Rank::idle, out);  // relaxed: as above
  }

  // Racy.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return urgent_size_.load(relaxed) + idle_size_.load(relaxed);  // relaxed: racy by contract
  }

  // Tasks ever pushed.
  [[nodiscard]] std::uint64_t pushed_approx() const noexcept {
    return pushed_.load(relaxed);  // relaxed: a count
  }

 private:
  enum class Rank { urgent, idle };
  using Key = std::int64_t;

  void push(Rank rank, Key key, Closure&& task) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    heap(rank).push(key, std::move(task));
    // relaxed: a count, before anybody can pop the task.
    pushed_.store(pushed_.load(relaxed) + 1, relaxed);
    show_sizes();
  }

  StableHeap<Closure, Key>& heap(Rank rank) noexcept MUSTER_REQUIRES(mutex_) {
    return rank == Rank::urgent ? urgent_ : idle_;
  }

  bool pop(Rank rank, Closure& out) noexcept MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (heap(rank).empty()) return false;
    out = heap(rank).pop();
    show_sizes();
    return true;
  }

  void show_sizes() noexcept MUSTER_REQUIRES(mutex_) {
    urgent_size_.store(urgent_.size(), relaxed);  // relaxed: before whoever pushed tells of it
    idle_size_.store(idle_.size(), relaxed);      // relaxed: as above
  }

  // Fixed at construction.
  const std::optional<Duration> aging_;

  // Any thread.
  Atomic<std::size_t> urgent_size_ = 0;
  Atomic<std::size_t> idle_size_ = 0;
  Atomic<std::uint64_t> pushed_ = 0;

  // Guarded by mutex_.
  Mutex mutex_;
  StableHeap<Closure, Key> urgent_ MUSTER_GUARDED_BY(mutex_);
  StableHeap<Closure, Key> idle_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
