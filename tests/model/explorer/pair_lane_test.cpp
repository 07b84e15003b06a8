// pair_lane_test.cpp: the shipped ring between two under every small schedule and every allowed
// read. What a worker's death leaves is made by hand, beforehand or while the sender goes on, which
// sweeps it before the next one takes the place.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ring_scenarios.hpp"

namespace muster::explore {
namespace {

using testing::RingMemory;

// A ring between two and the account of what went through it, which the sender keeps.
class Ledger {
 public:
  enum class Positions { shared, own };
  struct Sizes {
    std::uint32_t slots = 1;
    Positions positions = Positions::shared;
  };

  explicit Ledger(const Sizes& sizes)
      : memory_({.slots = sizes.slots, .participants = 2, .parties = RingParties::pair}) {
    if (sizes.positions == Positions::shared) return;
    of_sender_.lane().keep_positions_in(sender_positions_);
    of_worker_.lane().keep_positions_in(worker_positions_);
  }

  [[nodiscard]] const SharedRing& ring() const { return memory_.ring(); }

  // By the sender.
  bool submit(std::uint64_t id) {
    const Submitted submitted = producer().submit(contents_of(id));
    if (submitted.outcome != SubmitOutcome::submitted) return false;
    newest_ = submitted.place;
    accepted_.push_back(id);
    return true;
  }
  bool take_back() {
    const Taken taken = producer().take_back();
    if (taken.outcome != TakeOutcome::taken) return false;
    require(whole_id(supervisor().contents(taken)) == accepted_.back(), "the newest comes back");
    accepted_.pop_back();
    std::erase_if(called_off_, [&](const TaskPlace& place) { return is_at(place, taken); });
    require(supervisor().release(taken) == HandOver::done, "nobody is fenced");
    return true;
  }
  void cancel() {
    if (producer().cancel(newest_) == CancelOutcome::cancelled) called_off_.push_back(newest_);
  }
  bool settle_once() {
    const Settling settling = supervisor().collect();
    if (settling.outcome != TakeOutcome::taken) return false;
    const std::uint64_t id = whole_id(supervisor().contents(settling));
    require(supervisor().result(settling).status == id, "the result is that of the task");
    require(!settling.word.cancelled || was_called_off(settling), "no other is called off");
    delivered_.push_back(id);
    require(supervisor().release(settling) == HandOver::done, "nobody is fenced");
    return true;
  }
  void settle_or_sleep() {
    do_or_sleep(ring(), {kPairSender, Awaited::results}, [&] { return settle_once(); });
  }
  void settle_or_look() {
    while (!of_sender_.has_done()) spin_pause();
    require(settle_once(), "what it saw is there");
  }

  // What was claimed is given up, and submitted once more: never, at once, or when the sweep is
  // over.
  enum class Again { never, at_once, afterwards };
  void sweep(Again again) {
    std::vector<std::uint64_t> given_up;
    sweep_dead(supervisor(), [&](const Settling& left) {
      require(supervisor().retry(left) == RetryOutcome::exhausted, "not in its slot");
      const std::uint64_t id = whole_id(supervisor().contents(left));
      require(std::erase(accepted_, id) == 1, "it was submitted");
      require(supervisor().release(left) == HandOver::done, "nobody is fenced");
      if (again == Again::never) return;
      if (again == Again::afterwards || !submit(id)) given_up.push_back(id);
    });
    for (const std::uint64_t id : given_up) {
      if (submit(id)) continue;
      require(settle_once(), "the next slot has a result");
      require(submit(id), "then there is room");
    }
  }
  // When the kernel has said that it is dead.
  void sweep_after_death(Again again) {
    while (!is_dead_.load(acquire)) spin_pause();  // the kernel's word
    sweep(again);
  }

