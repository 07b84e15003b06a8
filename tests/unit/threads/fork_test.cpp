// fork_test.cpp: after fork() the child is told so by the old pool, and can make a new one.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/task_group.hpp>
#include <muster/thread_pool.hpp>

// Without it the thread sanitizer ends a child that starts threads.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer looks for this name
extern "C" const char* __tsan_default_options();
// NOLINTNEXTLINE(bugprone-reserved-identifier): as above
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace muster {
namespace {

// Runs `in_child` in a child of this process. True if it says so and the child ends; a child that
// hangs is ended by its alarm.
bool holds_in_child(const std::function<bool()>& in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(in_child() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class F>
bool throws_stopped(const F& f) {
  try {
    f();
    return false;
  } catch (const Stopped& error) {
    return std::string(error.what()).find("parent of this process") != std::string::npos;
  }
}

TEST(AfterFork, TheOldPoolSaysThatItBelongsToTheParent) {
  ThreadPool pool({.workers = 2});
  EXPECT_TRUE(holds_in_child([&] { return throws_stopped([&] { pool.post([] {}); }); }));
  EXPECT_TRUE(holds_in_child([&] { return throws_stopped([&] { pool.run([] {}); }); }));
  EXPECT_TRUE(holds_in_child([&] { return throws_stopped([&] { pool.wait_idle(); }); }));
  EXPECT_EQ(pool.run([] { return 1; }), 1) << "the parent's goes on";
}

TEST(AfterFork, AFutureThatCannotBecomeReadySaysSo) {
  for (const IdlePolicy idle : {IdlePolicy::balanced, IdlePolicy::latency}) {
    std::latch done(1);
    ThreadPool pool({.workers = 1, .idle = idle});
    Future<void> pending = pool.submit([&] { done.wait(); });
    EXPECT_TRUE(holds_in_child([&] { return throws_stopped([&] { pending.get(); }); }));
    done.count_down();
    pending.get();
  }
}

TEST(AfterFork, AFutureThatIsReadyCanBeRead) {
  ThreadPool pool({.workers = 1});
  Future<int> ready = pool.submit([] { return 5; });
  ready.wait();
  EXPECT_TRUE(holds_in_child([&] { return ready.get() == 5; }));
}

TEST(AfterFork, AGroupThatCannotEndSaysSo) {
  ThreadPool pool({.workers = 1});
  std::latch done(1);
  TaskGroup group(pool);
  group.run([&] { done.wait(); });
  EXPECT_TRUE(holds_in_child([&] { return throws_stopped([&] { group.wait(); }); }));
  done.count_down();
  group.wait();
}

TEST(AfterFork, TimersSaySoToo) {
  ThreadPool pool({.workers = 1});
  Timer timer = pool.every(std::chrono::hours(1), [] {});
  EXPECT_TRUE(holds_in_child([&] {
    return !timer.is_active() && !timer.cancel() &&
           throws_stopped([&] { (void)pool.after(std::chrono::hours(1), [] {}); });
  }));
  EXPECT_TRUE(timer.is_active());
}

TEST(AfterFork, TheChildCanMakeANewPool) {
  ThreadPool pool({.workers = 2});
  EXPECT_TRUE(holds_in_child([] {
    ThreadPool own({.workers = 2});
    return own.run([] { return 7; }) == 7;
  }));
}

TEST(AfterFork, TheOldPoolCanBeStoppedAndDestroyed) {
  auto pool = std::make_unique<ThreadPool>(ThreadPoolOptions{.workers = 2});
  EXPECT_TRUE(holds_in_child([&] {
    const bool stopped = static_cast<bool>(pool->stop());
    (void)pool->stats();
    pool.reset();
    return stopped;
  }));
}

TEST(AfterFork, AWorkerThatForksIsNoWorkerInTheChild) {
  ThreadPool pool({.workers = 1});
  EXPECT_TRUE(pool.run([&] {
    return holds_in_child([&] {
      if (pool.is_inside() || !throws_stopped([&] { pool.post([] {}); })) return false;
      ThreadPool own({.workers = 1});
      return own.run([] { return 7; }) == 7;
    });
  }));
}

// Forks while other threads post as fast as they can: no lock may be left held in the child.
TEST(AfterFork, NothingIsLeftLockedInTheChild) {
  ThreadPool pool({.workers = 2});
  std::atomic<bool> enough = false;
  std::jthread busy([&] {
    while (!enough) {
      pool.post([] {});
      const ThreadPool other({.workers = 1});
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(holds_in_child([&] {
      if (!throws_stopped([&] { pool.post([] {}); })) return false;
      ThreadPool own({.workers = 1});
      return own.run([] { return 7; }) == 7;
    }));
  }
  enough = true;
}

}  // namespace
}  // namespace muster
