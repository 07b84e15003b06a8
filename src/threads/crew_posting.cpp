// crew_posting.cpp: how a task gets into a queue, and what becomes of it if there is no room.
#include <string>
#include <utility>

#include <muster/simulation.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/dropping.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/player.hpp>

#include "threads/crew.hpp"
#include "threads/timers.hpp"

namespace muster {
namespace {

// The inbox for the next task from this thread.
constinit thread_local std::size_t inbox_in_turn = 0;

// Which of its tasks are timed.
constinit thread_local Meter::Turn turn;

void count(Atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, relaxed);  // relaxed: a count
}

}  // namespace

Origin Crew::origin() const noexcept {
  const Worker* const self = Worker::current();
  return self != nullptr && &self->crew() == this ? Origin::inside : Origin::outside;
}

// There is a task in the inbox of this worker.
[[gnu::always_inline]] inline void Crew::notify_of_task_with(std::size_t index) noexcept {
  if (steals_) {
    roster_.notify_from_outside();
  } else {
    roster_.notify_worker(index);
  }
}

// Into an inbox. False: as false of post_special().
[[gnu::always_inline]] inline bool Crew::spread(Closure& task, Entry entry) {
  std::size_t place = try_place(task);
  if (place == kNowhere) place = spill(task, entry);
  if (place == kNowhere) return false;
  notify_of_task_with(place);
  // The fence in the notice stands between the push and this look, so either it sees that this
  // worker serves no more, or whoever decided that sees the push: docs/design/scaling.md.
  if (place >= staff_.serving()) [[unlikely]]
    hand_over(place);
  return true;
}

void Crew::post(Closure&& task) {
  if (!is_plain_) [[unlikely]]
    return static_cast<void>(post_special(0, task, Entry::by_policy));
  if (origin() == Origin::inside) return Worker::current()->post_from_inside(std::move(task));
  if (closed_.load(relaxed)) refuse();  // relaxed: looked at again after the push
  if (!spread(task, Entry::by_policy)) return;
  // sync(closed): the fence in the notice stands between the push and this look. relaxed: so it
  // sees the closing, or the workers see the push before they end.
  if (closed_.load(relaxed)) stop_and_run_leftovers();
}

void Crew::post_ranked(Priority priority, Closure&& task) {
  if (priority == 0) return post(std::move(task));
  static_cast<void>(post_special(priority, task, Entry::by_policy));
}

bool Crew::try_post(Priority priority, Closure&& task) {
  return post_special(priority, task, Entry::if_room);
}

void Crew::post_always(Closure&& task) {
  static_cast<void>(post_special(0, task, Entry::always));
}

// The timer thread is let in also after the closing, with a task that was due or what follows one
// that has timed out: none of them must run there. If no worker is left, stop() runs it.
void Crew::execute(Closure&& task) {
  if (!timers_->is_own_thread()) return post_always(std::move(task));
  gate_.enter();
  enqueue_entered(0, std::move(task), Origin::inside);
}

// With a look at everything. False: there was no room, and the policy has seen to the task; or, if
// it need only have come in if there was room, it is the caller's.
bool Crew::post_special(Priority priority, Closure& task, Entry entry) {
  const Origin from = origin();
  const bool is_outside = from == Origin::outside;
  if (is_outside && closed_.load(relaxed)) refuse();  // relaxed: looked at again after the push
  if (is_outside && is_plain_ && priority == 0) {
    if (!spread(task, entry)) return false;
  } else {
    if (!is_outside || entry == Entry::always) {
      gate_.enter();
    } else if (!find_room(task, entry)) {
      return false;
    }
    enqueue_entered(priority, std::move(task), from);
  }
  // sync(closed): as in post(). relaxed: as there.
  if (is_outside && closed_.load(relaxed)) stop_and_run_leftovers();
  return true;
}