  // By the worker.
  bool work_once() {
    const Claim claim = worker().claim();
    if (claim.outcome != TakeOutcome::taken) return false;
    finish(claim);
    return true;
  }
  // Claims two, and completes the second before the first.
  void work_crosswise() {
    const Claim first = worker().claim();
    work_once();
    if (first.outcome == TakeOutcome::taken) finish(first);
  }
  // As a worker does that sleeps when it finds nothing, until it has run one task.
  void work_or_sleep() {
    do_or_sleep(ring(), {kPairWorker, Awaited::work}, [&] { return work_once(); });
  }
  // Looks once more before it would sleep, and does not.
  void work_or_withdraw() {
    if (work_once()) return;
    const SharedSleepers sleepers = ring().sleepers(Awaited::work);
    const auto ticket = sleepers.announce(kPairWorker);
    work_once();
    sleepers.withdraw(ticket);
  }
  // That of one who died, when it was swept.
  void take_place() {
    while (!ring().occupy(kPairWorker, 2)) spin_pause();
  }

  void expect_figures() const {
    const std::uint32_t slots = ring().geometry().slots;
    require(ring().ready_approx() <= slots, "no more are ready than there are slots");
    require(ring().done_approx() <= slots, "nor begun");
    require(ring().free_approx() <= slots, "nor free");
  }

  // By the final check, alone: what is left goes its way, then nothing may be missing, and all
  // slots can be used once more.
  void expect_balanced() {
    finish_all();
    require(delivered_ == accepted_, "each accepted task is delivered once, in order");
    expect_slots_free(ring());
    const std::uint32_t slots = ring().geometry().slots;
    for (std::uint32_t i = 0; i < slots; ++i) require(submit(100 + i), "every slot takes a task");
    require(!submit(99), "and no more");
    finish_all();
    require(delivered_ == accepted_, "and it comes back");
    require(!take_back(), "there is nothing to take back");
    expect_slots_free(ring());
    expect_at_rest(ring());
  }

  // What a worker leaves that dies behind its claim; before it has counted that; and when its
  // task is done, before it tells so.
  void die_when_claimed() {
    static_cast<void>(worker().claim());
    is_dead_.store(true, release);
  }
  void die_before_counting(SlotIndex slot) {
    Atomic<std::uint64_t>& word = ring().slot(slot).word;
    std::uint64_t bits = word.load(relaxed);
    const SlotWord seen = SlotWord::from_bits(bits);
    if (seen.state == SlotState::ready) {
      word.compare_exchange_strong(bits, seen.taken(kDead).bits(), acquire, relaxed);
    }
    is_dead_.store(true, release);
  }
  void die_before_telling() {
    const Claim claim = worker().claim();
    if (claim.outcome == TakeOutcome::taken) {
      const std::uint64_t id = whole_id(worker().contents(claim));
      note_plain_write(&ring().result(claim.slot));
      ring().result(claim.slot).status = static_cast<std::uint32_t>(id);
      const SlotWord done = claim.word.moved(SlotState::done, kDead);
      ring().slot(claim.slot).word.store(done.bits(), release);
    }
    is_dead_.store(true, release);
  }

 private:
  static TaskContents contents_of(std::uint64_t id) {
    TaskContents contents;
    contents.id = id;
    contents.timestamp = ~id;
    contents.payload.fill(static_cast<std::byte>(id));
    return contents;
  }
  static std::uint64_t whole_id(const TaskContents& contents) {
    const TaskContents meant = contents_of(contents.id);
    require(contents.timestamp == meant.timestamp && contents.payload == meant.payload,
            "a task arrives whole");
    return contents.id;
  }
  static bool is_at(const TaskPlace& place, const Taken& taken) {
    return place.slot == taken.slot && place.generation == taken.word.generation;
  }
  [[nodiscard]] bool was_called_off(const Settling& settling) const {
    return std::ranges::any_of(called_off_,
                               [&](const TaskPlace& place) { return is_at(place, settling); });
  }
  void finish(const Claim& claim) {
    const auto status = static_cast<std::uint32_t>(whole_id(worker().contents(claim)));
    require(worker().complete(claim, {.status = status}) == HandOver::done, "nobody is fenced");
  }
  void finish_all() {
    while (work_once()) {
    }
    while (settle_once()) {
    }
  }
  [[nodiscard]] RingProducer producer() const { return {of_sender_, kPairSender}; }
  [[nodiscard]] RingSupervisor supervisor() const { return {of_sender_, kPairSender}; }
  [[nodiscard]] RingWorker worker() const { return {of_worker_, kPairWorker}; }

