// crew_posting.cpp: how a task gets into a queue, and what becomes of it if there is no room.
#include <string>
#include <utility>

#include <muster/policy/key_hash.hpp>
#include <muster/simulation.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/dropping.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/player.hpp>

#include "threads/crew.hpp"
#include "threads/task_span.hpp"
#include "threads/timers.hpp"

namespace muster {
namespace {

// Which of its tasks are timed.
constinit thread_local Meter::Turn turn;

// What most tasks have. Never destroyed: a pool may outlive the statics of this file.
const TaskOptions& plain_task() {
  static const TaskOptions& only = *new TaskOptions;
  return only;
}

[[noreturn]] void refuse_affinity(std::string_view key) {
  throw InvalidArgument({.field = "affinity",
                         .value = '"' + std::string(key) + '"',
                         .rule = "must be left out if all workers share one queue"});
}

void count(Atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, relaxed);  // relaxed: a count
}

}  // namespace

Origin Crew::origin() const noexcept {
  const Worker* const self = Worker::current();
  return self != nullptr && &self->crew() == this ? Origin::inside : Origin::outside;
}

// There is a task in the inbox of this worker. Begins with a full fence.
[[gnu::always_inline]] inline void Crew::notify_of_task_with(std::size_t index) noexcept {
  if (steals_) {
    roster_.notify_from_outside();
  } else {
    roster_.notify_worker(index);
    if (closed_.load(relaxed)) roster_.notify();  // relaxed: as in post(); that one may have ended
  }
}

void Crew::notify_heir(std::size_t index) noexcept {
  notify_of_task_with(index);
}

// Into an inbox, this one if it has room. False: as false of post_special().
[[gnu::always_inline]] inline bool Crew::spread(std::size_t first, Closure& task, Entry entry) {
  std::size_t place = try_place(first, task);
  if (place == kNowhere) place = spill(first, task, entry);
  if (place == kNowhere) return false;
  notify_of_task_with(place);
  // The fence in the notice stands between the push and this look, so either it sees that this
  // worker serves no more, or whoever decided that sees the push: docs/design/scaling.md.
  if (place >= staff_.serving()) [[unlikely]]
    hand_over(place);
  return true;
}

void Crew::post(Closure&& task) {
  if (!is_shortest_) [[unlikely]] {
    post_traced(plain_task(), task, Entry::by_policy);
    return;
  }
  if (origin() == Origin::inside) return Worker::current()->post_from_inside(std::move(task));
  if (closed_.load(relaxed)) refuse();  // relaxed: looked at again after the push
  if (!spread(placer_.pick(ensure_started()), task, Entry::by_policy)) return;
  // sync(closed): the fence in the notice stands between the push and this look. relaxed: so it
  // sees the closing, or the workers see the push before they end.
  if (closed_.load(relaxed)) stop_and_run_leftovers();
}

Closure* Crew::place_inside() {
  return is_shortest_ && origin() == Origin::inside ? Worker::current()->place_inside() : nullptr;
}

void Crew::post(const TaskOptions& options, Closure&& task) {
  post_traced(options, task, Entry::by_policy);
}

bool Crew::try_post(const TaskOptions& options, Closure&& task) {
  return post_traced(options, task, Entry::if_room);
}

void Crew::post_always(Closure&& task) {
  post_traced(plain_task(), task, Entry::always);
}

void Crew::post_stand_in(Closure&& task) {
  post_special(plain_task(), task, Entry::always);
}

bool Crew::post_traced(const TaskOptions& options, Closure& task, Entry entry) {
  const Tracing tracing(*this, options.name, task);
  return post_special(options, task, entry);
}

// The timer thread is let in also after the closing, with a task that was due or what follows one
// that has timed out: none of them must run there. If no worker is left, stop() runs it.
void Crew::execute(Closure&& task) {
  if (!timers_->is_own_thread()) return post_always(std::move(task));
  const Tracing tracing(*this, plain_task().name, task);
  gate_.enter();
  enqueue_entered(plain_task(), std::move(task), Origin::inside);
}

// With a look at everything. False: there was no room, and the policy has seen to the task; or, if
// it need only have come in if there was room, it is the caller's.
bool Crew::post_special(const TaskOptions& options, Closure& task, Entry entry) {
  const Origin from = origin();
  const bool is_outside = from == Origin::outside;
  if (is_outside && closed_.load(relaxed)) refuse();  // relaxed: looked at again after the push
  if (options.affinity && !has_inboxes_) refuse_affinity(*options.affinity);
  if (is_outside && is_plain_ && options.priority == 0 && !options.affinity) {
    if (!spread(place_of(options, task), task, entry)) return false;
  } else {
    if (!is_outside || entry == Entry::always) {
      if (const std::optional<std::uint64_t> key = affinities_.counted(options.affinity))
        affinities_.enter(*key);
      gate_.enter();
    } else if (!find_room(options, task, entry)) {
      return false;
    }
    enqueue_entered(options, std::move(task), from);
  }
  // sync(closed): as in post(). relaxed: as there.
  if (is_outside && closed_.load(relaxed)) stop_and_run_leftovers();
  return true;
}

