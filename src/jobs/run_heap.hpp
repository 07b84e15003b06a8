// run_heap.hpp: a heap for what mostly comes in order.
//
// What is pushed in order costs nothing to push or to pop: it stands in a run, from which the first
// one is taken. Only what comes out of order is in a heap. So millions that came one after the
// other are as quick as few, and iterating meets them in order.
//
//     RunHeap<Candidate, ComesFirst> queue;
//     queue.push(candidate);
//     use(queue.front());   // none of the others comes before it
//     queue.pop();
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

namespace muster {

template <class Item, class ComesBefore>
class RunHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return run_.empty() && heap_.empty(); }

  void push(const Item& item) {
    if (run_.empty() || !before_(item, run_.back())) {
      run_.push_back(item);
    } else {
      heap_.push_back(item);
      std::ranges::push_heap(heap_, comes_later());
    }
  }

  // Requires: not empty.
  [[nodiscard]] const Item& front() const noexcept {
    return is_first_in_heap() ? heap_.front() : run_.front();
  }

  void pop() {
    if (!is_first_in_heap()) return run_.pop_front();
    std::ranges::pop_heap(heap_, comes_later());
    heap_.pop_back();
  }

  // Each, those of the run in order, until `use` says false.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Item& item : run_) {
      if (!use(item)) return;
    }
    for (const Item& item : heap_) {
      if (!use(item)) return;
    }
  }

 private:
  [[nodiscard]] bool is_first_in_heap() const noexcept {
    if (heap_.empty()) return false;
    return run_.empty() || before_(heap_.front(), run_.front());
  }
  [[nodiscard]] auto comes_later() const {
    return [this](const Item& left, const Item& right) { return before_(right, left); };
  }

  [[no_unique_address]] ComesBefore before_;
  std::deque<Item> run_;
  std::vector<Item> heap_;
};

}  // namespace muster
