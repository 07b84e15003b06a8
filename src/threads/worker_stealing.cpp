// worker_stealing.cpp: how a worker finds tasks elsewhere than with itself.
#include <algorithm>
#include <optional>
#include <utility>

#include <muster/sync/player.hpp>

#include "threads/crew.hpp"
#include "threads/worker.hpp"

namespace muster {
namespace {

// Only its worker writes a counter.
void add(Atomic<std::uint64_t>& counter, std::uint64_t count) noexcept {
  counter.store(counter.load(relaxed) + count, relaxed);  // relaxed: a count
}

}  // namespace

bool Worker::has_rules(const StealingOptions& options) noexcept {
  return !options.enabled || options.threshold != 0 || options.cooldown != Duration::zero() ||
         options.victim != VictimChoice::nearest || options.fair;
}

// A race that was lost says that something was there, and more may be: it is not "nothing".
bool Worker::look_around(Found& found) {
  do {
    found.lost_race = false;
    if (steals_by_rules_ ? visit_by_rules(found) : visit_all(found)) return true;
    if (crew_.is_closed() && take_from_ended(found)) return true;
  } while (found.lost_race);
  if (crew_.options().stealing.enabled && steal_soft(found)) return true;
  return crew_.ranked().try_pop_idle(found.task);
}

// The nearest first, from a random one on.
bool Worker::visit_all(Found& found) {
  if (visit_regulars(found)) return true;
  const std::size_t spares = crew_.staff().end_of_spares();
  for (std::size_t i = crew_.staff().first_spare(); i < spares; ++i) {
    if (take_from(i, found)) return true;
  }
  return false;
}

bool Worker::visit_regulars(Found& found) {
  const std::size_t span = crew_.staff().span();
  const auto visit = [&](std::size_t count, const auto& number_of) {
    const std::size_t start = count > 1 ? random_.below(count) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (take_from(number_of((start + i) % count), found)) return true;
    }
    return false;
  };
  if (order_.empty()) return visit(span, [](std::size_t place) { return place; });
  for (const std::vector<std::uint32_t>& group : order_) {  // numbers go up in it
    const auto end = std::lower_bound(group.begin(), group.end(), span);
    const auto count = static_cast<std::size_t>(end - group.begin());
    if (visit(count, [&](std::size_t place) { return group[place]; })) return true;
  }
  return false;
}

bool Worker::visit_by_rules(Found& found) {
  if (take_own(found)) return true;
  const auto takes_fork = [&](Worker& other) {
    return &other != this && take_fork_from(other, found);
  };
  if (crew_.staff().any_of(takes_fork)) return true;
  const StealingOptions& options = crew_.options().stealing;
  if (options.cooldown != Duration::zero()) {
    const Time now = current_time();
    if (!may_search(options, now, last_search_)) return false;
    last_search_ = now;
  }
  for (const Victim& victim : find_victims()) {
    Worker& other = *crew_.worker(victim.worker);
    if (!take_tasks_from(other, found)) continue;
    other.last_drained_.store(crew_.next_drain(), relaxed);  // relaxed: a hint for the next thief
    return true;
  }
  return false;
}

std::span<Victim> Worker::find_victims() {
  victims_.clear();
  const auto consider = [&](std::size_t index, unsigned distance) {
    Worker* const other = crew_.worker(index);
    if (index == index_ || other == nullptr) return;
    // relaxed: a hint.
    victims_.push_back(
        {index, other->queued_approx(), distance, other->last_drained_.load(relaxed)});
  };
  const Staff& staff = crew_.staff();
  const std::size_t span = staff.span();
  unsigned distance = 0;
  for (const std::vector<std::uint32_t>& group : order_) {
    for (const std::uint32_t index : group) {
      if (index < span) consider(index, distance);
    }
    ++distance;
  }
  for (std::size_t i = 0; order_.empty() && i < span; ++i) consider(i, 0);
  const std::size_t spares = staff.end_of_spares();
  for (std::size_t i = staff.first_spare(); i < spares; ++i) consider(i, distance + 1);
  return order_victims(crew_.options().stealing, victims_, random_);
}

// When a worker that found nothing looks again although nobody has woken it: others may have tasks
// that it was not allowed to take yet.
std::optional<Time> Worker::next_search() const noexcept {
  const StealingOptions& options = crew_.options().stealing;
  Time next = Time::max();
  if (last_search_ && options.cooldown != Duration::zero() && crew_.has_work()) {
    next = *last_search_ + options.cooldown;
  }
  if (options.enabled) next = std::min(next, patience_ends());
  return next == Time::max() ? std::nullopt : std::optional(next);
}

