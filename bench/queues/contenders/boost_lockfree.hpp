// boost_lockfree.hpp: boost::lockfree::queue with a fixed number of nodes, hence bounded and free
// of allocation. At most 65534 items, and only such that can be copied byte by byte: its own
// limits.
#pragma once

#include <cstddef>

#include <boost/lockfree/queue.hpp>

namespace muster::bench {

template <class T>
class BoostLockfree {
 public:
  using Item = T;
  static constexpr const char* kName = "boost lockfree";

  explicit BoostLockfree(std::size_t capacity) : queue_(capacity) {}

  bool push(T& item) { return queue_.bounded_push(item); }
  bool pop(T& item) { return queue_.pop(item); }

 private:
  boost::lockfree::queue<T, boost::lockfree::fixed_sized<true>> queue_;
};

}  // namespace muster::bench
