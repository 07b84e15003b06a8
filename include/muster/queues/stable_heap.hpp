// stable_heap.hpp: a priority queue in which equals keep their order.
//
//     muster::StableHeap<Task> heap;
//     heap.push(10, urgent);
//     heap.push(0, ordinary);
//     Task first = heap.pop();          // urgent
//
// Higher priorities come first; among equals, whoever came first. push and pop take O(log n).
//
// Thread safety: none; its user guards it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <muster/base/assert.hpp>

namespace muster {

// 0 is ordinary; higher runs first.
using Priority = std::int16_t;

template <class T, class Key = Priority>
class StableHeap {
 public:
  void push(Key priority, T item) {
    entries_.push_back({priority, arrivals_, std::move(item)});
    std::push_heap(entries_.begin(), entries_.end(), comes_later);
    ++arrivals_;
  }

  // Requires: not empty.
  [[nodiscard]] T pop() {
    MUSTER_ASSERT(!entries_.empty());
    std::pop_heap(entries_.begin(), entries_.end(), comes_later);
    T item = std::move(entries_.back().item);
    entries_.pop_back();
    return item;
  }

  // Requires: not empty.
  [[nodiscard]] const T& top() const {
    MUSTER_ASSERT(!entries_.empty());
    return entries_.front().item;
  }
  [[nodiscard]] Key top_priority() const {
    MUSTER_ASSERT(!entries_.empty());
    return entries_.front().priority;
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

 private:
  struct Entry {
    Key priority;
    std::uint64_t arrival;
    T item;
  };

  static bool comes_later(const Entry& a, const Entry& b) noexcept {
    if (a.priority != b.priority) return a.priority < b.priority;
    return a.arrival > b.arrival;
  }

  std::vector<Entry> entries_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace muster
