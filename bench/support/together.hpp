// together.hpp: starts threads at one moment and says how long the whole took.
//
// Each role runs on its own thread: it prepares what it needs, waits at the start line, works,
// returns. The time is that from the first thread leaving the line to the last thread's end.
#pragma once

#include <barrier>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include <muster/sync/atomic.hpp>

namespace muster::bench {

class StartLine {
 public:
  explicit StartLine(std::size_t threads) : barrier_(static_cast<std::ptrdiff_t>(threads)) {}

  // Every role calls this exactly once.
  void wait();

  // Once all threads are joined.
  [[nodiscard]] std::chrono::steady_clock::time_point first_start() const;

 private:
  // Any thread.
  std::barrier<> barrier_;
  Atomic<std::chrono::steady_clock::rep> first_start_ =
      std::chrono::steady_clock::duration::max().count();
};

using Role = std::function<void(StartLine&)>;

// Seconds. Roles must not throw.
double run_together(const std::vector<Role>& roles);

}  // namespace muster::bench
