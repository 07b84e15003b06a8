// shared_ring_stress_test.cpp: tasks through the ring between processes, on threads of one process,
// so that the thread sanitizer sees both ends; some die on the way and are swept. Parcels and what
// is answered travel in slots or in extents, as there are any.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"
#include "support/ring_memory.hpp"

namespace muster::testing {
namespace {

static_assert(sizeof(Parcel) == kInlinePayload, "a parcel fills a slot's payload");

// Whoever sleeps so long was forgotten, whatever woke it in the end.
constexpr std::chrono::seconds kTooLong{10};

struct Setup {
  std::uint32_t slots;
  std::uint32_t extents;
  std::uint32_t producers;
  std::uint32_t workers;
  std::uint64_t deaths_one_in;  // 0: nobody dies
};

Setup random_setup(Random& random, std::uint64_t deaths_one_in) {
  constexpr std::array<std::uint32_t, 4> kSlots = {1, 2, 5, 64};
  constexpr std::array<std::uint32_t, 4> kExtents = {0, 1, 3, 40};
  return {.slots = kSlots.at(random.below(kSlots.size())),
          .extents = kExtents.at(random.below(kExtents.size())),
          .producers = static_cast<std::uint32_t>(1 + random.below(3)),
          .workers = static_cast<std::uint32_t>(1 + random.below(3)),
          .deaths_one_in = deaths_one_in};
}

Parcel unpacked(std::optional<std::span<const std::byte>> bytes) {
  Parcel parcel;
  if (bytes && bytes->size() == sizeof parcel) std::memcpy(&parcel, bytes->data(), sizeof parcel);
  return parcel;
}

// Indexes: 0 supervises, then the producers, then the workers.
class Round {
 public:
  explicit Round(const Setup& setup)
      : setup_(setup),
        memory_({.slots = setup.slots,
                 .participants = 1 + setup.producers + setup.workers,
                 .extents = setup.extents,
                 .extent_bytes = setup.extents == 0 ? 0U : 64U}),
        ledger_({.producers = setup.producers, .each = 400 / setup.producers}),
        dead_(1 + setup.producers + setup.workers) {}

  void play(Random& random) {
    SCOPED_TRACE(::testing::Message()
                 << setup_.slots << " slots, " << setup_.extents << " extents, " << setup_.producers
                 << " producers, " << setup_.workers << " workers, one in " << setup_.deaths_one_in
                 << " dies");
    {
      Threads threads(random);
      threads.start([this](Random& own) { supervise(own); });
      for (std::uint32_t i = 0; i < setup_.producers; ++i) {
        threads.start([this, i](Random& own) { produce(i, own); });
      }
      for (std::uint32_t i = 0; i < setup_.workers; ++i) {
        const auto index = static_cast<ParticipantIndex>(1 + setup_.producers + i);
        threads.start([this, index](Random& own) { work(index, own); });
      }
    }
    ledger_.expect_every_parcel_once_and_in_order();
    EXPECT_EQ(memory_.ring().damage(), 0U);
    for (SlotIndex slot = 0; slot < setup_.slots; ++slot) {
      EXPECT_EQ(memory_.ring().word(slot).state, SlotState::free);
    }
    EXPECT_EQ(memory_.ring().free_approx(), setup_.slots);
    EXPECT_EQ(memory_.ring().free_extents_approx(), setup_.extents);
  }

 private:
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }

  // Sleeps unless `look` finds something, then or by and by.
  template <class Look>
  void sleep_unless(Awaited awaited, ParticipantIndex me, const Look& look) {
    const SharedSleepers sleepers = memory_.ring().sleepers(awaited);
    const auto ticket = sleepers.announce(me);
    if (over() || look()) return sleepers.withdraw(ticket);
    const Time began = real_clock().now();
    sleepers.park(ticket, std::chrono::nanoseconds(kTooLong).count());
    if (real_clock().now() - began >= kTooLong) end_early();
  }

