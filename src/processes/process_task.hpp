// process_task.hpp: one task of a process pool, from exec() to its end, and the state of its
// future.
//
// This is the truth about the task. What stands of it in a worker's memory is a copy, made for each
// attempt.
//
// Thread safety: `order` is constant once the pool has the task; `progress` is guarded by the
// supervisor's mutex; the rest as FutureState.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <muster/bytes.hpp>
#include <muster/process_pool_options.hpp>
#include <muster/queues/slot_word.hpp>
#include <muster/sync/future_state.hpp>

namespace muster {

class Supervisor;

// What was asked for.
struct TaskOrder {
  std::uint64_t id = 0;
  std::string name;
  Bytes payload;
  ExecOptions options;
};

// How far it has come.
struct TaskProgress {
  TaskState state = TaskState::created;
  unsigned attempts = 0;      // that a worker has begun, or may have
  unsigned worker = 0;        // the last one
  Time queued{};              // when it last began to wait for one
  Time began{};               // when it was last given to a worker
  std::uint64_t edition = 0;  // of the abilities ...
  std::uint32_t method = 0;   // ... in which its name has this number
  bool is_cancelled = false;

  // Where it is to be found in WaitingTasks and TasksByTime.
  std::optional<unsigned> waits_with{};
  std::optional<Time> due{};
};

class ProcessTask final : public FutureState<Bytes> {
 public:
  ProcessTask(std::weak_ptr<Supervisor> supervisor, TaskOrder given)
      : FutureState<Bytes>(ExecutorId{0}),
        order(std::move(given)),
        supervisor_(std::move(supervisor)) {}

  // Each at most once, and only one of them.
  void succeed(Bytes value) {
    value_.emplace(std::move(value));
    settle();
  }
  void fail(std::exception_ptr error) noexcept { settle_with(std::move(error)); }

  void attend(const FutureStateBase& goal, Time deadline) noexcept override;
  void stir() noexcept override;
  bool cancel() override;
  [[nodiscard]] std::string name() const override { return order.name; }
  [[nodiscard]] std::string describe() const override { return "task \"" + order.name + '"'; }

  TaskOrder order;
  TaskProgress progress;

 private:
  void run() noexcept override;
  void drop_task() noexcept override {}

  const std::weak_ptr<Supervisor> supervisor_;
};

using TaskRef = FutureRef<ProcessTask>;

// How a task ended, to be said when no lock is held.
struct Verdict {
  TaskRef task;
  Bytes value;
  std::exception_ptr error;  // null: the value

  // Once.
  void pronounce() {
    const TaskRef settled = std::move(task);
    if (error != nullptr) {
      settled->fail(std::move(error));
    } else {
      settled->succeed(std::move(value));
    }
  }
};

}  // namespace muster
