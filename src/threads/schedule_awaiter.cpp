// schedule_awaiter.cpp: a coroutine enters a pool's queues.
#include <memory>
#include <type_traits>
#include <utility>

#include <muster/error.hpp>
#include <muster/sync/closure.hpp>
#include <muster/threads/schedule_awaiter.hpp>

#include "threads/crew.hpp"

namespace muster {

static_assert(sizeof(Resumption) <= Closure::kInlineBytes &&
                  std::is_nothrow_move_constructible_v<Resumption>,
              "it fits into a closure, so a hop allocates nothing");

bool ScheduleAwaiter::is_inside() const noexcept {
  const Worker* const self = Worker::current();
  return self != nullptr && &self->crew() == crew_;
}

void ScheduleAwaiter::await_suspend(std::coroutine_handle<> coroutine) {
  // Once it is queued, the coroutine may run to its end elsewhere, and the pool be ended then,
  // while this thread is not yet done with the queues. The pool's own workers it waits for.
  const std::shared_ptr<Crew> kept = is_inside() ? nullptr : shared_crew_;
  Crew& crew = *shared_crew_;
  suspension_.begin(coroutine);
  Closure resumption{Resumption(suspension_)};
  try {
    crew.post_always(std::move(resumption));
  } catch (...) {
    suspension_.withdraw();  // it was not taken, so this thread still has it alone
    throw;
  }
}

void ScheduleAwaiter::await_resume() const {
  suspension_.check();
  // What was queued while the workers ended is run by whoever queued it, as every task; but not for
  // that did the coroutine ask.
  if (!is_inside()) throw Stopped("the coroutine could not go on on the pool: it has stopped");
}

}  // namespace muster
