// executor.hpp: how a future finds the pool that its continuations run on, if that still exists.
//
// A pool has a number for life. Futures keep the number and not a pointer, so they may outlive the
// pool, and a submitted task pays nothing for the chance of a continuation.
//
// Thread safety: any function from any thread.
#pragma once

#include <cstdint>
#include <memory>

#include <muster/base/api.hpp>
#include <muster/sync/closure.hpp>

namespace muster {

// 0 names none.
using ExecutorId = std::uint64_t;

// Whether threads of an executor look out for tasks all the time. If so, those who wait for a task
// look out for its end a little longer before they sleep: an answer is near.
enum class Alertness { usual, high };

class MUSTER_API Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor();

  // Runs it some time; throws Stopped if it no longer does.
  virtual void execute(Closure&& task) = 0;

  // fork() was called, and this is the child: it has none of the executor's threads.
  virtual void orphan() noexcept {}

  // 0 until it is registered.
  [[nodiscard]] ExecutorId id() const noexcept { return id_; }

 private:
  friend ExecutorId register_executor(const std::shared_ptr<Executor>& executor,
                                      Alertness alertness);

  // Before anybody submits a task, constant from then on.
  ExecutorId id_ = 0;
};

// The number under which `executor` is found until forget_executor().
[[nodiscard]] MUSTER_API ExecutorId register_executor(const std::shared_ptr<Executor>& executor,
                                                      Alertness alertness = Alertness::usual);
MUSTER_API void forget_executor(ExecutorId id) noexcept;

// Part of the number: whoever waits has no time for a lookup.
[[nodiscard]] constexpr Alertness alertness_of(ExecutorId id) noexcept {
  return id % 2 == 1 ? Alertness::high : Alertness::usual;
}

// True in the child of a fork() for executors of its parent. They do nothing any more.
[[nodiscard]] MUSTER_API bool is_orphaned(ExecutorId id) noexcept;

// Runs `task` on the executor with that number; right here if there is none any more.
MUSTER_API void execute_on(ExecutorId id, Closure&& task) noexcept;

}  // namespace muster
