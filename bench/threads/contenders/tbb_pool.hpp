// tbb_pool.hpp: a tbb::task_arena that threads outside enqueue into, which is oneTBB's way to send
// work and go on.
//
// No slot of the arena is reserved for a thread from outside, and one thread more than workers is
// allowed: else TBB, which counts the main thread as a worker, would have one worker less than the
// others.
#pragma once

#include <utility>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "threads/packaged.hpp"

namespace muster::bench {

class TbbPool {
 public:
  static constexpr const char* kName = "tbb";

  explicit TbbPool(unsigned workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers + 1),
        arena_(static_cast<int>(workers), 0) {
    arena_.initialize();
  }

  template <class Task>
  void post(Task task) {
    arena_.enqueue(std::move(task));
  }

  template <class Task>
  auto submit(Task task) {
    return submit_packaged(*this, std::move(task));
  }

 private:
  tbb::global_control threads_;
  tbb::task_arena arena_;
};

}  // namespace muster::bench
