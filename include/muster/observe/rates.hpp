// rates.hpp: what has happened since the last snapshot, per second; and that no count goes back.
//
//     Rates rates(now);                                   // when the pool starts
//     rates.fill(snapshot, busy_times, completed, now);   // its throughput and utilisations
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

  // Fills in throughput, tasks and utilisations from what is in the snapshot already. `busy`: how
  // long each of its workers has been busy since its start. `completed`: tasks that ended. A count
  // that is computed from several, read one after the other, may come out lower than before; it is
  // kept at what it was: whoever reads rates off the differences takes a step back for a restart.
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
  struct Counts {
    PoolSnapshot::Tasks tasks = {};
    PoolSnapshot::Queue queue = {};
  };
  struct Seen {
    Time time{};
    std::uint64_t completed = 0;
    Sum waits = {};
    Sum runs = {};
    std::vector<Duration> busy = {};  // by the workers' ids
  };

  void never_back(PoolSnapshot& snapshot) MUSTER_REQUIRES(mutex_);

  // Guarded by mutex_.
  Mutex mutex_;
  Counts highest_ MUSTER_GUARDED_BY(mutex_) = {};
  Seen seen_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
