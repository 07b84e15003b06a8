// crew_scaling.cpp: more workers or fewer, and what those who leave have waiting.
//
// docs/design/scaling.md says why no task is forgotten.
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <thread>

#include <muster/base/log.hpp>
#include <muster/simulation.hpp>
#include <muster/sync/fence.hpp>

#include "threads/crew.hpp"
#include "threads/timers.hpp"

namespace muster {
namespace {

// The inbox for the next task that this thread hands over.
constinit thread_local std::size_t heir_in_turn = 0;

}  // namespace

void Crew::resize(const Resizing& resizing, const std::string& reason) {
  std::size_t before = 0;
  std::size_t after = 0;
  std::exception_ptr failure;
  {
    const MutexLock lock(staff_.mutex);
    // relaxed: stop() takes the mutex after it.
    if (closed_.load(relaxed)) throw Stopped("cannot resize: the pool has stopped");
    before = staff_.wanted();
    const std::ptrdiff_t wished = static_cast<std::ptrdiff_t>(before) + resizing.change;
    staff_.want(std::clamp(static_cast<std::size_t>(std::max<std::ptrdiff_t>(wished, 0)),
                           resizing.least, resizing.most));
    full_fence();  // sync(serving-or-pushed): before the looks of see_off()
    try {
      // Those of a lazy crew come when they are needed.
      if (options_.start == Start::eager && options_.simulation == nullptr) hire();
    } catch (...) {
      failure = std::current_exception();
    }
    note_staff();
    after = staff_.wanted();
  }
  see_off();
  welcome();
  placer_.meet_workers();
  if (after != before) autoscaling_.note_change({.before = before, .after = after}, reason);
  // sync(closed): as in post(): what was handed over after the workers had ended must be run.
  // relaxed: the fences of the hand-over stand before it.
  if (closed_.load(relaxed) && origin() == Origin::outside) stop_and_run_leftovers();
  if (failure != nullptr) std::rethrow_exception(failure);
}

// Starts those who are missing. If one cannot be started, no more are wanted than there are.
void Crew::hire() {
  for (std::size_t i = 0; i < staff_.wanted(); ++i) {
    if (staff_.is_there(i)) continue;
    try {
      start_regular(i);
    } catch (...) {
      staff_.want(std::max<std::size_t>(i, 1));
      note_staff();
      full_fence();  // sync(serving-or-pushed): as in resize()
      throw;
    }
  }
}

// Whoever was not started by hire(). For the others it waits, if it can.
void Crew::welcome() {
  if (options_.simulation != nullptr) {
    for (std::size_t i = 0; i < staff_.wanted(); ++i) {
      if (!staff_.is_there(i)) play_as(i);
    }
  } else if (options_.start == Start::lazy) {
    if (queued_approx() != 0) recruit();
  } else if (can_wait_for_workers()) {
    const MutexLock lock(staff_.mutex);
    for (std::size_t i = 0; i < staff_.wanted(); ++i) staff_.wait_until_there(i);
  }
}

// What those have who serve no more goes to others, and they leave.
void Crew::see_off() {
  // All there ever were: one may have looked into its inbox and left before the last push into it.
  const std::size_t made = staff_.made();
  if (made != 0) hand_over(made - 1);
  for (std::size_t i = staff_.wanted(); i < made; ++i) {
    if (options_.simulation != nullptr) {
      worker(i)->leave_if_one_too_many();
    } else {
      roster_.notify_worker(i);
    }
  }
  if (options_.queueing == Queueing::global) shared_.wake_all();
}

bool Crew::leave(std::size_t index) {
  {
    const MutexLock lock(staff_.mutex);
    if (!staff_.leave(index)) return false;
  }
  // It may have been woken for a task, or have been the last to have one.
  roster_.notify();
  note_idle();
  notices_.tell([&] { return WorkerRemoved{.worker = static_cast<unsigned>(index)}; });
  return true;
}

void Crew::note_staff() {
  const std::size_t missing = staff_.missing();
  roster_.set_workers(staff_.serving() + missing);
  roster_.set_absent(missing);
  placer_.drop_plans();
}

void Crew::hand_over(std::size_t index) noexcept {
  bool has_moved = false;
  for (;;) {
    const std::size_t serving = staff_.serving();
    if (index < serving || serving == 0) break;  // 0: whoever is the first to serve sees to it
    std::size_t furthest = 0;
    for (std::size_t i = serving; i <= index; ++i) {
      Worker* const from = worker(i);
      Closure task;
      AffineTask affine;
      const auto note_moved = [&](std::size_t heir) {
        unqueued_.fetch_add(1, release);  // sync(task-done): it has entered twice
        put_back_.fetch_add(1, relaxed);  // relaxed: a count
        furthest = std::max(furthest, heir);
        has_moved = true;
        return heir;
      };
      // As long as it does not serve again.
      const auto may_take = [&] { return from != nullptr && i >= staff_.serving(); };
      while (may_take() && from->inbox().try_pop(task) != SpillPop::empty) {
        notify_heir(note_moved(rehome(std::move(task), i)));
      }
      while (may_take() && from->affine().pop(kLowestPriority, affine)) {
        const AffinityClass affinity_class = affine.affinity_class;
        notify_of_affine(note_moved(rehome(std::move(affine))), affinity_class);
      }
    }
    index = furthest;  // who may have ceased to serve meanwhile
  }
  if (has_moved) note_idle();  // whoever ran the last of them may have seen it counted twice
}

// If there is no memory for it, it waits until a ring has room.
std::size_t Crew::rehome(Closure&& task, std::size_t from) noexcept {
  for (;;) {
    const std::size_t serving = staff_.serving();
    const bool stays = from < serving || serving == 0;  // serves again, or nobody does yet
    const std::size_t first = stays ? from : heir_in_turn++ % serving;
    for (std::size_t i = 0; i < (stays ? 1 : serving); ++i) {
      const std::size_t place = stays ? from : (first + i) % serving;
      // NOLINTNEXTLINE(bugprone-use-after-move): a push that is refused moves nothing
      if (worker(place)->inbox().try_push(std::move(task))) return place;
    }
    try {
      worker(first)->inbox().push(std::move(task));
      return first;
    } catch (const std::bad_alloc&) {
      std::this_thread::yield();
    }
  }
}

// Where its key belongs now.
std::size_t Crew::rehome(AffineTask&& task) noexcept {
  for (;;) {
    try {
      task.home = affinities_.worker_of(task.key_hash, staff_.serving(), current_time());
      const std::size_t home = task.home;
      worker(home)->affine().push(std::move(task));
      return home;
    } catch (const std::bad_alloc&) {
      std::this_thread::yield();
    }
  }
}

}  // namespace muster
