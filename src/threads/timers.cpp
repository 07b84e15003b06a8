// timers.cpp: sleeping until something is due, and the life of a timer.
#include "threads/timers.hpp"

#include <algorithm>
#include <exception>
#include <pthread.h>
#include <system_error>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/error.hpp>
#include <muster/timer.hpp>

#include "threads/task_span.hpp"

namespace muster {
namespace {

constinit thread_local const Timers* current_timers = nullptr;

}  // namespace

// What a timer's handles, its place in the queue and its posted task share.
class TimerState {
 public:
  TimerState(std::shared_ptr<Timers> owner, ExecutorId pool, std::optional<Duration> repeated,
             std::unique_ptr<detail::TimerCall> called, std::optional<TraceContext> traced) noexcept
      : timers(std::move(owner)),
        home(pool),
        period(repeated),
        trace(std::move(traced)),
        call(std::move(called)) {}

  enum Phase {
    armed,     // in the queue
    posted,    // its task waits for a worker
    running,   // on a worker
    last_run,  // the same, and cancelled
    over,
  };

  const std::shared_ptr<Timers> timers;  // which lets go of this in close(), at the latest
  const ExecutorId home;
  const std::optional<Duration> period;
  const std::optional<TraceContext> trace;  // none: not traced

  // Guarded by the mutex of `timers`.
  Phase phase = armed;
  TimerKey key;

  // Belongs to whoever runs it, or has turned the phase to `over`. So it is destroyed outside of
  // the mutex: what it has captured may do as it likes.
  std::unique_ptr<detail::TimerCall> call;
};

namespace {

// When its task comes to be run or dropped.
void note_cancelled(const TimerState& timer) noexcept {
  if (timer.trace) TaskSpan::note(TaskOutcome::cancelled);
}

}  // namespace

// Stands in the crew's queues for a timer whose time has come.
class Timers::Run {
 public:
  static constexpr bool kMustRun = true;

  explicit Run(std::shared_ptr<TimerState> timer) noexcept : timer_(std::move(timer)) {}
  Run(Run&& other) noexcept = default;
  ~Run() {
    if (timer_ != nullptr) timer_->timers->drop_posted(*timer_);  // a stop has discarded it
  }

  void operator()() {
    const std::shared_ptr<TimerState> timer = std::move(timer_);
    timer->timers->run(timer);
  }

 private:
  std::shared_ptr<TimerState> timer_;
};

detail::TimerCall::~TimerCall() = default;

bool Timer::cancel() noexcept {
  const std::shared_ptr<TimerState> state = state_;  // the captures may hold this very handle
  if (state == nullptr || is_orphaned(state->home)) return false;
  return state->timers->cancel(*state);
}

bool Timer::is_active() const noexcept {
  return state_ != nullptr && !is_orphaned(state_->home) && state_->timers->is_active(*state_);
}

Timers::Timers(Executor& crew, Employer* employer, const Clock& clock,
               std::optional<std::string> thread_name)
    : crew_(crew), employer_(employer), clock_(clock), thread_name_(std::move(thread_name)) {}

Timers::~Timers() = default;

std::shared_ptr<TimerState> Timers::start(TimerRepeat repeat, Duration wait,
                                          std::unique_ptr<detail::TimerCall> call,
                                          std::optional<TraceContext> trace) {
  if (is_orphaned(crew_.id())) {
    throw Stopped("cannot start a timer: the pool belongs to the parent of this process");
  }
  const Time due = time_after(clock_.now(), wait);
  auto timer = std::make_shared<TimerState>(
      shared_from_this(), crew_.id(),
      repeat == TimerRepeat::always ? std::optional(wait) : std::nullopt, std::move(call),
      std::move(trace));
  const MutexLock lock(mutex_);
  if (closed_) throw Stopped("cannot start a timer: the pool has stopped");
  see_to_thread();
  timer->key = timers_.add(due, timer);
  wake_before(due);
  return timer;
}

bool Timers::cancel(TimerState& timer) noexcept {
  std::optional<std::shared_ptr<TimerState>> entry;
  {
    const MutexLock lock(mutex_);
    if (!will_run(timer)) return false;
    if (timer.phase == TimerState::running) {
      timer.phase = TimerState::last_run;
      return true;
    }
    if (timer.phase == TimerState::armed) entry = timers_.remove(timer.key);
    timer.phase = TimerState::over;
  }
  timer.call.reset();
  return true;
}

bool Timers::is_active(const TimerState& timer) noexcept {
  const MutexLock lock(mutex_);
  return will_run(timer);
}

bool Timers::will_run(const TimerState& timer) const noexcept {
  if (timer.phase == TimerState::running) return timer.period && !closed_;
  return timer.phase == TimerState::armed || timer.phase == TimerState::posted;
}

// On a worker.
void Timers::run(const std::shared_ptr<TimerState>& timer) {
  {
    const MutexLock lock(mutex_);
    if (timer->phase != TimerState::posted) return note_cancelled(*timer);
    timer->phase = TimerState::running;
  }
  try {
    timer->call->call();
  } catch (...) {
    end_run(timer);
    throw;
  }
  end_run(timer);
}

void Timers::end_run(const std::shared_ptr<TimerState>& timer) {
  {
    const MutexLock lock(mutex_);
    const std::optional<Duration> period = will_run(*timer) ? timer->period : std::nullopt;
    timer->phase = TimerState::over;
    if (period) {
      timer->key = timers_.add(next_tick(timer->key.due, *period, clock_.now()), timer);
      timer->phase = TimerState::armed;
      wake_before(timer->key.due);
      return;
    }
  }
  timer->call.reset();
}

void Timers::drop_posted(TimerState& timer) noexcept {
  {
    const MutexLock lock(mutex_);
    if (timer.phase != TimerState::posted) return note_cancelled(timer);
    timer.phase = TimerState::over;
  }
  timer.call.reset();
}

TimerKey Timers::watch(Duration timeout, Closure&& ring) {
  const Time due = time_after(clock_.now(), timeout);
  const MutexLock lock(mutex_);
  if (finished_) throw Stopped("cannot begin a task that has a timeout: its pool has ended");
  see_to_thread();
  const TimerKey watch = watches_.add(due, std::move(ring));
  wake_before(due);
  return watch;
}

void Timers::unwatch(const TimerKey& watch) noexcept {
  std::optional<Closure> ring;
  const MutexLock lock(mutex_);
  ring = watches_.remove(watch);
  while (ringing_ == watch.number) rung_.wait(mutex_);
}

void Timers::close() {
  for (;;) {
    std::shared_ptr<TimerState> dropped;
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      dropped = timers_.pop_any().value_or(nullptr);
      if (dropped == nullptr) return;
      dropped->phase = TimerState::over;
    }
    dropped->call.reset();
  }
}

