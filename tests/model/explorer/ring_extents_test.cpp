// ring_extents_test.cpp: the shipped extents of the shared ring under every small schedule and
// every allowed read. Deaths at every step are in the Promela model and in tests/crash; here what a
// death left is made beforehand, and swept while others go on.
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ring_scenarios.hpp"

namespace muster::explore {
namespace {

using testing::RingMemory;

// A ring with extents and who uses them. Two who have the same extent at once would write to the
// same memory, which the explorer watches.
class Arena {
 public:
  struct Sizes {
    std::uint32_t slots = 1;
    std::uint32_t extents = 1;
    std::uint32_t participants = 2;
  };

  explicit Arena(const Sizes& sizes)
      : memory_({.slots = sizes.slots,
                 .participants = sizes.participants,
                 .extents = sizes.extents,
                 .extent_bytes = 64}) {}

  [[nodiscard]] const SharedRing& ring() const { return memory_.ring(); }

  // One that `by` holds and has written to; 0 if there is none.
  Tag written(ParticipantIndex by, std::uint8_t value) {
    const Allocated extent = memory_.extents(by).allocate();
    if (extent.outcome == TakeOutcome::taken) write(by, extent.tag, value);
    return extent.tag;
  }

  // What it wrote is still there when it gives it back.
  void use(ParticipantIndex by, std::uint8_t value) {
    if (const Tag extent = written(by, value); extent != 0) give_back(by, extent, value);
  }
  void give_back(ParticipantIndex by, Tag extent, std::uint8_t value) {
    expect_read(memory_.extents(by).memory(extent), value);
    require(memory_.extents(by).free(extent) == HandOver::done, "it was its holder's");
  }

  // Sleeps until there is one; others free it.
  Tag written_or_sleep(ParticipantIndex by, std::uint8_t value) {
    Tag extent = 0;
    do_or_sleep(ring(), {by, Awaited::room}, [&] { return (extent = written(by, value)) != 0; });
    return extent;
  }
  void submit_or_sleep(ParticipantIndex by, std::uint8_t id) {
    do_or_sleep(ring(), {by, Awaited::room}, [&] { return submit(by, id, 0); });
  }

  // A task with its payload in an extent, or inline if there is none.
  void submit_large(ParticipantIndex by, std::uint8_t id) {
    const Tag extent = written(by, id);
    if (!submit(by, id, extent) && extent != 0) give_back(by, extent, id);
  }
  void submit_small(ParticipantIndex by, std::uint8_t id) { submit(by, id, 0); }

  // Answers in an extent, or inline if there is none.
  void work(ParticipantIndex by) {
    const RingWorker worker = memory_.worker(by);
    const Claim claim = worker.claim();
    if (claim.outcome != TakeOutcome::taken) return;
    const auto id = static_cast<std::uint8_t>(worker.contents(claim).id);
    expect_read(worker.payload(claim), id);
    TaskResult result{.status = id, .payload_bytes = 1};
    result.extent = written(by, id);
    result.payload[0] = static_cast<std::byte>(id);
    require(worker.complete(claim, result) == HandOver::done, "nobody is fenced");
  }

  void settle(ParticipantIndex by) {
    const RingSupervisor supervisor = memory_.supervisor(by);
    const Settling settling = supervisor.collect();
    if (settling.outcome != TakeOutcome::taken) return;
    const auto id = static_cast<std::uint8_t>(supervisor.contents(settling).id);
    expect_read(supervisor.payload(settling), id);
    expect_read(supervisor.result_payload(settling), id);
    require(supervisor.release(settling) == HandOver::done, "nobody is fenced");
  }

  // Reads the result when the slot is long gone.
  void settle_and_keep(ParticipantIndex by) {
    const RingSupervisor supervisor = memory_.supervisor(by);
    const Settling settling = supervisor.collect();
    if (settling.outcome != TakeOutcome::taken) return;
    const auto id = static_cast<std::uint8_t>(supervisor.contents(settling).id);
    const Tag kept = supervisor.keep_result(settling);
    require(supervisor.release(settling) == HandOver::done, "nobody is fenced");
    if (kept != 0) give_back(by, kept, id);
  }

