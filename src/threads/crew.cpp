// crew.cpp: accepting tasks, knowing when all are done, and stopping.
#include "threads/crew.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/simulation.hpp>
#include <muster/sync/fence.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/player.hpp>

#include "threads/timers.hpp"

namespace muster {
namespace {

std::shared_ptr<Timers> make_timers(Crew& crew, const ThreadPoolOptions& options) {
  if (Simulation* const world = options.simulation; world != nullptr) {
    return std::make_shared<Timers>(crew, &crew, world->clock(), std::nullopt);
  }
  return std::make_shared<Timers>(crew, &crew, real_clock(), options.thread_name);
}

}  // namespace

Crew::Crew(const ThreadPoolOptions& options, CpuTopology topology)
    : options_(options),
      topology_(std::move(topology)),
      cpus_(place_workers(topology_, options)),
      gate_(options.admission, options.max_workers * Worker::kRingCapacity,
            [this](BackPressure state, std::size_t queued) { on_back_pressure(state, queued); }),
      meter_(options.timing),
      rates_(options.snapshot_window, current_time()),
      staff_({.most = options.max_workers,
              .spares = options.max_spare_workers,
              .wanted = options.workers}),
      placer_(*this, options),
      affinities_(options.affinity, options.admission.max_queued_per_key),
      has_inboxes_(options.queueing == Queueing::stealing && !options.priority_aging),
      is_plain_(has_inboxes_ && !gate_.is_counted()),
      is_shortest_(is_plain_ && options.tracer == nullptr),
      steals_(options.stealing.enabled),
      roster_(
          options.max_workers, options.max_spare_workers, [this] { recruit(); },
          alertness_of(options)),
      threads_(options.max_workers + options.max_spare_workers, options.thread_name, cpus_),
      timers_(make_timers(*this, options_)),
      ranked_(options.priority_aging),
      spares_(options.max_spare_workers),
      autoscaling_(*this, options.scaling) {
  time_for_strategy();
  try {
    start_all();
    autoscaling_.begin();
  } catch (...) {
    end({});
    leave_simulation();
    throw;
  }
}

void Crew::set_strategy(const StrategyChoice& strategy) {
  const std::string before = placer_.set_strategy(strategy);
  time_for_strategy();
  notices_.tell([&] { return StrategyChanged{.from = before, .to = placer_.strategy_name()}; });
}

// A strategy of the user's is told how long each task took.
void Crew::time_for_strategy() noexcept {
  const bool times_all = placer_.has_custom() && options_.timing != Timing::off;
  meter_.set_timing(times_all ? Timing::full : options_.timing);
}

Crew::~Crew() {
  stop({});
  leave_simulation();
}

void Crew::leave_simulation() noexcept {
  if (options_.simulation != nullptr) options_.simulation->leave(*this);
}

void Crew::refuse() const {
  throw Stopped(is_orphaned(id()) ? "cannot post a task: the pool belongs to the parent of this "
                                    "process; make a new one after fork()"
                                  : "cannot post a task: the pool has stopped");
}

// Locks may be held by threads that are not in this process, so nothing here or later takes one.
void Crew::orphan() noexcept {
  closed_.store(true, relaxed);  // relaxed: there is one thread
  Worker::leave_pool();
}

bool Crew::has_work() noexcept {
  return ranked_.size_approx() != 0 ||
         staff_.any_of([](Worker& each) { return each.has_work_approx(); });
}

Crew::Counts Crew::counts() const noexcept {
  Counts counts;
  // sync(task-done): what the counted tasks did is visible, and so is what they have posted.
  counts.done = leftovers_done_.load(acquire) + unqueued_.load(acquire);  // sync(task-done)
  staff_.for_each([&](const Worker& worker) {
    const Worker::Counters& own = worker.counters();
    counts.done += own.done.load(acquire) + own.moved.load(acquire);  // sync(task-done)
  });
  counts.entered = shared_.pushed_approx() + ranked_.pushed_approx();
  staff_.for_each([&](const Worker& worker) {
    // relaxed: a count.
    counts.entered += worker.counters().posted.load(relaxed) + worker.inbox().pushed_approx() +
                      worker.affine().pushed_approx();
  });
  return counts;
}

bool Crew::is_quiescent() const noexcept {
  const Counts now = counts();
  return now.done == now.entered;
}

bool Crew::is_finished() const noexcept {
  // sync(closed): pairs with the store in stop().
  return closed_.load(acquire) && is_quiescent();
}

void Crew::note_idle() {
  note_fewer_queued();
  full_fence();  // sync(idle-waiter): between what was done last and the look for waiters
  // relaxed: so it sees the waiter, or the waiter sees the crew quiescent.
  if (idle_waiters_.load(relaxed) == 0 || !is_quiescent()) return;
  const MutexLock lock(idle_mutex_);
  idle_.notify_all();
}

void Crew::wait_idle() {
  if (is_orphaned(id())) {
    throw Stopped("cannot wait for a pool that belongs to the parent of this process");
  }
  if (options_.simulation != nullptr) {
    options_.simulation->play_until([this] { return is_quiescent(); }, Time::max(), "wait_idle()");
    return;
  }
  const BlockingRegion region;          // on a worker of another pool
  idle_waiters_.fetch_add(1, relaxed);  // relaxed: the fence below publishes it
  full_fence_after_rmw();               // sync(idle-waiter): pairs with note_idle()
  {
    const MutexLock lock(idle_mutex_);
    while (!is_quiescent()) idle_.wait(idle_mutex_);
  }
  idle_waiters_.fetch_sub(1, relaxed);  // relaxed: too many notices do no harm
}

StopResult Crew::stop(const StopOptions& options) {
  if (is_orphaned(id())) return {};  // its threads are in another process
  return end(options);
}

StopResult Crew::end(const StopOptions& options) {
  // relaxed: workers see it a little later.
  if (options.mode == Stop::discard) discarding_.store(true, relaxed);
  timers_->close();
  // sync(closed): seq_cst, with the fence of wake_all() behind it: whoever posts sees it, or its
  // task is seen by the workers before they end.
  closed_.store(true, seq_cst);
  // Whoever is being started is there now, and nobody else is started, but for spares. Nobody
  // leaves either: the end is the same for all.
  {
    const MutexLock lock(staff_.mutex);
    staff_.close();
  }
  gate_.close();
  spares_.close();
  roster_.wake_all();
  shared_.wake_all();
  if (!wait_for_ends(options.timeout)) {
    const Counts now = counts();
    return {.unfinished = now.entered - now.done};
  }
  {
    const MutexLock lock(stop_mutex_);
    if (joined_) return {};
    threads_.join_all();
    timers_->finish();  // only now: tasks that run until their timeout have ended
    joined_ = true;
  }
  run_leftovers();
  return {};
}

// False: `timeout` was not enough.
bool Crew::wait_for_ends(std::optional<Duration> timeout) {
  const Time deadline = timeout ? deadline_after(*timeout) : Time::max();
  if (options_.simulation != nullptr) {
    return options_.simulation->play_until([this] { return is_quiescent(); }, deadline, "stop()");
  }
  const BlockingRegion region;  // on a worker of another pool
  return threads_.wait_for_ends(deadline);
}

// The timer thread, or what a timeout calls there, cannot wait for its own end: whoever stops runs
// what it leaves.
void Crew::stop_and_run_leftovers() {
  if (timers_->is_own_thread()) return;
  stop({});
  run_leftovers();
}

// Tasks that were pushed while the workers ended. They were accepted, so they are run.
void Crew::run_leftovers() {
  const auto run = [this](Closure& task) {
    gate_.leave();
    try {
      if (!is_discarding()) std::move(task)();
    } catch (...) {
      report(std::current_exception());
    }
    task.reset();                           // NOLINT(bugprone-use-after-move): if it was not called
    leftovers_done_.fetch_add(1, release);  // sync(task-done): pairs with counts()
  };
  Closure task;
  while (ranked_.try_pop_urgent(task)) run(task);
  staff_.for_each([&](Worker& each) {
    while (each.inbox().try_pop(task) != SpillPop::empty) run(task);
    for (AffineTask affine; each.affine().pop(kLowestPriority, affine);) {
      affinities_.leave(affine.key_hash);
      run(affine.task);
    }
  });
  while (try_pop_shared(task)) run(task);
  note_idle();
}

void Crew::report(std::exception_ptr error, std::string_view task_name) noexcept {
  notices_.tell(
      [&] { return TaskFailed{.name = std::string(task_name), .what = message_of(error)}; });
  if (options_.on_error) return options_.on_error(std::move(error));
  MUSTER_LOG(LogLevel::error,
             (task_name.empty() ? "a posted task" : "posted task \"" + std::string(task_name) + '"')
                 << " failed: " << message_of(error));
}

void Crew::note_failure() noexcept {
  if (origin() == Origin::inside) Worker::current()->note_failure();
}

bool Crew::pop_shared(Worker& worker, Closure& out) {
  const auto has_ended = [&] {
    if (is_finished() || staff_.is_one_too_many(worker.index())) return true;
    worker.begin_idle();
    return false;
  };
  const bool has_popped = shared_.pop(
      out, [this](Closure& task) { return ranked_.try_pop_urgent(task); },
      [this](Closure& task) { return ranked_.try_pop_idle(task); }, has_ended);
  worker.end_idle();
  return has_popped;
}

bool Crew::try_pop_shared(Closure& out) {
  return ranked_.try_pop_urgent(out) || shared_.try_pop(out) || ranked_.try_pop_idle(out);
}

}  // namespace muster
