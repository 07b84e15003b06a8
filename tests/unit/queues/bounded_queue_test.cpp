// bounded_queue_test.cpp: options, single items, the high-water signal, and a model. The batches
// are in bounded_queue_batch_test.cpp.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/error.hpp>
#include <muster/queues/bounded_queue.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

// What the constructor complains about; nothing if it does not.
std::optional<BadField> complaint_about(const BoundedQueueOptions& options) {
  try {
    const BoundedQueue<int> queue(options);
  } catch (const InvalidArgument& error) {
    return error.bad_fields().at(0);
  }
  return std::nullopt;
}

// A number that can only be moved and has no default.
class Ticket {
 public:
  explicit Ticket(int number) : number_(number) {}
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Counts the living objects.
class Counted {
 public:
  explicit Counted(int& alive) : alive_(&alive) { ++*alive_; }
  Counted(Counted&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() { --*alive_; }

 private:
  int* alive_;
};

TEST(BoundedQueue, ACapacityThatIsNoPowerOfTwoOrTooLargeIsRefused) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{3},
                                     std::size_t{1000}, most / 2, most / 2 + 1, most}) {
    const std::optional<BadField> bad = complaint_about({.capacity = capacity});
    ASSERT_TRUE(bad) << capacity;
    EXPECT_EQ(bad->field, "capacity");
    EXPECT_EQ(bad->value, std::to_string(capacity));
    EXPECT_EQ(bad->rule.find("must be a power of two from 2 to "), 0U) << bad->rule;
  }
}

TEST(BoundedQueue, AHighWaterMarkAboveTheCapacityIsRefused) {
  const std::optional<BadField> bad = complaint_about({.capacity = 8, .high_water = 9});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->field, "high_water");
  EXPECT_EQ(bad->value, "9");
  EXPECT_NE(bad->rule.find("capacity 8"), std::string::npos) << bad->rule;
  EXPECT_FALSE(complaint_about({.capacity = 8, .high_water = 8}));
}

TEST(BoundedQueue, HoldsExactlyItsCapacity) {
  for (const std::size_t capacity : {2U, 4U, 64U, 1024U}) {
    BoundedQueue<std::size_t> queue(capacity);
    EXPECT_EQ(queue.capacity(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) EXPECT_TRUE(queue.try_push(i));
    EXPECT_EQ(queue.try_push(capacity).outcome, PushOutcome::full);
  }
}

TEST(BoundedQueue, IsEmptyAtFirst) {
  BoundedQueue<int> queue(2);
  EXPECT_FALSE(queue.try_pop());
  EXPECT_EQ(queue.size_approx(), 0U);
}

TEST(BoundedQueue, ItemsComeOutInTheOrderTheyWentIn) {
  BoundedQueue<int> queue(8);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.try_push(i).outcome, PushOutcome::pushed);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.try_pop(), i);
  EXPECT_FALSE(queue.try_pop());
}

TEST(BoundedQueue, TheOrderSurvivesManyLaps) {
  BoundedQueue<int> queue(4);
  int in = 0;
  int out = 0;
  for (int lap = 0; lap < 1000; ++lap) {
    while (queue.try_push(in)) ++in;
    ASSERT_EQ(in - out, 4);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(queue.try_pop(), out++);
  }
}

TEST(BoundedQueue, AFullQueueTakesAnItemAgainAfterEachPop) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.try_push(0));
  EXPECT_TRUE(queue.try_push(1));
  for (int i = 2; i < 20; ++i) {
    ASSERT_FALSE(queue.try_push(i));
    ASSERT_EQ(queue.try_pop(), i - 2);
    ASSERT_TRUE(queue.try_push(i));
  }
}

TEST(BoundedQueue, WhatDoesNotFitStaysWithTheCaller) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(0)));
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
  auto item = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_push(std::move(item)));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 2);

  EXPECT_EQ(**queue.try_pop(), 0);
  EXPECT_TRUE(queue.try_push(std::move(item)));
  EXPECT_EQ(item, nullptr);
  EXPECT_EQ(**queue.try_pop(), 1);
  EXPECT_EQ(**queue.try_pop(), 2);
}

TEST(BoundedQueue, ACopyIsPushedFromAnItemThatTheCallerKeeps) {
  BoundedQueue<std::string> queue(2);
  const std::string item = "a text too long to stand inside of the string object";
  EXPECT_TRUE(queue.try_push(item));
  EXPECT_TRUE(queue.try_push(item));
  EXPECT_FALSE(queue.try_push(item));
  EXPECT_EQ(queue.try_pop(), item);
}

TEST(BoundedQueue, PoppingIntoAnObjectReplacesItUnlessTheQueueIsEmpty) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  auto out = std::make_unique<int>(7);
  EXPECT_FALSE(queue.try_pop(out));
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(*out, 7);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(8)));
  EXPECT_TRUE(queue.try_pop(out));
  EXPECT_EQ(*out, 8);
  EXPECT_FALSE(queue.try_pop(out));
}

