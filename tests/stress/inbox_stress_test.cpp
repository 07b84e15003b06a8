// inbox_stress_test.cpp: letters that are sent, taken by an owner or a thief, and sent home again.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/inbox.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr std::uint32_t kProducers = 3;
constexpr std::size_t kLettersEach = 6;
constexpr std::size_t kMostAtOnce = 4;

struct Letter : InboxLink<Letter> {
  Parcel parcel;
  std::size_t place = 0;  // in the batch that it was pushed with
};

// Each producer has a few letters. Whoever takes one sends it home, where it is used again, so that
// the same addresses come by over and over.
class Round {
 public:
  explicit Round(std::uint32_t takers)
      : takers_(takers), ledger_({.producers = kProducers, .each = 3000}) {}

  void play(Random& random) {
    {
      Threads threads(random);
      for (std::uint32_t i = 0; i < kProducers; ++i) {
        threads.start([this, i](Random& own) { produce(i, own); });
      }
      for (std::uint32_t i = 0; i < takers_; ++i) {
        threads.start([this](Random& /*own*/) { take(); });
      }
    }
    ledger_.expect_every_parcel_once_and_in_order();
    EXPECT_EQ(found_empty_.load(relaxed), batches_.load(relaxed))
        << "one push per filling wakes the owner";
    EXPECT_TRUE(inbox_.take_all().empty());
  }

 private:
  void produce(std::uint32_t producer, Random& random) {
    std::vector<Letter*> idle;
    for (Letter& letter : letters_[producer]) idle.push_back(&letter);
    for (std::uint32_t number = 0; number < ledger_.size().each;) {
      if (!fetch(homes_[producer], idle)) return;
      const std::size_t left = ledger_.size().each - number;
      const std::size_t count =
          std::min({left, idle.size(), std::size_t{1 + random.below(kMostAtOnce)}});
      const std::span<Letter* const> batch = std::span<Letter* const>(idle).last(count);
      for (std::size_t place = 0; place < count; ++place) {
        batch[place]->parcel.pack(producer, number++);
        batch[place]->place = place;
      }
      const InboxPush outcome = count == 1 ? inbox_.push(*batch[0]) : inbox_.push_batch(batch);
      if (outcome == InboxPush::was_empty) found_empty_.fetch_add(1, relaxed);
      idle.resize(idle.size() - count);
    }
  }

  // Gets letters that have come home, waiting for the first if there is none at hand.
  bool fetch(Inbox<Letter>& home, std::vector<Letter*>& idle) {
    for (Patience patience;;) {
      Inbox<Letter>::Batch batch = home.take_all();
      while (Letter* const letter = batch.next()) {
        idle.push_back(letter);
        if (idle.size() > kLettersEach) return ledger_.record_out_of_order(), false;
      }
      if (!idle.empty()) return true;
      if (!patience.pause()) return false;
    }
  }

  void take() {
    Inspector inspector(ledger_, takers_ == 1 ? Taking::alone : Taking::among_others);
    Patience patience;
    while (!ledger_.all_out()) {
      Inbox<Letter>::Batch batch = inbox_.take_all();
      if (batch.empty()) {
        if (!patience.pause()) return;
        continue;
      }
      patience.reset();
      batches_.fetch_add(1, relaxed);
      for (std::size_t count = 0; Letter* const letter = batch.next(); ++count) {
        if (count == kProducers * kLettersEach) return ledger_.record_out_of_order();
        inspector.inspect_joined(letter->parcel, letter->place);
        homes_[letter->parcel.producer() % kProducers].push(*letter);
      }
    }
  }

  // Fixed at construction.
  const std::uint32_t takers_;

  // Written by their producer until sent, and again when they have come home.
  std::array<std::array<Letter, kLettersEach>, kProducers> letters_;

  // Any thread.
  Inbox<Letter> inbox_;
  std::array<Inbox<Letter>, kProducers> homes_;
  Ledger ledger_;
  std::atomic<std::uint64_t> found_empty_ = 0;
  std::atomic<std::uint64_t> batches_ = 0;
};

void stress(std::uint32_t takers) {
  StressRun run;
  while (run.next_round()) Round(takers).play(run.random());
}

TEST(InboxStress, OneTakerGetsEveryProducersItemsInOrderWithoutGaps) {
  stress(1);
}

TEST(InboxStress, OwnerAndThiefTakeEachItemOnceAndInOrder) {
  stress(2);
}

}  // namespace
}  // namespace muster::testing
