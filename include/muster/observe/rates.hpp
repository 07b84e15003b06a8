// rates.hpp: what has happened of late, per second; and that no count goes back.
//
//     Rates rates(1s, now);                        // when the pool starts
//     rates.fill(snapshot, completed, now);        // its throughput
//
// Late is since the latest snapshot that is as old as the window, or nearly; or since the start. So
// whoever takes snapshots often, or at the same moment as another, leaves the others their rates.
//
// Thread safety: any member from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class MUSTER_API Rates {
 public:
  Rates(Duration window, Time start) : window_(window), seen_{{.time = start}} {}

  // Fills in throughput and tasks from what is in the snapshot already. `completed`: tasks that
  // ended. A count that is computed from several, read one after the other, may come out lower than
  // before; it is kept at what it was: whoever reads rates off the differences takes a step back
  // for a restart.
  void fill(PoolSnapshot& snapshot, std::uint64_t completed, Time now) MUSTER_EXCLUDES(mutex_);

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
  };

  // Of the window: snapshots that are nearer to each other are not all remembered.
  static constexpr int kParts = 10;

  void never_back(PoolSnapshot& snapshot) MUSTER_REQUIRES(mutex_);

  // Fixed at construction.
  const Duration window_;

  // Guarded by mutex_.
  Mutex mutex_;
  Counts highest_ MUSTER_GUARDED_BY(mutex_) = {};
  std::deque<Seen> seen_ MUSTER_GUARDED_BY(mutex_);  // oldest first; not empty
};

}  // namespace muster