// It was counted when it came in. If it cannot be queued, it has left again.
void Crew::enqueue_entered(const TaskOptions& options, Closure&& task, Origin from) {
  try {
    enqueue(options, std::move(task), from);
  } catch (...) {
    if (const std::optional<std::uint64_t> key = affinities_.counted(options.affinity))
      affinities_.leave(*key);
    gate_.leave();
    throw;
  }
}

// There is room for it, or it does not matter.
void Crew::enqueue(const TaskOptions& options, Closure&& task, Origin from) {
  if (options.affinity) return enqueue_affine(options, std::move(task));
  const auto priority = static_cast<Priority>(options.priority);
  if (priority == 0 && has_inboxes_) {
    // The timer thread is inside as well, but no worker.
    if (from == Origin::inside && origin() == Origin::inside) {
      placer_.charge(Worker::current()->index(), options.estimated_duration, task);
      return Worker::current()->post_from_inside(std::move(task));
    }
    return static_cast<void>(spread(place_of(options, task), task, Entry::always));
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

void Crew::enqueue_affine(const TaskOptions& options, Closure&& task) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it has a key
  const std::uint64_t key_hash = hash_key(*options.affinity);
  const std::size_t workers = ensure_all_started();
  const Time now = current_time();
  // If the key says only where it waits at first, a strategy of the user's may know better.
  std::optional<std::size_t> chosen;
  if (options.affinity_class == AffinityClass::none && placer_.has_custom()) {
    chosen = placer_.ask({.name = options.name,
                          .priority = options.priority,
                          .affinity = options.affinity,
                          .estimated_duration = options.estimated_duration});
  }
  const std::size_t home = chosen         ? *chosen
                           : workers != 0 ? affinities_.worker_of(key_hash, workers, now)
                                          : Worker::current()->index();  // while the first warm up
  placer_.charge(home, options.estimated_duration, task);
  meter_.mark(task, turn);
  worker(home)->affine().push({.task = std::move(task),
                               .key_hash = key_hash,
                               .home = home,
                               .affinity_class = options.affinity_class,
                               .priority = options.priority,
                               .came = now});
  notify_of_affine(home, options.affinity_class);
  if (home >= staff_.serving()) hand_over(home);  // as in spread()
  if (!gate_.is_counted()) gate_.note(queued_approx());
}

// If its worker is awake, it comes to it; but another who is idle may be sooner.
void Crew::notify_of_affine(std::size_t home, AffinityClass affinity_class) noexcept {
  if (roster_.notify_worker(home)) return;
  const bool may_be_stolen = affinity_class != AffinityClass::hard && steals_;
  // relaxed: as in post(). Its worker may have ended.
  if (may_be_stolen || closed_.load(relaxed)) roster_.notify();
}

std::vector<unsigned> Crew::workers_for(std::string_view key, std::size_t most) {
  if (!has_inboxes_) refuse_affinity(key);
  return affinities_.preferences(hash_key(key), ensure_all_started(), most, current_time());
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

std::size_t Crew::place_of(const TaskOptions& options, Closure& task) {
  const std::size_t worker =
      placer_.pick(ensure_started(), {.name = options.name,
                                      .priority = options.priority,
                                      .estimated_duration = options.estimated_duration});
  placer_.charge(worker, options.estimated_duration, task);
  return worker;
}

// A ring that is full is left alone as long as another has room.
std::size_t Crew::try_place(std::size_t first, Closure& task) {
  meter_.mark(task, turn);
  if (worker(first)->inbox().try_push(std::move(task))) return first;
  const std::size_t count = ensure_started();
  std::size_t index = first;
  for (std::size_t others = 1; others < count; ++others) {
    index = index + 1 < count ? index + 1 : 0;
    // NOLINTNEXTLINE(bugprone-use-after-move): a push that is refused moves nothing
    if (worker(index)->inbox().try_push(std::move(task))) return index;
  }
  return kNowhere;
}

// All rings are full; so a bound that is not counted may have been reached. Nowhere: as false of
// post_special().
std::size_t Crew::spill(std::size_t index, Closure& task, Entry entry) {
  const std::size_t count = ensure_started();
  SpillingQueue<Closure>& inbox = worker(index)->inbox();
  // Tasks are spread evenly, so what one worker has tells whether to add up what all have.
  const std::size_t about = count * (Worker::kRingCapacity + inbox.spilled_approx());
  if (gate_.is_counted() || gate_.is_far_from(2 * about)) [[likely]] {
    inbox.push(std::move(task));
    return index;
  }
  if (entry != Entry::always && !find_room(plain_task(), task, entry)) return kNowhere;
  inbox.push(std::move(task));
  gate_.note(queued_approx());
  return index;
}

// False: there is none, and what is to be done then was done.
bool Crew::find_room(const TaskOptions& options, Closure& task, Entry entry) {
  for (;;) {
    const Room room = look_for_room(options);
    if (room == Room::found) return true;
    if (entry == Entry::if_room) return false;
    const Backlog full{.queued = gate_.options().max_queued};
    switch (admit(gate_.options(), full, Origin::outside).action) {
      case AdmissionAction::accept:
        return true;
      case AdmissionAction::wait:
        if (!wait_for_room(options)) reject(room);
        return true;
      case AdmissionAction::reject:
        reject(room);
      case AdmissionAction::drop_oldest:
        if (drop_oldest(room, options)) break;
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
}

// If there is room and it is counted, the task has entered.
Crew::Room Crew::look_for_room(const TaskOptions& options) {
  const std::optional<std::uint64_t> key = affinities_.counted(options.affinity);
  if (key && !affinities_.try_enter(*key)) return Room::key_is_full;
  const bool has_room =
      gate_.is_counted() ? gate_.try_enter() : queued_approx() < gate_.options().max_queued;
  if (has_room) return Room::found;
  if (key) affinities_.leave(*key);
  return Room::pool_is_full;
}

std::size_t Crew::queued_approx() noexcept {
  std::size_t queued = ranked_.size_approx() + shared_.size_approx();
  if (has_inboxes_) staff_.for_each([&](Worker& each) { queued += each.queued_approx(); });
  return queued;
}

bool Crew::wait_for_room(const TaskOptions& options) {
  count(gate_.counters().blocked);
  const std::optional<Duration> timeout = gate_.options().block_timeout;
  const Time deadline = timeout ? deadline_after(*timeout) : Time::max();
  const auto found = [&] { return look_for_room(options) == Room::found; };
  bool has_found = false;
  if (current_player != nullptr) {
    has_found = current_player->play_until(found, deadline, "waiting for room in a pool");
  } else {
    const BlockingRegion region;  // on a worker of another pool
    has_found = gate_.wait(found, deadline);
  }
  if (!has_found && closed_.load(relaxed)) refuse();  // relaxed: as in post()
  if (!has_found) count(gate_.counters().block_timeouts);
  if (has_found) Tracing::note_room();
  return has_found;
}

void Crew::reject(Room room) {
  count(gate_.counters().rejected);
  const AdmissionOptions& limits = gate_.options();
  throw QueueFull(room == Room::key_is_full
                      ? "cannot post a task: " + std::to_string(limits.max_queued_per_key) +
                            " of its key wait already, and no more may (max_queued_per_key)"
                      : "cannot post a task: " + std::to_string(limits.max_queued) +
                            " wait already, and no more may (max_queued)");
}

// If its key has too many, one of those.
bool Crew::drop_oldest(Room room, const TaskOptions& options) {
  Closure oldest;
  const bool has_taken = room == Room::key_is_full
                             ? take_oldest_of(affinities_.counted(options.affinity), oldest)
                             : take_oldest(oldest);
  if (!has_taken) return false;
  count(gate_.counters().dropped_oldest);
  drop(std::move(oldest), WhenFull::drop_oldest);
  unqueued_.fetch_add(1, release);  // sync(task-done): pairs with counts()
  gate_.leave();
  return true;
}

bool Crew::take_oldest(Closure& task) {
  if (!has_inboxes_) return shared_.drop_oldest(task);
  const std::size_t count = ensure_started();
  const std::size_t first = unqueued_.load(relaxed);  // relaxed: any will do, another each time
  for (std::size_t i = 0; i < count; ++i) {
    if (take_oldest_from(*worker((first + i) % count), task)) return true;
  }
  return take_oldest_of(std::nullopt, task);
}

// Of this key, or of any.
bool Crew::take_oldest_of(std::optional<std::uint64_t> key_hash, Closure& task) {
  bool has_taken = false;
  staff_.for_each([&](Worker& each) {
    AffineTask taken;
    const auto may_go = [&](const AffineTask& affine) {
      return !affine.task.must_run() && (!key_hash || affine.key_hash == *key_hash);
    };
    if (has_taken || !each.affine().take_oldest(may_go, taken)) return;
    affinities_.leave(taken.key_hash);
    task = std::move(taken.task);
    has_taken = true;
  });
  return has_taken;
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
  notices_.tell([&] {
    return TaskDropped{.name = dropping.task_name(), .policy = std::string(to_string(when_full))};
  });
}

void Crew::on_back_pressure(BackPressure state, std::size_t queued) noexcept {
  const std::size_t limit = gate_.options().max_queued;
  notices_.tell([&]() -> News {
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
