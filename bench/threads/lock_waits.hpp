// lock_waits.hpp: how often threads of this process had to wait in the kernel for a mutex.
//
// glibc's mutexes wait by FUTEX_WAIT, everything else that waits here (condition variables,
// muster's own sleepers) by FUTEX_WAIT_BITSET; so the kernel's trace point for futex calls tells
// them apart. To count it takes the rights of root or CAP_PERFMON.
#pragma once

#include <cstdint>

namespace muster::bench {

// Counts from its construction on, on the thread that makes it and those that this one starts.
class LockWaits {
 public:
  // Throws std::system_error if that is not allowed.
  LockWaits();
  LockWaits(const LockWaits&) = delete;
  LockWaits& operator=(const LockWaits&) = delete;
  ~LockWaits();

  static bool can_be_counted();

  [[nodiscard]] std::uint64_t count() const;

 private:
  const int event_;
};

}  // namespace muster::bench
