// mutex_pool.hpp: threads, one std::queue of std::function, a mutex and a condition variable: what
// one writes before reaching for a library. The baseline.
//
// It notifies after the unlock, so that the woken thread does not run into the lock. Tasks of the
// suite fit into std::function without allocation, those with a future do not.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "threads/packaged.hpp"

namespace muster::bench {

class MutexPool {
 public:
  static constexpr const char* kName = "mutex queue";

  explicit MutexPool(unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }
  MutexPool(const MutexPool&) = delete;
  MutexPool& operator=(const MutexPool&) = delete;

  // Runs what is queued first.
  ~MutexPool() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
  }

  template <class Task>
  void post(Task task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.emplace(std::move(task));
    }
    changed_.notify_one();
  }

  template <class Task>
  auto submit(Task task) {
    return submit_packaged(*this, std::move(task));
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop();
      }
      task();
    }
  }

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  bool stopping_ = false;

  // Fixed at construction. Last, so that they are joined before the rest goes.
  std::vector<std::jthread> threads_;
};

}  // namespace muster::bench