  void retry(ParticipantIndex by) {
    const RingSupervisor supervisor = memory_.supervisor(by);
    const Settling settling = supervisor.collect();
    if (settling.outcome != TakeOutcome::taken) return;
    require(supervisor.retry(settling) == RetryOutcome::retried, "it can be retried");
  }

  void sweep() { sweep_dead(memory_.supervisor(kSupervisor)); }

  // Moves an extent's word as if somebody had died behind that step.
  void set_word(Tag extent, const SlotWord& word) const {
    ring().free_extents().words()[extent_of(extent)].store(word.bits(), relaxed);  // relaxed: alone
  }
  [[nodiscard]] SlotWord word_of(ExtentIndex extent) const {
    return SlotWord::from_bits(ring().free_extents().words()[extent].load(relaxed));
  }

  // By the final check, alone: what is left goes its way, then every extent is free and the ring
  // leads to each once.
  void expect_balanced() {
    sweep();
    for (std::uint32_t i = 0; i < 2 * ring().geometry().slots; ++i) work(kSupervisor);
    for (std::uint32_t i = 0; i < ring().geometry().slots; ++i) settle(kSupervisor);
    expect_slots_free(ring());
    const std::uint32_t extents = ring().geometry().extents;
    for (ExtentIndex extent = 0; extent < extents; ++extent) {
      require(word_of(extent).state == SlotState::free, "every extent is free");
    }
    expect_no_duplicates();
    for (std::uint32_t i = 0; i < extents; ++i) {
      require(written(kSupervisor, 0) != 0, "the ring leads to every extent");
    }
    require(written(kSupervisor, 0) == 0, "and no further");
    expect_at_rest(ring());
  }

 private:
  // They would do no harm but fill the ring, sweep by sweep. What a test left there is not of this
  // life.
  void expect_no_duplicates() const {
    const TagRing& extents = ring().free_extents();
    std::set<Tag> seen;
    for (std::uint32_t cell = 0; cell < extents.capacity(); ++cell) {
      Tag tag = 0;
      if (!extents.pending(cell, tag)) continue;
      if (tag_of(word_of(slot_of(tag)), slot_of(tag)) != tag) continue;
      require(seen.insert(tag).second, "no extent is in the ring twice");
    }
  }
  void write(ParticipantIndex by, Tag extent, std::uint8_t value) {
    std::byte& first = memory_.extents(by).memory(extent).front();
    note_plain_write(&first);
    first = static_cast<std::byte>(value);
  }
  static void expect_read(std::optional<std::span<const std::byte>> found, std::uint8_t value) {
    const auto bytes = found.value_or(std::span<const std::byte>{});
    if (bytes.empty()) return require(false, "there is something to read");
    note_plain_read(bytes.data());
    require(bytes.front() == static_cast<std::byte>(value), "it is what was written");
  }
  bool submit(ParticipantIndex by, std::uint8_t id, Tag extent) {
    TaskContents contents;
    contents.id = id;
    contents.extent = extent;
    contents.payload_bytes = 1;
    contents.payload[0] = static_cast<std::byte>(id);
    const SubmitOutcome outcome = memory_.producer(by).submit(contents).outcome;
    require(outcome == SubmitOutcome::submitted || outcome == SubmitOutcome::no_room ||
                outcome == SubmitOutcome::contended,
            "what it holds is its own");
    return outcome == SubmitOutcome::submitted;
  }