Time Worker::patience_ends() const noexcept {
  Time first = Time::max();
  crew_.staff().for_each([&](const Worker& other) {
    if (&other != this) first = std::min(first, other.affine_.soft_since_approx());
  });
  return stealable_from(crew_.options().stealing, first);
}

bool Worker::take_from(std::size_t index, Found& found) {
  if (index == index_) return take_own(found);
  Worker* const other = crew_.worker(index);
  return other != nullptr && take_from(*other, found);
}

bool Worker::take_from(Worker& victim, Found& found) {
  return take_fork_from(victim, found) || take_tasks_from(victim, found);
}

bool Worker::take_fork_from(Worker& victim, Found& found) {
  add(counters_.steal_attempts, 1);
  const ForkStack::Taking fork = forks_.take_from(victim.forks_);
  if (fork.outcome == StealOutcome::lost_race) {
    add(counters_.lost_races, 1);
    found.lost_race = true;
  }
  found.fork = fork.fork;
  found.posted = nullptr;
  if (found.fork != nullptr) add(counters_.stolen, 1);
  return found.fork != nullptr;
}

bool Worker::take_tasks_from(Worker& victim, Found& found) {
  const Steal<Posted*> posted = victim.posted_.thief().steal();
  if (posted.outcome == StealOutcome::lost_race) {
    add(counters_.lost_races, 1);
    found.lost_race = true;
  }
  found.fork = nullptr;
  found.posted = posted.item;
  std::uint64_t taken = 1;
  if (found.posted == nullptr) {
    if (pop_from(victim, found.task)) {
      taken += take_more_from(victim, found);
    } else if (!steal_affine(victim, AffinityClass::none, found)) {
      return false;
    }
  }
  add(counters_.stolen, 1);
  add(counters_.tasks_stolen, taken);
  add(stolen_from_[victim.index_], taken);
  return true;
}

bool Worker::steal_affine(Worker& victim, AffinityClass affinity_class, Found& found) {
  AffineTask taken;
  if (victim.affine_.size_approx(affinity_class) == 0) return false;
  if (!victim.affine_.steal(affinity_class, taken)) return false;
  take_affine(std::move(taken), found);
  return true;
}

// What came to somebody after it had ended. No rule holds there: nobody else would do it.
bool Worker::take_from_ended(Found& found) {
  return crew_.staff().any_of([&](Worker& other) {
    // relaxed: whoever ends wakes one afterwards, who looks here if this was too early.
    if (!other.has_ended_.load(relaxed)) return false;
    if (take_tasks_from(other, found)) return true;
    AffineTask taken;
    if (!other.affine_.pop(kLowestPriority, taken)) return false;
    take_affine(std::move(taken), found);
    return true;
  });
}

// Nothing else was found anywhere. Whoever leaves one to its worker looks again when its patience
// ends: next_search().
bool Worker::steal_soft(Found& found) {
  const StealingOptions& options = crew_.options().stealing;
  return crew_.staff().any_of([&](Worker& other) {
    if (&other == this || other.affine_.size_approx(AffinityClass::soft) == 0) return false;
    const Time now = current_time();
    if (now < stealable_from(options, other.affine_.soft_since_approx())) return false;
    AffineTask taken;
    if (!other.affine_.steal_soft(now - options.patience, taken)) return false;
    take_affine(std::move(taken), found);
    add(counters_.stolen, 1);
    add(counters_.tasks_stolen, 1);
    add(stolen_from_[other.index_], 1);
    return true;
  });
}

// To its own inbox; or, if the newest is to be run first, to its own tasks. Whoever looked there
// before and at the victim's afterwards has seen none of them, hence the notice.
unsigned Worker::take_more_from(Worker& victim, Found& found) {
  const StealingOptions& options = crew_.options().stealing;
  const bool newest_first = options.order == StealingOrder::lifo;
  const auto wants_another = [&](std::size_t taken) {
    // One at least is left if all are wanted, and more than were taken if half.
    const std::size_t left = options.size == StealSize::half ? taken + 1 : 1;
    return options.size != StealSize::one && taken < options.most &&
           victim.inbox_.holds_approx(left);
  };
  Closure task;
  unsigned more = 0;
  while (wants_another(more + 1) && pop_from(victim, task)) {
    if (newest_first) {
      std::swap(task, found.task);
      push_posted(std::move(task));
    } else {
      inbox_.push(std::move(task));
    }
    // sync(task-done): it has entered twice, and left once. relaxed: only this thread writes it.
    counters_.moved.store(counters_.moved.load(relaxed) + 1, release);
    ++more;
  }
  if (more > 0) crew_.roster().notify();
  return more;
}

}  // namespace muster
