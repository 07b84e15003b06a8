// shaken_atomic.hpp: what lock-free code sees instead of muster/sync/atomic.hpp in stress tests.
//
// The same operations with the same orders, before which a thread may give its processor away. So
// others come in between any two steps of an operation, also where few processors are free, and not
// only where the system's clock happens to strike. How often is up to each thread; at first never.
//
// Names no other header of the tests: it stands in for a header that users may include anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include <muster/base/clock.hpp>

namespace muster {
namespace testing {

class Shaker {
 public:
  // By chance at one access in `one_in`; 0 is never.
  void start(std::uint32_t one_in, std::uint32_t seed) noexcept {
    one_in_ = one_in;
    state_ = seed;
  }
  void before_access() noexcept {
    if (one_in_ == 0) return;
    state_ = state_ * 1'664'525 + 1'013'904'223;
    if ((state_ >> 16) % one_in_ == 0) std::this_thread::yield();
  }

 private:
  std::uint32_t one_in_ = 0;
  std::uint32_t state_ = 0;
};

inline thread_local Shaker this_threads_shaker;

}  // namespace testing

template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept : value_{} {}
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as the real one
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(std::memory_order order) const noexcept {
    testing::this_threads_shaker.before_access();
    return value_.load(order);
  }
  void store(T value, std::memory_order order) noexcept {
    testing::this_threads_shaker.before_access();
    value_.store(value, order);
  }
  T exchange(T value, std::memory_order order) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.exchange(value, order);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T value, std::memory_order order) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.fetch_sub(value, order);
  }
  T fetch_or(T value, std::memory_order order) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.fetch_or(value, order);
  }
  T fetch_and(T value, std::memory_order order) noexcept {
    testing::this_threads_shaker.before_access();
    return value_.fetch_and(value, order);
  }

  [[nodiscard]] std::atomic<T>& raw() noexcept { return value_; }

 private:
  std::atomic<T> value_;
};

inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

inline void full_fence() noexcept {
  testing::this_threads_shaker.before_access();
#if defined(__SANITIZE_THREAD__)
  static std::atomic<std::uint32_t> every_fence = 0;  // as fence.hpp: GCC warns of fences here
  every_fence.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
inline void full_fence_after_rmw() noexcept {
  full_fence();
}

inline void note_plain_write(const void* /*address*/) noexcept {}
inline void note_plain_read(const void* /*address*/) noexcept {}
struct Moment {};
inline Moment plain_moment() noexcept {
  return {};
}
inline void note_plain_read(const void* /*address*/, Moment /*when*/) noexcept {}
inline void forget_plain(const void* /*address*/) noexcept {}

// In src/sync/futex.cpp and shared_futex.cpp, as ever.
enum class FutexOutcome;
FutexOutcome futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::optional<Time> deadline) noexcept;
void futex_wake_one(Atomic<std::uint32_t>& word) noexcept;
void futex_wake_all(Atomic<std::uint32_t>& word) noexcept;
enum class SleepOutcome;
SleepOutcome shared_futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::int64_t timeout_ns) noexcept;
void shared_futex_wake(Atomic<std::uint32_t>& word) noexcept;

}  // namespace muster
