// rates.hpp: what has happened since the last snapshot, per second.
//
//     Rates rates(now);                                   // when the pool starts
//     rates.fill(snapshot, busy_times, now);              // its throughput and utilisations
//
// Thread safety: any member from any thread; snapshots that are taken at the same time share out
// what has happened between them.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class MUSTER_API Rates {
 public:
  explicit Rates(Time start) : seen_{.time = start} {}

  // Fills in throughput and utilisations from what is in the snapshot already. `busy`: how long
  // each of its workers has been busy since its start. `completed`: tasks.
  void fill(PoolSnapshot& snapshot, std::span<const Duration> busy, std::uint64_t completed,
            Time now) MUSTER_EXCLUDES(mutex_);

 private:
  struct Sum {
    Sum() = default;
    explicit Sum(const HistogramSnapshot& seen) : count(seen.count()), total(seen.sum()) {}
    [[nodiscard]] Duration mean_since(const Sum& before) const;

    std::uint64_t count = 0;
    std::chrono::duration<double, std::nano> total{};
  };
  struct Seen {
    Time time{};
    std::uint64_t completed = 0;
    Sum waits = {};
    Sum runs = {};
    std::vector<Duration> busy = {};  // by the workers' ids
  };

  // Guarded by mutex_.
  Mutex mutex_;
  Seen seen_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
