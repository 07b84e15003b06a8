// worker_stealing.cpp: how a worker finds tasks elsewhere than with itself.
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
  } while (found.lost_race);
  if (crew_.options().stealing.enabled && steal_soft(found)) return true;
  return crew_.ranked().try_pop_idle(found.task);
}

// The nearest first, from a random one on.
bool Worker::visit_all(Found& found) {
  for (const std::vector<std::uint32_t>& group : order_) {
    const std::size_t start = random_.below(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (take_from(group[(start + i) % group.size()], found)) return true;
    }
  }
  const std::size_t span = crew_.worker_span();
  for (std::size_t i = crew_.options().workers; i < span; ++i) {
    if (take_from(i, found)) return true;
  }
  return false;
}

bool Worker::visit_by_rules(Found& found) {
  if (take_own(found)) return true;
  const std::size_t span = crew_.worker_span();
  for (std::size_t i = 0; i < span; ++i) {
    Worker* const other = crew_.worker(i);
    if (i != index_ && other != nullptr && take_fork_from(*other, found)) return true;
  }
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
  for (std::size_t distance = 0; distance < order_.size(); ++distance) {
    for (const std::uint32_t index : order_[distance]) {
      consider(index, static_cast<unsigned>(distance));
    }
  }
  const std::size_t span = crew_.worker_span();
  for (std::size_t i = crew_.options().workers; i < span; ++i) {
    consider(i, static_cast<unsigned>(order_.size()));
  }
  return order_victims(crew_.options().stealing, victims_, random_);
}

// When a worker that found nothing looks again although nobody has woken it: others may have tasks
// that it was not allowed to see.
std::optional<Time> Worker::next_search() const noexcept {
  const Duration cooldown = crew_.options().stealing.cooldown;
  if (!last_search_ || cooldown == Duration::zero() || !crew_.has_work()) return std::nullopt;
  return *last_search_ + cooldown;
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
    if (pop_from(victim.inbox_, found.task)) {
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

// Nothing else was found anywhere.
bool Worker::steal_soft(Found& found) {
  for (std::size_t i = 0; i < crew_.options().workers; ++i) {
    Worker* const other = crew_.worker(i);
    if (i == index_ || other == nullptr) continue;
    if (!steal_affine(*other, AffinityClass::soft, found)) continue;
    found.fork = nullptr;
    found.posted = nullptr;
    add(counters_.stolen, 1);
    add(counters_.tasks_stolen, 1);
    add(stolen_from_[i], 1);
    return true;
  }
  return false;
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
  while (wants_another(more + 1) && pop_from(victim.inbox_, task)) {
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
