// meter.cpp: what a task that is timed leaves behind.
#include "threads/meter.hpp"

namespace muster {
namespace {

// Of an average, the newest has this part.
constexpr Duration::rep kNewest = 16;

}  // namespace

Time Meter::begin(std::uint64_t stamp) noexcept {
  const Time now = current_time();
  if (stamp != 0) {
    const Time posted{Duration(static_cast<Duration::rep>(stamp))};
    queue_wait_.record(now - posted, weight());
  }
  return now;
}

void Meter::end(Time begin, WorkerTimes& times) noexcept {
  const Duration took = current_time() - begin;
  const std::uint64_t stands_for = weight();
  run_.record(took, stands_for);
  // relaxed: figures, and only this worker writes its own.
  const Duration::rep before = times.average.load(relaxed);
  const Duration::rep average =
      before == 0 ? took.count() : before + (took.count() - before) / kNewest;
  times.average.store(average, relaxed);    // relaxed: as above
  times.last.store(took.count(), relaxed);  // relaxed: as above
  times.busy.store(times.busy.load(relaxed) + took.count() * static_cast<Duration::rep>(stands_for),
                   relaxed);  // relaxed: as above
  const bool is_slow = average > kLongTask.count();
  // relaxed: a hint. Not written unless it changes, for all read it.
  if (is_slow_.load(relaxed) != is_slow) is_slow_.store(is_slow, relaxed);
}

}  // namespace muster