// It was counted when it came in. If it cannot be queued, it has left again.
void Crew::enqueue_entered(Priority priority, Closure&& task, Origin from) {
  try {
    enqueue(priority, std::move(task), from);
  } catch (...) {
    gate_.leave();
    throw;
  }
}

// There is room for it, or it does not matter.
void Crew::enqueue(Priority priority, Closure&& task, Origin from) {
  if (priority == 0 && has_inboxes_) {
    // The timer thread is inside as well, but no worker.
    if (from == Origin::inside && origin() == Origin::inside) {
      return Worker::current()->post_from_inside(std::move(task));
    }
    return static_cast<void>(spread(task, Entry::always));
  }
  if (priority == 0 && !options_.priority_aging) return enqueue_shared(std::move(task), from);
  ensure_started();
  meter_.mark(task, turn);
  if (options_.priority_aging) {
    ranked_.push_aging(priority, current_time(), std::move(task));
  } else {
    ranked_.push(priority, std::move(task));
  }
  if (options_.queueing == Queueing::global) {
    shared_.wake_one();
    recruit();
  }
  roster_.notify();
  if (!gate_.is_counted()) gate_.note(queued_approx());
}

void Crew::enqueue_shared(Closure&& task, Origin from) {
  ensure_started();
  meter_.mark(task, turn);
  const SharedQueue::Workers workers = shared_.push(std::move(task), [&] {
    // relaxed: a worker that ends has seen, under the mutex, the crew closed and nothing left.
    if (from == Origin::outside && closed_.load(relaxed)) refuse();
  });
  if (workers == SharedQueue::Workers::all_busy && staff_.serving() < staff_.wanted()) recruit();
  if (!gate_.is_counted()) gate_.note(queued_approx());
}

// In turn; but a ring that is full is left alone as long as another has room.
std::size_t Crew::try_place(Closure& task) {
  meter_.mark(task, turn);
  const std::size_t count = ensure_started();
  if (options_.simulation != nullptr) inbox_in_turn = options_.simulation->random().below(count);
  const std::size_t first = inbox_in_turn < count ? inbox_in_turn : 0;
  inbox_in_turn = first + 1;
  std::size_t index = first;
  do {
    // NOLINTNEXTLINE(bugprone-use-after-move): a push that is refused moves nothing
    if (worker(index)->inbox().try_push(std::move(task))) return index;
    index = index + 1 < count ? index + 1 : 0;
  } while (index != first);
  return kNowhere;
}

// All rings are full; so a bound that is not counted may have been reached. Nowhere: as false of
// post_special().
std::size_t Crew::spill(Closure& task, Entry entry) {
  const std::size_t count = ensure_started();
  const std::size_t index = inbox_in_turn < count ? inbox_in_turn : 0;
  SpillingQueue<Closure>& inbox = worker(index)->inbox();
  // Tasks are spread evenly, so what one worker has tells whether to add up what all have.
  const std::size_t about = count * (Worker::kRingCapacity + inbox.spilled_approx());
  if (gate_.is_counted() || gate_.is_far_from(2 * about)) [[likely]] {
    inbox.push(std::move(task));
    return index;
  }
  if (entry != Entry::always && !find_room(task, entry)) return kNowhere;
  inbox.push(std::move(task));
  gate_.note(queued_approx());
  return index;
}

// False: there is none, and what is to be done then was done.
bool Crew::find_room(Closure& task, Entry entry) {
  while (!has_room()) {
    if (entry == Entry::if_room) return false;
    const Backlog full{.queued = gate_.options().max_queued};
    switch (admit(gate_.options(), full, Origin::outside).action) {
      case AdmissionAction::accept:
        return true;
      case AdmissionAction::wait:
        if (!wait_for_room()) reject();
        return true;
      case AdmissionAction::reject:
        reject();
      case AdmissionAction::drop_oldest:
        if (drop_oldest()) break;
        [[fallthrough]];  // nothing that may be dropped waits
      case AdmissionAction::drop_newest:
        count(gate_.counters().dropped_newest);
        drop(std::move(task), WhenFull::drop_newest);
        return false;
      case AdmissionAction::run_here:
        run_here(std::move(task));
        return false;
    }
  }
  return true;
}

