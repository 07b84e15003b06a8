// worker.cpp: a worker's day.
#include "threads/worker.hpp"

#include <algorithm>
#include <optional>
#include <pthread.h>
#include <string>
#include <utility>

#include <muster/sync/backoff.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/player.hpp>

#include "threads/crew.hpp"
#include "threads/task_span.hpp"

namespace muster {
namespace {

// Tasks posted from inside before the deque for them grows.
constexpr std::size_t kFirstPosted = 256;

// Every so many looks the inbox comes first, and half-way between the oldest of its own tasks.
constexpr unsigned kInboxFirst = 64;

// Lines kept for tasks posted from inside.
constexpr unsigned kSpares = 256;

// After its last task a worker looks into its own inbox again after 16, and again after 32 pauses,
// before it searches elsewhere: about two microseconds.
constexpr unsigned kLingerRounds = 6;
constexpr unsigned kLingerAfterTask = 4;

// What stays of a stack before its worker stops helping others from there.
constexpr std::size_t kStackReserve = std::size_t{128} * 1024;

// Only its worker writes a counter.
void count(Atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(relaxed) + 1, relaxed);  // relaxed: a count
}

// Looks into others' inboxes before sleeping, from 50 ns on each.
std::size_t probes_before_sleep(IdlePolicy idle) {
  switch (idle) {
    case IdlePolicy::power:
      return 0;
    case IdlePolicy::balanced:
      return 200;
    case IdlePolicy::latency:
      return 5000;
  }
  return 0;
}

// The lowest address of this thread's stack, or 0 if it is unknown.
std::uintptr_t stack_end() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  const int failed = pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return failed != 0 ? 0 : reinterpret_cast<std::uintptr_t>(lowest);
}

}  // namespace

constinit thread_local Worker* Worker::current_worker = nullptr;

void Worker::leave_pool() noexcept {
  current_worker = nullptr;
  current_employer = nullptr;
  current_fork_stack = nullptr;
}

Worker::Worker(Crew& crew, std::size_t index, std::uint64_t seed)
    : crew_(crew),
      index_(index),
      order_(crew.steal_order_of(index)),
      is_spare_(crew.staff().is_spare(index)),
      is_counted_(crew.gate().is_counted()),
      steals_by_rules_(has_rules(crew.options().stealing)),
      random_(seed),
      times_(crew.options().snapshot_window, current_time()),
      inbox_(kRingCapacity),
      posted_(kFirstPosted),
      forks_(crew.roster()),
      stolen_from_(crew.options().max_workers + crew.options().max_spare_workers) {}

Worker::~Worker() {
  while (spares_ != nullptr) delete std::exchange(spares_, spares_->next_spare);
}

void Worker::main() {
  const ThreadPoolOptions& options = crew_.options();
  current_worker = this;
  current_employer = &crew_;
  if (const std::uintptr_t end = stack_end(); end != 0) {
    forks_.set_stack_floor(end + kStackReserve);
  }
  const bool warms_up = !is_spare_ && crew_.warms_up();
  if (!warms_up) crew_.begin_work(index_);
  if (options.on_worker_start) {
    if (!warms_up) end_search();  // meanwhile nobody can count on it
    options.on_worker_start(static_cast<unsigned>(index_));
    if (!warms_up) begin_search();
  }
  if (warms_up) {
    crew_.warm_up(index_);
    crew_.begin_work(index_);
  }
  if (options.queueing == Queueing::global) {
    serve_shared_queue();
  } else {
    current_fork_stack = &forks_;
    work_until_stopped();
    current_fork_stack = nullptr;
  }
  if (options.on_worker_exit) options.on_worker_exit(static_cast<unsigned>(index_));
  give_away();  // what that has posted
}

