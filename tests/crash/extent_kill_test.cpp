// extent_kill_test.cpp: each operation that has to do with extents, by a participant that dies in
// it.
#include <array>

#include <gtest/gtest.h>

#include "crash/ring_killing.hpp"

namespace muster::testing {
namespace {

// Too few for three tasks with payload and result: some results go without.
constexpr RingGeometry kGeometry{.slots = 3, .participants = 4, .extents = 4, .extent_bytes = 64};
constexpr KillingOptions kOptions{.geometry = kGeometry, .stride = 61};

void allocate_and_free(const SharedRing& ring, ParticipantIndex by) {
  const RingExtents extents(ring, by);
  extents.free(extents.allocate().tag);
}

// Moves the ring of free extents on until the next put is the last of its lap.
void turn_extents(const SharedRing& ring) {
  for (std::uint32_t i = 1; i < kGeometry.extents; ++i) allocate_and_free(ring, kOther);
}

std::vector<Operation> allocations() {
  const auto allocate = [](const SharedRing& ring) {
    static_cast<void>(RingExtents(ring, kVictim).allocate());
  };
  const Steps allocate_two_and_free = allocates_two_and_frees(kVictim);
  const auto free_for_one_who_sleeps = [](const SharedRing& ring) {
    static_cast<void>(ring.sleepers(Awaited::room).announce(kOther));
  };
  const auto use_up = [](const SharedRing& ring) {
    submits_large(kOther, {1, 3})(ring);
    work_one(ring, kOther);
  };
  return {
      {"allocate", nothing, allocate, 0, 0},
      {"allocate where there is none", use_up, allocate, 3, 3},
      {"allocate and free", nothing, allocate_two_and_free, 0, 0},
      {"allocate and free at the ends of the ring", turn_extents, allocate_two_and_free, 0, 0},
      {"free for one who sleeps", free_for_one_who_sleeps,
       [](const SharedRing& ring) { allocate_and_free(ring, kVictim); }, 0, 0},
  };
}

std::vector<Operation> hand_overs() {
  const auto submit_two = [](const SharedRing& ring) {
    std::array<TaskContents, 2> tasks{large_task(ring, kVictim, 1), large_task(ring, kVictim, 2)};
    static_cast<void>(RingProducer(ring, kVictim).submit_batch(tasks));
  };
  const auto retried = [](const SharedRing& ring) {
    submits_large(kOther, {1, 1})(ring);
    work_one(ring, kOther);
    const RingSupervisor supervisor(ring, kSupervisor);
    supervisor.retry(supervisor.collect());
  };
  const auto work = [](const SharedRing& ring) { work_one(ring, kVictim); };
  return {
      {"submit with an extent", nothing, submits_large(kVictim, {1, 1}), 0, 1},
      {"submit with an extent behind others", submits_large(kOther, {1, 2}),
       submits_large(kVictim, {3, 3}), 2, 3},
      {"submit with an extent without room", submits(kOther, {1, 3}),
       submits_large(kVictim, {4, 4}), 3, 3},
      {"submit a batch with extents", nothing, submit_two, 0, 2},
      {"claim and complete with an extent", submits_large(kOther, {1, 2}), work, 2, 2},
      {"claim and complete what was tried before", retried, work, 1, 1},
      {"claim and complete where there is no extent", submits_large(kOther, {1, 3}),
       [](const SharedRing& ring) { work_one(ring, kVictim), work_one(ring, kVictim); }, 3, 3},
  };
}

void deliver_kept(const SharedRing& ring) {
  const RingSupervisor victim(ring, kVictim);
  const Settling settling = victim.collect();
  const auto bytes = victim.result_payload(settling);
  const Tag kept = victim.keep_result(settling);
  victim.release(settling);
  // Read while nothing but the extent is left of the task; freed only if it is still what it was.
  const bool whole = bytes && bytes->front() == bytes->back();
  if (whole) RingExtents(ring, kVictim).free(kept);
}

std::vector<Operation> settlements() {
  const auto done = [](const SharedRing& ring) {
    submits_large(kOther, {1, 2})(ring);
    while (work_one(ring, kOther)) {
    }
  };
  const auto release = [](const SharedRing& ring) {
    const RingSupervisor victim(ring, kVictim);
    victim.release(victim.collect());
  };
  const auto retry = [](const SharedRing& ring) {
    const RingSupervisor victim(ring, kVictim);
    victim.retry(victim.collect());
  };
  const auto delay_and_retry = [](const SharedRing& ring) {
    const RingSupervisor victim(ring, kVictim);
    Settling settling = victim.collect();
    victim.delay(settling);
    victim.retry(settling);
  };
  return {
      {"collect and release extents", done, release, 2, 2},
      {"collect, keep, release, read and free", done, deliver_kept, 2, 2},
      {"collect and retry with extents", done, retry, 2, 2, false},
      {"collect, delay and retry with extents", done, delay_and_retry, 2, 2, false},
  };
}

SlotWord word_of(const SharedRing& ring, Tag extent) {
  return SlotWord::from_bits(ring.free_extents().words()[extent_of(extent)].load(relaxed));
}
void set_word(const SharedRing& ring, Tag extent, const SlotWord& word) {
  ring.free_extents().words()[extent_of(extent)].store(word.bits(), relaxed);  // relaxed: alone
}

// Dies with an extent in hand, and one that it freed and did not put into its ring.
void die_holding(const SharedRing& ring, ParticipantIndex dead) {
  const RingExtents extents(ring, dead);
  static_cast<void>(extents.allocate());
  const Tag owed = extents.allocate().tag;
  set_word(ring, owed, {SlotState::free, false, 0, dead, word_of(ring, owed).generation});
}

// The same, and with one attached to a slot that is no task yet.
void die_submitting(const SharedRing& ring, ParticipantIndex dead) {
  const TaskContents contents = large_task(ring, dead, 9);
  const Taken taken = ring.free().take(SlotState::free, dead);
  ring.slot(taken.slot).contents = contents;
  set_word(ring, contents.extent,
           attached(word_of(ring, contents.extent), {taken.slot, ExtentUse::payload}));
  die_holding(ring, dead);
}

// The same, and with one attached as a result that it did not hand in.
void die_completing(const SharedRing& ring, ParticipantIndex dead) {
  const Claim claim = RingWorker(ring, dead).claim();
  const Tag extent = RingExtents(ring, dead).allocate().tag;
  ring.result(claim.slot) = {.payload_bytes = 1, .extent = extent};
  set_word(ring, extent, attached(word_of(ring, extent), {claim.slot, ExtentUse::result}));
  die_holding(ring, dead);
}

std::vector<Operation> sweeps() {
  const auto sweep = [](const SharedRing& ring) { sweep_and_retry(ring, kVictim, kHeir); };
  return {
      {"sweep of who submitted with an extent",
       [](const SharedRing& ring) { submits(kOther, {1, 1})(ring), die_submitting(ring, kHeir); },
       sweep, 1, 1},
      {"sweep of who completed with an extent",
       [](const SharedRing& ring) {
         submits_large(kOther, {1, 1})(ring), die_completing(ring, kHeir);
       },
       sweep, 1, 1},
  };
}

TEST(ExtentKill, WhoAllocatesAndFreesMayDieAtAnyInstruction) {
  kill_everywhere(allocations(), kOptions);
}

TEST(ExtentKill, WhoHandsOneOverMayDieAtAnyInstruction) {
  kill_everywhere(hand_overs(), kOptions);
}

TEST(ExtentKill, WhoSettlesMayDieAtAnyInstruction) {
  kill_everywhere(settlements(), kOptions);
}

TEST(ExtentKill, WhoSweepsMayDieAtAnyInstruction) {
  kill_everywhere(sweeps(), kOptions);
}

}  // namespace
}  // namespace muster::testing
