// least_in_turn.hpp: the worker with the least of something; who comes next, among equals.
// And what a strategy that weighs times sees of a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <muster/policy/choice.hpp>
#include <muster/strategy.hpp>

namespace muster {

inline std::uint64_t pending(const WorkerInfo& worker) {
  return std::uint64_t{worker.active} + worker.queued;
}

// Without its past.
inline WorkerLoad load_of(const WorkerInfo& worker) {
  return {.pending = worker.active + worker.queued,
          .idle = pending(worker) == 0,
          .average = worker.average_task_time,
          .estimated = worker.estimated,
          .estimates = worker.estimated_time,
          .utilisation = static_cast<float>(worker.utilisation)};
}

class LeastInTurn {
 public:
  // Null if no worker takes tasks. The next pick begins behind this one.
  template <class KeyOf>
  const WorkerInfo* pick(std::span<const WorkerInfo> workers, const KeyOf& key_of) {
    const WorkerInfo* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    const std::size_t first = next_;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const std::size_t place = (first + i) % workers.size();
      const WorkerInfo& worker = workers[place];
      if (!takes_tasks(worker.state)) continue;
      const double key = key_of(worker);
      if (best == nullptr || key < least) {
        best = &worker;
        least = key;
        next_ = place + 1;
      }
    }
    return best;
  }

  void reset() { next_ = 0; }

 private:
  std::size_t next_ = 0;
};

}  // namespace muster
