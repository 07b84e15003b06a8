// ring_kill_test.cpp: each operation of the shared ring, by a participant that dies in it.
#include <array>

#include <gtest/gtest.h>

#include "crash/ring_killing.hpp"

namespace muster::testing {
namespace {

constexpr RingGeometry kGeometry{.slots = 3, .participants = 4};

// Moves every ring half a lap on, so that what follows meets their ends.
void turn(const SharedRing& ring) {
  for (int i = 0; i < 5; ++i) {
    submits(kOther, {1, 1})(ring);
    work_one(ring, kOther);
    RingSupervisor(ring, kSupervisor).release(RingSupervisor(ring, kSupervisor).collect());
  }
}

std::vector<Operation> producers() {
  const auto submit_three = [](const SharedRing& ring) {
    std::array<TaskContents, 3> tasks{task(1), task(2), task(3)};
    static_cast<void>(RingProducer(ring, kVictim).submit_batch(tasks));
  };
  return {
      {"submit", nothing, submits(kVictim, {1, 1}), 0, 1},
      {"submit behind others", submits(kOther, {1, 2}), submits(kVictim, {3, 3}), 2, 3},
      {"submit at the ends of the rings", turn, submits(kVictim, {1, 2}), 0, 2},
      {"submit without room", submits(kOther, {1, 3}), submits(kVictim, {4, 4}), 3, 3},
      {"submit to a sleeper",
       [](const SharedRing& ring) {
         static_cast<void>(ring.sleepers(Awaited::work).announce(kOther));
       },
       submits(kVictim, {1, 1}), 0, 1},
      {"submit a batch", nothing, submit_three, 0, 3},
      {"cancel", submits(kOther, {1, 1}),
       [](const SharedRing& ring) { RingProducer(ring, kVictim).cancel({0, 1}); }, 1, 1},
  };
}

std::vector<Operation> workers() {
  const auto claim = [](const SharedRing& ring) {
    static_cast<void>(RingWorker(ring, kVictim).claim());
  };
  const auto claim_three = [](const SharedRing& ring) {
    std::array<Claim, 3> claims;
    RingWorker(ring, kVictim).claim_batch(claims);
  };
  const auto work = [](const SharedRing& ring) { work_one(ring, kVictim); };
  const auto sleep = [](const SharedRing& ring) {
    const SharedSleepers sleepers = ring.sleepers(Awaited::work);
    const auto ticket = sleepers.announce(kVictim);
    const Claim last_look = RingWorker(ring, kVictim).claim();
    if (last_look.outcome == TakeOutcome::taken) return sleepers.withdraw(ticket);
    sleepers.park(ticket, 1);
  };
  return {
      {"claim", submits(kOther, {1, 2}), claim, 2, 2},
      {"claim at the ends of the rings",
       [](const SharedRing& ring) { turn(ring), submits(kOther, {1, 3})(ring); }, claim, 3, 3},
      {"claim nothing", nothing, claim, 0, 0},
      {"claim a batch", submits(kOther, {1, 3}), claim_three, 3, 3},
      {"claim and complete", submits(kOther, {1, 2}), work, 2, 2},
      {"complete for one who sleeps",
       [](const SharedRing& ring) {
         submits(kOther, {1, 1})(ring);
         static_cast<void>(ring.sleepers(Awaited::results).announce(kOther));
       },
       work, 1, 1},
      {"announce, look again and sleep", nothing, sleep, 0, 0},
      {"announce, look again and find", submits(kOther, {1, 1}), sleep, 1, 1},
  };
}

std::vector<Operation> supervisors() {
  const auto done = [](std::uint64_t count) {
    return [=](const SharedRing& ring) {
      submits(kOther, {1, count})(ring);
      for (std::uint64_t i = 0; i < count; ++i) work_one(ring, kOther);
    };
  };
  const auto collect = [](const SharedRing& ring) {
    const RingSupervisor victim(ring, kVictim);
    return victim.collect();
  };
  const auto dead_claimer = [](const SharedRing& ring) {
    submits(kOther, {1, 2})(ring);
    static_cast<void>(RingWorker(ring, kHeir).claim());
    static_cast<void>(ring.free().take(SlotState::free, kHeir));
  };
  return {
      {"collect and release", done(2),
       [=](const SharedRing& ring) { RingSupervisor(ring, kVictim).release(collect(ring)); }, 2, 2},
      {"collect and retry", done(2),
       [=](const SharedRing& ring) { RingSupervisor(ring, kVictim).retry(collect(ring)); }, 2, 2},
      {"collect and delay", done(1),
       [=](const SharedRing& ring) {
         Settling settling = collect(ring);
         RingSupervisor(ring, kVictim).delay(settling);
       },
       1, 1},
      {"sweep", dead_claimer, [](const SharedRing& ring) { sweep_and_retry(ring, kVictim, kHeir); },
       2, 2},
  };
}

TEST(RingKill, AProducerMayDieAtAnyInstruction) {
  kill_everywhere(producers(), {.geometry = kGeometry});
}

TEST(RingKill, AWorkerMayDieAtAnyInstruction) {
  kill_everywhere(workers(), {.geometry = kGeometry});
}

TEST(RingKill, ASupervisorMayDieAtAnyInstruction) {
  kill_everywhere(supervisors(), {.geometry = kGeometry});
}

}  // namespace
}  // namespace muster::testing
