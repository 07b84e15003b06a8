// shared_futex.hpp: sleeping on a word that several processes have mapped.
//
// As futex.hpp, but found by the memory behind the word instead of its address, which costs the
// kernel a little more. Takes a plain number for the time, since it must also compile where there
// is no operating system: in a WebAssembly module src/sync/wasm/shared_futex.cpp defines the two.
//
// Thread safety: any thread of any process. A wake orders no memory.
#pragma once

#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/sync/atomic.hpp>

namespace muster {

enum class SleepOutcome {
  woken,  // by a wake, a signal, for no reason, or the word had changed: look again
  timed_out,
};

inline constexpr std::int64_t kForever = -1;

#ifndef MUSTER_ATOMICS

// Sleeps while `word` holds `expected`, at most so long (kForever: without end).
MUSTER_API SleepOutcome shared_futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                                          std::int64_t timeout_ns) noexcept;

// Wakes at most one who sleeps on `word`.
MUSTER_API void shared_futex_wake(Atomic<std::uint32_t>& word) noexcept;

#endif

}  // namespace muster
