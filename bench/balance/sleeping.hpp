// sleeping.hpp: tasks that sleep instead of computing, so that more workers than there are CPUs do
// work side by side, and a good choice of worker shows in real time.
//
// Thread safety: said with each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/thread_pool_options.hpp>

#include "support/latencies.hpp"

namespace muster::bench {

// A task to come: when, from the start on, and how long it sleeps.
struct PlannedTask {
  Duration at{};
  Duration length{};
};
using Plan = std::vector<PlannedTask>;

inline double milliseconds_of(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

inline Duration seconds_long(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// Bounded Pareto with exponent 1/2: half of them are below 0.33 ms, the mean is 1 ms, one in ten is
// above 2.8 ms, one in a hundred above 8.4 ms. Nothing shorter, since sleeping is not exact enough.
inline constexpr Duration kShortestTask = std::chrono::microseconds(100);
inline constexpr Duration kLongestTask = std::chrono::milliseconds(10);
Duration heavy_tailed(Random& random);
inline constexpr double kMeanTaskSeconds = 1e-3;

// How long until the next of tasks that come independently, so many per second.
Duration random_gap(double per_second, Random& random);

// The thread that calls sleeps as exactly as the kernel can, not to the nearest 50 us.
void sleep_exactly();

// Which worker runs the task that asks; in pools made with these options only. Any worker.
unsigned this_worker();

// For such pools: workers know their numbers, sleep exactly, and do not spin while they have
// nothing to do, since they have to share few CPUs.
ThreadPoolOptions sleeping_options(unsigned workers);

// When tasks were posted, and how long they waited for a worker. Each index by one thread at a
// time.
class Waits {
 public:
  explicit Waits(std::size_t tasks) : posts_(tasks), waits_(tasks) {}

  void posted(std::size_t task) { posts_[task] = Time::clock::now(); }
  void begun(std::size_t task) { waits_.put(task, Time::clock::now() - posts_[task]); }

  // After the last task has begun.
  [[nodiscard]] double percentile_ms(double share) const {
    return waits_.percentile_us(share) / 1000;
  }

 private:
  std::vector<Time> posts_;
  Latencies waits_;
};

// Calls `post` with the number of each task when its time has come.
void post_as_planned(std::span<const PlannedTask> plan,
                     const std::function<void(std::size_t task)>& post);

}  // namespace muster::bench
