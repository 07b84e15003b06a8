// autoscaling.hpp: asks the scaling policy of a crew now and then, and has it done.
//
// On the thread of the crew's timers, not as a task: all workers may be busy.
//
// Thread safety: note_change() and the counts from any thread.
// Lifetime: a part of its crew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <muster/observe/snapshot.hpp>
#include <muster/policy/scaling.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class Crew;

// The number of workers, by `change`, within these limits.
struct Resizing {
  std::ptrdiff_t change;
  std::size_t least;
  std::size_t most;
};

class Autoscaling {
 public:
  explicit Autoscaling(Crew& crew, const std::optional<ScalingOptions>& options) : crew_(crew) {
    if (options) scaler_.emplace(*options);
  }

  // Nothing if that is not wanted. Throws SystemFailure as Timers does.
  void begin();

  // There were so many workers, and are now; tells whoever wants to know.
  struct Change {
    std::size_t before;
    std::size_t after;
  };
  void note_change(const Change& change, const std::string& reason) MUSTER_EXCLUDES(mutex_);

  // But for how many workers there are.
  [[nodiscard]] PoolSnapshot::Scaling figures() const MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return figures_;
  }

 private:
  void look() noexcept;
  void decide();
  [[nodiscard]] ScalingInput input();

  Crew& crew_;
  std::optional<Scaler> scaler_;     // belongs to who looks
  std::uint64_t seen_arrivals_ = 0;  // the same

  // Guarded by mutex_; no other is taken meanwhile.
  mutable Mutex mutex_;
  PoolSnapshot::Scaling figures_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
