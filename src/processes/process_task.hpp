// process_task.hpp: one task of a process pool, from exec() to its end, and the state of its
// future.
//
// This is the truth about the task. What stands of it in a worker's memory is a copy, made for each
// attempt.
//
// Thread safety: `order` is constant once the pool has the task; `progress` is guarded by the
// supervisor's mutex; the rest as FutureState.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <muster/bytes.hpp>
#include <muster/future.hpp>
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
  Time noticed{};             // when it was first seen that the worker has begun it, if at all
  std::uint64_t edition = 0;  // of the abilities ...
  std::uint32_t method = 0;   // ... in which its name has this number
  bool is_cancelled = false;
  bool is_told = false;  // that it is to end, or else it will be killed

  // Where it is to be found in WaitingTasks and TasksByTime.
  std::optional<unsigned> waits_with{};
  std::optional<Time> due{};
};

class ProcessTask final : public FutureState<Bytes> {
 public:
  ProcessTask(std::shared_ptr<Supervisor> supervisor, std::string_view name, Bytes&& payload,
              ExecOptions&& options)
      : FutureState<Bytes>(ExecutorId{0}),
        order{.name = std::string(name),
              .payload = std::move(payload),
              .options = std::move(options)},
        supervisor_(std::move(supervisor)) {}

  // Each thread keeps the memory of the last task it has let go of, for the next one that it makes.
  [[gnu::hot]] static void* operator new(std::size_t bytes);
  [[gnu::hot]] static void operator delete(void* memory) noexcept;

  // How it ended, one of them, under the supervisor's mutex; to be told when no lock is held, since
  // what follows the task may call the pool.
  void conclude(Bytes&& value) noexcept { value_.emplace(std::move(value)); }
  void conclude(std::exception_ptr error) noexcept { set_error(std::move(error)); }
  void tell() noexcept { settle(); }

  [[gnu::hot]] void attend(const FutureStateBase& goal, Time deadline) override;
  void stir() noexcept override;
  bool cancel() override;
  [[nodiscard]] std::string name() const override { return order.name; }
  [[nodiscard]] std::exception_ptr called_off() const;  // before it began
  [[nodiscard]] std::string describe() const override { return "task \"" + order.name + '"'; }

  TaskOrder order;
  TaskProgress progress;
  ProcessTask* next_verdict = nullptr;  // see verdicts.hpp

 private:
  [[gnu::hot]] ~ProcessTask() override;
  void run() noexcept override;
  void drop_task() noexcept override {}

  // Outlives its pool with the last future; when a pool has stopped it has no task any more.
  const std::shared_ptr<Supervisor> supervisor_;
};

using TaskRef = FutureRef<ProcessTask>;

struct NewTask {
  TaskRef task;
  Future<Bytes> future;
};

// How an attempt failed.
struct Mishap {
  FailureKind kind = FailureKind::error;
  std::string what;
  std::optional<ExitStatus> exit = {};
};

}  // namespace muster
