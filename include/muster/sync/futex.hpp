// futex.hpp: sleeping in the kernel until a word changes.
//
// The raw system call instead of std::atomic::wait: that one spins as its author saw fit, shares
// its wait queues with unrelated atomics, cannot time out, and has lost wake-ups in more than one
// release.
//
// Thread safety: any thread. A wake orders no memory: read what you need with acquire after waking.
#pragma once

#include <cstdint>
#include <optional>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>

namespace muster {

enum class FutexOutcome {
  woken,    // by futex_wake, by a signal or for no reason: look again
  changed,  // the word was not `expected` any more
  timed_out,
};

#ifndef MUSTER_ATOMICS

// Sleeps while `word` holds `expected`, at most until `deadline` (on the monotonic clock; none: for
// ever).
MUSTER_API FutexOutcome futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                                   std::optional<Time> deadline) noexcept;

// Wakes at most one thread that sleeps on `word`.
MUSTER_API void futex_wake_one(Atomic<std::uint32_t>& word) noexcept;

// Wakes all of them.
MUSTER_API void futex_wake_all(Atomic<std::uint32_t>& word) noexcept;

#endif

}  // namespace muster
