// meter.hpp: how long tasks wait and run.
//
// To look at the clock costs as much as a small task, also at the quick one, and the end of a task
// is the beginning of the next if the worker goes on at once. So unless all tasks are to be timed,
// only one in 64 is, and stands for 64; but once tasks take longer than a few microseconds, so that
// a look at the clock does not matter, all are. The time of its post travels in the task's closure.
//
// Thread safety: any member from any thread, unless it says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <muster/base/clock.hpp>
#include <muster/base/quick_clock.hpp>
#include <muster/observe/busy_window.hpp>
#include <muster/observe/histogram.hpp>
#include <muster/observe/own_histogram.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/player.hpp>
#include <muster/thread_pool_options.hpp>

namespace muster {

// What a worker has measured of its own tasks. Written by the worker, read by anybody.
struct WorkerTimes {
  WorkerTimes(Duration window, Time start) noexcept : recent(window, start) {}

  BusyWindow recent;
  OwnHistogram queue_wait;
  OwnHistogram run;
  Atomic<Duration::rep> average = 0;  // ns, of recent ones
  Atomic<Duration::rep> last = 0;     // ns
  Atomic<Duration::rep> busy = 0;     // ns, since its start
  Atomic<Duration::rep> begun = 0;    // when the task did that it runs now; 0: none that is timed
  Atomic<Duration::rep> ended = 0;    // when the last one did; 0: none has

  [[nodiscard]] Duration average_time() const noexcept {
    return Duration(average.load(relaxed));  // relaxed: a figure
  }
  [[nodiscard]] Duration last_time() const noexcept {
    return Duration(last.load(relaxed));  // relaxed: a figure
  }

  // With what it has spent on the task that it runs. Racy: may go back a little.
  [[nodiscard]] Duration busy_until(Time now) const noexcept {
    const Duration sum(busy.load(relaxed));  // relaxed: a figure
    return sum + since(begun, now);
  }
  // Of recent time, with the task that it runs.
  [[nodiscard]] double utilisation(Time now) const noexcept {
    return recent.utilisation(now, begun_by(now));
  }
  [[nodiscard]] double steady_utilisation(Time now) const noexcept {
    return recent.steady_utilisation(now, begun_by(now));
  }
  [[nodiscard]] Duration idle_time(Time now) const noexcept { return since(ended, now); }

 private:
  [[nodiscard]] Time begun_by(Time now) const noexcept {
    const Duration then(begun.load(relaxed));  // relaxed: a figure
    return then == Duration::zero() ? now : Time(then);
  }
  static Duration since(const Atomic<Duration::rep>& moment, Time now) noexcept {
    const Duration then(moment.load(relaxed));  // relaxed: a figure
    if (then == Duration::zero()) return {};
    return std::max(now.time_since_epoch() - then, Duration::zero());
  }
};

class Meter {
 public:
  explicit Meter(Timing timing) noexcept : timing_(timing), mask_(mask_for(timing)) {}

  // The poster's own count, so that it shares no line with others.
  struct Turn {
    std::uint32_t posts = 0;
  };

  // Marks a task that is about to be queued if it is to be timed.
  void mark(Closure& task, Turn& turn) const noexcept {
    // relaxed: a little later will do.
    if ((++turn.posts & mask_.load(relaxed)) == 0) [[unlikely]]
      mark_with_time(task);
  }

  // From now on, a little later.
  void set_timing(Timing timing) noexcept {
    timing_.store(timing, relaxed);          // relaxed: a little later will do
    mask_.store(mask_for(timing), relaxed);  // relaxed: as above
  }

  // On the worker, around a task that is marked; `known`: the time, if the worker has just looked.
  // Both give the time.
  [[nodiscard]] Time begin(std::optional<Time> known, WorkerTimes& times) const noexcept;
  Time end(Time begin, WorkerTimes& times) noexcept;

  // What is left to do of that, a little later.
  struct Timed {
    std::uint64_t stamp = 0;  // the task's; 0: none
    Time begin{};
    Time end{};
  };
  void record(const Timed& task, WorkerTimes& times) noexcept;

