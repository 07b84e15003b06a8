// supervisor_status.cpp: what a pool says of itself.
#include <algorithm>

#include "processes/supervisor.hpp"

namespace muster {
namespace {

TaskStatus status_of(const ProcessTask& task) {
  const TaskProgress& progress = task.progress;
  TaskStatus status{.id = task.order.id,
                    .name = task.order.name,
                    .state = progress.state,
                    .priority = task.order.options.priority,
                    .attempts = progress.attempts};
  if (progress.attempts > 0) status.worker = progress.worker;
  return status;
}

}  // namespace

ProcessPoolMetrics Supervisor::metrics() const {
  refuse_strategies();
  const MutexLock lock(mutex_);
  ProcessPoolMetrics now = counts_;
  now.strategy_fallbacks = chooser_.fallbacks();
  now.rejected = pressure_.rejected + pressure_.block_timeouts;
  now.dropped = pressure_.dropped_oldest + pressure_.dropped_newest;
  now.state = state_;
  now.queued = waiting_.size();
  now.delayed = delayed_.size();
  now.dead_letters = dead_letters_.size();
  now.workers = target_;
  now.in_flight = lists_.in_flight();
  now.ready = lists_.ready();
  now.busy = lists_.with_tasks();
  const std::uint64_t ran = counts_.completed + counts_.failed + counts_.retries;
  now.reuse_rate = ran == 0 ? 0 : 1 - static_cast<double>(first_tasks_) / static_cast<double>(ran);
  return now;
}

std::optional<WorkerStatus> Supervisor::worker_status(unsigned worker) const {
  const MutexLock lock(mutex_);
  if (worker >= members_.size()) return std::nullopt;
  const Member& member = *members_[worker];
  const WorkerReading reading = member.read();
  return WorkerStatus{.id = member.id,
                      .state = member.state,
                      .pid = member.has_process() ? member.process.pid() : -1,
                      .tasks = member.tasks,
                      .in_flight = member.in_flight,
                      .task = reading.task,
                      .progress = reading.progress,
                      .restarts = member.restarts,
                      .last_exit = member.last_exit,
                      .capabilities = member.abilities != nullptr ? member.abilities->capabilities
                                                                  : std::vector<std::string>{},
                      .history = {member.history.begin(), member.history.end()}};
}

PoolSnapshot Supervisor::snapshot() const {
  refuse_strategies();
  const Time now = Time::clock::now();
  const MutexLock lock(mutex_);
  PoolSnapshot all;
  all.queue = {.size = waiting_.size(),
               .enqueued = counts_.submitted + counts_.retries,
               .dequeued = counts_.submitted + counts_.retries - waiting_.size() - delayed_.size()};
  all.scaling = scaling_;
  all.scaling.current = target_;
  all.affinity = affinity_;
  all.back_pressure = pressure_;
  all.back_pressure.is_on = back_pressure_ == BackPressure::on;
  all.latency = {.queue_wait = queue_wait_.snapshot(), .run = run_.snapshot()};
  const std::vector<double> weights = chooser_.weights(members_.size());
  for (const auto& member : members_) {
    const PoolSnapshot::Worker worker{.id = member->id,
                                      .state = member->state,
                                      .active = member->in_flight > 0 ? 1U : 0U,
                                      .queued = member->in_flight > 0 ? member->in_flight - 1U : 0U,
                                      .completed = member->past_tasks + member->tasks,
                                      .failed = member->past_failed + member->failed,
                                      .average_task_time = member->average_task,
                                      .last_task_time = member->last_task,
                                      .utilisation = member->utilisation(now),
                                      .weight = weights[member->id]};
    all.workers.push_back(worker);
  }
  rates_.fill(all, counts_.completed + counts_.failed, now);
  all.tasks = {.succeeded = counts_.completed, .failed = counts_.dead_lettered};
  return all;
}

std::vector<TaskStatus> Supervisor::tasks(std::size_t limit) const {
  refuse_strategies();
  const MutexLock lock(mutex_);
  std::vector<const ProcessTask*> all;
  for (const auto& member : members_) {
    for (const Flight& flight : member->flights) {
      if (flight.task) all.push_back(&*flight.task);
    }
  }
  std::ranges::sort(all, {}, [](const ProcessTask* task) { return task->order.id; });
  if (all.size() < limit) {
    const std::vector<const ProcessTask*> next = waiting_.first(limit - all.size());
    all.insert(all.end(), next.begin(), next.end());
  }
  if (all.size() < limit) delayed_.add_first(limit - all.size(), all);
  all.resize(std::min(all.size(), limit));
  std::vector<TaskStatus> told;
  told.reserve(all.size());
  for (const ProcessTask* const task : all) told.push_back(status_of(*task));
  return told;
}

}  // namespace muster
