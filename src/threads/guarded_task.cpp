// guarded_task.cpp: whether a task may begin, and what happens when its time is up.
#include <chrono>
#include <sstream>

#include <muster/sync/player.hpp>
#include <muster/threads/guarded_task.hpp>

#include "threads/crew.hpp"
#include "threads/task_span.hpp"
#include "threads/timers.hpp"

namespace muster::detail {
namespace {

// What follows from a timeout is part of the task's trace, also on the timer thread.
Closure as_part_of(const TraceContext& context, Closure&& call) {
  return Closure([context, call = std::move(call)]() mutable {
    const TraceScope scope(context);
    std::move(call)();
  });
}

}  // namespace

TaskGuard::TaskGuard(Crew& crew, const TaskOptions& options, ErrorsGo errors_go)
    : options_(options),
      timers_(options.timeout ? crew.timers() : nullptr),
      reports_to_(errors_go == ErrorsGo::to_pool ? &crew : nullptr),
      is_traced_(crew.options().tracer != nullptr) {}

TaskGuard::~TaskGuard() = default;

std::string TaskGuard::describe() const {
  return options_.name.empty() ? "the task" : "task \"" + options_.name + '"';
}

void TaskGuard::note(TaskOutcome outcome) const noexcept {
  if (is_traced_) TaskSpan::note(outcome);
}

void TaskGuard::begin(Closure&& time_out) {
  if (options_.stop.stop_requested()) {
    note(TaskOutcome::cancelled);
    throw Cancelled(describe() + " was cancelled before it began: a stop was requested");
  }
  if (options_.deadline && current_time() >= *options_.deadline) {
    note(TaskOutcome::expired);
    throw Expired(describe() + " had not begun by its deadline");
  }
  if (!options_.timeout) return;
  stop_ = std::stop_source();
  if (options_.stop.stop_possible()) forward_.emplace(options_.stop, Forward{stop_});
  if (is_traced_) time_out = as_part_of(current_trace(), std::move(time_out));
  const TimerKey watch = timers_->watch(*options_.timeout, std::move(time_out));
  watched_until_ = watch.due;
  watch_number_ = watch.number;
}

std::stop_token TaskGuard::token() const noexcept {
  return options_.timeout ? stop_.get_token() : options_.stop;
}

TaskEnd TaskGuard::end() noexcept {
  forward_.reset();
  if (!watched_until_) return TaskEnd::in_time;
  timers_->unwatch({*watched_until_, watch_number_});
  if (!timed_out_) return TaskEnd::in_time;
  note(TaskOutcome::timed_out);
  if (reports_to_ != nullptr) reports_to_->note_failure();
  return TaskEnd::too_late;
}

void TaskGuard::report_failure(const std::exception_ptr& error) noexcept {
  if (reports_to_ == nullptr) return;
  reports_to_->note_failure();
  reports_to_->report(error, options_.name);
}

std::exception_ptr TaskGuard::time_out() noexcept {
  timed_out_ = true;
  std::ostringstream message;
  const std::chrono::duration<double> timeout = options_.timeout.value_or(Duration::zero());
  message << describe() << " had not ended " << timeout.count() << " s after it began";
  return std::make_exception_ptr(TimedOut(message.str()));
}

void TaskGuard::follow_up(const std::exception_ptr& error) noexcept {
  stop_.request_stop();
  if (reports_to_ != nullptr) reports_to_->report(error, options_.name);
}

}  // namespace muster::detail