  void end_early() {
    ledger_.record_out_of_order();
    end();
  }
  void end() {
    over_.store(true, std::memory_order_release);
    memory_.ring().sleepers(Awaited::work).wake_all();
  }

  // Stops where it is; goes on as another when it has been swept.
  void die(ParticipantIndex me) {
    dead_[me].store(true, std::memory_order_release);
    static_cast<void>(memory_.ring().sleepers(Awaited::results).wake(1));  // the kernel's report
    Patience patience;
    while (dead_[me].load(std::memory_order_acquire) && !over()) {
      if (!patience.pause()) return end_early();
    }
  }
  [[nodiscard]] bool fate_strikes(Random& random) const {
    return setup_.deaths_one_in != 0 && random.below(setup_.deaths_one_in) == 0;
  }

  // Every other one in an extent, if one is free; 0 if not.
  Tag extent_with(const Parcel& parcel, ParticipantIndex me, Random& random) {
    if (random.below(2) == 0) return 0;
    const RingExtents extents = memory_.extents(me);
    const Allocated extent = extents.allocate();
    if (extent.outcome != TakeOutcome::taken) return 0;
    std::memcpy(extents.memory(extent.tag).data(), &parcel, sizeof parcel);
    return extent.tag;
  }
  void free_extent(ParticipantIndex me, Tag extent) {
    if (extent != 0 && memory_.extents(me).free(extent) != HandOver::done) end_early();
  }
  TaskContents packed(std::uint32_t producer, std::uint32_t number, Random& random) {
    Parcel parcel;
    parcel.pack(producer, number);
    TaskContents contents;
    contents.payload_bytes = sizeof parcel;
    contents.extent = extent_with(parcel, static_cast<ParticipantIndex>(1 + producer), random);
    if (contents.extent == 0) std::memcpy(contents.payload.data(), &parcel, sizeof parcel);
    return contents;
  }

  void produce(std::uint32_t producer, Random& random) {
    const auto me = static_cast<ParticipantIndex>(1 + producer);
    const RingProducer ring = memory_.producer(me);
    for (std::uint32_t number = 0; number < ledger_.size().each && !over();) {
      if (fate_strikes(random)) {
        static_cast<void>(memory_.ring().free().take(SlotState::free, me));
        static_cast<void>(memory_.extents(me).allocate());
        die(me);
        continue;
      }
      std::array<TaskContents, 4> tasks;
      const std::uint32_t left = ledger_.size().each - number;
      const auto count =
          static_cast<std::uint32_t>(1 + random.below(std::min<std::uint32_t>(left, 4)));
      for (std::uint32_t i = 0; i < count; ++i) tasks[i] = packed(producer, number + i, random);
      std::uint32_t sent = 0;
      const auto submit = [&] {
        sent = ring.submit_batch(std::span(tasks).first(count)).count;
        return sent > 0;
      };
      if (!submit()) sleep_unless(Awaited::room, me, submit);
      number += sent;
      for (std::uint32_t i = sent; i < count; ++i) free_extent(me, tasks[i].extent);
    }
  }

  void work(ParticipantIndex me, Random& random) {
    const RingWorker ring = memory_.worker(me);
    std::array<Claim, 3> claims;
    while (!over()) {
      std::uint32_t count = 0;
      const auto claim = [&] {
        count = ring.claim_batch(std::span(claims).first(1 + random.below(3)));
        return count > 0;
      };
      if (!claim()) sleep_unless(Awaited::work, me, claim);
      for (const Claim& claimed : std::span(claims).first(count)) {
        const Parcel parcel = unpacked(ring.payload(claimed));
        TaskResult result{.status = parcel.number()};
        result.extent = extent_with(parcel, me, random);
        if (result.extent != 0) result.payload_bytes = sizeof parcel;
        if (fate_strikes(random)) {
          die(me);
          break;
        }
        if (ring.complete(claimed, result) != HandOver::done) end_early();
      }
    }
  }

