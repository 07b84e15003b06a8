// crew.cpp: accepting tasks, knowing when all are done, and stopping.
#include "threads/crew.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/sync/fence.hpp>
#include <muster/sync/future_state.hpp>

namespace muster {
namespace {

// The inbox for the next task from this thread.
constinit thread_local std::size_t inbox_in_turn = 0;

}  // namespace

Crew::Crew(const ThreadPoolOptions& options) : options_(options), roster_(options.workers) {
  for (std::size_t i = 0; i < options.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, i, i + 1));
  }
  {
    const MutexLock lock(idle_mutex_);
    running_workers_ = workers_.size();
  }
  std::size_t started = 0;
  try {
    for (; started < workers_.size(); ++started) workers_[started]->start();
  } catch (const std::system_error& error) {
    closed_.store(true, seq_cst);  // sync(closed): as in stop()
    roster_.wake_all();
    shared_work_.notify_all();
    for (std::size_t i = 0; i < started; ++i) workers_[i]->join();
    throw SystemFailure(
        "start worker " + std::to_string(started) + " of " + std::to_string(workers_.size()),
        error.code().value(), "ask for fewer workers, or allow more threads");
  }
}

Crew::~Crew() {
  stop({});
}

Crew::From Crew::from_where() const noexcept {
  const Worker* const self = Worker::current();
  return self != nullptr && &self->crew() == this ? From::inside : From::outside;
}

void Crew::post(Closure&& task) {
  const From from = from_where();
  if (options_.queueing == Queueing::global) return post_shared(std::move(task), from);
  if (from == From::inside) return Worker::current()->post_from_inside(std::move(task));
  if (closed_.load(relaxed)) refuse();  // relaxed: looked at again after the push
  place(std::move(task));
  roster_.notify();
  // sync(closed): the fence in notify() stands between the push and this look. relaxed: so it sees
  // the closing, or the workers see the push before they end.
  if (closed_.load(relaxed)) run_leftovers();
}

void Crew::post_ranked(Priority priority, Closure&& task) {
  if (priority == 0) return post(std::move(task));
  const From from = from_where();
  if (from == From::outside && closed_.load(relaxed)) refuse();  // relaxed: looked at again below
  ranked_.push(priority, std::move(task));
  roster_.notify();
  if (options_.queueing == Queueing::global) {
    const MutexLock lock(shared_mutex_);
    shared_work_.notify_one();
  }
  // sync(closed): as in post(). relaxed: as there.
  if (from == From::outside && closed_.load(relaxed)) run_leftovers();
}

void Crew::refuse() {
  throw Stopped("cannot post a task: the pool has stopped");
}

// In turn; but a ring that is full is left alone as long as another has room.
void Crew::place(Closure&& task) {
  const std::size_t first = inbox_in_turn < workers_.size() ? inbox_in_turn : 0;
  inbox_in_turn = first + 1;
  std::size_t index = first;
  do {
    // NOLINTNEXTLINE(bugprone-use-after-move): a push that is refused moves nothing
    if (workers_[index]->inbox().try_push(std::move(task))) return;
    index = index + 1 < workers_.size() ? index + 1 : 0;
  } while (index != first);
  workers_[first]->inbox().push(std::move(task));
}

bool Crew::has_work() noexcept {
  return ranked_.size_approx() != 0 ||
         std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->has_work_approx(); });
}

Crew::Counts Crew::counts() const noexcept {
  Counts counts;
  // sync(task-done): what the counted tasks did is visible, and so is what they have posted.
  counts.done = leftovers_done_.load(acquire);
  for (const auto& worker : workers_) {
    const Worker::Counters& own = worker->counters();
    counts.done += own.done.load(acquire) + own.moved.load(acquire);  // sync(task-done)
  }
  counts.entered = shared_pushed_.load(relaxed) + ranked_.pushed_approx();  // relaxed: a count
  for (const auto& worker : workers_) {
    // relaxed: a count.
    counts.entered += worker->counters().posted.load(relaxed) + worker->inbox().pushed_approx();
  }
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
  full_fence();  // sync(idle-waiter): between what was done last and the look for waiters
  // relaxed: so it sees the waiter, or the waiter sees the crew quiescent.
  if (idle_waiters_.load(relaxed) == 0 || !is_quiescent()) return;
  const MutexLock lock(idle_mutex_);
  idle_.notify_all();
}

void Crew::wait_idle() {
  idle_waiters_.fetch_add(1, relaxed);  // relaxed: the fence below publishes it
  full_fence_after_rmw();               // sync(idle-waiter): pairs with note_idle()
  {
    const MutexLock lock(idle_mutex_);
    while (!is_quiescent()) idle_.wait(idle_mutex_);
  }
  idle_waiters_.fetch_sub(1, relaxed);  // relaxed: too many notices do no harm
}

StopResult Crew::stop(const StopOptions& options) {
  // relaxed: workers see it a little later.
  if (options.mode == Stop::discard) discarding_.store(true, relaxed);
  // sync(closed): seq_cst, with the fence of wake_all() behind it: whoever posts sees it, or its
  // task is seen by the workers before they end.
  closed_.store(true, seq_cst);
  roster_.wake_all();
  {
    const MutexLock lock(shared_mutex_);
    shared_work_.notify_all();
  }
  if (!wait_for_ends(options.timeout)) {
    const Counts now = counts();
    return {.unfinished = now.entered - now.done};
  }
  const MutexLock lock(stop_mutex_);
  if (joined_) return {};
  for (const auto& worker : workers_) worker->join();
  joined_ = true;
  return {};
}

