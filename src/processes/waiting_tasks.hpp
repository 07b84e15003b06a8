// waiting_tasks.hpp: tasks that wait for a worker, by who may have them, and for their time.
//
// Each worker may take from several queues: its own (keys that belong to it), those of its
// capabilities, and everybody's. It gets the task of the highest priority among them; of equals the
// one that came first, which its id tells, so what a dead worker gives back takes its old place.
//
// Thread safety: none; its user guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <muster/queues/stable_heap.hpp>

#include "processes/process_task.hpp"

namespace muster {

// By priority, then by age. Mostly tasks come in the order of their ids, at the end of a queue of
// their priority; those that come back are old, and go near its beginning.
class OrderedTasks {
 public:
  // Priority, then age: the larger comes first.
  using Rank = std::pair<int, std::int64_t>;

  void push(TaskRef task);

  [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }

  // Require: not empty.
  [[nodiscard]] const ProcessTask& top() const { return *queues_.begin()->second.front(); }
  [[nodiscard]] Rank top_rank() const;
  [[nodiscard]] TaskRef pop();

  // Of any priority; null: it is empty.
  [[nodiscard]] const ProcessTask* oldest();
  [[nodiscard]] TaskRef pop_oldest();  // requires: not empty

 private:
  using Queues = std::map<int, std::deque<TaskRef>, std::greater<>>;

  [[nodiscard]] Queues::iterator with_oldest();
  [[nodiscard]] TaskRef pop_from(Queues::iterator queue);

  Queues queues_;  // none is empty
};

class WaitingTasks {
 public:
  // Whose it is, by its key; none: anybody's who has the capability.
  void push(TaskRef task, std::optional<unsigned> worker);

  struct Taker {
    unsigned worker = 0;
    std::span<const std::string> capabilities = {};
  };

  // The one that this worker is to have next. Empty: none. Tasks that were cancelled meanwhile are
  // dropped on the way.
  [[nodiscard]] TaskRef pop_for(const Taker& taker);

  // What others have waiting with them and this worker may have, too, since it has nothing else.
  [[nodiscard]] TaskRef pop_soft_for(const Taker& taker);

  // The one that has waited longest, whoever may have it. Empty: none.
  [[nodiscard]] TaskRef pop_oldest();

  // All that waits with a worker that is gone, to be placed again.
  [[nodiscard]] std::vector<TaskRef> take_all_of(unsigned worker);
  [[nodiscard]] std::vector<TaskRef> take_all();

  // Counts cancelled ones too, until somebody comes to them.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  using Queue = OrderedTasks;

  void clean(Queue& queue);
  TaskRef pop(Queue& queue);
  void take_all_from(Queue& queue, std::vector<TaskRef>& all);

  Queue anybodys_;
  std::map<std::string, Queue, std::less<>> by_capability_;
  std::map<unsigned, Queue> by_worker_;
  std::size_t size_ = 0;
};

// Things that become due, the earliest first.
template <class T>
class TimeQueue {
 public:
  void push(Time due, T item) { heap_.push(-due.time_since_epoch().count(), std::move(item)); }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

  // Requires: not empty.
  [[nodiscard]] Time next() const { return Time(Duration(-heap_.top_priority())); }
  [[nodiscard]] T pop() { return heap_.pop(); }

 private:
  StableHeap<T, Duration::rep> heap_;
};

}  // namespace muster
