// pair_lane_stress_test.cpp: tasks through a shared ring between two, on two threads of one
// process, so that the thread sanitizer sees both ends. The sender takes tasks back at random and
// sends them again; the worker dies now and then with a task in hand, is swept, and another goes
// on.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"
#include "support/ring_memory.hpp"

namespace muster::testing {
namespace {

static_assert(sizeof(Parcel) == kInlinePayload, "a parcel fills a slot's payload");

constexpr std::uint32_t kParcels = 2000;

class PairRound {
 public:
  PairRound(std::uint32_t slots, std::uint64_t deaths_one_in)
      : memory_({.slots = slots, .participants = 2, .parties = RingParties::pair}),
        ledger_({.producers = 1, .each = kParcels}),
        deaths_one_in_(deaths_one_in) {
    for (std::uint32_t number = kParcels; number-- > 0;) to_send_.push_back(number);
  }

  void play(Random& random) {
    {
      Threads threads(random);
      threads.start([this](Random& own) { send_all(own); });
      threads.start([this](Random& own) { work(own); });
    }
    ledger_.expect_every_parcel_once_and_in_order();
    EXPECT_EQ(memory_.ring().damage(), 0U);
    EXPECT_EQ(memory_.ring().free_approx(), memory_.ring().geometry().slots);
  }

 private:
  static Parcel unpacked(const TaskContents& contents) {
    Parcel parcel;
    std::memcpy(&parcel, contents.payload.data(), sizeof parcel);
    return parcel;
  }

  void send_all(Random& random) {
    Patience patience;
    while (!ledger_.all_out()) {
      bool any = settle();
      if (dead_.load(std::memory_order_acquire)) {
        sweep();
        dead_.store(false, std::memory_order_release);
        any = true;
      }
      if (random.below(8) == 0) any = take_back() || any;
      if (submit()) any = true;
      if (any) {
        patience.reset();
      } else if (!patience.pause()) {
        ledger_.record_out_of_order();
        break;
      }
    }
    over_.store(true, std::memory_order_release);
  }

  bool submit() {
    if (to_send_.empty()) return false;
    Parcel parcel;
    parcel.pack(0, to_send_.back());
    TaskContents contents;
    contents.payload_bytes = sizeof parcel;
    std::memcpy(contents.payload.data(), &parcel, sizeof parcel);
    if (memory_.producer().submit(contents).outcome != SubmitOutcome::submitted) return false;
    to_send_.pop_back();
    return true;
  }

  // It is sent again, in the same slot.
  bool take_back() {
    const Taken taken = memory_.producer().take_back();
    if (taken.outcome != TakeOutcome::taken) return false;
    to_send_.push_back(unpacked(memory_.ring().slot(taken.slot).contents).number());
    return memory_.supervisor().release(taken) == HandOver::done;
  }

  bool settle() {
    const RingSupervisor ring = memory_.supervisor();
    const Settling settling = ring.collect();
    if (settling.outcome != TakeOutcome::taken) return false;
    const Parcel parcel = unpacked(ring.contents(settling));
    if (ring.result(settling).status != parcel.number()) ledger_.record_out_of_order();
    ledger_.record(parcel);
    return ring.release(settling) == HandOver::done;
  }

  // What the dead one had is sent again.
  void sweep() {
    const RingSupervisor ring = memory_.supervisor();
    std::array<Settling, 1> found;
    for (;;) {
      const SweepResult swept = ring.sweep(kPairWorker, found);
      for (std::uint32_t i = 0; i < swept.count; ++i) {
        to_send_.push_back(unpacked(ring.contents(found[i])).number());
        ring.release(found[i]);
      }
      if (swept.outcome == SweepOutcome::complete) return;
    }
  }

  void work(Random& random) {
    const RingWorker ring = memory_.worker();
    while (!over_.load(std::memory_order_acquire)) {
      const Claim claim = ring.claim();
      if (claim.outcome != TakeOutcome::taken) {
        spin_pause();
        continue;
      }
      const Parcel parcel = unpacked(ring.contents(claim));
      if (!parcel.intact()) ledger_.record_out_of_order();
      if (deaths_one_in_ != 0 && random.below(deaths_one_in_) == 0) {
        dead_.store(true, std::memory_order_release);  // the kernel's report
        while (dead_.load(std::memory_order_acquire) && !over_.load(std::memory_order_acquire)) {
          spin_pause();
        }
        continue;
      }
      if (ring.complete(claim, {.status = parcel.number()}) != HandOver::done) {
        ledger_.record_out_of_order();
      }
    }
  }

  // The sender only.
  std::vector<std::uint32_t> to_send_;  // the last is the next

  // Any thread.
  const RingMemory memory_;
  Ledger ledger_;
  const std::uint64_t deaths_one_in_;
  std::atomic<bool> dead_ = false;
  std::atomic<bool> over_ = false;
};

std::uint32_t random_slots(Random& random) {
  constexpr std::array<std::uint32_t, 4> kSlots = {1, 2, 8, 64};
  return kSlots.at(random.below(kSlots.size()));
}

TEST(PairLaneStress, EveryTaskIsSettledOnceThoughSomeAreTakenBack) {
  StressRun run;
  while (run.next_round()) PairRound(random_slots(run.random()), 0).play(run.random());
}

TEST(PairLaneStress, EveryTaskIsSettledOnceAlthoughWorkersDie) {
  StressRun run;
  while (run.next_round()) {
    const std::uint64_t one_in = 20 + run.random().below(200);
    PairRound(random_slots(run.random()), one_in).play(run.random());
  }
}

}  // namespace
}  // namespace muster::testing
