// ring_scenarios.hpp: what the tests of the shared ring, of a pair's and of its extents have in
// common: plans of scenarios, sleeping, sweeping, and what holds at the end.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/explorer/mutations.hpp"
#include "support/ring_memory.hpp"

namespace muster::explore {

inline constexpr ParticipantIndex kSupervisor = 0;
inline constexpr ParticipantIndex kWorker = 1;
inline constexpr ParticipantIndex kDead = 1;

// What no scenario can notice.
inline Accepted head_seen() {
  return {"head_seen.store(head, relaxed)", Weakening::drop_store,
          "spares a look at the head, and nothing else; tag_ring_test.cpp shows that it is never "
          "ahead of that"};
}

// Threads beside each other on a Subject: a ring, and the account of what went through it. It is
// made of Subject::Sizes, and its expect_balanced() is the final check.
template <class Subject>
struct RingPlan {
  using Body = std::function<void(Subject&)>;

  std::string name;
  typename Subject::Sizes sizes = {};
  Body before = [](Subject&) {};
  std::vector<Body> threads;
  Limits limits = {.preemptions = 3, .stale_reads = 1};
};

template <class Subject>
Scenario scenario_of(const RingPlan<Subject>& plan) {
  return {.name = plan.name,
          .setup =
              [=](Program& program) {
                auto subject = std::make_shared<Subject>(plan.sizes);
                plan.before(*subject);
                for (const auto& body : plan.threads) program.thread([=] { body(*subject); });
                program.at_end([=] { subject->expect_balanced(); });
              },
          .limits = plan.limits};
}

inline std::vector<Scenario> joined(const std::vector<std::vector<Scenario>>& lists) {
  std::vector<Scenario> all;
  for (const std::vector<Scenario>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// Who sleeps, and what for.
struct Sleeper {
  ParticipantIndex index;
  Awaited awaited;
};

// Sleeps until `attempt` says true; others make that possible.
template <class Attempt>
void do_or_sleep(const SharedRing& ring, const Sleeper& sleeper, const Attempt& attempt) {
  while (!attempt()) {
    const SharedSleepers sleepers = ring.sleepers(sleeper.awaited);
    const auto ticket = sleepers.announce(sleeper.index);
    if (attempt()) return sleepers.withdraw(ticket);
    sleepers.park(ticket, kForever);
  }
}

// Brings back what the dead one left, and deals with each of its tasks.
template <class Deal>
void sweep_dead(const RingSupervisor& supervisor, const Deal& deal) {
  std::array<Settling, 1> found;  // so that a sweep returns with what it found, unfinished
  for (;;) {
    const SweepResult swept = supervisor.sweep(kDead, found);
    for (std::uint32_t i = 0; i < swept.count; ++i) {
      require(supervisor.contents(found[i]).id != 0, "what was swept is a task");
      deal(found[i]);
    }
    if (swept.outcome == SweepOutcome::complete) return;
  }
}

// Its tasks are tried again.
inline void sweep_dead(const RingSupervisor& supervisor) {
  sweep_dead(supervisor, [&](const Settling& left) {
    require(supervisor.retry(left) == RetryOutcome::retried, "it can be retried");
  });
}

// By a final check, alone, when all tasks have gone their way.
inline void expect_slots_free(const SharedRing& ring) {
  for (SlotIndex slot = 0; slot < ring.geometry().slots; ++slot) {
    require(ring.word(slot).state == SlotState::free, "every slot is free");
  }
}

// The last thing that it looks at.
inline void expect_at_rest(const SharedRing& ring) {
  require(ring.damage() == 0, "nothing is damaged");
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    require(ring.sleepers(awaited).asleep_approx() == 0, "nobody is left announced");
  }
}

}  // namespace muster::explore