[[gnu::always_inline]] inline bool Worker::take_own_here(Found& found) {
  found.fork = nullptr;
  found.posted = nullptr;
  if (crew_.ranked().try_pop_urgent(found.task)) return true;
  const unsigned turn = ++tick_ % kInboxFirst;
  if (affine_.size_approx() != 0 && (turn % 2 == 0 || affine_.has_urgent_approx())) [[unlikely]] {
    if (pop_affine(0, found)) return true;
  }
  if (turn == 0) {
    // Now and then, or one whose tasks go on for ever would never leave.
    if (crew_.staff().is_one_too_many(index_)) give_away();
    if (pop_from(*this, found.task)) return true;
  }
  if (turn == kInboxFirst / 2) {
    const Steal<Posted*> oldest = posted_.thief().steal();
    if (oldest.outcome == StealOutcome::taken) {
      found.posted = oldest.item;
      return true;
    }
  }
  if (const std::optional<Posted*> newest = posted_.owner().pop()) {
    found.posted = *newest;
    return true;
  }
  if (pop_from(*this, found.task)) return true;
  return affine_.size_approx() != 0 && pop_affine(kLowestPriority, found);
}

// What a timed task leaves behind is written to places that depend on the clock. Just after a look
// at that, this would hold up the CPU; by the time that the next task was found it does not.
[[gnu::always_inline]] inline bool Worker::take_own_and_settle(Found& found) {
  const bool has_found = take_own_here(found);
  settle();
  return has_found;
}

bool Worker::play_one() {
  const TaskSpan::Apart apart;
  Worker* const outer_worker = std::exchange(current_worker, this);
  Employer* const outer_employer = std::exchange(current_employer, &crew_);
  Found found;
  const bool is_global = crew_.options().queueing == Queueing::global;
  const bool has_found =
      is_global ? crew_.try_pop_shared(found.task) : take_own(found) || look_around(found);
  if (has_found) {
    is_playing_ = true;
    run(found);
    is_playing_ = false;
    last_end_.reset();
    begin_idle();
    leave_if_one_too_many();
  }
  current_worker = outer_worker;
  current_employer = outer_employer;
  return has_found;
}

void Worker::serve_shared_queue() {
  (void)crew_.roster().end_search();  // nobody searches here
  Found found;
  while (!step_aside_or_leave()) {
    if (crew_.pop_shared(*this, found.task)) {
      run(found);
      last_end_.reset();
      crew_.note_idle();
    } else if (crew_.is_finished()) {
      return;
    }
  }
}

void Worker::work_until_stopped() {
  for (;;) {
    // Whoever was woken searches first: it was woken for more than its own inbox holds, perhaps.
    while (!search_and_run()) {
      if (!sleep_or_stop() || step_aside_or_leave()) return;
      begin_search();
    }
    do {
      if (step_aside_or_leave()) return;
    } while (linger_and_run());
    begin_search();
  }
}

// True: has left.
bool Worker::step_aside_or_leave() {
  if (!is_spare_) return leave_if_one_too_many();
  step_aside();
  return false;
}

bool Worker::leave_if_one_too_many() {
  if (!crew_.staff().is_one_too_many(index_) || is_playing_) return false;
  give_away();
  return crew_.leave(index_);
}

void Worker::give_away() {
  while (const std::optional<Posted*> newest = posted_.owner().pop()) {
    const std::size_t heir = crew_.rehome(std::move((*newest)->task), index_);
    keep_spare(*newest);
    // sync(task-done): it has entered twice. relaxed: only this thread writes it.
    counters_.moved.store(counters_.moved.load(relaxed) + 1, release);
    crew_.notify_heir(heir);
    crew_.hand_over(heir);
  }
  crew_.hand_over(index_);
}

// A spare that is one too many sits out until it is needed. It leaves without a look around, so it
// sees to it that somebody else takes one.
void Worker::step_aside() {
  if (!crew_.options().stealing.enabled && has_work_approx()) return;  // nobody else would do it
  if (!crew_.spares().leave()) return;
  crew_.roster().notify();
  crew_.note_idle();
  crew_.spares().sit_out();
}

