// futex_test.cpp: each way in which a sleep in the kernel ends.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/sync/futex.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

// Never reached, unless a wake is lost; then the test fails instead of hanging.
Time far_deadline() {
  return real_clock().now() + 20s;
}

// Runs `sleep` on a thread of its own and wakes it until it is done: no wake can come too early.
FutexOutcome outcome_when_woken(Atomic<std::uint32_t>& word, std::optional<Time> deadline) {
  FutexOutcome outcome = FutexOutcome::timed_out;
  std::atomic<bool> awake = false;
  std::thread sleeper([&] {
    outcome = futex_wait(word, 0, deadline);
    awake = true;
  });
  while (!awake) {
    futex_wake_one(word);
    std::this_thread::yield();
  }
  sleeper.join();
  return outcome;
}

TEST(Futex, AWordThatDiffersIsNotSleptOn) {
  Atomic<std::uint32_t> word = 8;
  EXPECT_EQ(futex_wait(word, 7, std::nullopt), FutexOutcome::changed);
  EXPECT_EQ(futex_wait(word, 7, far_deadline()), FutexOutcome::changed);
}

TEST(Futex, EveryDeadlineThatTimeCanHoldIsUnderstood) {
  Atomic<std::uint32_t> word = 8;
  EXPECT_EQ(futex_wait(word, 7, Time::max()), FutexOutcome::changed);
  EXPECT_EQ(futex_wait(word, 8, Time::min()), FutexOutcome::timed_out);
  EXPECT_EQ(futex_wait(word, 8, Time{}), FutexOutcome::timed_out);
}

TEST(Futex, APastDeadlineEndsTheSleepAtOnce) {
  Atomic<std::uint32_t> word = 8;
  const Time now = real_clock().now();
  EXPECT_EQ(futex_wait(word, 8, now), FutexOutcome::timed_out);
  EXPECT_EQ(futex_wait(word, 8, now - 1s), FutexOutcome::timed_out);
}

TEST(Futex, ASleepLastsUntilItsDeadline) {
  Atomic<std::uint32_t> word = 8;
  const Time deadline = real_clock().now() + 2ms;
  FutexOutcome outcome = FutexOutcome::woken;
  while (outcome == FutexOutcome::woken) outcome = futex_wait(word, 8, deadline);
  EXPECT_EQ(outcome, FutexOutcome::timed_out);
  EXPECT_GE(real_clock().now(), deadline);
}

TEST(Futex, WakeOneEndsASleepWithADeadline) {
  Atomic<std::uint32_t> word = 0;
  EXPECT_EQ(outcome_when_woken(word, far_deadline()), FutexOutcome::woken);
}

TEST(Futex, WakeOneEndsASleepWithoutADeadline) {
  Atomic<std::uint32_t> word = 0;
  EXPECT_EQ(outcome_when_woken(word, std::nullopt), FutexOutcome::woken);
}

// Does the thread wait in the kernel?
bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
}

TEST(Futex, OneWakeAllEndsTheSleepOfEveryThread) {
  Atomic<std::uint32_t> word = 0;
  std::array<std::atomic<pid_t>, 3> threads{};  // each writes its own when it is about to sleep
  std::vector<std::jthread> sleepers;
  for (std::atomic<pid_t>& thread : threads) {
    sleepers.emplace_back([&] {
      thread = gettid();
      EXPECT_EQ(futex_wait(word, 0, far_deadline()), FutexOutcome::woken);
    });
  }
  for (const std::atomic<pid_t>& thread : threads) {
    while (thread == 0 || !is_asleep(thread)) std::this_thread::yield();
  }
  futex_wake_all(word);
}

TEST(Futex, WakingNobodyIsHarmless) {
  Atomic<std::uint32_t> word = 0;
  futex_wake_one(word);
  EXPECT_EQ(word.load(relaxed), 0U);
  EXPECT_EQ(futex_wait(word, 0, Time{}), FutexOutcome::timed_out);
}

}  // namespace
}  // namespace muster
