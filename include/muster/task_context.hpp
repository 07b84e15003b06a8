// task_context.hpp: what a task in a worker process may know of itself, and tell of itself.
//
//     registry.add("scan", [](muster::TaskContext& context, const std::string& path) {
//       for (std::size_t i = 0; i < files.size() && !context.cancelled(); ++i) {
//         scan(files[i]);
//         context.progress(double(i + 1) / double(files.size()));
//       }
//     });
//
// Thread safety: any member from any thread of the worker process.
// Lifetime: ends with the task; so does what name() gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <muster/base/api.hpp>

namespace muster {

struct TaskFacts {
  // The same in all attempts, and of no other task of the pool.
  std::uint64_t id = 0;

  // By which its handler was registered. Must live as long as the context.
  std::string_view name = {};

  // From 1 on. More than 1: it has begun before, and failed, or its worker has died.
  std::uint32_t attempt = 1;

  // The worker's number in its pool. One that takes the place of another has the same.
  std::size_t worker = 0;
};

class MUSTER_API TaskContext {
 public:
  TaskContext(const TaskContext&) = delete;
  TaskContext& operator=(const TaskContext&) = delete;
  virtual ~TaskContext();

  [[nodiscard]] std::uint64_t id() const noexcept { return facts_.id; }
  [[nodiscard]] std::string_view name() const noexcept { return facts_.name; }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return facts_.attempt; }
  [[nodiscard]] std::size_t worker() const noexcept { return facts_.worker; }

  // How much of it is done, from 0 to 1. Cheap, and never waits. Throws InvalidArgument for
  // anything else, also for what is not a number.
  void progress(double fraction);

  // Whether nobody wants its result any more. A task that looks and returns early is spared being
  // killed.
  [[nodiscard]] bool cancelled() const noexcept { return is_cancelled(); }

 protected:
  explicit TaskContext(const TaskFacts& facts) noexcept : facts_(facts) {}

 private:
  // For whoever runs tasks. Called from any thread, also from several at a time.
  virtual void report_progress(double fraction) noexcept = 0;
  [[nodiscard]] virtual bool is_cancelled() const noexcept = 0;

  const TaskFacts facts_;
};

}  // namespace muster
