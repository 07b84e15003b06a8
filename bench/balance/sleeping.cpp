// sleeping.cpp: random lengths and gaps, and sleeping to the point.
#include "balance/sleeping.hpp"

#include <cmath>
#include <sys/prctl.h>
#include <thread>

namespace muster::bench {
namespace {

thread_local unsigned number_of_this_worker = 0;

}  // namespace

Duration heavy_tailed(Random& random) {
  const double least = std::sqrt(std::chrono::duration<double>(kShortestTask) / kLongestTask);
  const double root = 1 - random.real() * (1 - least);
  return std::chrono::duration_cast<Duration>(kShortestTask / (root * root));
}

Duration random_gap(double per_second, Random& random) {
  return seconds_long(-std::log(1 - random.real()) / per_second);
}

void sleep_exactly() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

unsigned this_worker() {
  return number_of_this_worker;
}

ThreadPoolOptions sleeping_options(unsigned workers) {
  return {.workers = workers, .idle = IdlePolicy::power, .on_worker_start = [](unsigned worker) {
            number_of_this_worker = worker;
            sleep_exactly();
          }};
}

void post_as_planned(std::span<const PlannedTask> plan,
                     const std::function<void(std::size_t task)>& post) {
  sleep_exactly();
  const Time start = Time::clock::now();
  for (std::size_t task = 0; task < plan.size(); ++task) {
    const Time due = start + plan[task].at;
    if (Time::clock::now() < due) std::this_thread::sleep_until(due);
    post(task);
  }
}

}  // namespace muster::bench
