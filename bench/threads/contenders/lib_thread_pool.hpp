// lib_thread_pool.hpp: thread_pool::ThreadPool of Debian's libthread-pool-dev. It has a queue with
// a mutex per worker, and workers look into the queues of others before they sleep.
//
// Its only door is Submit, which makes a packaged task and a std::future; a post drops the future.
#pragma once

#include <utility>

#include <thread_pool/thread_pool.hpp>

namespace muster::bench {

class LibThreadPool {
 public:
  static constexpr const char* kName = "libthread-pool";

  explicit LibThreadPool(unsigned workers) : pool_(workers) {}

  template <class Task>
  void post(Task task) {
    pool_.Submit(std::move(task));
  }

  template <class Task>
  auto submit(Task task) {
    return pool_.Submit(std::move(task));
  }

 private:
  thread_pool::ThreadPool pool_;
};

}  // namespace muster::bench
