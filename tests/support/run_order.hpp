// run_order.hpp: which tasks have run, in their order.
#pragma once

#include <mutex>
#include <vector>

namespace muster::testing {

class RunOrder {
 public:
  void add(int task) {
    const std::scoped_lock lock(mutex_);
    order_.push_back(task);
  }
  std::vector<int> get() {
    const std::scoped_lock lock(mutex_);
    return order_;
  }

 private:
  std::mutex mutex_;
  std::vector<int> order_;
};

}  // namespace muster::testing