  // What workers had no memory of their own for.
  [[nodiscard]] const Histogram& queue_wait() const noexcept { return queue_wait_; }
  [[nodiscard]] const Histogram& run() const noexcept { return run_; }

 private:
  // A task is timed if its number has none of these bits: all, one in 64, or none.
  static constexpr std::uint32_t kAll = 0;
  static constexpr std::uint32_t kOneIn64 = 63;
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  // Of an average, the newest has this part.
  static constexpr Duration::rep kNewest = 16;

  // Once a task takes longer than this, a look at the clock does not matter.
  static constexpr Duration kLongTask{2000};

  static std::uint32_t mask_for(Timing timing) noexcept {
    return timing == Timing::full ? kAll : timing == Timing::sampled ? kOneIn64 : kNone;
  }
  // How many tasks one stands for.
  [[nodiscard]] std::uint64_t weight() const noexcept {
    return std::uint64_t{mask_.load(relaxed)} + 1;  // relaxed: as in mark()
  }
  static Time now() noexcept {
    return current_player == nullptr ? quick_now() : current_player->now();
  }
  static void count(Duration duration, std::uint64_t times, OwnHistogram& own,
                    Histogram& shared) noexcept {
    if (!own.record(duration, times)) shared.record(duration, times);
  }
  void mark_with_time(Closure& task) const noexcept;

  // Any thread. Hardly ever written.
  Atomic<Timing> timing_;
  Atomic<std::uint32_t> mask_;

  // Any thread.
  Histogram queue_wait_;
  Histogram run_;
};

// Inline, since calls would cost a flood with all tasks timed a twelfth of its speed.
inline void Meter::mark_with_time(Closure& task) const noexcept {
  if (timing_.load(relaxed) == Timing::off) return;  // relaxed: as in set_timing()
  // Never 0, which stands for none.
  task.mark(static_cast<std::uint64_t>(now().time_since_epoch().count()) | 1U);
}

inline Time Meter::begin(std::optional<Time> known, WorkerTimes& times) const noexcept {
  const Time time = known ? *known : now();
  times.begun.store(time.time_since_epoch().count(), relaxed);  // relaxed: a figure
  return time;
}

inline Time Meter::end(Time begin, WorkerTimes& times) noexcept {
  const Time end = now();
  const Duration took = std::max(end - begin, Duration::zero());
  const std::uint64_t stands_for = weight();
  times.recent.add({.begin = end - took, .end = end, .times = stands_for});
  // relaxed: figures, and only this worker writes its own.
  const Duration::rep before = times.average.load(relaxed);
  const Duration::rep average =
      before == 0 ? took.count() : before + (took.count() - before) / kNewest;
  times.average.store(average, relaxed);    // relaxed: as above
  times.last.store(took.count(), relaxed);  // relaxed: as above
  times.busy.store(times.busy.load(relaxed) + took.count() * static_cast<Duration::rep>(stands_for),
                   relaxed);                                   // relaxed: as above
  times.begun.store(0, relaxed);                               // relaxed: as above
  times.ended.store(end.time_since_epoch().count(), relaxed);  // relaxed: as above
  if (timing_.load(relaxed) != Timing::sampled) return end;    // relaxed: as in set_timing()
  const std::uint32_t mask = average > kLongTask.count() ? kAll : kOneIn64;
  // relaxed: a hint. Not written unless it changes, for all read it.
  if (mask_.load(relaxed) != mask) mask_.store(mask, relaxed);
  return end;
}

inline void Meter::record(const Timed& task, WorkerTimes& times) noexcept {
  const std::uint64_t stands_for = weight();
  if (task.stamp != 0) {
    const Time posted{Duration(static_cast<Duration::rep>(task.stamp))};
    count(task.begin - posted, stands_for, times.queue_wait, queue_wait_);
  }
  count(task.end - task.begin, stands_for, times.run, run_);
}

}  // namespace muster
