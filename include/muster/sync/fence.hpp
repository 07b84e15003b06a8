// fence.hpp: the full fences that cannot be written as an order on an access.
//
// A store followed by a load of something else may be seen in the other order by other threads, on
// every CPU. Where two threads each store and then look at the other's store (announce and re-check
// against publish and look for sleepers), both need a full fence in between, or both may miss.
//
// The thread sanitizer does not see fences; under it each becomes a read-modify-write that it does
// see.
#pragma once

#include <muster/sync/atomic.hpp>

#ifndef MUSTER_ATOMICS

namespace muster {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MUSTER_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define MUSTER_TSAN 1
#endif

#ifdef MUSTER_TSAN
inline std::atomic<unsigned> tsan_fence{0};
inline void full_fence() noexcept {
  tsan_fence.fetch_add(1, seq_cst);
}
inline void full_fence_after_rmw() noexcept {
  full_fence();
}
#else
inline void full_fence() noexcept {
  std::atomic_thread_fence(seq_cst);
}

// The same promise, for code that stands directly behind a read-modify-write of this thread: on
// x86-64 that instruction is a full fence already, so only the compiler must be held back.
inline void full_fence_after_rmw() noexcept {
#if defined(__x86_64__)
  std::atomic_signal_fence(seq_cst);
#else
  std::atomic_thread_fence(seq_cst);
#endif
}
#endif

}  // namespace muster

#endif
