// together.cpp: the start line, and the clock around it.
#include "together.hpp"

#include <algorithm>
#include <thread>

namespace muster::bench {

using Clock = std::chrono::steady_clock;

void StartLine::wait() {
  barrier_.arrive_and_wait();
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = first_start_.load(relaxed);  // relaxed: read by others only after the join
  while (now < first && !first_start_.compare_exchange_weak(first, now, relaxed, relaxed)) {
  }
}

Clock::time_point StartLine::first_start() const {
  return Clock::time_point(Clock::duration(first_start_.load(relaxed)));  // relaxed: all joined
}

double run_together(const std::vector<Role>& roles) {
  StartLine start(roles.size());
  std::vector<Clock::time_point> ends(roles.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(roles.size());
    for (std::size_t i = 0; i < roles.size(); ++i) {
      threads.emplace_back([&start, &role = roles[i], &end = ends[i]] {
        role(start);
        end = Clock::now();
      });
    }
  }
  const Clock::time_point last_end = *std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(last_end - start.first_start()).count();
}

}  // namespace muster::bench