  RingMemory memory_;
  SharedRing of_sender_ = memory_.ring();
  SharedRing of_worker_ = memory_.ring();
  PairPositions sender_positions_;
  PairPositions worker_positions_;
  Atomic<bool> is_dead_ = false;
  TaskPlace newest_;
  std::vector<TaskPlace> called_off_;
  std::vector<std::uint64_t> accepted_;
  std::vector<std::uint64_t> delivered_;
};

using Plan = RingPlan<Ledger>;
using Body = Plan::Body;
using Again = Ledger::Again;

Scenario scenario(const Plan& plan) {
  return scenario_of(plan);
}

Body submits(std::uint64_t id) {
  return [=](Ledger& ledger) { ledger.submit(id); };
}
const Body kWorks = [](Ledger& ledger) { ledger.work_once(); };
const Body kWorksTwice = [](Ledger& ledger) { ledger.work_once(), ledger.work_once(); };
const Body kSettlesAndSubmits = [](Ledger& ledger) { ledger.settle_once(), ledger.submit(2); };

std::vector<Scenario> ways() {
  const Body round = [](Ledger& l) { l.submit(1), l.settle_once(), l.submit(2), l.settle_once(); };
  return {
      scenario({.name = "a task goes over", .threads = {submits(1), kWorks}}),
      scenario({.name = "a result comes back, and the next task goes",
                .before = submits(1),
                .threads = {kWorksTwice, kSettlesAndSubmits}}),
      scenario({.name = "two tasks, two slots",
                .sizes = {.slots = 2},
                .threads = {[](Ledger& l) { l.submit(1), l.submit(2); }, kWorksTwice}}),
      scenario({.name = "two results, two slots",
                .sizes = {.slots = 2},
                .before = [](Ledger& l) { l.submit(1), l.submit(2); },
                .threads = {[](Ledger& l) { l.settle_once(), l.settle_once(); }, kWorksTwice}}),
      scenario({.name = "the second is done first",
                .sizes = {.slots = 2},
                .before = [](Ledger& l) { l.submit(1), l.submit(2); },
                .threads = {[](Ledger& l) { l.settle_once(), l.submit(3), l.settle_once(); },
                            [](Ledger& l) { l.work_crosswise(); }}}),
      scenario({.name = "one slot, round and round", .threads = {round, kWorksTwice}}),
      scenario({.name = "each keeps its own positions",
                .sizes = {.positions = Ledger::Positions::own},
                .threads = {round, kWorksTwice}}),
      scenario({.name = "two slots, round and round",
                .sizes = {.slots = 2},
                .before = [](Ledger& l) { l.submit(1), l.submit(2); },
                .threads = {
                    [](Ledger& l) { l.settle_once(), l.submit(3), l.settle_once(), l.submit(4); },
                    [](Ledger& l) { kWorksTwice(l), kWorksTwice(l); }}}),
      scenario({.name = "the sender counts",
                .sizes = {.slots = 2},
                .before = [](Ledger& l) { l.submit(1), l.submit(2); },
                .threads = {[](Ledger& l) { l.settle_once(), l.expect_figures(); }, kWorksTwice}}),
      scenario({.name = "the sender looks for results",
                .sizes = {.slots = 2},
                .before = submits(1),
                .threads = {kWorksTwice,
                            [](Ledger& l) { l.submit(2), l.settle_or_look(), l.submit(3); }}}),
  };
}

// The worker may be between its look and its exchange: then it gets the other task.
std::vector<Scenario> taking_back() {
  const Body replaces = [](Ledger& l) { l.take_back(), l.submit(2); };
  return {
      scenario({.name = "a task is taken back",
                .before = submits(1),
                .threads = {[](Ledger& l) { l.take_back(); }, kWorks}}),
      scenario({.name = "another takes its slot",
                .before = submits(1),
                .threads = {replaces, kWorksTwice}}),
      scenario({.name = "another takes its slot, with own positions",
                .sizes = {.slots = 2, .positions = Ledger::Positions::own},
                .before = [](Ledger& l) { l.submit(1), l.submit(2); },
                .threads = {[](Ledger& l) { l.take_back(), l.submit(3); }, kWorksTwice}}),
      scenario({.name = "another takes its slot, among two",
                .sizes = {.slots = 2},
                .before = [](Ledger& l) { l.submit(1), l.submit(2); },
                .threads = {[](Ledger& l) { l.take_back(), l.submit(3); }, kWorksTwice}}),
      scenario(
          {.name = "both are taken back",
           .sizes = {.slots = 2},
           .before = [](Ledger& l) { l.submit(1), l.submit(2); },
           .threads = {[](Ledger& l) { l.take_back(), l.take_back(), l.submit(3); }, kWorksTwice}}),
      scenario({.name = "taken back in a later life",
                .before = [](Ledger& l) { l.submit(7), l.work_once(), l.settle_once(); },
                .threads = {[](Ledger& l) { l.submit(1), l.take_back(), l.submit(2); }, kWorks}}),
  };
}

std::vector<Scenario> cancelling() {
  return {
      scenario(
          {.name = "a task is called off on its way",
           .before = submits(1),
           .threads = {[](Ledger& l) { l.cancel(), l.settle_once(), l.submit(2); }, kWorksTwice}}),
      scenario(
          {.name = "called off, then taken back",
           .before = submits(1),
           .threads = {[](Ledger& l) { l.cancel(), l.take_back(), l.submit(2); }, kWorksTwice}}),
  };
}

std::vector<Scenario> sleeping() {
  return {
      scenario({.name = "a worker sleeps",
                .threads = {submits(1), [](Ledger& l) { l.work_or_sleep(); }}}),
      scenario({.name = "a worker sleeps, and a task is taken back",
                .threads = {[](Ledger& l) { l.submit(1), l.take_back(), l.submit(2); },
                            [](Ledger& l) { l.work_or_sleep(); }}}),
      scenario({.name = "a worker looks again, and a task is taken back",
                .threads = {[](Ledger& l) { l.submit(1), l.take_back(); },
                            [](Ledger& l) { l.work_or_withdraw(); }}}),
      scenario({.name = "a sender sleeps",
                .before = submits(1),
                .threads = {kWorks, [](Ledger& l) { l.settle_or_sleep(); }}}),
      scenario({.name = "both sleep",
                .threads = {[](Ledger& l) { l.submit(1), l.settle_or_sleep(), l.submit(2); },
                            [](Ledger& l) { l.work_or_sleep(), l.work_or_sleep(); }},
                .limits = {.preemptions = 2, .stale_reads = 1}}),
  };
}

// What a worker that had the index left of so many tasks.
struct Left {
  std::string name;
  std::uint32_t tasks;
  Body make;
};

std::vector<Left> what_is_left() {
  return {
      {"claimed", 1, [](Ledger& l) { l.die_when_claimed(); }},
      {"claimed, not counted", 1, [](Ledger& l) { l.die_before_counting(0); }},
      {"done, not told", 1, [](Ledger& l) { l.die_before_telling(); }},
      {"claimed of two", 2, [](Ledger& l) { l.die_when_claimed(); }},
      {"claimed of two, not counted", 2, [](Ledger& l) { l.die_before_counting(0); }},
      {"done of two, not told", 2, [](Ledger& l) { l.die_before_telling(); }},
      {"both claimed", 2, [](Ledger& l) { l.die_when_claimed(), l.die_when_claimed(); }},
      {"done, claimed", 2, [](Ledger& l) { l.work_once(), l.die_when_claimed(); }},
      {"done, claimed, not counted", 2, [](Ledger& l) { l.work_once(), l.die_before_counting(1); }},
      {"claimed, done, not told", 2,
       [](Ledger& l) { l.die_when_claimed(), l.die_before_telling(); }}};
}

Body lives_and_leaves(const Left& left) {
  return [=](Ledger& l) {
    require(l.ring().occupy(kPairWorker, 1), "nobody had it");
    for (std::uint64_t id = 1; id <= left.tasks; ++id) l.submit(id);
    left.make(l);
  };
}

// The sender sweeps and goes on, before or after it has looked for results.
Body sweeps(Again again) {
  return [=](Ledger& l) {
    l.sweep_after_death(again);
    if (again == Again::afterwards) {
      while (l.settle_once()) {
      }
    }
    if (!l.submit(7)) l.settle_once(), l.submit(7);
  };
}

std::vector<Scenario> sweeping() {
  const Body succeeds = [](Ledger& l) { l.take_place(), l.work_or_sleep(); };
  const Body looks = [](Ledger& l) { l.take_place(), l.work_once(); };
  const Body gives_up = [](Ledger& l) { l.sweep(Again::never), l.settle_once(); };
  std::vector<Scenario> list;
  for (const Left& left : what_is_left()) {
    const auto plan = [&](const std::string& when, const std::vector<Body>& threads) {
      list.push_back(scenario({.name = left.name + when,
                               .sizes = {.slots = left.tasks},
                               .before = lives_and_leaves(left),
                               .threads = threads}));
    };
    plan("; never again", {gives_up, looks});
    plan("; at once", {sweeps(Again::at_once), succeeds});
    plan("; afterwards", {sweeps(Again::afterwards), succeeds});
  }
  return list;
}

// It dies while the sender goes on.
std::vector<Scenario> dying() {
  const Body goes_on = [](Ledger& l) {
    l.submit(1), l.submit(2), l.take_back(), l.submit(3);
    sweeps(Again::at_once)(l);
  };
  const auto dies = [&](const std::string& name, const Body& how) {
    return scenario({.name = name, .sizes = {.slots = 2}, .threads = {goes_on, how}});
  };
  return {
      dies("dies when it has claimed", [](Ledger& l) { l.work_once(), l.die_when_claimed(); }),
      dies("dies before it has counted", [](Ledger& l) { l.die_before_counting(0); }),
      dies("dies before it has told", [](Ledger& l) { l.work_once(), l.die_before_telling(); }),
  };
}

TEST(PairLaneModel, EveryTaskGoesItsWayOnceAndInOrder) {
  expect_all_hold(ways());
}

TEST(PairLaneModel, WhatIsTakenBackIsNotRun) {
  expect_all_hold(taking_back());
}

TEST(PairLaneModel, CallingOffLosesNothing) {
  expect_all_hold(cancelling());
}

TEST(PairLaneModel, NobodySleepsWhileWorkWaits) {
  expect_all_hold(sleeping());
}

TEST(PairLaneModel, WhatADeathLeftIsSweptBeforeTheNextWorks) {
  expect_all_hold(sweeping());
}

TEST(PairLaneModel, WhoDiesWhileTheSenderGoesOnLosesNothing) {
  expect_all_hold(dying());
}

TEST(PairLaneModel, EveryOrderOfTheLaneIsNeeded) {
  expect_weakenings_caught(
      joined({ways(), taking_back(), cancelling(), sleeping(), sweeping(), dying()}),
      "pair_lane.cpp");
}

TEST(PairLaneModel, EveryOrderOfWhoHandsOverIsNeeded) {
  expect_weakenings_caught(joined({ways(), taking_back()}), "hand_over.hpp");
}

}  // namespace
}  // namespace muster::explore
