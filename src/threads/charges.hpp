// charges.hpp: what the tasks of each worker that came with an estimate are expected to take.
//
// A charge goes with its task: it is made for the worker that the task is placed with, goes over to
// whoever runs it instead, and is lifted when the task has ended or was dropped. By then what it
// really took is known.
//
// Thread safety: any member from any thread.
// Lifetime: outlives the tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/closure.hpp>

namespace muster {

class Charges {
 public:
  // Of one worker.
  struct Sum {
    std::uint32_t tasks = 0;
    Duration time{};
  };

  // For workers with the numbers up to this.
  explicit Charges(std::size_t workers) : accounts_(workers) {}

  [[nodiscard]] Sum of(std::size_t worker) const noexcept {
    const Account& account = accounts_[worker];
    // relaxed: figures.
    return {account.tasks.load(relaxed), Duration(account.time.load(relaxed))};
  }

  // The same task with its charge. Throws std::bad_alloc.
  [[nodiscard]] Closure charge(std::size_t worker, Duration estimate, Closure&& task);

 private:
  struct alignas(kCacheLine) Account {
    Atomic<std::uint32_t> tasks = 0;
    Atomic<Duration::rep> time = 0;  // ns
  };
  class Charge;

  void add(std::size_t worker, Duration estimate) noexcept;
  void lift(std::size_t worker, Duration estimate) noexcept;

  std::vector<Account> accounts_;
};

}  // namespace muster
