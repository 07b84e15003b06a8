// shared_queue.hpp: one queue for all workers behind one mutex: `global` queueing.
//
// Workers sleep on it until there is a task, or until whoever asked says that there will be none.
//
// Thread safety: any member from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include <muster/sync/atomic.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class SharedQueue {
 public:
  enum class Workers { suffice, all_busy };

  // `check` may throw, under the lock, to keep the task out.
  template <class Check>
  Workers push(Closure&& task, const Check& check) MUSTER_EXCLUDES(mutex_) {
    Workers workers = Workers::suffice;
    {
      const MutexLock lock(mutex_);
      check();
      tasks_.push_back(std::move(task));
      // relaxed: written under the mutex; counts for others.
      pushed_.store(pushed_.load(relaxed) + 1, relaxed);
      size_.store(tasks_.size(), relaxed);  // relaxed: as above
      if (tasks_.size() > waiting_) workers = Workers::all_busy;
    }
    work_.notify_one();
    return workers;
  }

  // Blocks until `take_urgent(out)`, a task of the queue or `take_idle(out)` gives one, looked at
  // in this order; or until `is_finished()`: false.
  template <class TakeUrgent, class TakeIdle, class IsFinished>
  bool pop(Closure& out, const TakeUrgent& take_urgent, const TakeIdle& take_idle,
           const IsFinished& is_finished) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!take_urgent(out) && !take_first(out) && !take_idle(out)) {
      if (is_finished()) {
        work_.notify_all();
        return false;
      }
      ++waiting_;
      work_.wait(mutex_);
      --waiting_;
    }
    return true;
  }

  bool try_pop(Closure& out) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return take_first(out);
  }

  // The oldest that need not run.
  bool drop_oldest(Closure& out) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (auto each = tasks_.begin(); each != tasks_.end(); ++each) {
      if (each->must_run()) continue;
      out = std::move(*each);
      tasks_.erase(each);
      size_.store(tasks_.size(), relaxed);  // relaxed: racy for others
      return true;
    }
    return false;
  }

  // There is something for those who sleep, of which this queue knows nothing. The lock: either
  // they see it, or they sleep already.
  void wake_one() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    work_.notify_one();
  }
  void wake_all() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    work_.notify_all();
  }

  // Racy.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return size_.load(relaxed);  // relaxed: racy by contract
  }

  // Tasks ever pushed.
  [[nodiscard]] std::uint64_t pushed_approx() const noexcept {
    return pushed_.load(relaxed);  // relaxed: a count
  }

 private:
  bool take_first(Closure& out) MUSTER_REQUIRES(mutex_) {
    if (tasks_.empty()) return false;
    out = std::move(tasks_.front());
    tasks_.pop_front();
    size_.store(tasks_.size(), relaxed);  // relaxed: racy for others
    return true;
  }

  // Written under the mutex, read by anybody.
  Atomic<std::uint64_t> pushed_ = 0;
  Atomic<std::size_t> size_ = 0;

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable work_;
  std::size_t waiting_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::deque<Closure> tasks_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
