// futex.cpp: the raw system call behind futex.hpp.
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <muster/base/assert.hpp>
#include <muster/sync/futex.hpp>

namespace muster {
namespace {

static_assert(sizeof(Atomic<std::uint32_t>) == 4, "the kernel compares exactly these four bytes");

timespec to_timespec(Time deadline) {
  const auto since_boot =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
  const auto nanoseconds = since_boot < 0 ? 0 : since_boot;
  return {.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000),
          .tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000)};
}

void wake(Atomic<std::uint32_t>& word, int sleepers) noexcept {
  const long woken = syscall(SYS_futex, &word.raw(), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, sleepers);
  // A word in a frame or an object that its last reader has given back: nobody sleeps there.
  if (woken < 0) MUSTER_ASSERT(errno == EFAULT);
}

}  // namespace

FutexOutcome futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::optional<Time> deadline) noexcept {
  timespec until{};
  if (deadline) until = to_timespec(*deadline);
  // WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC, which is what steady_clock is on Linux.
  const long result =
      syscall(SYS_futex, &word.raw(), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
              deadline ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (result == 0) return FutexOutcome::woken;
  const int error = errno;
  if (error == EAGAIN) return FutexOutcome::changed;
  if (error == ETIMEDOUT) return FutexOutcome::timed_out;
  MUSTER_ASSERT(error == EINTR);
  return FutexOutcome::woken;
}

void futex_wake_one(Atomic<std::uint32_t>& word) noexcept {
  wake(word, 1);
}

void futex_wake_all(Atomic<std::uint32_t>& word) noexcept {
  wake(word, INT_MAX);
}

}  // namespace muster
