// spares.hpp: how many workers block, and how many others stand in for them.
//
// A spare is on duty, or it sits out until it is recalled. On duty it works as any other worker;
// between two tasks it asks whether it is one too many, and leaves.
//
// Thread safety: any member from any thread.
#pragma once

#include <cstddef>

#include <muster/sync/atomic.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class Spares {
 public:
  explicit Spares(std::ptrdiff_t most) : most_(most) {}

  enum class Need {
    none,     // enough are on duty, or one was recalled
    start,    // a new one: start it, or call not_started()
    too_few,  // there are no more
  };

  // One more worker blocks.
  [[nodiscard]] Need begin_blocking() MUSTER_EXCLUDES(mutex_);
  void end_blocking() MUSTER_EXCLUDES(mutex_);

  // After Need::start, if that could not be done.
  void not_started() MUSTER_EXCLUDES(mutex_);

  // For a spare between two tasks. True: it is no longer on duty and calls sit_out() next.
  [[nodiscard]] bool leave() MUSTER_EXCLUDES(mutex_);

  // Until recalled.
  void sit_out() MUSTER_EXCLUDES(mutex_);

  // Recalls all; nobody leaves any more.
  void close() MUSTER_EXCLUDES(mutex_);

  // Racy.
  [[nodiscard]] std::size_t blocked_approx() const noexcept {
    return static_cast<std::size_t>(blocked_.load(relaxed));  // relaxed: racy by contract
  }

 private:
  [[nodiscard]] bool one_too_many() const noexcept {
    // relaxed: a hint, or read under the mutex.
    return on_duty_.load(relaxed) > blocked_.load(relaxed);
  }
  static void add(Atomic<std::ptrdiff_t>& count, std::ptrdiff_t change) noexcept {
    count.store(count.load(relaxed) + change, relaxed);  // relaxed: written under the mutex only
  }

  // Fixed at construction.
  const std::ptrdiff_t most_;

  // Written under mutex_, read as hints by anybody.
  Atomic<std::ptrdiff_t> blocked_ = 0;
  Atomic<std::ptrdiff_t> on_duty_ = 0;

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable recalled_;
  std::ptrdiff_t started_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::ptrdiff_t sitting_ MUSTER_GUARDED_BY(mutex_) = 0;  // and not recalled
  std::ptrdiff_t recalls_ MUSTER_GUARDED_BY(mutex_) = 0;  // that nobody has followed yet
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
