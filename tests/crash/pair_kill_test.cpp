// pair_kill_test.cpp: each operation of a ring between two, by a side that dies in it.
#include <array>

#include <gtest/gtest.h>

#include "crash/ring_killing.hpp"

namespace muster::testing {
namespace {

constexpr RingGeometry kGeometry{.slots = 4, .participants = 2, .parties = RingParties::pair};
constexpr RingGeometry kOneSlot{.slots = 1, .participants = 2, .parties = RingParties::pair};

Steps sends(Ids ids) {
  return submits(kPairSender, ids);
}
void work(const SharedRing& ring) {
  work_one(ring, kPairWorker);
}

void release_one(const SharedRing& ring) {
  const RingSupervisor sender(ring, kPairSender);
  sender.release(sender.collect());
}

// The same tasks after two laps and a half, so that every slot was used before.
Steps laps_later(const Steps& steps) {
  return [=](const SharedRing& ring) {
    for (std::uint32_t i = 0; i < ring.geometry().slots * 5 / 2; ++i) {
      sends({1, 1})(ring);
      work(ring);
      release_one(ring);
    }
    steps(ring);
  };
}

Steps and_sleeps(const Steps& steps, Awaited awaited, ParticipantIndex sleeper) {
  return [=](const SharedRing& ring) {
    steps(ring);
    static_cast<void>(ring.sleepers(awaited).announce(sleeper));
  };
}

void claim(const SharedRing& ring) {
  static_cast<void>(RingWorker(ring, kPairWorker).claim());
}

// Claims up to three, and completes those of them, by their ids.
Steps claims_three_and_completes(const std::vector<std::uint32_t>& ids) {
  return [=](const SharedRing& ring) {
    const RingWorker worker(ring, kPairWorker);
    std::array<Claim, 3> claims;
    worker.claim_batch(claims);
    for (const std::uint32_t id : ids) worker.complete(claims[id - 1], {.status = id});
  };
}

void sleep(const SharedRing& ring) {
  const SharedSleepers sleepers = ring.sleepers(Awaited::work);
  const auto ticket = sleepers.announce(kPairWorker);
  const Claim last_look = RingWorker(ring, kPairWorker).claim();
  if (last_look.outcome == TakeOutcome::taken) return sleepers.withdraw(ticket);
  sleepers.park(ticket, 1);
}

std::vector<Operation> claims() {
  const auto cancelled = [](const SharedRing& ring) {
    sends({1, 2})(ring);
    RingProducer(ring, kPairSender).cancel({0, 1});
  };
  return {
      {"claim", sends({1, 2}), claim, 2, 2},
      {"claim out of a full ring", sends({1, 4}), claim, 4, 4},
      {"claim laps later", laps_later(sends({1, 3})), claim, 3, 3},
      {"claim what is called off", cancelled, claim, 2, 2},
      {"claim nothing", nothing, claim, 0, 0},
      {"claim nothing laps later", laps_later(nothing), claim, 0, 0},
      {"claim a batch", sends({1, 4}), claims_three_and_completes({}), 4, 4},
      {"claim a batch laps later", laps_later(sends({1, 4})), claims_three_and_completes({}), 4, 4},
      {"announce, look again and sleep", nothing, sleep, 0, 0},
      {"announce, look again and find", sends({1, 1}), sleep, 1, 1},
  };
}

std::vector<Operation> completions() {
  const Steps work_two = [](const SharedRing& ring) { work(ring), work(ring); };
  return {
      {"claim and complete", sends({1, 2}), work, 2, 2},
      {"claim and complete two laps later", laps_later(sends({1, 4})), work_two, 4, 4},
      {"complete the first of a batch", sends({1, 4}), claims_three_and_completes({1}), 4, 4},
      {"complete a batch in another order", sends({1, 4}), claims_three_and_completes({2, 3, 1}), 4,
       4},
      {"complete for a sender who sleeps", and_sleeps(sends({1, 1}), Awaited::results, kPairSender),
       work, 1, 1},
  };
}

std::vector<Operation> submissions() {
  const auto submit_two = [](const SharedRing& ring) {
    std::array<TaskContents, 2> tasks{task(2), task(3)};
    static_cast<void>(RingProducer(ring, kPairSender).submit_batch(tasks));
  };
  const auto cancel = [](const SharedRing& ring) {
    RingProducer(ring, kPairSender).cancel({1, 1});
  };
  return {
      {"submit", nothing, sends({1, 1}), 0, 1},
      {"submit laps later", laps_later(sends({1, 2})), sends({3, 3}), 2, 3},
      {"submit without room", sends({1, 4}), sends({5, 5}), 4, 4},
      {"submit a batch", sends({1, 1}), submit_two, 1, 3},
      {"submit to a worker who sleeps", and_sleeps(nothing, Awaited::work, kPairWorker),
       sends({1, 1}), 0, 1},
      {"cancel", sends({1, 2}), cancel, 2, 2},
  };
}

void take_back_and_release(const SharedRing& ring) {
  const Taken taken = RingProducer(ring, kPairSender).take_back();
  if (taken.outcome == TakeOutcome::taken) RingSupervisor(ring, kPairSender).release(taken);
}

std::vector<Operation> settlements() {
  const Steps one_done = [](const SharedRing& ring) { sends({1, 3})(ring), work(ring); };
  const Steps take_back_and_submit = [](const SharedRing& ring) {
    take_back_and_release(ring);
    sends({4, 4})(ring);
  };
  return {
      {"take back and release", one_done, take_back_and_release, 2, 3},
      {"take back and release laps later", laps_later(one_done), take_back_and_release, 2, 3},
      {"take back what is claimed", [](const SharedRing& ring) { sends({1, 1})(ring), work(ring); },
       take_back_and_release, 1, 1},
      {"take back and submit another", one_done, take_back_and_submit, 2, 4},
      {"collect and release", one_done, release_one, 3, 3},
      {"collect and release laps later", laps_later(one_done), release_one, 3, 3},
  };
}

TEST(PairKill, AWorkerThatClaimsMayDieAtAnyInstruction) {
  kill_everywhere(claims(), {.geometry = kGeometry, .dies = Dies::pair_worker});
}

TEST(PairKill, AWorkerThatCompletesMayDieAtAnyInstruction) {
  kill_everywhere(completions(), {.geometry = kGeometry, .dies = Dies::pair_worker});
}

TEST(PairKill, AWorkerWithTheOnlySlotMayDieAtAnyInstruction) {
  kill_everywhere({{"claim and complete", sends({1, 1}), work, 1, 1},
                   {"claim and complete laps later", laps_later(sends({1, 1})), work, 1, 1}},
                  {.geometry = kOneSlot, .dies = Dies::pair_worker});
}

TEST(PairKill, AWorkerOutlivesASenderThatSubmits) {
  kill_everywhere(submissions(), {.geometry = kGeometry, .dies = Dies::pair_sender});
}

TEST(PairKill, AWorkerOutlivesASenderThatSettles) {
  kill_everywhere(settlements(), {.geometry = kGeometry, .dies = Dies::pair_sender});
}

}  // namespace
}  // namespace muster::testing
