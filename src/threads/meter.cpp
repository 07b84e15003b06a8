// meter.cpp: what a task that is timed leaves behind.
#include "threads/meter.hpp"

#include <muster/base/quick_clock.hpp>

namespace muster {
namespace {

// Of an average, the newest has this part.
constexpr Duration::rep kNewest = 16;

void record(Duration duration, std::uint64_t times, OwnHistogram& own, Histogram& shared) noexcept {
  if (!own.record(duration, times)) shared.record(duration, times);
}

Time now_for_timing() noexcept {
  return current_player == nullptr ? quick_now() : current_player->now();
}

}  // namespace

void Meter::mark_with_time(Closure& task) const noexcept {
  if (timing_.load(relaxed) == Timing::off) return;  // relaxed: as in set_timing()
  // Never 0, which stands for none.
  task.mark(static_cast<std::uint64_t>(now_for_timing().time_since_epoch().count()) | 1U);
}

Time Meter::begin(std::uint64_t stamp, std::optional<Time> known, WorkerTimes& times) noexcept {
  const Time now = known ? *known : now_for_timing();
  times.begun.store(now.time_since_epoch().count(), relaxed);  // relaxed: a figure
  if (stamp != 0) {
    const Time posted{Duration(static_cast<Duration::rep>(stamp))};
    record(now - posted, weight(), times.queue_wait, queue_wait_);
  }
  return now;
}

Time Meter::end(Time begin, WorkerTimes& times) noexcept {
  const Time now = now_for_timing();
  const Duration took = std::max(now - begin, Duration::zero());
  const std::uint64_t stands_for = weight();
  record(took, stands_for, times.run, run_);
  times.recent.add({.begin = now - took, .end = now, .times = stands_for});
  // relaxed: figures, and only this worker writes its own.
  const Duration::rep before = times.average.load(relaxed);
  const Duration::rep average =
      before == 0 ? took.count() : before + (took.count() - before) / kNewest;
  times.average.store(average, relaxed);    // relaxed: as above
  times.last.store(took.count(), relaxed);  // relaxed: as above
  times.busy.store(times.busy.load(relaxed) + took.count() * static_cast<Duration::rep>(stands_for),
                   relaxed);                                   // relaxed: as above
  times.begun.store(0, relaxed);                               // relaxed: as above
  times.ended.store(now.time_since_epoch().count(), relaxed);  // relaxed: as above
  if (timing_.load(relaxed) != Timing::sampled) return now;    // relaxed: as in set_timing()
  const std::uint32_t mask = average > kLongTask.count() ? kAll : kOneIn64;
  // relaxed: a hint. Not written unless it changes, for all read it.
  if (mask_.load(relaxed) != mask) mask_.store(mask, relaxed);
  return now;
}

}  // namespace muster
