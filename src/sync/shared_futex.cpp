// shared_futex.cpp: the raw system call behind shared_futex.hpp, without the private flag.
#include <cerrno>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <muster/sync/shared_futex.hpp>

namespace muster {

static_assert(sizeof(Atomic<std::uint32_t>) == 4, "the kernel compares exactly these four bytes");

SleepOutcome shared_futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::int64_t timeout_ns) noexcept {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
  const long result = syscall(SYS_futex, &word.raw(), FUTEX_WAIT, expected,
                              timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
  // Whatever else went wrong: whoever waits looks again, and never trusts a return.
  return result < 0 && errno == ETIMEDOUT ? SleepOutcome::timed_out : SleepOutcome::woken;
}

void shared_futex_wake(Atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word.raw(), FUTEX_WAKE, 1);
}

}  // namespace muster
