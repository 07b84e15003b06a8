// seat.cpp: the steps of taking the seat, sleeping in it and leaving it.
#include "processes/seat.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <muster/base/quick_clock.hpp>

#include "processes/bell.hpp"

namespace muster {
namespace {

// How often one who leaves the seat collects what came meanwhile, before the clerk has to.
constexpr unsigned kMostLastLooks = 4;

// How often one who spins looks for results before it looks at the clock.
constexpr unsigned kLooksPerClock = 8;

// How many results at once are many.
constexpr std::size_t kMany = 4;

}  // namespace

void Seat::attend(const Errand& errand, Time deadline) {
  has_help_.store(true, relaxed);  // relaxed: a hint
  // relaxed: a hint. If it is old, the clerk has been here since, or is to come.
  if (clerk_waits_.load(relaxed) || !mutex_.try_lock()) return;
  if (!is_napping_) bell_.forget(kClerk);
  collect_until_done(errand, deadline);
  leave();
  mutex_.unlock();
}

void Seat::attend_nested(const Errand& errand, Time deadline) {
  mutex_.is_held();
  collect_until_done(errand, deadline);
}

SharedSleepers::Ticket Seat::clerk_ticket() const noexcept {
  return bell_.ticket(kClerk);
}

// Waits for the seat, since whoever is just leaving it has called us for what came too late for
// him.
void Seat::serve_as_clerk(const SharedSleepers::Ticket& ticket) {
  std::int64_t longest = kForever;
  {
    clerk_waits_.store(true, relaxed);  // relaxed: a hint
    const MutexLock lock(mutex_);
    clerk_waits_.store(false, relaxed);  // relaxed: a hint
    const bool is_often_there = is_napping_ || quick_now() - last_turn_ < patience_.often;
    is_napping_ = false;
    const std::size_t found = results_.collect();
    // relaxed: a hint.
    const bool has_help = has_help_.exchange(false, relaxed);
    // Many results, or others who collect between their own doings, would have us called without
    // end. Rather than that we come back.
    if (is_often_there && (found >= kMany || has_help)) {
      is_napping_ = true;
      longest = (has_help ? patience_.long_nap : patience_.nap).count();
    } else {
      leave();
    }
    last_turn_ = quick_now();
  }
  bell_.park(ticket, longest);
}

// From here on the clerk is on call, or comes by itself. What came before it was must not be left
// behind; but if there is no end to that, the clerk is called.
void Seat::leave() {
  if (is_napping_) return;
  for (unsigned looks = 0;; ++looks) {
    (void)bell_.announce(kClerk);
    if (!results_.has_results()) return;
    if (looks == kMostLastLooks) {
      bell_.wake(1);
      return;
    }
    bell_.forget(kClerk);
    (void)results_.collect();
  }
}

void Seat::collect_until_done(const Errand& errand, Time deadline) {
  const unsigned looks = spins() ? kLooksPerClock : 1;
  std::optional<IdleSpell> spell;
  while (!errand.is_done()) {
    if (look_for_results(looks)) {
      if (deadline != Time::max() && quick_now() >= deadline) return;
      spell.reset();
      continue;
    }
    const Time now = quick_now();
    if (now >= deadline) return;
    if (!spell) spell.emplace(patience_.idle, now);
    switch (spell->next(now)) {
      case IdleSpell::Step::spin:
        spin_pause();
        break;
      case IdleSpell::Step::yield:
        std::this_thread::yield();
        break;
      case IdleSpell::Step::sleep: {
        const Duration left = deadline == Time::max() ? Duration::max() : deadline - now;
        const Duration longest = std::min(left, patience_.longest_sleep);
        sleep_unless_results(errand, longest == Duration::max() ? kForever : longest.count());
        break;
      }
    }
  }
}

bool Seat::look_for_results(unsigned looks) {
  if (results_.collect() > 0) return true;
  for (unsigned look = 1; look < looks; ++look) {
    spin_pause();
    if (results_.has_results_approx()) return results_.collect() > 0;
  }
  return false;
}

void Seat::sleep_unless_results(const Errand& errand, std::int64_t longest_ns) {
  const SharedSleepers::Ticket ticket = bell_.announce(kWaiter);
  if (results_.has_results() || errand.is_done()) {
    bell_.withdraw(ticket);
  } else {
    bell_.park(ticket, longest_ns);
  }
}

}  // namespace muster
