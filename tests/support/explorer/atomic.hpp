// atomic.hpp: what lock-free code sees instead of muster/sync/atomic.hpp when it is explored.
//
// The same names and the same shape; each access goes to the explorer, with the line of the source
// it comes from. Names no other header of the explorer: it stands in for a header that users may
// include anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <type_traits>

#include <muster/base/clock.hpp>

namespace muster {

using SourceLocation = std::source_location;

namespace explore {

enum class Rmw { exchange, add, bit_or, bit_and };

struct Update {
  Rmw how;
  std::uint64_t operand;
  std::uint64_t mask;  // as wide as the atomic: sums wrap around there
};

std::size_t on_create(std::uint64_t value);
void on_end(std::size_t id);
std::uint64_t on_load(std::size_t id, std::memory_order order, const SourceLocation& at);
void on_store(std::size_t id, std::uint64_t value, std::memory_order order,
              const SourceLocation& at);
std::uint64_t on_update(std::size_t id, const Update& update, std::memory_order order,
                        const SourceLocation& at);

struct Exchange {
  std::uint64_t expected;
  std::uint64_t desired;
  std::memory_order success;
  std::memory_order failure;
};
bool on_compare_exchange(std::size_t id, Exchange& exchange, const SourceLocation& at);
void on_lock(std::size_t id, const SourceLocation& at);
void on_fence(const SourceLocation& at);
void on_pause();
void on_plain_write(const void* address);
void on_plain_read(const void* address);
void on_forget(const void* address);
std::uint16_t on_moment();
void on_plain_read_at(const void* address, std::uint16_t moment);

template <class T>
std::uint64_t to_bits(const T& value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace explore

template <class T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);

 public:
  Atomic() : Atomic(T{}) {}
  Atomic(T value) : id_(explore::on_create(explore::to_bits(value))) {}  // NOLINT: as the real one
  ~Atomic() { explore::on_end(id_); }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(std::memory_order order,
                       const SourceLocation& at = SourceLocation::current()) const {
    return explore::from_bits<T>(explore::on_load(id_, order, at));
  }
  void store(T value, std::memory_order order,
             const SourceLocation& at = SourceLocation::current()) {
    explore::on_store(id_, explore::to_bits(value), order, at);
  }
  T exchange(T value, std::memory_order order,
             const SourceLocation& at = SourceLocation::current()) {
    return update(explore::Rmw::exchange, value, order, at);
  }
  T fetch_add(T value, std::memory_order order,
              const SourceLocation& at = SourceLocation::current()) {
    return update(explore::Rmw::add, value, order, at);
  }
  T fetch_sub(T value, std::memory_order order,
              const SourceLocation& at = SourceLocation::current()) {
    return update(explore::Rmw::add, static_cast<T>(T{0} - value), order, at);
  }
  T fetch_or(T value, std::memory_order order,
             const SourceLocation& at = SourceLocation::current()) {
    return update(explore::Rmw::bit_or, value, order, at);
  }
  T fetch_and(T value, std::memory_order order,
              const SourceLocation& at = SourceLocation::current()) {
    return update(explore::Rmw::bit_and, value, order, at);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure,
                               const SourceLocation& at = SourceLocation::current()) {
    explore::Exchange exchange{explore::to_bits(expected), explore::to_bits(desired), success,
                               failure};
    const bool exchanged = explore::on_compare_exchange(id_, exchange, at);
    if (!exchanged) expected = explore::from_bits<T>(exchange.expected);
    return exchanged;
  }
  // Never fails without a reason here: a loop around it would only see one more iteration.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure,
                             const SourceLocation& at = SourceLocation::current()) {
    return compare_exchange_strong(expected, desired, success, failure, at);
  }

  [[nodiscard]] std::size_t id() const { return id_; }

 private:
  T update(explore::Rmw how, T operand, std::memory_order order, const SourceLocation& at) {
    constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - 8 * sizeof(T));
    const explore::Update update{how, explore::to_bits(operand), kMask};
    return explore::from_bits<T>(explore::on_update(id_, update, order, at));
  }

  std::size_t id_;
};

// In place of std::mutex; see mutex.hpp.
#define MUSTER_RAW_MUTEX explore::ExploredMutex
namespace explore {
class ExploredMutex {
 public:
  void lock(const SourceLocation& at = SourceLocation::current()) {
    explore::on_lock(locked_.id(), at);
  }
  void unlock(const SourceLocation& at = SourceLocation::current()) {
    locked_.store(false, std::memory_order_release, at);
  }
  bool try_lock(const SourceLocation& at = SourceLocation::current()) {
    bool expected = false;
    return locked_.compare_exchange_strong(expected, true, std::memory_order_acquire,
                                           std::memory_order_relaxed, at);
  }

 private:
  Atomic<bool> locked_ = false;
};
}  // namespace explore

inline void spin_pause() {
  explore::on_pause();
}
inline void full_fence(const SourceLocation& at = SourceLocation::current()) {
  explore::on_fence(at);
}
inline void full_fence_after_rmw(const SourceLocation& at = SourceLocation::current()) {
  explore::on_fence(at);
}

inline void note_plain_write(const void* address) {
  explore::on_plain_write(address);
}
inline void note_plain_read(const void* address) {
  explore::on_plain_read(address);
}
struct Moment {
  std::uint16_t value;
};
inline Moment plain_moment() {
  return {explore::on_moment()};
}
inline void note_plain_read(const void* address, Moment moment) {
  explore::on_plain_read_at(address, moment.value);
}
inline void forget_plain(const void* address) {
  explore::on_forget(address);
}

enum class FutexOutcome;
FutexOutcome futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::optional<Time> deadline,
                        const SourceLocation& at = SourceLocation::current()) noexcept;
void futex_wake_one(Atomic<std::uint32_t>& word,
                    const SourceLocation& at = SourceLocation::current()) noexcept;
void futex_wake_all(Atomic<std::uint32_t>& word,
                    const SourceLocation& at = SourceLocation::current()) noexcept;

enum class SleepOutcome;
SleepOutcome shared_futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::int64_t timeout_ns,
                               const SourceLocation& at = SourceLocation::current()) noexcept;
void shared_futex_wake(Atomic<std::uint32_t>& word,
                       const SourceLocation& at = SourceLocation::current()) noexcept;

}  // namespace muster