  void supervise(Random& random) {
    while (!ledger_.all_out() && !over()) {
      if (!settle(random) && !sweep_dead()) {
        sleep_unless(Awaited::results, 0, [&] { return settle(random) || sweep_dead(); });
      }
    }
    end();
    while (!kept_.empty()) free_oldest_kept();
    for (ParticipantIndex index = 1; index < dead_.size(); ++index) sweep(index);
  }

  bool settle(Random& random) {
    const RingSupervisor ring = memory_.supervisor();
    const Settling settling = ring.collect();
    if (settling.outcome != TakeOutcome::taken) return false;
    const Parcel parcel = unpacked(ring.payload(settling));
    const TaskResult& result = ring.result(settling);
    if (result.status != parcel.number()) ledger_.record_out_of_order();
    if (result.extent != 0) expect_answer(parcel, unpacked(ring.result_payload(settling)));
    if (settling.word.attempt < 3 && random.below(8) == 0) {
      if (ring.retry(settling) != RetryOutcome::retried) end_early();
    } else {
      ledger_.record(parcel);
      if (random.below(4) == 0) keep(settling, parcel);
      if (ring.release(settling) != HandOver::done) end_early();
    }
    if (kept_.size() > random.below(3)) free_oldest_kept();
    return true;
  }
  void expect_answer(const Parcel& parcel, const Parcel& answer) {
    const bool same = answer.intact() && answer.number() == parcel.number() &&
                      answer.producer() == parcel.producer();
    if (!same) ledger_.record_out_of_order();
  }

  // The result is read again long after its slot is another's.
  void keep(const Settling& settling, const Parcel& parcel) {
    const Tag extent = memory_.supervisor().keep_result(settling);
    if (extent != 0) kept_.push_back({extent, parcel});
  }
  void free_oldest_kept() {
    const Kept kept = kept_.front();
    kept_.pop_front();
    const std::span<const std::byte> memory = memory_.extents(0).memory(kept.extent);
    expect_answer(kept.parcel, unpacked(memory.first(sizeof(Parcel))));
    free_extent(0, kept.extent);
  }

  bool sweep_dead() {
    bool any = false;
    for (ParticipantIndex index = 1; index < dead_.size(); ++index) {
      if (!dead_[index].load(std::memory_order_acquire)) continue;
      sweep(index);
      dead_[index].store(false, std::memory_order_release);
      any = true;
    }
    return any;
  }

  void sweep(ParticipantIndex dead) {
    const RingSupervisor ring = memory_.supervisor();
    std::array<Settling, 2> found;
    for (;;) {
      const SweepResult result = ring.sweep(dead, found);
      for (const Settling& task : std::span(found).first(result.count)) settle_swept(task);
      if (result.outcome == SweepOutcome::complete) return;
    }
  }
  void settle_swept(const Settling& task) {
    const RingSupervisor ring = memory_.supervisor();
    if (ring.retry(task) == RetryOutcome::retried) return;
    ledger_.record(unpacked(ring.payload(task)));  // a dead letter
    if (ring.release(task) != HandOver::done) end_early();
  }

  // Fixed at construction.
  const Setup setup_;

  // Who supervises only.
  struct Kept {
    Tag extent;
    Parcel parcel;
  };
  std::deque<Kept> kept_;

  // Any thread.
  RingMemory memory_;
  Ledger ledger_;
  std::vector<std::atomic<bool>> dead_;
  std::atomic<bool> over_ = false;
};

TEST(SharedRingStress, EveryTaskIsSettledOnce) {
  StressRun run;
  while (run.next_round()) Round(random_setup(run.random(), 0)).play(run.random());
}

TEST(SharedRingStress, EveryTaskIsSettledOnceAlthoughSomeDie) {
  StressRun run;
  while (run.next_round()) {
    const std::uint64_t one_in = 20 + run.random().below(200);
    Round(random_setup(run.random(), one_in)).play(run.random());
  }
}

}  // namespace
}  // namespace muster::testing
