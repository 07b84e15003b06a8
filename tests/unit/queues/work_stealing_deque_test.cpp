// work_stealing_deque_test.cpp: what the owner and the thieves get, one after the other.
#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/error.hpp>
#include <muster/queues/work_stealing_deque.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using Deque = WorkStealingDeque<int>;

template <class Role>
concept CanPush = requires(Role role) { role.push(1); };
template <class Role>
concept CanPop = requires(Role role) { role.pop(); };
template <class Role>
concept CanSteal = requires(Role role) { role.steal(); };

static_assert(CanPush<Deque::Owner> && CanPop<Deque::Owner> && !CanSteal<Deque::Owner>);
static_assert(CanSteal<Deque::Thief> && !CanPush<Deque::Thief> && !CanPop<Deque::Thief>);
static_assert(!std::is_copy_constructible_v<Deque> && !std::is_move_constructible_v<Deque>);

// What the constructor complains about; nothing if it does not.
std::optional<BadField> complaint_about(std::size_t capacity) {
  try {
    const Deque deque(capacity);
  } catch (const InvalidArgument& error) {
    return error.bad_fields().at(0);
  }
  return std::nullopt;
}

void push_numbers(Deque& deque, int count) {
  for (int i = 0; i < count; ++i) deque.owner().push(i);
}

void expect_stolen(Deque& deque, int item) {
  const Steal<int> loot = deque.thief().steal();
  ASSERT_EQ(loot.outcome, StealOutcome::taken);
  ASSERT_EQ(loot.item, item);
}

// What one steal_half with room for `most` takes.
std::vector<int> steal_half(Deque& deque, std::size_t most) {
  std::vector<int> out(most);
  const StealBatch batch = deque.thief().steal_half(out);
  EXPECT_EQ(batch.outcome == StealOutcome::taken, batch.count > 0);
  out.resize(batch.count);
  return out;
}

TEST(WorkStealingDeque, ACapacityThatIsNoPowerOfTwoFromTwoIsRefused) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t capacity :
       {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{100}, most - 1, most}) {
    const std::optional<BadField> bad = complaint_about(capacity);
    ASSERT_TRUE(bad) << capacity;
    EXPECT_EQ(bad->field, "initial_capacity");
    EXPECT_EQ(bad->value, std::to_string(capacity));
    EXPECT_EQ(bad->rule, "must be a power of two, at least 2");
  }
  EXPECT_FALSE(complaint_about(2));
}

TEST(WorkStealingDeque, IsEmptyAtFirst) {
  Deque deque;
  EXPECT_FALSE(deque.owner().pop());
  EXPECT_EQ(deque.thief().steal().outcome, StealOutcome::empty);
  EXPECT_EQ(deque.thief().size_approx(), 0U);
}

TEST(WorkStealingDeque, TheOwnerPopsTheNewestFirst) {
  Deque deque(8);
  push_numbers(deque, 5);
  for (int i = 4; i >= 0; --i) EXPECT_EQ(deque.owner().pop(), i);
  EXPECT_FALSE(deque.owner().pop());
}

TEST(WorkStealingDeque, ThievesStealTheOldestFirst) {
  Deque deque(8);
  push_numbers(deque, 5);
  for (int i = 0; i < 5; ++i) expect_stolen(deque, i);
  EXPECT_EQ(deque.thief().steal().outcome, StealOutcome::empty);
}

TEST(WorkStealingDeque, OwnerAndThievesMeetInTheMiddle) {
  Deque deque(8);
  push_numbers(deque, 6);
  for (int i = 0; i < 3; ++i) {
    expect_stolen(deque, i);
    EXPECT_EQ(deque.owner().pop(), 5 - i);
  }
  EXPECT_FALSE(deque.owner().pop());
  EXPECT_EQ(deque.thief().steal().outcome, StealOutcome::empty);
}

