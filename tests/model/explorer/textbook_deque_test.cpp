// textbook_deque_test.cpp: does the explorer find the bugs that deques are known for?
//
// A work-stealing deque as it is usually printed, with its usual mistakes as switches, among them
// the one of the seed document. The shipped deque cannot show all of them: it has nothing to
// restore, for example.
#include <array>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <muster/sync/atomic.hpp>
#include <muster/sync/fence.hpp>

#include "support/explorer/explorer.hpp"

namespace muster::explore {
namespace {

enum class Mistake {
  none,
  no_fence,                 // pop does not separate its store from its load
  not_restored_when_empty,  // pop on an empty deque leaves bottom behind
  not_restored_after_race,  // likewise after a thief took the last item
  last_without_exchange,    // pop takes the last item without asking
  two_with_one_exchange,    // steal takes two items by advancing top by two
  as_in_the_seed,           // no fence, nothing restored, `top < bottom` where empty looks like one
};

class TextbookDeque {
 public:
  explicit TextbookDeque(Mistake mistake) : mistake_(mistake) {}

  void push(int item) {
    const int bottom = bottom_.load(relaxed);
    cell(bottom).store(item, relaxed);
    bottom_.store(bottom + 1, release);
  }

  std::optional<int> pop() {
    const int bottom = bottom_.load(relaxed) - 1;
    bottom_.store(bottom, release);
    if (mistake_ != Mistake::no_fence && mistake_ != Mistake::as_in_the_seed) full_fence();
    int top = top_.load(relaxed);
    if (top < bottom) return cell(bottom).load(relaxed);
    if (mistake_ == Mistake::as_in_the_seed) {
      const bool mine = top_.compare_exchange_strong(top, top + 1, acq_rel, acquire);
      return mine ? std::optional(cell(bottom).load(relaxed)) : std::nullopt;
    }
    if (top > bottom) {
      if (mistake_ != Mistake::not_restored_when_empty) bottom_.store(bottom + 1, relaxed);
      return std::nullopt;
    }
    bool mine = true;
    if (mistake_ != Mistake::last_without_exchange) {
      mine = top_.compare_exchange_strong(top, top + 1, seq_cst, relaxed);
    }
    const bool restore = mine || mistake_ != Mistake::not_restored_after_race;
    if (restore) bottom_.store(bottom + 1, relaxed);
    return mine ? std::optional(cell(bottom).load(relaxed)) : std::nullopt;
  }

  // How many items were stolen into `out`.
  int steal(std::array<int, 2>& out) {
    int top = top_.load(seq_cst);
    const int available = bottom_.load(seq_cst) - top;
    if (available <= 0) return 0;
    const int count = mistake_ == Mistake::two_with_one_exchange && available > 1 ? 2 : 1;
    for (int i = 0; i < count; ++i) {
      out[static_cast<std::size_t>(i)] = cell(top + i).load(relaxed);
    }
    return top_.compare_exchange_strong(top, top + count, seq_cst, relaxed) ? count : 0;
  }

 private:
  Atomic<int>& cell(int index) { return cells_[static_cast<std::size_t>(index & 7)]; }

  const Mistake mistake_;
  Atomic<int> top_ = 0;
  Atomic<int> bottom_ = 0;
  std::array<Atomic<int>, 8> cells_;
};

struct Ledger {
  explicit Ledger(Mistake mistake) : deque(mistake) {}

  void push() { deque.push(++pushed); }
  void take(int item) {
    require(item >= 1 && item <= pushed, "an item that was pushed");
    require(++taken[static_cast<std::size_t>(item)] == 1, "no item is taken twice");
  }
  void pop() {
    if (const std::optional<int> item = deque.pop()) take(*item);
  }
  void steal() {
    std::array<int, 2> loot{};
    const int count = deque.steal(loot);
    for (int i = 0; i < count; ++i) take(loot[static_cast<std::size_t>(i)]);
  }
  void expect_exact() {
    for (int i = 0; i < 8; ++i) steal();
    for (int i = 1; i <= pushed; ++i) {
      require(taken[static_cast<std::size_t>(i)] == 1, "every item is taken exactly once");
    }
  }

  TextbookDeque deque;
  int pushed = 0;
  std::array<int, 8> taken{};
};

using Body = void (*)(Ledger&);

// The first failure of two small programs with this mistake in the deque; empty if there is none.
std::string failure_of(Mistake mistake) {
  const auto run = [mistake](int filled, Body owner) {
    return explore({},
                   [=](Program& program) {
                     auto ledger = std::make_shared<Ledger>(mistake);
                     for (int i = 0; i < filled; ++i) ledger->push();
                     program.thread([=] { owner(*ledger); });
                     program.thread([=] { ledger->steal(); });
                     program.thread([=] { ledger->steal(); });
                     program.at_end([=] { ledger->expect_exact(); });
                   })
        .failure;
  };
  const std::string popping = run(3, [](Ledger& l) { l.pop(), l.pop(); });
  if (!popping.empty()) return popping;
  return run(1, [](Ledger& l) { l.pop(), l.pop(), l.push(); });
}

TEST(TextbookDeque, HoldsWithoutAMistake) {
  EXPECT_EQ(failure_of(Mistake::none), "");
}

TEST(TextbookDeque, PopWithoutItsFenceIsFound) {
  EXPECT_EQ(failure_of(Mistake::no_fence), "no item is taken twice");
}

TEST(TextbookDeque, BottomNotRestoredIsFound) {
  EXPECT_EQ(failure_of(Mistake::not_restored_when_empty), "every item is taken exactly once");
  EXPECT_EQ(failure_of(Mistake::not_restored_after_race), "every item is taken exactly once");
}

TEST(TextbookDeque, TheLastItemTakenWithoutAnExchangeIsFound) {
  EXPECT_EQ(failure_of(Mistake::last_without_exchange), "no item is taken twice");
}

TEST(TextbookDeque, TwoItemsForOneExchangeAreFound) {
  EXPECT_EQ(failure_of(Mistake::two_with_one_exchange), "no item is taken twice");
}

TEST(TextbookDeque, ThePopOfTheSeedIsFound) {
  EXPECT_EQ(failure_of(Mistake::as_in_the_seed), "no item is taken twice");
}

}  // namespace
}  // namespace muster::explore
