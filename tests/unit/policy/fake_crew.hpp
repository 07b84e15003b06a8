// fake_crew.hpp: workers that only count: tasks are placed with them, begin and end on command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <muster/strategy.hpp>

namespace muster::testing {

class FakeCrew {
 public:
  explicit FakeCrew(std::size_t workers) : workers_(workers) {
    for (std::size_t i = 0; i < workers; ++i) workers_[i].id = i;
  }

  std::vector<WorkerInfo>& workers() { return workers_; }
  WorkerInfo& operator[](std::size_t worker) { return workers_.at(worker); }

  static std::uint64_t pending(const WorkerInfo& worker) { return worker.active + worker.queued; }

  // Places a task where the strategy says; returns where that is.
  std::size_t place(Strategy& strategy) {
    const std::size_t worker = strategy.select(workers_, {}).value().worker;
    queue(worker);
    return worker;
  }

  void queue(std::size_t worker) {
    ++workers_.at(worker).queued;
    begin(worker);
  }

  // Ends the task that the worker runs, and begins its next.
  void finish(std::size_t number, Duration duration) {
    WorkerInfo& worker = workers_.at(number);
    worker.active = 0;
    worker.state = WorkerState::ready;
    ++worker.tasks_done;
    worker.last_task_time = duration;
    const bool is_first = worker.average_task_time == Duration::zero();
    worker.average_task_time = is_first ? duration : (3 * worker.average_task_time + duration) / 4;
    begin(number);
  }

  void finish(std::size_t number, Duration duration, Strategy& told) {
    finish(number, duration);
    told.on_task_complete(number, duration);
  }

 private:
  void begin(std::size_t number) {
    WorkerInfo& worker = workers_.at(number);
    if (worker.active > 0 || worker.queued == 0) return;
    --worker.queued;
    worker.active = 1;
    worker.state = WorkerState::busy;
  }

  std::vector<WorkerInfo> workers_;
};

}  // namespace muster::testing
