// meter.hpp: how long tasks wait and run.
//
// To look at the clock costs as much as a small task. So unless all tasks are to be timed, only one
// in 64 is, and stands for 64; but once tasks take longer than a few microseconds, so that a look
// at the clock does not matter, all are. The time of its post travels in the task's closure.
//
// Thread safety: any member from any thread, unless it says otherwise.
#pragma once

#include <cstdint>

#include <muster/base/clock.hpp>
#include <muster/observe/histogram.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/player.hpp>
#include <muster/thread_pool_options.hpp>

namespace muster {

// What a worker has measured of its own tasks. Written by the worker, read by anybody.
struct WorkerTimes {
  Atomic<Duration::rep> average = 0;  // ns, of recent ones
  Atomic<Duration::rep> last = 0;     // ns
  Atomic<Duration::rep> busy = 0;     // ns, since its start
};

class Meter {
 public:
  explicit Meter(Timing timing) noexcept : timing_(timing) {}

  // Tasks that one stands for, unless all are timed.
  static constexpr unsigned kSampling = 64;

  // The poster's own counts, so that it shares no line with others.
  struct Turn {
    unsigned posts = 0;
  };

  // Of a task that is about to be queued.
  void stamp(Closure& task, Turn& turn) noexcept {
    if (timing_ == Timing::off) return;
    if (++turn.posts % kSampling == 0 || times_all()) [[unlikely]]
      static_cast<void>(task.try_stamp(stamp_of(current_time())));
  }

  // Whether a worker should time a task, given its stamp.
  [[nodiscard]] bool wants(std::uint64_t stamp) const noexcept { return stamp != 0 || times_all(); }

  // On the worker, in this order, around the task.
  [[nodiscard]] Time begin(std::uint64_t stamp) noexcept;
  void end(Time begin, WorkerTimes& times) noexcept;

  [[nodiscard]] const Histogram& queue_wait() const noexcept { return queue_wait_; }
  [[nodiscard]] const Histogram& run() const noexcept { return run_; }

 private:
  // Once it takes longer than this, a look at the clock does not matter.
  static constexpr Duration kLongTask{2000};

  [[nodiscard]] bool times_all() const noexcept {
    // relaxed: a little later will do.
    return timing_ == Timing::full || (timing_ == Timing::sampled && is_slow_.load(relaxed));
  }
  [[nodiscard]] std::uint64_t weight() const noexcept { return times_all() ? 1 : kSampling; }

  // Never 0, which stands for none.
  static std::uint64_t stamp_of(Time time) noexcept {
    return static_cast<std::uint64_t>(time.time_since_epoch().count()) | 1U;
  }

  // Fixed at construction.
  const Timing timing_;

  // Any thread.
  alignas(kCacheLine) Atomic<bool> is_slow_ = false;  // tasks take long
  Histogram queue_wait_;
  Histogram run_;
};

}  // namespace muster
