// shared_futex_test.cpp: sleeping on a word that another process has mapped too.
#include <csignal>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/sync/shared_futex.hpp>

namespace muster {
namespace {

TEST(SharedFutex, AWordThatHasChangedIsNotSleptOn) {
  Atomic<std::uint32_t> word = 1;
  EXPECT_EQ(shared_futex_wait(word, 0, kForever), SleepOutcome::woken);
}

TEST(SharedFutex, ASleepEndsWithItsTime) {
  Atomic<std::uint32_t> word = 0;
  EXPECT_EQ(shared_futex_wait(word, 0, 1), SleepOutcome::timed_out);
}

TEST(SharedFutex, AWakeReachesAnotherProcess) {
  void* const memory = mmap(nullptr, sizeof(Atomic<std::uint32_t>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& word = *new (memory) Atomic<std::uint32_t>(0);
  const pid_t sleeper = fork();
  ASSERT_GE(sleeper, 0);
  if (sleeper == 0) {
    // relaxed: the value is all there is.
    while (word.load(relaxed) == 0) shared_futex_wait(word, 0, kForever);
    _exit(0);
  }
  word.store(1, relaxed);  // relaxed: as above
  shared_futex_wake(word);
  int status = -1;
  EXPECT_EQ(waitpid(sleeper, &status, 0), sleeper);
  EXPECT_EQ(status, 0);
  munmap(memory, sizeof(Atomic<std::uint32_t>));
}

}  // namespace
}  // namespace muster
