// timers.hpp: what a pool does later: the timers of its users, and the timeouts of its tasks.
//
// One thread, started with the first of them, sleeps until something is due and passes it on. The
// task of a timer is posted to the crew. A timeout is a *watch*, and rings right on this thread:
// the task that it belongs to may hold the only worker.
//
// Thread safety: any member from any thread.
// Lifetime: shared with the handles of timers, so it may outlive its crew; but after finish(),
// which the crew calls before it ends, it no longer touches it.
// Design note: docs/design/thread_pool.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <muster/base/clock.hpp>
#include <muster/observe/trace_context.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/threads/timer_call.hpp>

#include "threads/timer_queue.hpp"

namespace muster {

class TimerState;

enum class TimerRepeat { never, always };

class Timers : public std::enable_shared_from_this<Timers> {
 public:
  // Without a thread name there is no thread: somebody else calls act_on_due() in time. The thread
  // works for `employer`, if that is not null: what a timeout calls may wait for the only worker,
  // which waits for it.
  Timers(Executor& crew, Employer* employer, const Clock& clock,
         std::optional<std::string> thread_name);
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // Posts `call` after `wait`, and if it repeats, every `wait` from then on; if it is traced, as
  // part of that trace. Throws Stopped after close(), SystemFailure if the thread cannot be
  // started.
  std::shared_ptr<TimerState> start(TimerRepeat repeat, Duration wait,
                                    std::unique_ptr<detail::TimerCall> call,
                                    std::optional<TraceContext> trace = {}) MUSTER_EXCLUDES(mutex_);

  // As Timer says.
  bool cancel(TimerState& timer) noexcept MUSTER_EXCLUDES(mutex_);
  bool is_active(const TimerState& timer) noexcept MUSTER_EXCLUDES(mutex_);

  // Calls `ring` after `timeout`, unless unwatch() comes first. Throws Stopped after finish(),
  // SystemFailure if the thread cannot be started.
  TimerKey watch(Duration timeout, Closure&& ring) MUSTER_EXCLUDES(mutex_);

  // When it returns, the watch has rung, or never will.
  void unwatch(const TimerKey& watch) noexcept MUSTER_EXCLUDES(mutex_);

  // Drops the timers that are not due, and takes no more. One that is just being posted still is.
  // Watches stay.
  void close() MUSTER_EXCLUDES(mutex_);

  // Ends the thread, and drops the watches. Requires: close() was called.
  void finish() MUSTER_EXCLUDES(mutex_);

  // True on the timer thread.
  [[nodiscard]] bool is_own_thread() const noexcept;

  // Without a thread: when to call act_on_due() next, if ever; and what the thread would do now.
  std::optional<Time> next_due() MUSTER_EXCLUDES(mutex_);
  void act_on_due() MUSTER_EXCLUDES(mutex_);

 private:
  class Run;

  // A timer or a watch, or neither.
  struct Due {
    std::shared_ptr<TimerState> timer;
    Closure ring;

    explicit operator bool() const noexcept { return timer != nullptr || ring; }
  };

  void main();
  void sleep() MUSTER_REQUIRES(mutex_);
  void see_to_thread() MUSTER_REQUIRES(mutex_);
  void wake_before(Time due) MUSTER_REQUIRES(mutex_);
  std::optional<Time> earliest() const MUSTER_REQUIRES(mutex_);
  Due take_due() MUSTER_REQUIRES(mutex_);
  void act(Due due) MUSTER_EXCLUDES(mutex_);
  void post(std::shared_ptr<TimerState> timer) noexcept;

  void run(const std::shared_ptr<TimerState>& timer) MUSTER_EXCLUDES(mutex_);
  void end_run(const std::shared_ptr<TimerState>& timer) MUSTER_EXCLUDES(mutex_);
  void drop_posted(TimerState& timer) noexcept MUSTER_EXCLUDES(mutex_);
  bool will_run(const TimerState& timer) const noexcept MUSTER_REQUIRES(mutex_);

  // Fixed at construction.
  Executor& crew_;
  Employer* const employer_;
  const Clock& clock_;
  const std::optional<std::string> thread_name_;

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable wake_;  // for the thread
  ConditionVariable rung_;  // for those whose watch is ringing
  std::thread thread_ MUSTER_GUARDED_BY(mutex_);
  TimerQueue<std::shared_ptr<TimerState>> timers_ MUSTER_GUARDED_BY(mutex_);
  TimerQueue<Closure> watches_ MUSTER_GUARDED_BY(mutex_);
  Time wakes_at_ MUSTER_GUARDED_BY(mutex_) = Time::min();  // while it sleeps
  std::uint64_t ringing_ MUSTER_GUARDED_BY(mutex_) = 0;    // number of a watch, right now
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
  bool finished_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
