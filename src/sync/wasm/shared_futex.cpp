// shared_futex.cpp: what WebAssembly has behind shared_futex.hpp, instead of a system call.
//
// Part of no native library: whoever compiles the ring to a module takes this file in place of
// shared_futex.cpp. Where a thread may not block, as in a page's main thread, waiting traps.
#include <muster/sync/shared_futex.hpp>

namespace muster {

static_assert(sizeof(Atomic<std::uint32_t>) == 4, "the instructions compare exactly four bytes");
static_assert(kForever < 0, "to the instruction every negative time is without end");

SleepOutcome shared_futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::int64_t timeout_ns) noexcept {
  constexpr int kTimedOut = 2;  // 0: woken, 1: the word had changed
  const int result = __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word.raw()),
                                                         static_cast<int>(expected), timeout_ns);
  return result == kTimedOut ? SleepOutcome::timed_out : SleepOutcome::woken;
}

void shared_futex_wake(Atomic<std::uint32_t>& word) noexcept {
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word.raw()), 1);
}

}  // namespace muster
