// tbb_bounded.hpp: tbb::concurrent_bounded_queue, by its calls that do not block.
//
// The blocking calls would park threads where all other contenders spin and yield.
#pragma once

#include <cstddef>
#include <utility>

#include <tbb/concurrent_queue.h>

namespace muster::bench {

template <class T>
class TbbBounded {
 public:
  using Item = T;
  static constexpr const char* kName = "tbb bounded";

  explicit TbbBounded(std::size_t capacity) {
    queue_.set_capacity(static_cast<std::ptrdiff_t>(capacity));
  }

  bool push(T& item) { return queue_.try_push(std::move(item)); }
  bool pop(T& item) { return queue_.try_pop(item); }

 private:
  tbb::concurrent_bounded_queue<T> queue_;
};

}  // namespace muster::bench
