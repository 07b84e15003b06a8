// hold.hpp: keeps a pool's only worker busy for a scope, so that what is posted meanwhile waits.
#pragma once

#include <atomic>
#include <thread>

#include <muster/thread_pool.hpp>

namespace muster::testing {

class Hold {
 public:
  explicit Hold(ThreadPool& pool) {
    pool.post([this] {
      held_ = true;
      while (!free_) std::this_thread::yield();
      ended_ = true;
    });
    while (!held_) std::this_thread::yield();
  }
  ~Hold() {
    release();
    while (!ended_) std::this_thread::yield();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void release() { free_ = true; }

 private:
  std::atomic<bool> held_ = false;
  std::atomic<bool> free_ = false;
  std::atomic<bool> ended_ = false;
};

}  // namespace muster::testing
