// atomic.hpp: the one door to memory that threads share without a lock.
//
// Lock-free code takes Atomic, full_fence (fence.hpp), Plain and Cell (plain.hpp), spin_pause, the
// futex calls (futex.hpp) and Mutex (mutex.hpp) from this layer and nothing else. A model build
// names another header in MUSTER_ATOMICS that defines the same things under a deterministic
// scheduler, so that the very source that ships is the source that is explored. See
// docs/design/explorer.md.
//
// Atomic differs from std::atomic in one way: every access states its order. There is no default.
//
// Thread safety: as std::atomic.
#pragma once

#include <atomic>

namespace muster {

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

}  // namespace muster

#ifdef MUSTER_ATOMICS
#include MUSTER_ATOMICS
#else

namespace muster {

template <class T>
class Atomic {
  static_assert(std::atomic<T>::is_always_lock_free, "Atomic must never hide a lock");

 public:
  constexpr Atomic() noexcept : value_{} {}
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: reads as `Atomic<int> n = 0;`
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(std::memory_order order) const noexcept { return value_.load(order); }
  void store(T value, std::memory_order order) noexcept { value_.store(value, order); }
  T exchange(T value, std::memory_order order) noexcept { return value_.exchange(value, order); }

  // On failure `expected` receives the value found. The weak form may fail for no reason: use it in
  // loops.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }

  T fetch_add(T value, std::memory_order order) noexcept { return value_.fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) noexcept { return value_.fetch_sub(value, order); }
  T fetch_or(T value, std::memory_order order) noexcept { return value_.fetch_or(value, order); }
  T fetch_and(T value, std::memory_order order) noexcept { return value_.fetch_and(value, order); }

  // The bare word, for the kernel (futex.hpp) only.
  [[nodiscard]] std::atomic<T>& raw() noexcept { return value_; }

 private:
  std::atomic<T> value_;
};

// Tells the CPU that this is a spin loop.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Watchers of plain memory (plain.hpp). Here they are nothing; in a model build they find data
// races.
inline void note_plain_write(const void* /*address*/) noexcept {}
inline void note_plain_read(const void* /*address*/) noexcept {}
// For a read whose right becomes certain only later: when it was done, and then that it counts.
struct Moment {};
inline Moment plain_moment() noexcept {
  return {};
}
inline void note_plain_read(const void* /*address*/, Moment /*when*/) noexcept {}
inline void forget_plain(const void* /*address*/) noexcept {}

}  // namespace muster

#endif