// Stays with its own inbox for a moment after the last task: the next one is often on its way, and
// as long as nobody searches, whoever posts it finds nothing new in the roster. Each look takes a
// cache line away from whoever posts, so the looks become rarer.
bool Worker::linger_and_run() {
  if (is_spare_) {  // may be one too many after each task
    Found found;
    if (!take_own(found)) return false;
    run(found);
    last_end_.reset();
    return true;
  }
  const bool lingers = crew_.options().idle == IdlePolicy::balanced;
  unsigned round = 0;
  bool ran = false;
  do {
    for (Found found; take_own_and_settle(found); round = kLingerAfterTask) {
      run_unsettled(found);
      ran = true;
    }
    last_end_.reset();
    if (!ran || !lingers) break;
    for (unsigned i = 0; i < (1U << round); ++i) spin_pause();
  } while (++round < kLingerRounds);
  return ran;
}

// So many workers search for long; those who come later look around once.
void Worker::begin_search() noexcept {
  if (const std::size_t size = crew_.staff().wanted(); size != crew_size_) {
    crew_size_ = size;
    max_searchers_ = max_searchers(crew_.options().stealing, size);
  }
  is_crowded_ = crew_.roster().begin_search() >= max_searchers_;
}

// Who counted on us for more is served by a successor.
void Worker::end_search() noexcept {
  if (crew_.roster().end_search() && crew_.has_work()) crew_.roster().notify();
}

// Requires: is counted as searching. False: found nothing; sleep_or_stop() must follow.
bool Worker::search_and_run() {
  const std::size_t probes = is_crowded_ ? 0 : probes_before_sleep(crew_.options().idle);
  const std::size_t looks = std::max<std::size_t>(probes / crew_.staff().size_approx(), 1);
  for (std::size_t look = 0; look < looks; ++look) {
    Found found;
    if (look_around(found)) {
      end_search();
      run(found);
      return true;
    }
    count(counters_.idle_spins);
    spin_pause();
    if (look % 16 == 15) std::this_thread::yield();
  }
  return false;
}

// False: the crew has finished.
bool Worker::sleep_or_stop() {
  const ParkingLot::Ticket ticket = crew_.roster().give_up(index_);
  Found found;
  if (look_around(found)) {
    crew_.roster().stay(ticket);
    if (crew_.has_work()) crew_.roster().notify();
    run(found);
    return true;
  }
  if (crew_.is_finished()) {
    crew_.roster().stay(ticket);
    has_ended_.store(true, relaxed);  // relaxed: as in take_from_ended()
    // One wakes the next. Whoever still has something to run does the same when it ends.
    crew_.roster().wake_one();
    return false;
  }
  // Whoever decides that it is one too many wakes it, or is seen here.
  if (crew_.staff().is_one_too_many(index_)) {
    crew_.roster().stay(ticket);
    return true;
  }
  crew_.note_idle();
  count(counters_.parks);
  begin_idle();
  crew_.roster().sleep(ticket, next_search());
  end_idle();
  count(counters_.wakes);
  return true;
}

// A look at the clock, unless it was woken in vain.
void Worker::begin_idle() noexcept {
  // relaxed: counts of its own.
  const std::uint64_t done = counters_.done.load(relaxed) + counters_.stolen.load(relaxed);
  if (done != done_before_idle_) idle_began_ = current_time();
  done_before_idle_ = done;
  idle_since_.store(idle_began_.time_since_epoch().count(), relaxed);  // relaxed: a figure
}

bool Worker::take_own(Found& found) {
  return take_own_here(found);
}

bool Worker::pop_affine(int least_priority, Found& found) {
  AffineTask taken;
  if (!affine_.pop(least_priority, taken)) return false;
  take_affine(std::move(taken), found);
  return true;
}

void Worker::take_affine(AffineTask&& taken, Found& found) noexcept {
  count(taken.home == index_ ? counters_.affinity_hits : counters_.affinity_misses);
  crew_.affinities().leave(taken.key_hash);
  found.fork = nullptr;
  found.posted = nullptr;
  found.task = std::move(taken.task);
}

void Worker::note_refill(const Worker& victim) noexcept {
  crew_.roster().notify();
  crew_.note_fewer_queued();
  crew_.hand_over(victim.index_);  // which may have been found empty meanwhile, and left
}

void Worker::run(Found& found) {
  run_unsettled(found);
  settle();
}

