// held_workers.hpp: a pool each of whose workers is held in a task, and let go one by one. What is
// posted meanwhile waits where it was placed.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include <muster/thread_pool.hpp>

namespace muster::testing {

class HeldWorkers {
 public:
  // `before` is called on each worker before it is held.
  explicit HeldWorkers(ThreadPoolOptions options,
                       const std::function<void(ThreadPool&, unsigned worker)>& before = {})
      : pool_(with_numbers(options)),
        all_(static_cast<std::ptrdiff_t>(options.workers)),
        ready_(static_cast<std::ptrdiff_t>(options.workers)),
        are_free_(options.workers) {
    hold(options.workers, before);
    pool_.set_strategy(options.strategy);
  }
  HeldWorkers(const HeldWorkers&) = delete;
  HeldWorkers& operator=(const HeldWorkers&) = delete;
  ~HeldWorkers() {
    free_all();
    pool_.stop();
  }

  // The worker that runs the calling task.
  static unsigned here() { return number; }

  ThreadPool& pool() { return pool_; }

  void free(unsigned worker) {
    are_free_[worker] = true;
    are_free_[worker].notify_all();
  }
  void free_all() {
    for (unsigned i = 0; i < are_free_.size(); ++i) free(i);
  }

  // Until those who were let go have nothing more to do.
  void wait_until_asleep(unsigned workers) const {
    while (pool_.stats().sleeping_workers != workers) std::this_thread::yield();
  }

  // Tasks that wait with each worker.
  [[nodiscard]] std::vector<std::uint64_t> queued() const {
    std::vector<std::uint64_t> queued;
    for (const ThreadPoolStats::Worker& each : pool_.stats().workers) {
      queued.push_back(each.queued);
    }
    return queued;
  }

 private:
  static ThreadPoolOptions with_numbers(ThreadPoolOptions options) {
    options.on_worker_start = [](unsigned worker) { number = worker; };
    options.strategy = strategy_from("each once", [](auto workers, const TaskInfo& task) {
      return std::optional<std::size_t>(task.id % workers.size());
    });
    return options;
  }

  void hold(unsigned workers, const std::function<void(ThreadPool&, unsigned worker)>& before) {
    for (unsigned i = 0; i < workers; ++i) {
      pool_.post([this, before] {
        all_.arrive_and_wait();  // so that each has one
        if (before) before(pool_, number);
        ready_.count_down();
        are_free_[number].wait(false);
      });
    }
    ready_.wait();
  }

  static inline constinit thread_local unsigned number = 0;

  ThreadPool pool_;
  std::latch all_;
  std::latch ready_;
  std::vector<std::atomic<bool>> are_free_;
};

}  // namespace muster::testing
