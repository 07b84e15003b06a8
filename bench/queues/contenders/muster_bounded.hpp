// muster_bounded.hpp: muster::BoundedQueue, the contender all others are compared with.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <muster/queues/bounded_queue.hpp>

namespace muster::bench {

template <class T>
class MusterBounded {
 public:
  using Item = T;
  static constexpr const char* kName = "muster";

  explicit MusterBounded(std::size_t capacity) : queue_(capacity) {}

  bool push(T& item) { return static_cast<bool>(queue_.try_push(std::move(item))); }

  bool pop(T& item) { return queue_.try_pop(item); }

  std::size_t push_batch(std::span<T> items) { return queue_.try_push_batch(items); }
  std::size_t pop_batch(std::span<T> items) { return queue_.try_pop_batch(items); }

 private:
  BoundedQueue<T> queue_;
};

}  // namespace muster::bench
