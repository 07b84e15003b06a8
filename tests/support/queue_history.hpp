// queue_history.hpp: could these operations on a bounded queue have happened one after another?
//
// Looks for an order of the operations that respects time (what ended before another began comes
// first) and that a simple queue would answer in the same way: the definition of linearizability,
// by search (Wing, Gong 1993). The number of operations is meant to be small (up to 31 at once).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

namespace muster::testing {

struct QueueOperation {
  enum class Kind { push, pop };
  Kind kind = Kind::push;
  bool succeeded = false;  // else the queue was full or empty
  int value = 0;
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
};

// What "full" and "empty" promise.
enum class Refusals {
  explained,  // by the queue's state, or by an operation of the other kind that was under way
  ignored,    // nothing: weak memory shows old states
};

class QueueHistory {
 public:
  QueueHistory(std::vector<QueueOperation> operations, std::size_t capacity, Refusals refusals)
      : operations_(std::move(operations)), capacity_(capacity), refusals_(refusals) {}

  [[nodiscard]] bool linearizable() { return search(0, {}); }

 private:
  using Done = std::uint32_t;

  bool search(Done done, const std::deque<int>& queue) {
    if (done == (Done{1} << operations_.size()) - 1) return true;
    if (!seen_.insert({done, queue}).second) return false;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      std::deque<int> next = queue;
      if (may_come_next(done, i) && apply(i, next) && search(done | (Done{1} << i), next)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool may_come_next(Done done, std::size_t candidate) const {
    if ((done >> candidate & 1) != 0) return false;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const bool waits =
          (done >> i & 1) == 0 && operations_[i].ended < operations_[candidate].begun;
      if (waits) return false;
    }
    return true;
  }

  bool apply(std::size_t index, std::deque<int>& queue) const {
    const QueueOperation& operation = operations_[index];
    const bool push = operation.kind == QueueOperation::Kind::push;
    if (!operation.succeeded) {
      return queue.size() == (push ? capacity_ : 0) || refusals_ == Refusals::ignored ||
             other_kind_under_way(operation);
    }
    if (push) {
      queue.push_back(operation.value);
      return queue.size() <= capacity_;
    }
    if (queue.empty() || queue.front() != operation.value) return false;
    queue.pop_front();
    return true;
  }

  [[nodiscard]] bool other_kind_under_way(const QueueOperation& operation) const {
    for (const QueueOperation& other : operations_) {
      if (other.kind != operation.kind && other.begun < operation.ended &&
          operation.begun < other.ended) {
        return true;
      }
    }
    return false;
  }

  std::vector<QueueOperation> operations_;
  std::size_t capacity_;
  Refusals refusals_;
  std::set<std::pair<Done, std::deque<int>>> seen_;
};

}  // namespace muster::testing
