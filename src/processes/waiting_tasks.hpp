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

#include "processes/process_task.hpp"

namespace muster {

// By priority, then by age. Mostly tasks come in the order of their ids, at the end of a queue of
// their priority; those that come back are old, and go near its beginning.
class OrderedTasks {
 public:
  // Priority, then age: the larger comes first.
  using Rank = std::pair<int, std::int64_t>;

  void push(TaskRef task);
  void remove(const ProcessTask& task);  // requires: it is here

  [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }

  // Require: not empty.
  [[nodiscard]] const ProcessTask& top() const { return *queues_.begin()->second.front(); }
  [[nodiscard]] Rank top_rank() const;
  [[nodiscard]] TaskRef pop();

  // As many as that, in the order in which they go.
  void add_first(std::size_t limit, std::vector<const ProcessTask*>& all) const;

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

  // Requires: it is here.
  void remove(const ProcessTask& task);

  struct Taker {
    unsigned worker = 0;
    std::span<const std::string> capabilities = {};
  };

  // The one that this worker is to have next. Empty: none.
  [[nodiscard]] TaskRef pop_for(const Taker& taker);

  // What others have waiting with them and this worker may have, too, since it has nothing else.
  [[nodiscard]] TaskRef pop_soft_for(const Taker& taker);

  // The one that has waited longest, whoever may have it. Empty: none.
  [[nodiscard]] TaskRef pop_oldest();

  // All that waits with a worker that is gone, to be placed again.
  [[nodiscard]] std::vector<TaskRef> take_all_of(unsigned worker);
  [[nodiscard]] std::vector<TaskRef> take_all();

  // As many as that, by rank, whoever may have them.
  [[nodiscard]] std::vector<const ProcessTask*> first(std::size_t limit) const;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  using Queue = OrderedTasks;

  Queue& queue_of(const ProcessTask& task);
  TaskRef pop(Queue& queue);
  void take_all_from(Queue& queue, std::vector<TaskRef>& all);

  Queue anybodys_;
  std::map<std::string, Queue, std::less<>> by_capability_;
  std::map<unsigned, Queue> by_worker_;
  std::size_t size_ = 0;
};

// Tasks for which something becomes due, the earliest first. A task is in one of these at most.
class TasksByTime {
 public:
  void push(Time due, TaskRef task);

  // If it is here. Most tasks never are.
  void remove(ProcessTask& task) {
    if (task.progress.due) erase(task);
  }

  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

  // As many as that, the earliest first.
  void add_first(std::size_t limit, std::vector<const ProcessTask*>& all) const;

  // Require: not empty.
  [[nodiscard]] Time next() const { return tasks_.begin()->first.first; }
  [[nodiscard]] TaskRef pop();

 private:
  void erase(ProcessTask& task);

  std::map<std::pair<Time, std::uint64_t>, TaskRef> tasks_;  // by time and id
};

}  // namespace muster
