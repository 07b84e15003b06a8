// gate.hpp: how many tasks of a pool wait, and who has to wait until there is room.
//
// A small bound is kept exactly: every task is counted when it enters a queue and when it leaves
// it. A large one is not counted at all, for that would cost every task: as long as the workers'
// rings have room it cannot be reached, and when a task would have to be spilled, somebody adds up
// what waits. Between two that do so at the same time the bound may be passed by one.
//
// Back-pressure is on from the high watermark on until the low one is reached again. Of a large
// bound that is found out when tasks spill, when spilled ones are taken up, and when a worker finds
// nothing to do.
//
// Thread safety: any member from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <muster/base/clock.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/policy/admission.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class Gate {
 public:
  // Told when back-pressure is switched; one call at a time, and it must not throw.
  using OnSwitch = std::function<void(BackPressure state, std::size_t queued)>;

  // `uncounted`: tasks that may wait where nobody counts them.
  Gate(const AdmissionOptions& options, std::size_t uncounted, OnSwitch on_switch)
      : options_(options),
        watermarks_(options),
        on_switch_(std::move(on_switch)),
        is_counted_(options.max_queued < uncounted || options.max_queued_per_key != 0) {}

  // Whether each task must come by, with enter() or try_enter(), and leave().
  [[nodiscard]] bool is_counted() const noexcept { return is_counted_; }

  const AdmissionOptions& options() const noexcept { return options_; }

  // Requires: is_counted(). False: there is no room.
  [[nodiscard]] bool try_enter() noexcept;

  // Whether there is room or not. Nothing unless counted.
  void enter() noexcept {
    if (is_counted_) note(word_.fetch_add(kTask, relaxed) % kThread + 1);  // relaxed: a count
  }
  void leave() noexcept {
    if (is_counted_) make_room();
  }

  // So many tasks wait now.
  void note(std::size_t queued) noexcept {
    const BackPressure state = back_pressure();
    if (watermarks_.after(state, queued) != state) [[unlikely]]
      switch_over(queued);
  }

  // So many tasks would change nothing.
  [[nodiscard]] bool is_far_from(std::size_t queued) const noexcept {
    return queued < watermarks_.high() && back_pressure() == BackPressure::off;
  }

  [[nodiscard]] BackPressure back_pressure() const noexcept {
    return state_.load(relaxed);  // relaxed: looked at again under the mutex before it is switched
  }

  // Blocks until `has_room()` is true, which may have a side effect then; false if the deadline
  // passed or close() was called first.
  bool wait(const std::function<bool()>& has_room, Time deadline) MUSTER_EXCLUDES(mutex_);

  // Nobody waits any more.
  void close() MUSTER_EXCLUDES(mutex_);

  struct Counters {
    Atomic<std::uint64_t> rejected = 0;
    Atomic<std::uint64_t> dropped_oldest = 0;
    Atomic<std::uint64_t> dropped_newest = 0;
    Atomic<std::uint64_t> blocked = 0;         // had to wait, whatever came of it
    Atomic<std::uint64_t> block_timeouts = 0;  // of those, in vain
    Atomic<std::uint64_t> caller_ran = 0;
  };
  Counters& counters() noexcept { return counters_; }

  // What became of those that found no room, and whether there is any now.
  [[nodiscard]] PoolSnapshot::BackPressure figures() const noexcept;

 private:
  // Tasks that wait are in the low bits, threads that wait for room in the high ones. In one word,
  // so that either a thread that comes to wait sees the room, or whoever makes it sees the thread.
  static constexpr std::uint64_t kTask = 1;
  static constexpr std::uint64_t kThread = std::uint64_t{1} << 40U;

  void make_room() noexcept MUSTER_EXCLUDES(mutex_);
  void switch_over(std::size_t queued) noexcept MUSTER_EXCLUDES(switch_mutex_);

  // Fixed at construction.
  const AdmissionOptions options_;
  const Watermarks watermarks_;
  const OnSwitch on_switch_;
  const bool is_counted_;

  // Any thread.
  alignas(kCacheLine) Atomic<std::uint64_t> word_ = 0;
  Atomic<BackPressure> state_ = BackPressure::off;  // written under switch_mutex_
  Counters counters_;

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable room_;
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;

  // Those who switch tell of it one after the other, so that the last news is true.
  Mutex switch_mutex_;
};

}  // namespace muster