// False: `timeout` was not enough.
bool Crew::wait_for_ends(std::optional<Duration> timeout) {
  const Time deadline = timeout ? deadline_after(*timeout) : Time::max();
  const MutexLock lock(idle_mutex_);
  while (running_workers_ != 0) {
    if (deadline == Time::max()) {
      ended_.wait(idle_mutex_);
    } else if (!ended_.wait_until(idle_mutex_, deadline)) {
      return running_workers_ == 0;
    }
  }
  return true;
}

void Crew::note_end() {
  const MutexLock lock(idle_mutex_);
  if (--running_workers_ == 0) ended_.notify_all();
}

// Tasks that were pushed while the workers ended. They were accepted, so they are run.
void Crew::run_leftovers() {
  stop({});
  const auto run = [this](Closure& task) {
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
  for (const auto& worker : workers_) {
    while (worker->inbox().try_pop(task) != SpillPop::empty) run(task);
  }
  while (ranked_.try_pop_idle(task)) run(task);
}

void Crew::report(std::exception_ptr error) noexcept {
  if (options_.on_error) return options_.on_error(std::move(error));
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    MUSTER_LOG(LogLevel::error, "a posted task threw: " << exception.what());
  } catch (...) {
    MUSTER_LOG(LogLevel::error, "a posted task threw something that is no std::exception");
  }
}

void Crew::post_shared(Closure&& task, From from) {
  {
    const MutexLock lock(shared_mutex_);
    // relaxed: a worker that ends has seen, under the mutex, the crew closed and nothing left.
    if (from == From::outside && closed_.load(relaxed)) refuse();
    shared_.push_back(std::move(task));
    // relaxed: written under the mutex; a count for others.
    shared_pushed_.store(shared_pushed_.load(relaxed) + 1, relaxed);
  }
  shared_work_.notify_one();
}

bool Crew::pop_shared(Closure& out) {
  const MutexLock lock(shared_mutex_);
  while (!take_shared(out)) {
    if (is_finished()) {
      shared_work_.notify_all();
      return false;
    }
    shared_work_.wait(shared_mutex_);
  }
  return true;
}

bool Crew::take_shared(Closure& out) {
  if (ranked_.try_pop_urgent(out)) return true;
  if (shared_.empty()) return ranked_.try_pop_idle(out);
  out = std::move(shared_.front());
  shared_.pop_front();
  return true;
}

ThreadPoolStats Crew::stats() const {
  ThreadPoolStats stats = lifetime_stats();
  const MutexLock lock(stats_mutex_);
  if (reset_.workers.empty()) return stats;
  stats.submitted -= reset_.submitted;
  stats.completed -= reset_.completed;
  for (std::size_t i = 0; i < stats.workers.size(); ++i) {
    ThreadPoolStats::Worker& now = stats.workers[i];
    const ThreadPoolStats::Worker& then = reset_.workers[i];
    now.completed -= then.completed;
    now.failed -= then.failed;
    now.dropped -= then.dropped;
    now.steal_attempts -= then.steal_attempts;
    now.successful_steals -= then.successful_steals;
    now.lost_races -= then.lost_races;
    now.forks_offered -= then.forks_offered;
    now.forks_taken -= then.forks_taken;
    now.idle_spins -= then.idle_spins;
    now.parks -= then.parks;
  }
  return stats;
}

void Crew::reset_stats() {
  ThreadPoolStats now = lifetime_stats();
  const MutexLock lock(stats_mutex_);
  reset_ = std::move(now);
}

ThreadPoolStats Crew::lifetime_stats() const {
  ThreadPoolStats stats;
  const auto read = [](const Atomic<std::uint64_t>& counter) {
    return counter.load(relaxed);  // relaxed: a count
  };
  stats.completed = read(leftovers_done_);
  stats.submitted = read(shared_pushed_) + ranked_.pushed_approx();
  stats.queued = ranked_.size_approx();
  for (const auto& worker : workers_) {
    const Worker::Counters& counters = worker->counters();
    const ForkStack::Counters& forks = worker->forks().counters();
    stats.workers.push_back({.completed = read(counters.done),
                             .failed = read(counters.failed),
                             .dropped = read(counters.dropped),
                             .steal_attempts = read(counters.steal_attempts),
                             .successful_steals = read(counters.stolen),
                             .lost_races = read(counters.lost_races),
                             .forks_offered = read(forks.offered),
                             .forks_taken = read(forks.taken),
                             .idle_spins = read(counters.idle_spins),
                             .parks = read(counters.parks),
                             .queued = worker->queued_approx(),
                             .busy = read(counters.busy) != 0});
    const ThreadPoolStats::Worker& last = stats.workers.back();
    stats.submitted +=
        read(counters.posted) + worker->inbox().pushed_approx() - read(counters.moved);
    stats.completed += last.completed;
    stats.queued += last.queued;
    stats.busy_workers += last.busy ? 1 : 0;
  }
  stats.sleeping_workers = static_cast<unsigned>(roster_.sleeping_approx());
  return stats;
}

}  // namespace muster