TEST(BoundedQueue, BothWaysOfPoppingTakeFromTheSameEnd) {
  BoundedQueue<int> queue(4);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(i));
  int out = -1;
  EXPECT_TRUE(queue.try_pop(out));
  EXPECT_EQ(out, 0);
  EXPECT_EQ(queue.try_pop(), 1);
  EXPECT_TRUE(queue.try_pop(out));
  EXPECT_EQ(out, 2);
}

TEST(BoundedQueue, ItemsNeedNeitherADefaultNorAnAssignment) {
  BoundedQueue<Ticket> queue(2);
  EXPECT_TRUE(queue.try_push(Ticket(7)));
  const std::optional<Ticket> ticket = queue.try_pop();
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket->number(), 7);
}

TEST(BoundedQueue, ItemsMayBeLargeAndAlignedToALine) {
  struct alignas(kCacheLine) Page {
    std::array<int, 1024> words;
  };
  BoundedQueue<Page> queue(2);
  for (int lap = 0; lap < 3; ++lap) {
    auto page = std::make_unique<Page>();
    page->words.fill(lap);
    EXPECT_TRUE(queue.try_push(*page));
    page->words.fill(-1);
    ASSERT_TRUE(queue.try_pop(*page));
    EXPECT_EQ(page->words.front(), lap);
    EXPECT_EQ(page->words.back(), lap);
  }
}

TEST(BoundedQueue, WhatIsLeftIsDestroyedOnceWithTheQueue) {
  for (const int left : {0, 1, 3, 4}) {
    int alive = 0;
    {
      BoundedQueue<Counted> queue(4);
      for (int i = 0; i < 3; ++i) {  // so that what is left lies across the wrap
        EXPECT_TRUE(queue.try_push(Counted(alive)));
        EXPECT_TRUE(queue.try_pop());
      }
      for (int i = 0; i < left; ++i) EXPECT_TRUE(queue.try_push(Counted(alive)));
      EXPECT_EQ(alive, left);
    }
    EXPECT_EQ(alive, 0);
  }
}

TEST(BoundedQueue, ASlotKeepsNothingOfAPoppedItem) {
  BoundedQueue<std::shared_ptr<int>> queue(2);
  const auto item = std::make_shared<int>(1);
  EXPECT_TRUE(queue.try_push(item));
  EXPECT_EQ(item.use_count(), 2);
  EXPECT_TRUE(queue.try_pop());
  EXPECT_EQ(item.use_count(), 1);
}

TEST(BoundedQueue, SizeIsExactWhileNobodyPushesOrPops) {
  BoundedQueue<int> queue(4);
  for (int lap = 0; lap < 3; ++lap) {
    for (std::size_t size = 0; size < 4; ++size) {
      EXPECT_EQ(queue.size_approx(), size);
      EXPECT_TRUE(queue.try_push(0));
    }
    EXPECT_FALSE(queue.try_push(0));
    for (std::size_t size = 4; size > 0; --size) {
      EXPECT_EQ(queue.size_approx(), size);
      EXPECT_TRUE(queue.try_pop());
    }
  }
}

TEST(BoundedQueue, IsEmptyUntilAPushIsDoneAndAgainWhenAllIsPopped) {
  BoundedQueue<int> queue(4);
  for (int lap = 0; lap < 3; ++lap) {
    EXPECT_TRUE(queue.empty_approx());
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(queue.try_push(0));
      EXPECT_FALSE(queue.empty_approx());
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(queue.empty_approx());
      EXPECT_TRUE(queue.try_pop());
    }
  }
  EXPECT_TRUE(queue.empty_approx());
}

TEST(BoundedQueue, CountsWhatWasEverPushedAndNotWhatWasRefused) {
  BoundedQueue<int> queue(2);
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(queue.pushed_approx(), i);
    EXPECT_TRUE(queue.try_push(0));
    if (i % 2 == 0) continue;
    EXPECT_FALSE(queue.try_push(0));
    while (queue.try_pop()) EXPECT_EQ(queue.pushed_approx(), i + 1);
  }
}

// Looks at the queue while it is being moved: in the middle of a push or of a pop.
class Onlooker {
 public:
  Onlooker(BoundedQueue<Onlooker>& queue, std::vector<bool>& empty)
      : queue_(&queue), empty_(&empty) {}
  Onlooker(Onlooker&& other) noexcept : queue_(other.queue_), empty_(other.empty_) {
    empty_->push_back(queue_->empty_approx());
    EXPECT_EQ(queue_->pushed_approx(), 1U) << "an item is counted before it can be popped";
  }