// settle() follows, before the next and before anything is waited for.
[[gnu::always_inline]] inline void Worker::run_unsettled(Found& found) {
  counters_.busy.store(1, relaxed);  // relaxed: racy by contract
  if (found.fork != nullptr) {
    forks_.run_taken(*found.fork);
    counters_.busy.store(0, relaxed);  // relaxed: racy by contract
    return;
  }
  run_task(found.posted != nullptr ? found.posted->task : found.task);
  if (found.posted != nullptr) keep_spare(found.posted);
  counters_.busy.store(0, relaxed);  // relaxed: goes with the count in settle()
  is_unsettled_ = true;
}

[[gnu::always_inline]] inline void Worker::settle() noexcept {
  if (!is_unsettled_) return;
  is_unsettled_ = false;
  if (is_last_timed_) {
    is_last_timed_ = false;
    crew_.meter().record(last_timed_, times_);
  }
  // sync(task-done): pairs with the load in is_quiescent(); whoever sees the crew quiescent sees
  // what its tasks did. relaxed: only this thread writes it.
  counters_.done.store(counters_.done.load(relaxed) + 1, release);
}

[[gnu::always_inline]] inline void Worker::call(Closure& task) {
  try {
    std::move(task)();
  } catch (...) {
    count(counters_.failed);
    crew_.report(std::current_exception());
  }
}

void Worker::run_task(Closure& task) {
  if (is_counted_) crew_.gate().leave();
  if (crew_.is_discarding()) {
    task.reset();
    count(counters_.dropped);
    return;
  }
  if (!task.is_marked()) return call(task);
  run_timed(task);
}

void Worker::run_timed(Closure& task) {
  const std::uint64_t done = counters_.done.load(relaxed);  // relaxed: its own count
  if (done != done_by_then_ + 1) last_end_.reset();         // others came in between
  const std::uint64_t stamp = task.stamp();
  const Time begin = crew_.meter().begin(last_end_, times_);
  call(task);
  last_end_ = crew_.meter().end(begin, times_);
  last_timed_ = {.stamp = stamp, .begin = begin, .end = *last_end_};
  is_last_timed_ = true;
  done_by_then_ = done;
  if (!crew_.placer().has_custom()) return;
  crew_.placer().note_done(index_, *last_end_ - begin);
  last_end_.reset();  // a strategy of the user's has had its time
}

void Worker::note_failure() noexcept {
  count(counters_.failed);
}

[[gnu::always_inline]] inline void Worker::push_posted_here(Posted* posted) {
  count(counters_.posted);  // before anybody can take it
  try {
    posted_.owner().push(posted);
  } catch (...) {
    // No memory for a larger deque: the inbox may have room, and throws if not.
    Closure task = std::move(posted->task);
    keep_spare(posted);
    counters_.posted.store(counters_.posted.load(relaxed) - 1, relaxed);  // relaxed: a count
    inbox_.push(std::move(task));
  }
}

void Worker::push_posted(Closure&& task) {
  push_posted_here(posted_of(std::move(task)));
}

void Worker::post_from_inside(Closure&& task) {
  post_from(&posted_of(std::move(task))->task);
}

void Worker::post_from(Closure* place) {
  crew_.meter().mark(*place, turn_);
  push_posted_here(reinterpret_cast<Posted*>(place));
  crew_.roster().notify();
}

Worker::Posted* Worker::posted_of(Closure&& task) {
  Posted* const posted = spare_posted();
  posted->task = std::move(task);
  return posted;
}

Worker::Posted* Worker::spare_posted() {
  if (spares_ == nullptr) return new Posted;
  --spare_count_;
  return std::exchange(spares_, spares_->next_spare);
}

void Worker::keep_spare(Posted* posted) noexcept {
  if (spare_count_ == kSpares) {
    delete posted;
    return;
  }
  posted->next_spare = std::exchange(spares_, posted);
  ++spare_count_;
}

bool Worker::has_work_approx() noexcept {
  return !inbox_.empty_approx() || posted_.thief().size_approx() != 0 ||
         forks_.offered_approx() != 0 ||
         affine_.size_approx() != affine_.size_approx(AffinityClass::hard);
}

std::size_t Worker::queued_approx() noexcept {
  return inbox_.size_approx() + posted_.thief().size_approx() + affine_.size_approx();
}

}  // namespace muster
