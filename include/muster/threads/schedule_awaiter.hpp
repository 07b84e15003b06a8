// schedule_awaiter.hpp: what `co_await pool.schedule()` waits with, in the coroutine's frame.
//
// Thread safety: none; it belongs to its coroutine.
// Lifetime: the pool must live until the coroutine is queued, and need not live longer.
// Design note: docs/design/coroutines.md
#pragma once

#include <coroutine>
#include <memory>

#include <muster/base/api.hpp>
#include <muster/sync/suspension.hpp>

namespace muster {

class Crew;

class MUSTER_API ScheduleAwaiter {
 public:
  // `crew` lives until the coroutine is queued.
  explicit ScheduleAwaiter(const std::shared_ptr<Crew>& crew) noexcept
      : shared_crew_(crew), crew_(crew.get()) {}

  static constexpr bool await_ready() noexcept { return false; }

  // Throws Stopped, or std::bad_alloc, if the pool does not take the coroutine: it goes on with
  // that, where it is.
  void await_suspend(std::coroutine_handle<> coroutine);

  // Throws Stopped unless this is a worker of the pool.
  void await_resume() const;

 private:
  [[nodiscard]] bool is_inside() const noexcept;

  const std::shared_ptr<Crew>& shared_crew_;
  const Crew* const crew_;  // to compare with, even if it is gone
  Suspension suspension_;
};

}  // namespace muster
