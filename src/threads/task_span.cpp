// task_span.cpp: what a traced pool's tracer is told, and by whom.
#include "threads/task_span.hpp"

#include <muster/error.hpp>
#include <muster/sync/dropping.hpp>
#include <muster/sync/player.hpp>

#include "threads/crew.hpp"

namespace muster {
namespace {

// Whose task this thread runs or destroys.
constinit thread_local TaskSpan* innermost = nullptr;

// What this thread is posting.
constinit thread_local Tracing* innermost_post = nullptr;

const TraceContext& no_trace() {
  static const TraceContext& none = *new TraceContext;
  return none;
}

bool never_began(TaskOutcome outcome) noexcept {
  return outcome >= TaskOutcome::cancelled;
}

bool is_cancelled(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

// Stands in the queue for a task that settles no future.
class TaskSpan::Call {
 public:
  explicit Call(TaskSpan* span) noexcept : span_(span) {}
  Call(Call&& other) noexcept : span_(std::exchange(other.span_, nullptr)) {}
  ~Call() {
    if (span_ != nullptr) span_->drop();
  }
  void operator()() { std::exchange(span_, nullptr)->call(); }

 private:
  TaskSpan* span_;
};

class TaskSpan::CallThatMustRun : public Call {
 public:
  static constexpr bool kMustRun = true;
  using Call::Call;
};

TaskSpan::TaskSpan(const Crew& crew, std::string name) : crew_(crew) {
  const ThreadPoolOptions& options = crew.options();
  trace_.pool = options.traced_as.empty() ? options.thread_name : options.traced_as;
  trace_.name = std::move(name);
  trace_.parent = current_trace();
  try {
    trace_.context = options.tracer->begin(trace_.parent);
  } catch (...) {  // the task is worth more than its trace
    trace_.context = trace_.parent;
    is_silent_ = true;
  }
  accept();
}

TaskSpan::~TaskSpan() = default;

TaskSpan* TaskSpan::attach(const Crew& crew, const std::string& name, Closure& task) {
  auto span = std::make_unique<TaskSpan>(crew, name);
  if (FutureStateBase* const state = task.future_state(); state != nullptr) {
    return state->set_escort(*span) ? span.release() : nullptr;
  }
  span->task_ = std::move(task);
  TaskSpan* const kept = span.release();
  task = kept->task_.must_run() ? Closure(CallThatMustRun(kept)) : Closure(Call(kept));
  return kept;
}

void TaskSpan::accept() noexcept {
  trace_.accepted = current_time();
}

void TaskSpan::withdraw(const Closure& task) noexcept {
  if (FutureStateBase* const state = task.future_state(); state == nullptr) {
    trace_.context = trace_.parent;
    is_silent_ = true;
  } else if (state->withdraw_escort(*this)) {
    delete this;
  }
}

void TaskSpan::begin() noexcept {
  const Worker* const self = Worker::current();
  if (self != nullptr && &self->crew() == &crew_) {
    trace_.worker = static_cast<unsigned>(self->index());
  }
  outer_ = std::exchange(innermost, this);
  scope_.emplace(trace_.context);
  trace_.started = current_time();
}

void TaskSpan::end(const std::exception_ptr& error) noexcept {
  const std::unique_ptr<TaskSpan> self(this);
  trace_.ended = current_time();
  if (scope_) {
    scope_.reset();
    innermost = outer_;
  }
  if (is_silent_) return;
  trace_.outcome = outcome_of(error);
  if (never_began(trace_.outcome)) {
    trace_.started.reset();
    trace_.worker.reset();
  }
  if (error != nullptr) trace_.error = message_of(error);
  crew_.options().tracer->record(std::move(trace_));
}

TaskOutcome TaskSpan::outcome_of(const std::exception_ptr& error) const {
  if (noted_) return *noted_;
  if (error == nullptr) return TaskOutcome::succeeded;
  if (trace_.started) return TaskOutcome::failed;
  return is_cancelled(error) ? TaskOutcome::cancelled : TaskOutcome::dropped;
}

void TaskSpan::call() {
  Closure task = std::move(task_);
  begin();
  try {
    std::move(task)();
  } catch (...) {
    end(std::current_exception());
    throw;
  }
  end(nullptr);
}

void TaskSpan::drop() noexcept {
  outer_ = std::exchange(innermost, this);
  task_.reset();
  innermost = outer_;
  if (is_silent_) return delete this;
  end(Dropping::error_for("the task", {}));
}

void TaskSpan::note(TaskOutcome outcome) noexcept {
  if (innermost != nullptr) innermost->noted_ = outcome;
}

TaskSpan::Apart::Apart() noexcept : outer_(std::exchange(innermost, nullptr)), scope_(no_trace()) {}

TaskSpan::Apart::~Apart() {
  innermost = outer_;
}

Tracing::Tracing(const Crew& crew, const std::string& name, Closure& task)
    : task_(task),
      span_(crew.options().tracer == nullptr ? nullptr : TaskSpan::attach(crew, name, task)),
      outer_(std::exchange(innermost_post, this)) {}

// A task that was taken is gone, and so may be its span.
Tracing::~Tracing() {
  innermost_post = outer_;
  if (span_ != nullptr && task_) span_->withdraw(task_);
}

void Tracing::note_room() noexcept {
  const Tracing* const post = innermost_post;
  if (post != nullptr && post->span_ != nullptr && post->task_) post->span_->accept();
}

}  // namespace muster
