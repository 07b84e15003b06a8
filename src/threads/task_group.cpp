// task_group.cpp: a group's own list of tasks, and tickets for them in the pool's queues.
//
// The pool is handed one ticket per task, which runs whatever task of the group is next. So a
// waiter can take tasks straight from the list; tickets that come later find nothing and end.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>

#include <muster/sync/blocking.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/sync/player.hpp>
#include <muster/task_group.hpp>

namespace muster {

namespace {

// How long a waiting worker is not stood in for.
constexpr std::chrono::milliseconds kShortWait{1};

}  // namespace

class TaskGroup::State {
 public:
  // The number of the ticket for it.
  std::uint64_t add(Closure&& task) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    waiting_.push_back({std::move(task), ++added_});
    ++unfinished_;
    changed_.notify_all();
    return added_;
  }

  // Runs one task. False: none waits.
  bool run_next() MUSTER_EXCLUDES(mutex_) {
    std::optional<Closure> task = take_next();
    if (!task) return false;
    std::exception_ptr error;
    try {
      std::move (*task)();
    } catch (...) {
      error = std::current_exception();
    }
    finish(std::move(error));
    return true;
  }

  // A ticket was dropped by a pool that stops: so is a task, its own or, if another ticket runs
  // that, the oldest. Whoever waits gets an error.
  void drop(std::uint64_t number) noexcept MUSTER_EXCLUDES(mutex_) {
    Closure dropped;  // destroyed without the lock: its captures may do as they like
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) return;
      const auto own = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Entry& entry) { return entry.number == number; });
      const auto chosen = own != waiting_.end() ? own : waiting_.begin();
      dropped = std::move(chosen->task);
      waiting_.erase(chosen);
    }
    dropped.reset();
    finish(std::make_exception_ptr(Stopped("a task of the group was dropped: its pool stopped")));
  }

  // Until all are done; between tasks of its own if the waiter helps. A worker that has to wait for
  // long is stood in for.
  enum class Waiter { helps, only_waits };
  void wait(Waiter waiter) MUSTER_EXCLUDES(mutex_) {
    if (current_player != nullptr) {
      while (waiter == Waiter::helps && run_next()) {
      }
      current_player->play_until([this] { return is_done(); }, Time::max(), "TaskGroup::wait()");
      return;
    }
    if (wait_until(waiter, real_clock().now() + kShortWait)) return;
    const BlockingRegion region;
    while (!wait_until(waiter, Time::max())) {
    }
  }

  std::exception_ptr take_first_error() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return std::exchange(first_error_, nullptr);
  }

 private:
  struct Entry {
    Closure task;
    std::uint64_t number;
  };

  bool is_done() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return unfinished_ == 0;
  }

  // False if `deadline` passed while there was nothing to do.
  bool wait_until(Waiter waiter, Time deadline) MUSTER_EXCLUDES(mutex_) {
    for (;;) {
      while (waiter == Waiter::helps && run_next()) {
      }
      const MutexLock lock(mutex_);
      while (unfinished_ != 0 && !(waiter == Waiter::helps && !waiting_.empty())) {
        if (deadline == Time::max()) {
          changed_.wait(mutex_);
        } else if (!changed_.wait_until(mutex_, deadline)) {
          return unfinished_ == 0;
        }
      }
      if (unfinished_ == 0) return true;
    }
  }

  void finish(std::exception_ptr error) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (error != nullptr && first_error_ == nullptr) first_error_ = std::move(error);
    if (--unfinished_ == 0) changed_.notify_all();
  }

  std::optional<Closure> take_next() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    std::optional<Closure> task(std::move(waiting_.front().task));
    waiting_.pop_front();
    return task;
  }

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Entry> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t added_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::size_t unfinished_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::exception_ptr first_error_ MUSTER_GUARDED_BY(mutex_);
};

// Stands in the pool's queues for one task, whichever.
class TaskGroup::Ticket {
 public:
  static constexpr bool kMustRun = true;

  Ticket(std::shared_ptr<State> state, std::uint64_t number) noexcept
      : state_(std::move(state)), number_(number) {}
  Ticket(Ticket&& other) noexcept = default;
  ~Ticket() {
    if (state_ != nullptr) state_->drop(number_);
  }

  void operator()() { std::exchange(state_, nullptr)->run_next(); }

 private:
  std::shared_ptr<State> state_;
  std::uint64_t number_;
};

TaskGroup::TaskGroup(ThreadPool& pool) : pool_(pool), state_(std::make_shared<State>()) {}

TaskGroup::~TaskGroup() {
  if (is_orphaned(pool_.executor_id())) return;  // nobody is left to run its tasks
  state_->wait(pool_.is_inside() ? State::Waiter::helps : State::Waiter::only_waits);
}

void TaskGroup::run_closure(Closure&& task) {
  pool_.trace(task);
  pool_.post_stand_in(Closure(Ticket(state_, state_->add(std::move(task)))));
}

void TaskGroup::wait() {
  if (is_orphaned(pool_.executor_id())) {
    throw Stopped("cannot wait for a group whose pool belongs to the parent of this process");
  }
  state_->wait(pool_.is_inside() ? State::Waiter::helps : State::Waiter::only_waits);
  if (const std::exception_ptr error = state_->take_first_error()) std::rethrow_exception(error);
}

}  // namespace muster
