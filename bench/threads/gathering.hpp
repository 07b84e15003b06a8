// gathering.hpp: holds every worker of a pool inside a task, all at the same time.
//
// Thread safety: tasks attend from the workers; one thread outside holds and releases.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace muster::bench {

class Gathering {
 public:
  // By a task: stays until release().
  void attend() {
    const char on_my_stack = 0;
    std::unique_lock lock(mutex_);
    if (released_) return;
    stacks_.push_back(reinterpret_cast<std::uintptr_t>(&on_my_stack));
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
  }

  // Returns when as many workers attend, with an address on the stack of each. A pool may send two
  // tasks to one worker, so it goes on posting for those that are missing.
  template <class Pool>
  std::vector<std::uintptr_t> hold(Pool& pool, std::size_t workers) {
    constexpr std::chrono::milliseconds kUntilAnotherTry{20};
    std::unique_lock lock(mutex_);
    while (stacks_.size() < workers) {
      const std::size_t missing = workers - stacks_.size();
      lock.unlock();
      for (std::size_t i = 0; i < missing; ++i) pool.post([this] { attend(); });
      lock.lock();
      changed_.wait_for(lock, kUntilAnotherTry, [&] { return stacks_.size() >= workers; });
    }
    return stacks_;
  }

  void release() {
    {
      const std::scoped_lock lock(mutex_);
      released_ = true;
    }
    changed_.notify_all();
  }

 private:
  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uintptr_t> stacks_;
  bool released_ = false;
};

}  // namespace muster::bench