 private:
  BoundedQueue<Onlooker>* queue_;
  std::vector<bool>* empty_;
};

TEST(BoundedQueue, AnItemOnItsWayInOrOutCanNotBePopped) {
  BoundedQueue<Onlooker> queue(2);
  std::vector<bool> empty;
  EXPECT_TRUE(queue.try_push(Onlooker(queue, empty)));
  EXPECT_FALSE(queue.empty_approx());
  EXPECT_TRUE(queue.try_pop());
  EXPECT_EQ(empty, (std::vector{true, true}));
}

TEST(BoundedQueue, APushSaysSoFromTheHighWaterMarkOn) {
  for (std::size_t mark = 1; mark <= 8; ++mark) {
    BoundedQueue<int> queue({.capacity = 8, .high_water = mark});
    for (int lap = 0; lap < 3; ++lap) {
      for (std::size_t size = 1; size <= 8; ++size) {
        const PushOutcome expected =
            size >= mark ? PushOutcome::pushed_at_high_water : PushOutcome::pushed;
        EXPECT_EQ(queue.try_push(0).outcome, expected) << "item " << size << ", mark " << mark;
      }
      EXPECT_EQ(queue.try_push(0).outcome, PushOutcome::full);
      while (queue.try_pop()) {
      }
    }
  }
}

TEST(BoundedQueue, TheHighWaterSignalEndsWhenItemsArePopped) {
  BoundedQueue<int> queue({.capacity = 4, .high_water = 2});
  EXPECT_EQ(queue.try_push(0).outcome, PushOutcome::pushed);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(queue.try_push(0).outcome, PushOutcome::pushed_at_high_water);
    EXPECT_TRUE(queue.try_pop());
    EXPECT_TRUE(queue.try_pop());
    EXPECT_EQ(queue.try_push(0).outcome, PushOutcome::pushed);
  }
}

TEST(BoundedQueue, WithoutAHighWaterMarkNoPushSignals) {
  BoundedQueue<int> queue({.capacity = 4, .high_water = 0});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(queue.try_push(i).outcome, PushOutcome::pushed);
  EXPECT_EQ(queue.try_push(4).outcome, PushOutcome::full);
}

// A queue next to a plain one; each operation says whether both answer the same.
class Twin {
 public:
  bool push() {
    const PushOutcome outcome = queue_.try_push(next_).outcome;
    if (model_.size() == kCapacity) return outcome == PushOutcome::full;
    model_.push_back(next_++);
    const bool high = model_.size() >= kHighWater;
    return outcome == (high ? PushOutcome::pushed_at_high_water : PushOutcome::pushed);
  }
  bool pop() {
    const std::optional<int> item = queue_.try_pop();
    if (!item) return model_.empty();
    return is_oldest(*item);
  }
  bool push_batch(std::size_t count) {
    std::array<int, kMostAtOnce> items;
    for (std::size_t i = 0; i < count; ++i) items[i] = next_ + static_cast<int>(i);
    const std::size_t expected = std::min(count, kCapacity - model_.size());
    if (queue_.try_push_batch({items.data(), count}) != expected) return false;
    for (std::size_t i = 0; i < expected; ++i) model_.push_back(next_++);
    return true;
  }
  bool pop_batch(std::size_t count) {
    std::array<int, kMostAtOnce> items;
    const std::size_t expected = std::min(count, model_.size());
    if (queue_.try_pop_batch({items.data(), count}) != expected) return false;
    for (std::size_t i = 0; i < expected; ++i) {
      if (!is_oldest(items[i])) return false;
    }
    return true;
  }
  bool same_size() const { return queue_.size_approx() == model_.size(); }

  static constexpr std::size_t kMostAtOnce = 6;

 private:
  static constexpr std::size_t kCapacity = 4;
  static constexpr std::size_t kHighWater = 3;

  bool is_oldest(int item) {
    if (model_.empty() || model_.front() != item) return false;
    model_.pop_front();
    return true;
  }

  BoundedQueue<int> queue_{{.capacity = kCapacity, .high_water = kHighWater}};
  std::deque<int> model_;
  int next_ = 0;
};

bool agrees_on_some_operation(Twin& twin, Random& random) {
  switch (random.below(6)) {
    case 0:
    case 1:
      return twin.push();
    case 2:
    case 3:
      return twin.pop();
    case 4:
      return twin.push_batch(random.below(Twin::kMostAtOnce + 1));
    default:
      return twin.pop_batch(random.below(Twin::kMostAtOnce + 1));
  }
}

TEST(BoundedQueue, EqualsAPlainQueueUnderRandomOperations) {
  Random random = testing::seeded();
  Twin twin;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(agrees_on_some_operation(twin, random) && twin.same_size()) << "operation " << i;
  }
}

}  // namespace
}  // namespace muster
