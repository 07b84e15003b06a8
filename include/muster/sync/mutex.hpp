// mutex.hpp: std::mutex and std::condition_variable with annotations that Clang checks.
//
// A member declared MUSTER_GUARDED_BY(mutex_) cannot be touched without the lock: the `tidy` preset
// compiles with -Wthread-safety -Werror. Other compilers see plain wrappers of no cost. A model
// build may name another mutex in MUSTER_RAW_MUTEX, and has no condition variables then.
#pragma once

#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>

#ifndef MUSTER_RAW_MUTEX
#include <condition_variable>
#include <mutex>
#endif

#if defined(__clang__)
#define MUSTER_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define MUSTER_THREAD_ANNOTATION(x)
#endif

#define MUSTER_GUARDED_BY(x) MUSTER_THREAD_ANNOTATION(guarded_by(x))
#define MUSTER_REQUIRES(...) MUSTER_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define MUSTER_EXCLUDES(...) MUSTER_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace muster {

#ifdef MUSTER_RAW_MUTEX
using RawMutex = MUSTER_RAW_MUTEX;
#else
using RawMutex = std::mutex;
#endif

class MUSTER_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() MUSTER_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() MUSTER_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() MUSTER_THREAD_ANNOTATION(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

  // Says so where the compiler cannot see it. Does nothing.
  void is_held() const MUSTER_THREAD_ANNOTATION(assert_capability(this)) {}

 private:
  friend class ConditionVariable;
  RawMutex mutex_;
};

// Holds a Mutex for a scope.
class MUSTER_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MUSTER_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() MUSTER_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

#ifndef MUSTER_RAW_MUTEX

// Waits may return for no reason: wait in a loop over the condition.
class ConditionVariable {
 public:
  void wait(Mutex& mutex) MUSTER_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // False once `deadline` has passed.
  bool wait_until(Mutex& mutex, Time deadline) MUSTER_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

#endif

}  // namespace muster