TEST(WorkStealingDeque, CopiesOfARoleWorkOnTheSameDeque) {
  Deque deque;
  Deque::Owner owner = deque.owner();
  Deque::Thief thief = deque.thief();
  Deque::Thief other = thief;
  owner.push(1);
  owner.push(2);
  EXPECT_EQ(thief.steal().item, 1);
  EXPECT_EQ(other.steal().item, 2);
}

TEST(WorkStealingDeque, PoppingNothingManyTimesDoesNoHarm) {
  Deque deque(2);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(deque.owner().pop());
      EXPECT_EQ(deque.thief().steal().outcome, StealOutcome::empty);
    }
    push_numbers(deque, 3);
    EXPECT_EQ(deque.thief().size_approx(), 3U);
    for (int i = 2; i >= 0; --i) EXPECT_EQ(deque.owner().pop(), i);
  }
}

TEST(WorkStealingDeque, OneItemAtATimeGoesInAndOutForLong) {
  Deque deque(2);
  for (int i = 0; i < 1000; ++i) {
    deque.owner().push(i);
    if (i % 2 == 0) {
      ASSERT_EQ(deque.owner().pop(), i);
    } else {
      expect_stolen(deque, i);
    }
    ASSERT_EQ(deque.thief().size_approx(), 0U);
  }
}

TEST(WorkStealingDeque, GrowingKeepsEverythingForTheOwner) {
  Deque deque(2);
  push_numbers(deque, 5000);
  EXPECT_EQ(deque.thief().size_approx(), 5000U);
  for (int i = 4999; i >= 0; --i) ASSERT_EQ(deque.owner().pop(), i);
  EXPECT_FALSE(deque.owner().pop());
}

TEST(WorkStealingDeque, GrowingKeepsEverythingForTheThieves) {
  Deque deque(2);
  push_numbers(deque, 5000);
  for (int i = 0; i < 5000; ++i) expect_stolen(deque, i);
  EXPECT_EQ(deque.thief().steal().outcome, StealOutcome::empty);
}

TEST(WorkStealingDeque, GrowingKeepsTheOrderWhereverTheRingBegins) {
  for (int offset = 0; offset < 16; ++offset) {
    Deque deque(4);
    for (int i = 0; i < offset; ++i) {
      deque.owner().push(-1);
      expect_stolen(deque, -1);
    }
    push_numbers(deque, 40);
    for (int i = 0; i < 20; ++i) {
      expect_stolen(deque, i);
      ASSERT_EQ(deque.owner().pop(), 39 - i);
    }
  }
}

TEST(WorkStealingDeque, AThiefTakesTheOldestOnlyIfItMay) {
  Deque deque(4);
  push_numbers(deque, 2);
  const Steal<int> refused = deque.thief().steal_if([] { return false; });
  EXPECT_EQ(refused.outcome, StealOutcome::empty);
  EXPECT_EQ(deque.thief().size_approx(), 2U) << "what may not be taken stays";
  const Steal<int> loot = deque.thief().steal_if([] { return true; });
  EXPECT_EQ(loot.outcome, StealOutcome::taken);
  EXPECT_EQ(loot.item, 0);
}

TEST(WorkStealingDeque, AThiefAsksOnceAndOnlyIfThereIsSomethingToTake) {
  Deque deque(4);
  int asked = 0;
  const auto may_take = [&] { return ++asked > 0; };
  EXPECT_EQ(deque.thief().steal_if(may_take).outcome, StealOutcome::empty);
  EXPECT_EQ(asked, 0);
  push_numbers(deque, 1);
  EXPECT_EQ(deque.thief().steal_if(may_take).outcome, StealOutcome::taken);
  EXPECT_EQ(asked, 1);
}

TEST(WorkStealingDeque, WhatIsTakenWhileAThiefAsksIsLostToIt) {
  Deque deque(4);
  push_numbers(deque, 2);
  const Steal<int> loot = deque.thief().steal_if([&] {
    expect_stolen(deque, 0);
    return true;
  });
  EXPECT_EQ(loot.outcome, StealOutcome::lost_race);
  EXPECT_EQ(deque.owner().pop(), 1);
}

