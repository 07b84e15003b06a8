// waiting_tasks.cpp: which of several queues has the task that comes first.
#include "processes/waiting_tasks.hpp"

#include <algorithm>

#include <muster/base/assert.hpp>

namespace muster {

namespace {

// Where a task with this id is, or belongs.
std::deque<TaskRef>::iterator place_of(std::uint64_t id, std::deque<TaskRef>& queue) {
  if (queue.empty() || queue.back()->order.id < id) return queue.end();
  const auto is_older = [](const TaskRef& task, std::uint64_t other) {
    return task->order.id < other;
  };
  return std::lower_bound(queue.begin(), queue.end(), id, is_older);
}

}  // namespace

void OrderedTasks::push(TaskRef task) {
  std::deque<TaskRef>& queue = queues_[task->order.options.priority];
  const auto place = place_of(task->order.id, queue);
  queue.insert(place, std::move(task));
}

void OrderedTasks::remove(const ProcessTask& task) {
  const auto found = queues_.find(task.order.options.priority);
  MUSTER_ASSERT(found != queues_.end());
  std::deque<TaskRef>& queue = found->second;
  const auto place = place_of(task.order.id, queue);
  MUSTER_ASSERT(place != queue.end() && &**place == &task);
  queue.erase(place);
  if (queue.empty()) queues_.erase(found);
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

void OrderedTasks::add_first(std::size_t limit, std::vector<const ProcessTask*>& all) const {
  for (const auto& [priority, queue] : queues_) {
    for (const TaskRef& task : queue) {
      if (limit-- == 0) return;
      all.push_back(&*task);
    }
  }
}

void WaitingTasks::push(TaskRef task, std::optional<unsigned> worker) {
  task->progress.waits_with = worker;
  Queue& queue = queue_of(*task);
  queue.push(std::move(task));
  ++size_;
}

void WaitingTasks::remove(const ProcessTask& task) {
  queue_of(task).remove(task);
  --size_;
}

WaitingTasks::Queue& WaitingTasks::queue_of(const ProcessTask& task) {
  const std::string& capability = task.order.options.capability;
  if (task.progress.waits_with) return by_worker_[*task.progress.waits_with];
  return capability.empty() ? anybodys_ : by_capability_[capability];
}

TaskRef WaitingTasks::pop(Queue& queue) {
  --size_;
  return queue.pop();
}

TaskRef WaitingTasks::pop_for(const Taker& taker) {
  Queue* best = nullptr;
  const auto look = [&](Queue& queue) {
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
  while (!queue.empty()) all.push_back(pop(queue));
}

TaskRef WaitingTasks::pop_oldest() {
  Queue* best = nullptr;
  const auto look = [&](Queue& queue) {
    const ProcessTask* const oldest = queue.oldest();
    if (oldest == nullptr) return;
    if (best == nullptr || oldest->order.id < best->oldest()->order.id) best = &queue;
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

std::vector<const ProcessTask*> WaitingTasks::first(std::size_t limit) const {
  std::vector<const ProcessTask*> all;
  anybodys_.add_first(limit, all);
  for (const auto& [capability, queue] : by_capability_) queue.add_first(limit, all);
  for (const auto& [worker, queue] : by_worker_) queue.add_first(limit, all);
  std::ranges::sort(all, [](const ProcessTask* one, const ProcessTask* other) {
    return std::pair(-one->order.options.priority, one->order.id) <
           std::pair(-other->order.options.priority, other->order.id);
  });
  all.resize(std::min(all.size(), limit));
  return all;
}

void TasksByTime::push(Time due, TaskRef task) {
  MUSTER_ASSERT(!task->progress.due);
  task->progress.due = due;
  const std::uint64_t id = task->order.id;
  tasks_.emplace(std::pair(due, id), std::move(task));
}

void TasksByTime::add_first(std::size_t limit, std::vector<const ProcessTask*>& all) const {
  for (const auto& [due, task] : tasks_) {
    if (limit-- == 0) return;
    all.push_back(&*task);
  }
}

void TasksByTime::erase(ProcessTask& task) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is here
  const std::pair place(*task.progress.due, task.order.id);
  task.progress.due.reset();
  tasks_.erase(place);
}

TaskRef TasksByTime::pop() {
  TaskRef task = std::move(tasks_.begin()->second);
  tasks_.erase(tasks_.begin());
  task->progress.due.reset();
  return task;
}

}  // namespace muster