  RingMemory memory_;
};

using Plan = RingPlan<Arena>;
using Body = Plan::Body;

Scenario scenario(const Plan& plan) {
  return scenario_of(plan);
}

Body uses(ParticipantIndex by) {
  return [=](Arena& arena) { arena.use(by, static_cast<std::uint8_t>(10 + by)); };
}
const Body kWorks = [](Arena& arena) { arena.work(kWorker); };
const Body kSettles = [](Arena& arena) { arena.settle(kSupervisor); };

std::vector<Scenario> allocating() {
  const auto twice = [](ParticipantIndex by) {
    return [=](Arena& a) { uses(by)(a), uses(by)(a); };
  };
  return {
      scenario({.name = "two want one extent", .threads = {uses(0), uses(1)}}),
      scenario({.name = "two want two", .sizes = {.extents = 2}, .threads = {uses(0), uses(1)}}),
      scenario({.name = "two want one, twice each", .threads = {twice(0), twice(1)}}),
      scenario({.name = "three want two",
                .sizes = {.extents = 2},
                .threads = {uses(0), uses(1), uses(1)},
                .limits = {.preemptions = 2, .stale_reads = 1}}),
  };
}

std::vector<Scenario> handing_over() {
  const Body submits = [](Arena& a) { a.submit_large(kSupervisor, 1); };
  const Body done = [=](Arena& a) { submits(a), kWorks(a); };
  return {
      scenario({.name = "a payload goes over", .threads = {submits, kWorks}}),
      scenario({.name = "a result comes back",
                .before = [](Arena& a) { a.submit_small(kSupervisor, 1); },
                .threads = {kWorks, kSettles}}),
      scenario(
          {.name = "a payload's extent is used again",
           .before = submits,
           .threads = {[](Arena& a) { a.work(kSupervisor), a.settle(kSupervisor); }, uses(1)}}),
      scenario({.name = "both extents are used again",
                .sizes = {.extents = 2},
                .before = done,
                .threads = {kSettles, uses(1), uses(1)},
                .limits = {.preemptions = 2, .stale_reads = 1}}),
      scenario({.name = "a kept result is used again",
                .sizes = {.extents = 2},
                .before = done,
                .threads = {[](Arena& a) { a.settle_and_keep(kSupervisor); }, uses(1)}}),
      scenario({.name = "a result that is not wanted is used again",
                .sizes = {.extents = 2},
                .before = done,
                .threads = {[](Arena& a) { a.retry(kSupervisor); }, kWorks, uses(0)},
                .limits = {.preemptions = 2, .stale_reads = 1}}),
      scenario({.name = "all the way round",
                .sizes = {.extents = 2},
                .threads = {submits, kWorks, kSettles},
                .limits = {.preemptions = 2, .stale_reads = 1}}),
  };
}

// An entry so old that its generation has come round again: the word alone says what is visible.
void leave_old_entry(const Arena& arena) {
  arena.ring().free_extents().put(tag_of(SlotWord{SlotState::free, false, 0, 0, 1}, 0));
}

std::vector<Scenario> old_entries() {
  const Body done = [](Arena& a) { a.submit_small(kSupervisor, 1), kWorks(a), leave_old_entry(a); };
  return {
      scenario({.name = "an old entry fits what was freed",
                .before = leave_old_entry,
                .threads = {uses(0), uses(1)}}),
      scenario({.name = "an old entry fits what was a result",
                .before = done,
                .threads = {kSettles, uses(1)}}),
      scenario({.name = "an old entry fits what a sweep freed",
                .before = leave_old_entry,
                .threads = {[](Arena& a) { a.written(kDead, 9), a.sweep(); }, uses(0)}}),
  };
}

// What a participant may have left of one extent, and of the slot that refers to it.
struct Left {
  std::string name;
  std::function<void(Arena&)> make;
};

void leave_slot(Arena& arena, SlotState state, ExtentUse use) {
  const Tag extent = arena.written(kDead, 9);
  const Taken taken = arena.ring().free().take(SlotState::free, kDead);
  TaskContents contents;
  contents.id = 9;
  contents.payload_bytes = 1;
  contents.payload[0] = std::byte{9};
  if (use == ExtentUse::payload) contents.extent = extent;
  arena.ring().slot(taken.slot).contents = contents;
  if (use == ExtentUse::result) arena.ring().result(taken.slot).extent = extent;
  SlotWord word = taken.word.moved(state, kDead);
  if (state == SlotState::claimed) word.attempt = 1;
  arena.ring().slot(taken.slot).word.store(word.bits(), relaxed);  // relaxed: alone
  arena.set_word(extent, attached(arena.word_of(extent_of(extent)), {taken.slot, use}));
}

std::vector<Left> what_is_left() {
  return {{"held", [](Arena& a) { a.written(kDead, 9); }},
          {"freed",
           [](Arena& a) {
             const Tag extent = a.written(kDead, 9);
             const std::uint64_t generation = a.word_of(extent_of(extent)).generation;
             a.set_word(extent, {SlotState::free, false, 0, kDead, generation});
           }},
          {"attached to no task yet",
           [](Arena& a) { leave_slot(a, SlotState::writing, ExtentUse::payload); }},
          {"attached to a claimed task",
           [](Arena& a) { leave_slot(a, SlotState::claimed, ExtentUse::payload); }},
          {"attached as a result not handed in",
           [](Arena& a) { leave_slot(a, SlotState::claimed, ExtentUse::result); }}};
}

std::vector<Scenario> sweeping() {
  const Body sweeps = [](Arena& a) { a.sweep(); };
  std::vector<Scenario> list;
  for (const Left& left : what_is_left()) {
    list.push_back(scenario({.name = "sweep of one " + left.name,
                             .sizes = {.extents = 2},
                             .before = left.make,
                             .threads = {sweeps, uses(0)}}));
    list.push_back(scenario({.name = "two sweeps of one " + left.name,
                             .before = left.make,
                             .threads = {sweeps, sweeps}}));
  }
  return list;
}

std::vector<Scenario> sleeping() {
  const Body hold = [](Arena& a) { a.written(kSupervisor, 7); };
  const Body give_back = [](Arena& a) { a.give_back(kSupervisor, extent_tag(a.word_of(0), 0), 7); };
  const Body hold_both = [=](Arena& a) {
    hold(a), a.submit_small(kSupervisor, 1), a.work(kSupervisor);
  };
  return {
      scenario(
          {.name = "who waits for an extent is woken",
           .before = hold,
           .threads = {give_back, [](Arena& a) { a.give_back(1, a.written_or_sleep(1, 8), 8); }}}),
      // Whoever waits for the extent is picked first, and is woken for the slot too.
      scenario({.name = "one waits for a slot, one for an extent",
                .sizes = {.participants = 3},
                .before = hold_both,
                .threads = {[=](Arena& a) { kSettles(a), give_back(a); },
                            [](Arena& a) { a.written_or_sleep(1, 8); },
                            [](Arena& a) { a.submit_or_sleep(2, 2); }},
                .limits = {.preemptions = 2, .stale_reads = 1}}),
  };
}

TEST(RingExtentsModel, AnExtentIsHeldByOneAtATime) {
  expect_all_hold(allocating());
}

TEST(RingExtentsModel, WhatIsHandedOverArrivesAndIsFreedOnce) {
  expect_all_hold(handing_over());
}

TEST(RingExtentsModel, OldEntriesThatFitAgainDoNoHarm) {
  expect_all_hold(old_entries());
}

TEST(RingExtentsModel, WhatADeathLeftIsSweptWhileOthersGoOn) {
  expect_all_hold(sweeping());
}

TEST(RingExtentsModel, NobodySleepsWhileThereIsRoom) {
  expect_all_hold(sleeping());
}

TEST(RingExtentsModel, EveryOrderOfTheRingsIsNeeded) {
  expect_weakenings_caught(joined({old_entries(), allocating(), handing_over()}), "tag_ring.cpp",
                           {head_seen()});
}

TEST(RingExtentsModel, EveryOrderOfWhoHandsOverIsNeeded) {
  expect_weakenings_caught(joined({old_entries(), handing_over()}), "hand_over.hpp");
}

}  // namespace
}  // namespace muster::explore