TEST(WorkStealingDeque, StealHalfTakesHalfOfTheItemsRoundedUp) {
  for (const auto& [size, half] : {std::pair(1, 1), {2, 1}, {3, 2}, {7, 4}, {8, 4}}) {
    Deque deque(4);
    push_numbers(deque, size);
    const std::vector<int> loot = steal_half(deque, 100);
    ASSERT_EQ(loot.size(), static_cast<std::size_t>(half)) << "of " << size;
    for (int i = 0; i < half; ++i) EXPECT_EQ(loot[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(deque.thief().size_approx(), static_cast<std::size_t>(size - half));
  }
}

TEST(WorkStealingDeque, StealHalfTakesNoMoreThanThereIsRoomFor) {
  Deque deque(4);
  push_numbers(deque, 10);
  EXPECT_EQ(steal_half(deque, 3), (std::vector{0, 1, 2}));
  EXPECT_EQ(steal_half(deque, 0), std::vector<int>{});
  EXPECT_EQ(deque.thief().size_approx(), 7U);
}

TEST(WorkStealingDeque, StealHalfFindsAnEmptyDequeEmpty) {
  Deque deque(4);
  std::array<int, 4> out{};
  for (int i = 0; i < 2; ++i) {
    const StealBatch batch = deque.thief().steal_half(out);
    EXPECT_EQ(batch.outcome, StealOutcome::empty);
    EXPECT_EQ(batch.count, 0U);
    push_numbers(deque, 1);
    EXPECT_EQ(deque.owner().pop(), 0);
  }
}

// A deque next to a plain one; each operation says whether both answer the same. Alone, no thief
// ever loses a race.
class Twin {
 public:
  bool push() {
    deque_.owner().push(next_);
    model_.push_back(next_++);
    return true;
  }
  bool pop() {
    const std::optional<int> item = deque_.owner().pop();
    if (!item) return model_.empty();
    if (model_.empty() || model_.back() != *item) return false;
    model_.pop_back();
    return true;
  }
  bool steal() {
    const Steal<int> loot = deque_.thief().steal();
    if (loot.outcome == StealOutcome::empty) return model_.empty();
    return loot.outcome == StealOutcome::taken && is_oldest(loot.item);
  }
  bool steal_half(std::size_t most) {
    std::array<int, kMostAtOnce> loot{};
    const StealBatch batch = deque_.thief().steal_half(std::span(loot).first(most));
    if (batch.count != std::min(most, (model_.size() + 1) / 2)) return false;
    return std::ranges::all_of(std::span(loot).first(batch.count),
                               [&](int item) { return is_oldest(item); });
  }
  bool same_size() { return deque_.thief().size_approx() == model_.size(); }

  static constexpr std::size_t kMostAtOnce = 10;

 private:
  bool is_oldest(int item) {
    if (model_.empty() || model_.front() != item) return false;
    model_.pop_front();
    return true;
  }

  Deque deque_{2};
  std::deque<int> model_;
  int next_ = 0;
};

bool agrees_on_some_operation(Twin& twin, Random& random) {
  switch (random.below(8)) {
    case 0:
      return twin.steal();
    case 1:
      return twin.steal_half(random.below(Twin::kMostAtOnce + 1));
    case 2:
    case 3:
      return twin.pop();
    default:
      return twin.push();
  }
}

TEST(WorkStealingDeque, EqualsAPlainDequeUnderRandomOperations) {
  Random random = testing::seeded();
  std::optional<Twin> twin;
  for (int i = 0; i < 100'000; ++i) {
    if (i % 1000 == 0) twin.emplace();  // small again, so that it grows again
    ASSERT_TRUE(agrees_on_some_operation(*twin, random) && twin->same_size()) << "operation " << i;
  }
}

}  // namespace
}  // namespace muster
