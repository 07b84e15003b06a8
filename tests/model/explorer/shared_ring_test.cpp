// shared_ring_test.cpp: the shipped ring between processes under every small schedule and every
// allowed read. Deaths at every step are in the Promela model and in tests/crash; here what a death
// left is made beforehand, and swept while others go on.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ring_scenarios.hpp"

namespace muster::explore {
namespace {

using testing::RingMemory;

// A ring and the account of what went through it.
class Ledger {
 public:
  struct Sizes {
    std::uint32_t slots = 2;
  };

  explicit Ledger(const Sizes& sizes) : memory_({.slots = sizes.slots, .participants = 2}) {}

  [[nodiscard]] const SharedRing& ring() const { return memory_.ring(); }

  bool submit(ParticipantIndex by, std::uint64_t id) {
    const Submitted submitted = memory_.producer(by).submit(contents_of(id));
    if (submitted.outcome != SubmitOutcome::submitted) return false;
    accepted_.push_back(id);
    return true;
  }

  // Sleeps until there is room; others make it.
  void submit_or_sleep(ParticipantIndex by, std::uint64_t id) {
    do_or_sleep(ring(), {by, Awaited::room}, [&] { return submit(by, id); });
  }

  bool work_once(ParticipantIndex by) {
    const Claim claim = memory_.worker(by).claim();
    if (claim.outcome != TakeOutcome::taken) return false;
    finish(by, claim);
    return true;
  }

  bool settle_once(ParticipantIndex by) {
    const Settling settling = memory_.supervisor(by).collect();
    if (settling.outcome != TakeOutcome::taken) return false;
    settle(by, settling);
    return true;
  }

  // As a worker does that sleeps when it finds nothing, until it has run one task.
  void work_or_sleep(ParticipantIndex by) {
    do_or_sleep(ring(), {by, Awaited::work}, [&] { return work_once(by); });
  }
  void settle_or_sleep(ParticipantIndex by) {
    do_or_sleep(ring(), {by, Awaited::results}, [&] { return settle_once(by); });
  }

  void sweep() { sweep_dead(memory_.supervisor(kSupervisor)); }

  // Claims a task and is never seen again.
  void claim_and_die() { static_cast<void>(memory_.worker(kDead).claim()); }

  void cancel(const TaskPlace& place) { memory_.producer(kSupervisor).cancel(place); }

  void accept(std::uint64_t id) { accepted_.push_back(id); }
  void write(SlotIndex slot, std::uint64_t id) {
    note_plain_write(&ring().slot(slot).contents);
    ring().slot(slot).contents = contents_of(id);
  }

  // By the final check, alone: what is left goes its way, then nothing may be missing.
  void expect_balanced() {
    sweep();
    while (work_once(kSupervisor)) {
    }
    while (settle_once(kSupervisor)) {
    }
    for (const std::uint64_t id : accepted_) {
      require(delivered_[id] == 1, "each accepted task is delivered once");
    }
    require(delivered_.size() == accepted_.size(), "nothing else is delivered");
    expect_slots_free(ring());
    const std::uint32_t slots = ring().geometry().slots;
    for (std::uint32_t i = 0; i < slots; ++i) {
      require(ring().free().take(SlotState::free, 0).outcome == TakeOutcome::taken,
              "the free ring leads to every slot");
    }
    require(ring().free().take(SlotState::free, 0).outcome == TakeOutcome::empty, "and no further");
    expect_at_rest(ring());
  }

 private:
  static TaskContents contents_of(std::uint64_t id) {
    TaskContents contents;
    contents.id = id;
    return contents;
  }

  void finish(ParticipantIndex by, const Claim& claim) {
    const std::uint64_t id = memory_.worker(by).contents(claim).id;
    require(memory_.worker(by).complete(claim, {.status = static_cast<std::uint32_t>(id)}) ==
                HandOver::done,
            "nobody is fenced");
  }
  void settle(ParticipantIndex by, const Settling& settling) {
    const RingSupervisor supervisor = memory_.supervisor(by);
    const std::uint64_t id = supervisor.contents(settling).id;
    require(supervisor.result(settling).status == id, "the result is that of the task");
    ++delivered_[id];
    require(supervisor.release(settling) == HandOver::done, "nobody is fenced");
  }

