// waiting_tasks.cpp: which of several queues has the task that comes first.
#include "processes/waiting_tasks.hpp"

#include <algorithm>

namespace muster {

void OrderedTasks::push(TaskRef task) {
  std::deque<TaskRef>& queue = queues_[task->order.options.priority];
  const auto is_older = [](const TaskRef& one, const TaskRef& other) {
    return one->order.id < other->order.id;
  };
  const bool is_newest = queue.empty() || is_older(queue.back(), task);
  const auto place =
      is_newest ? queue.end() : std::upper_bound(queue.begin(), queue.end(), task, is_older);
  queue.insert(place, std::move(task));
}

OrderedTasks::Rank OrderedTasks::top_rank() const {
  return {queues_.begin()->first, -static_cast<std::int64_t>(top().order.id)};
}

TaskRef OrderedTasks::pop() {
  return pop_from(queues_.begin());
}

TaskRef OrderedTasks::pop_from(Queues::iterator queue) {
  TaskRef task = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
  return task;
}

// Of each priority the first is the oldest.
OrderedTasks::Queues::iterator OrderedTasks::with_oldest() {
  return std::min_element(queues_.begin(), queues_.end(), [](const auto& one, const auto& other) {
    return one.second.front()->order.id < other.second.front()->order.id;
  });
}

const ProcessTask* OrderedTasks::oldest() {
  return queues_.empty() ? nullptr : &*with_oldest()->second.front();
}

TaskRef OrderedTasks::pop_oldest() {
  return pop_from(with_oldest());
}

void WaitingTasks::push(TaskRef task, std::optional<unsigned> worker) {
  const std::string& capability = task->order.options.capability;
  Queue& queue = worker               ? by_worker_[*worker]
                 : capability.empty() ? anybodys_
                                      : by_capability_[capability];
  queue.push(std::move(task));
  ++size_;
}

void WaitingTasks::clean(Queue& queue) {
  while (!queue.empty() && queue.top().progress.state != TaskState::queued) (void)pop(queue);
}

TaskRef WaitingTasks::pop(Queue& queue) {
  --size_;
  return queue.pop();
}

TaskRef WaitingTasks::pop_for(const Taker& taker) {
  Queue* best = nullptr;
  const auto look = [&](Queue& queue) {
    clean(queue);
    if (queue.empty()) return;
    if (best == nullptr || best->top_rank() < queue.top_rank()) best = &queue;
  };
  look(anybodys_);
  if (!by_worker_.empty()) {
    if (const auto own = by_worker_.find(taker.worker); own != by_worker_.end()) look(own->second);
  }
  if (!by_capability_.empty()) {
    for (const std::string& capability : taker.capabilities) {
      if (const auto found = by_capability_.find(capability); found != by_capability_.end()) {
        look(found->second);
      }
    }
  }
  return best == nullptr ? TaskRef() : pop(*best);
}

TaskRef WaitingTasks::pop_soft_for(const Taker& taker) {
  Queue* best = nullptr;
  for (auto& [worker, queue] : by_worker_) {
    if (worker == taker.worker) continue;
    clean(queue);
    if (queue.empty()) continue;
    const ExecOptions& options = queue.top().order.options;
    if (options.affinity_class == AffinityClass::hard) continue;
    const bool is_able = options.capability.empty() ||
                         std::find(taker.capabilities.begin(), taker.capabilities.end(),
                                   options.capability) != taker.capabilities.end();
    if (!is_able) continue;
    if (best == nullptr || best->top_rank() < queue.top_rank()) best = &queue;
  }
  return best == nullptr ? TaskRef() : pop(*best);
}

void WaitingTasks::take_all_from(Queue& queue, std::vector<TaskRef>& all) {
  for (clean(queue); !queue.empty(); clean(queue)) all.push_back(pop(queue));
}

TaskRef WaitingTasks::pop_oldest() {
  Queue* best = nullptr;
  const auto look = [&](Queue& queue) {
    while (const ProcessTask* const oldest = queue.oldest()) {
      if (oldest->progress.state == TaskState::queued) {
        if (best == nullptr || oldest->order.id < best->oldest()->order.id) best = &queue;
        return;
      }
      --size_;
      (void)queue.pop_oldest();
    }
  };
  look(anybodys_);
  for (auto& [capability, queue] : by_capability_) look(queue);
  for (auto& [worker, queue] : by_worker_) look(queue);
  if (best == nullptr) return {};
  --size_;
  return best->pop_oldest();
}

std::vector<TaskRef> WaitingTasks::take_all_of(unsigned worker) {
  std::vector<TaskRef> all;
  if (const auto found = by_worker_.find(worker); found != by_worker_.end()) {
    take_all_from(found->second, all);
    by_worker_.erase(found);
  }
  return all;
}

std::vector<TaskRef> WaitingTasks::take_all() {
  std::vector<TaskRef> all;
  take_all_from(anybodys_, all);
  for (auto& [capability, queue] : by_capability_) take_all_from(queue, all);
  for (auto& [worker, queue] : by_worker_) take_all_from(queue, all);
  return all;
}

}  // namespace muster
