// look_ahead.hpp: how many tasks a worker is given beside the one it runs.
//
// A worker that has to wait for the pool between two tasks waits longer than a short task takes. So
// while tasks are short it is given some ahead. They are not lost to others: what it has not begun
// is recalled when something more urgent comes, when it is held up, and when another has nothing to
// do. While tasks are long it is given none, and nothing has to be recalled.
//
// Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include <muster/base/clock.hpp>

namespace muster {

// At most so many tasks, and so much work, are with a worker.
inline constexpr unsigned kMostAhead = 32;
inline constexpr Duration kWorkAhead = std::chrono::microseconds(50);

// A worker that has not ended a task for so long is held up.
inline constexpr Duration kHeldUp = std::chrono::microseconds(100);

// How many it may have in all, by what its tasks took of late; 0: nothing is known.
constexpr unsigned tasks_at_once(Duration average) noexcept {
  if (average <= Duration::zero()) return 1;
  if (average <= kWorkAhead / kMostAhead) return kMostAhead;  // most often, and no division
  return static_cast<unsigned>(std::max<Duration::rep>(kWorkAhead / average, 1));
}

}  // namespace muster