  RingMemory memory_;
  std::vector<std::uint64_t> accepted_;
  std::map<std::uint64_t, int> delivered_;
};

using Plan = RingPlan<Ledger>;
using Body = Plan::Body;

Scenario scenario(const Plan& plan) {
  return scenario_of(plan);
}

Body submits(ParticipantIndex by, std::uint64_t id) {
  return [=](Ledger& ledger) { ledger.submit(by, id); };
}
const Body kWorks = [](Ledger& ledger) { ledger.work_once(kWorker); };
const Body kSettles = [](Ledger& ledger) { ledger.settle_once(kSupervisor); };

std::vector<Scenario> ways() {
  return {
      scenario({.name = "two producers", .threads = {submits(0, 1), submits(1, 2)}}),
      scenario(
          {.name = "two producers, one worker", .threads = {submits(0, 1), submits(0, 2), kWorks}}),
      scenario({.name = "two workers",
                .before = [](Ledger& l) { l.submit(0, 1), l.submit(0, 2); },
                .threads = {kWorks, [](Ledger& l) { l.work_once(kSupervisor); }}}),
      scenario({.name = "one slot, all the way round, twice",
                .sizes = {.slots = 1},
                .threads = {[](Ledger& l) { l.submit(1, 1), l.submit_or_sleep(1, 2); },
                            [](Ledger& l) { l.work_or_sleep(0), l.settle_once(0); }}}),
      scenario({.name = "producer, worker, supervisor",
                .sizes = {.slots = 1},
                .threads = {submits(0, 1), kWorks, kSettles}}),
      scenario({.name = "two supervisors",
                .before =
                    [](Ledger& l) {
                      for (const std::uint64_t id : {1U, 2U}) l.submit(0, id), l.work_once(1);
                    },
                .threads = {kSettles, [](Ledger& l) { l.settle_once(1); }, submits(0, 3)}}),
  };
}

// An entry so old that its generation has come round again: the word alone says what is visible.
void leave_old_entries(const Ledger& ledger) {
  const SlotWord next{SlotState::ready, false, 0, 0, 1};
  ledger.ring().ready().put(tag_of(next, 0));
  SlotWord done = next;
  done.attempt = 1;
  ledger.ring().done().put(tag_of(done, 0));
  ledger.ring().free().put(tag_of(next, 0));
}

std::vector<Scenario> old_entries() {
  return {
      scenario({.name = "old entries fit again",
                .sizes = {.slots = 1},
                .before = leave_old_entries,
                .threads = {submits(0, 1), kWorks, kSettles}}),
  };
}

void leave(Ledger& ledger, SlotState state);

std::vector<Scenario> sleeping() {
  return {
      scenario({.name = "a sweep wakes who sleeps",
                .sizes = {.slots = 1},
                .before = [](Ledger& l) { leave(l, SlotState::ready); },
                .threads = {[](Ledger& l) { l.sweep(); },
                            [](Ledger& l) { l.work_or_sleep(kSupervisor); }}}),
      scenario({.name = "a worker sleeps",
                .sizes = {.slots = 1},
                .threads = {submits(0, 1), [](Ledger& l) { l.work_or_sleep(kWorker); }}}),
      scenario({.name = "a supervisor sleeps",
                .sizes = {.slots = 1},
                .before = [](Ledger& l) { l.submit(0, 1); },
                .threads = {kWorks, [](Ledger& l) { l.settle_or_sleep(kSupervisor); }}}),
      scenario({.name = "two workers sleep",
                .threads = {[](Ledger& l) { l.submit(0, 1), l.submit(0, 2); },
                            [](Ledger& l) { l.work_or_sleep(0); },
                            [](Ledger& l) { l.work_or_sleep(1); }},
                .limits = {.preemptions = 1, .stale_reads = 1}}),
  };
}

// What a participant may have left: a slot in each state that it answers for.
void leave(Ledger& ledger, SlotState state) {
  const Taken taken = ledger.ring().free().take(SlotState::free, kDead);
  SlotWord word = taken.word.moved(state, kDead);
  if (state == SlotState::claimed || state == SlotState::done) word.attempt = 1;
  if (state != SlotState::writing && state != SlotState::free) {
    ledger.write(taken.slot, 9);
    ledger.ring().result(taken.slot).status = 9;
    ledger.accept(9);
  }
  ledger.ring().slot(taken.slot).word.store(word.bits(), relaxed);  // relaxed: alone
}

std::vector<Scenario> sweeping() {
  const Body sweeps = [](Ledger& l) { l.sweep(); };
  const Body works = [](Ledger& l) { l.work_once(kSupervisor); };
  std::vector<Scenario> list;
  const std::map<std::string, SlotState> left = {{"writing", SlotState::writing},
                                                 {"ready", SlotState::ready},
                                                 {"claimed", SlotState::claimed},
                                                 {"done", SlotState::done},
                                                 {"free", SlotState::free}};
  for (const auto& [name, state] : left) {
    list.push_back(scenario({.name = "sweep of a slot left " + name,
                             .before = [left_as = state](Ledger& l) { leave(l, left_as); },
                             .threads = {sweeps, submits(0, 1), works},
                             .limits = {.preemptions = 2, .stale_reads = 1}}));
    list.push_back(scenario({.name = "two sweeps of a slot left " + name,
                             .sizes = {.slots = 1},
                             .before = [left_as = state](Ledger& l) { leave(l, left_as); },
                             .threads = {sweeps, sweeps}}));
  }
  list.push_back(scenario({.name = "sweep beside who is called off",
                           .sizes = {.slots = 1},
                           .before = [](Ledger& l) { leave(l, SlotState::claimed); },
                           .threads = {sweeps, [](Ledger& l) { l.cancel({0, 1}); }, works}}));
  list.push_back(
      scenario({.name = "sweep of who has just claimed",
                .sizes = {.slots = 1},
                .threads = {submits(0, 1), [](Ledger& l) { l.claim_and_die(); }, sweeps}}));
  return list;
}

std::vector<Scenario> cancelling() {
  const Body cancels = [](Ledger& l) { l.cancel({0, 1}); };
  return {
      scenario({.name = "a task is called off on its way",
                .sizes = {.slots = 1},
                .before = [](Ledger& l) { l.submit(0, 1); },
                .threads = {cancels, kWorks, kSettles}}),
  };
}

TEST(SharedRingModel, EveryTaskGoesItsWayOnce) {
  expect_all_hold(ways());
}

TEST(SharedRingModel, OldEntriesThatFitAgainDoNoHarm) {
  expect_all_hold(old_entries());
}

TEST(SharedRingModel, NobodySleepsWhileWorkWaits) {
  expect_all_hold(sleeping());
}

TEST(SharedRingModel, WhatADeathLeftIsSweptWhileOthersGoOn) {
  expect_all_hold(sweeping());
}

TEST(SharedRingModel, CallingOffLosesNothing) {
  expect_all_hold(cancelling());
}

TEST(SharedRingModel, EveryOrderOfTheRingsIsNeeded) {
  expect_weakenings_caught(joined({ways(), old_entries()}), "tag_ring.cpp", {head_seen()});
}

TEST(SharedRingModel, EveryOrderOfWhoHandsOverIsNeeded) {
  expect_weakenings_caught(joined({old_entries(), ways()}), "hand_over.hpp");
}

TEST(SharedRingModel, EveryOrderOfTheSweepIsNeeded) {
  expect_weakenings_caught(sweeping(), "ring_sweep.cpp");
}

TEST(SharedRingModel, EveryOrderOfSleepersIsNeeded) {
  const std::string reason =
      "keeps the load of the epoch in front of the bit; only a machine that delays a load past a "
      "later store could break it, which the explorer does not show. shared_ring.pml does: "
      "EPOCH_LATE";
  expect_weakenings_caught(sleeping(), "shared_sleepers.cpp",
                           {{"fetch_or(bit, release)", Weakening::drop_release, reason},
                            {"fetch_and(~bit, acquire)", Weakening::drop_acquire, reason}});
}

}  // namespace
}  // namespace muster::explore