bool Crew::has_room() noexcept {
  if (gate_.is_counted()) return gate_.try_enter();
  return queued_approx() < gate_.options().max_queued;
}

std::size_t Crew::queued_approx() noexcept {
  std::size_t queued = ranked_.size_approx() + shared_.size_approx();
  if (has_inboxes_) staff_.for_each([&](Worker& each) { queued += each.queued_approx(); });
  return queued;
}

bool Crew::wait_for_room() {
  count(gate_.counters().blocked);
  const std::optional<Duration> timeout = gate_.options().block_timeout;
  const Time deadline = timeout ? deadline_after(*timeout) : Time::max();
  const auto found = [this] { return has_room(); };
  bool has_found = false;
  if (current_player != nullptr) {
    has_found = current_player->play_until(found, deadline, "waiting for room in a pool");
  } else {
    const BlockingRegion region;  // on a worker of another pool
    has_found = gate_.wait(found, deadline);
  }
  if (!has_found && closed_.load(relaxed)) refuse();  // relaxed: as in post()
  if (!has_found) count(gate_.counters().block_timeouts);
  return has_found;
}

void Crew::reject() {
  count(gate_.counters().rejected);
  throw QueueFull("cannot post a task: " + std::to_string(gate_.options().max_queued) +
                  " wait already, and no more may (max_queued)");
}

bool Crew::drop_oldest() {
  Closure oldest;
  bool has_taken = false;
  if (has_inboxes_) {
    const std::size_t count = ensure_started();
    for (std::size_t i = 0; i < count && !has_taken; ++i) {
      has_taken = take_oldest_from(*worker((inbox_in_turn + i) % count), oldest);
    }
  } else {
    has_taken = shared_.drop_oldest(oldest);
  }
  if (!has_taken) return false;
  count(gate_.counters().dropped_oldest);
  drop(std::move(oldest), WhenFull::drop_oldest);
  unqueued_.fetch_add(1, release);  // sync(task-done): pairs with counts()
  gate_.leave();
  return true;
}

// What must run goes back, to the end.
bool Crew::take_oldest_from(Worker& worker, Closure& task) {
  for (std::size_t tries = worker.inbox().size_approx(); tries > 0; --tries) {
    const SpillPop popped = worker.inbox().try_pop(task);
    if (popped == SpillPop::empty) return false;
    const bool puts_back = task.must_run();
    if (puts_back) {
      worker.inbox().push(std::move(task));
      unqueued_.fetch_add(1, release);  // sync(task-done): it has entered twice
      put_back_.fetch_add(1, relaxed);  // relaxed: a count
    }
    if (puts_back || popped == SpillPop::refilled) {
      notify_of_task_with(worker.index());
      hand_over(worker.index());
    }
    if (!puts_back) return true;
  }
  return false;
}

// Whoever waits for it gets Dropped.
void Crew::drop(Closure&& task, WhenFull when_full) {
  const Dropping dropping;
  task.reset();
  if (options_.on_drop) options_.on_drop({dropping.task_name(), when_full});
  tell([&] {
    return TaskDropped{.name = dropping.task_name(), .policy = std::string(to_string(when_full))};
  });
}

void Crew::on_back_pressure(BackPressure state, std::size_t queued) noexcept {
  const std::size_t limit = gate_.options().max_queued;
  tell([&]() -> News {
    if (state == BackPressure::on) return BackPressureOn{.queued = queued, .limit = limit};
    return BackPressureOff{.queued = queued, .limit = limit};
  });
}

void Crew::run_here(Closure&& task) {
  count(gate_.counters().caller_ran);
  try {
    std::move(task)();
  } catch (...) {
    report(std::current_exception());
  }
}

}  // namespace muster