void Timers::finish() {
  std::thread thread;
  TimerQueue<Closure> dropped;
  {
    const MutexLock lock(mutex_);
    finished_ = true;
    std::swap(thread, thread_);
    std::swap(dropped, watches_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
}

bool Timers::is_own_thread() const noexcept {
  return current_timers == this;
}

void Timers::see_to_thread() {
  if (!thread_name_ || thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { main(); });
  } catch (const std::system_error& error) {
    throw SystemFailure("start the thread for timers", error.code().value(), "allow more threads");
  }
}

void Timers::main() {
  const std::string name = thread_name_.value_or("") + "-timer";
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  current_timers = this;
  current_employer = employer_;
  for (;;) {
    Due due;
    {
      const MutexLock lock(mutex_);
      while (!finished_ && !(due = take_due())) sleep();
    }
    if (!due) return;
    act(std::move(due));
  }
}

void Timers::act_on_due() {
  for (;;) {
    Due due;
    {
      const MutexLock lock(mutex_);
      due = take_due();
    }
    if (!due) return;
    act(std::move(due));
  }
}

void Timers::sleep() {
  const std::optional<Time> next = earliest();
  wakes_at_ = next.value_or(Time::max());
  if (next) {
    wake_.wait_until(mutex_, *next);
  } else {
    wake_.wait(mutex_);
  }
  wakes_at_ = Time::min();
}

// A thread that wakes too early looks and sleeps again; so nobody wakes it when a watch is gone,
// and whoever comes next, with the same timeout, need not wake it either.
void Timers::wake_before(Time due) {
  if (due < wakes_at_) wake_.notify_one();
}

std::optional<Time> Timers::next_due() {
  const MutexLock lock(mutex_);
  return earliest();
}

std::optional<Time> Timers::earliest() const {
  const std::optional<Time> timer = timers_.next_due();
  const std::optional<Time> watch = watches_.next_due();
  return timer && watch ? std::min(timer, watch) : timer ? timer : watch;
}

// Watches first: there are only as many as tasks run, so timers have their turn.
Timers::Due Timers::take_due() {
  const Time now = clock_.now();
  if (auto watch = watches_.pop_due(now)) {
    ringing_ = watch->key.number;
    return {.timer = nullptr, .ring = std::move(watch->item)};
  }
  if (auto timer = timers_.pop_due(now)) {
    timer->item->phase = TimerState::posted;
    return {.timer = std::move(timer->item), .ring = {}};
  }
  return {};
}

void Timers::act(Due due) {
  const TaskSpan::Apart apart;
  if (due.timer != nullptr) return post(std::move(due.timer));
  std::move(due.ring)();
  const MutexLock lock(mutex_);
  ringing_ = 0;
  rung_.notify_all();
}

void Timers::post(std::shared_ptr<TimerState> timer) noexcept {
  const std::optional<TraceContext> trace = timer->trace;
  try {
    const TraceScope scope(trace ? *trace : current_trace());
    crew_.execute(Closure(Run(std::move(timer))));
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::error, "a timer ends: cannot post its task: " << error.what());
  }
}

}  // namespace muster
