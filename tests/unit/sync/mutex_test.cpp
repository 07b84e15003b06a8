// mutex_test.cpp: Mutex excludes, MutexLock gives back, ConditionVariable waits and is notified.
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

// Asks from another thread, since a thread may not try for what it holds itself.
bool is_free(Mutex& mutex) {
  bool taken = false;
  std::thread([&] {
    if (mutex.try_lock()) {
      taken = true;
      mutex.unlock();
    }
  }).join();
  return taken;
}

struct Counter {
  Mutex mutex;
  int count MUSTER_GUARDED_BY(mutex) = 0;
};

// A door that somebody waits at until it is opened.
struct Door {
  void open() MUSTER_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    is_open = true;
  }
  void pass() MUSTER_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    while (!is_open) opened.wait(mutex);
  }
  // False if the door stayed shut until then.
  bool pass_until(Time deadline) MUSTER_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    while (!is_open) {
      if (!opened.wait_until(mutex, deadline)) return is_open;
    }
    return true;
  }

  Mutex mutex;
  bool is_open MUSTER_GUARDED_BY(mutex) = false;
  ConditionVariable opened;
};

TEST(Mutex, IsFreeUntilLockedAndAgainAfterwards) {
  Mutex mutex;
  EXPECT_TRUE(is_free(mutex));
  mutex.lock();
  EXPECT_FALSE(is_free(mutex));
  mutex.unlock();
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, TryLockThatSucceedsHoldsTheLock) {
  Mutex mutex;
  const bool taken = mutex.try_lock();
  EXPECT_TRUE(taken);
  if (taken) {
    EXPECT_FALSE(is_free(mutex));
    mutex.unlock();
  }
}

TEST(MutexLock, HoldsTheLockForItsScope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexLock, LetsOneThreadInAtATime) {
  Counter counter;
  const auto add = [&] {
    for (int i = 0; i < 1000; ++i) {
      const MutexLock lock(counter.mutex);
      ++counter.count;
    }
  };
  std::thread first(add);
  std::thread second(add);
  first.join();
  second.join();
  const MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.count, 2000);
}

TEST(ConditionVariable, WaitingWithAPastDeadlineTimesOutAndKeepsTheLock) {
  Mutex mutex;
  ConditionVariable condition;
  const MutexLock lock(mutex);
  EXPECT_FALSE(condition.wait_until(mutex, real_clock().now() - 1s));
  EXPECT_FALSE(condition.wait_until(mutex, Time{}));
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionVariable, AWaitEndsAtItsDeadline) {
  Door door;
  const Time deadline = real_clock().now() + 2ms;
  EXPECT_FALSE(door.pass_until(deadline));
  EXPECT_GE(real_clock().now(), deadline);
}

TEST(ConditionVariable, NotifyOneEndsAWait) {
  Door door;
  std::thread waiter([&] { door.pass(); });
  door.open();
  door.opened.notify_one();
  waiter.join();
  EXPECT_TRUE(is_free(door.mutex));
}

TEST(ConditionVariable, ANotifiedWaitUntilIsInTime) {
  Door door;
  bool passed = false;
  std::thread waiter([&] { passed = door.pass_until(real_clock().now() + 20s); });
  door.open();
  door.opened.notify_one();
  waiter.join();
  EXPECT_TRUE(passed);
}

TEST(ConditionVariable, NotifyAllEndsEveryWait) {
  Door door;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) waiters.emplace_back([&] { door.pass(); });
  door.open();
  door.opened.notify_all();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_TRUE(is_free(door.mutex));
}

}  // namespace
}  // namespace muster
