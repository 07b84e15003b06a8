// spilling_queue_test.cpp: order, counts and memory while items move between ring and chunks.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/queues/spilling_queue.hpp>

namespace muster {
namespace {

template <class T>
std::optional<T> pop(SpillingQueue<T>& queue) {
  T item{};
  return queue.try_pop(item) == SpillPop::empty ? std::nullopt : std::optional<T>(std::move(item));
}

TEST(SpillingQueue, TheRingsCapacityIsAPowerOfTwo) {
  EXPECT_THROW(SpillingQueue<int>(3), InvalidArgument);
}

TEST(SpillingQueue, IsEmptyAtFirst) {
  SpillingQueue<int> queue(2);
  EXPECT_TRUE(queue.empty_approx());
  EXPECT_EQ(queue.size_approx(), 0U);
  EXPECT_EQ(queue.pushed_approx(), 0U);
  EXPECT_EQ(pop(queue), std::nullopt);
}

TEST(SpillingQueue, ItemsComeOutInTheirOrderHoweverManyThereAre) {
  SpillingQueue<int> queue(4);
  for (int i = 0; i < 1000; ++i) queue.push(int{i});
  EXPECT_EQ(queue.size_approx(), 1000U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(pop(queue), i);
  EXPECT_EQ(pop(queue), std::nullopt);
  EXPECT_TRUE(queue.empty_approx());
}

TEST(SpillingQueue, TheOrderHoldsWhilePushesAndPopsAlternate) {
  SpillingQueue<int> queue(4);
  int pushed = 0;
  int popped = 0;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 1 + round % 17; ++i) queue.push(int{pushed++});
    for (int i = 0; i < 1 + round % 13; ++i) {
      if (const std::optional<int> item = pop(queue)) {
        ASSERT_EQ(*item, popped++);
      }
    }
  }
  while (const std::optional<int> item = pop(queue)) ASSERT_EQ(*item, popped++);
  EXPECT_EQ(popped, pushed);
}

TEST(SpillingQueue, CountsEachItemOnceWhereverItWent) {
  SpillingQueue<int> queue(4);
  for (int i = 0; i < 500; ++i) {
    queue.push(int{i});
    if (i % 3 == 0) {
      EXPECT_TRUE(pop(queue));
    }
    EXPECT_EQ(queue.pushed_approx(), static_cast<std::uint64_t>(i) + 1);
  }
  while (pop(queue)) EXPECT_EQ(queue.pushed_approx(), 500U);
  EXPECT_EQ(queue.pushed_approx(), 500U);
}

TEST(SpillingQueue, TryPushRefusesWhatWouldSpill) {
  SpillingQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(2)));
  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(queue.try_push(std::move(third)));
  ASSERT_NE(third, nullptr) << "what does not fit stays with the caller";
  queue.push(std::move(third));
  EXPECT_EQ(**pop(queue), 1);
  EXPECT_FALSE(queue.try_push(std::make_unique<int>(4))) << "it would overtake the spilled one";
  EXPECT_EQ(**pop(queue), 2);
  EXPECT_EQ(**pop(queue), 3);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(5)));
}

TEST(SpillingQueue, SaysWhenItHasRefilledTheRing) {
  SpillingQueue<int> queue(2);
  for (int i = 0; i < 5; ++i) queue.push(int{i});
  std::vector<SpillPop> outcomes;
  for (int item = 0; outcomes.size() < 6;) outcomes.push_back(queue.try_pop(item));
  EXPECT_EQ(outcomes, (std::vector<SpillPop>{SpillPop::popped, SpillPop::popped, SpillPop::refilled,
                                             SpillPop::popped, SpillPop::popped, SpillPop::empty}));
}

// Calls something while it is being moved, once: in the middle of a push or of a pop.
class Busy {
 public:
  Busy() = default;
  explicit Busy(int number, std::function<void()>* meanwhile = nullptr)
      : number_(number), meanwhile_(meanwhile) {}
  Busy(Busy&& other) noexcept { *this = std::move(other); }
  Busy& operator=(Busy&& other) noexcept {
    number_ = other.number_;
    meanwhile_ = other.meanwhile_;
    if (meanwhile_ != nullptr && *meanwhile_) std::exchange(*meanwhile_, {})();
    return *this;
  }
  ~Busy() = default;

  int number() const { return number_; }

 private:
  int number_ = 0;
  std::function<void()>* meanwhile_ = nullptr;
};

TEST(SpillingQueue, SpilledItemsDoNotOvertakeWhatAPushUnderWayHoldsUp) {
  SpillingQueue<Busy> queue(2);
  std::optional<Busy> found;
  std::function<void()> meanwhile = [&] {
    queue.push(Busy(1));
    queue.push(Busy(2));
    found = pop(queue);
  };
  queue.push(Busy(0, &meanwhile));
  EXPECT_FALSE(found);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(pop(queue)->number(), i);
}

TEST(SpillingQueue, SaysSoTooIfWhatItTookFromAChunkFoundNoRoom) {
  SpillingQueue<Busy> queue(2);
  std::function<void()> meanwhile;
  queue.push(Busy(0, &meanwhile));
  for (int i = 1; i < 4; ++i) queue.push(Busy(i));
  std::vector<SpillPop> outcomes;
  Busy second;
  meanwhile = [&] {
    for (int i = 0; i < 2; ++i) outcomes.push_back(queue.try_pop(second));
  };
  Busy first;
  outcomes.push_back(queue.try_pop(first));
  EXPECT_EQ(first.number(), 0);
  EXPECT_EQ(second.number(), 2);
  EXPECT_EQ(outcomes,
            (std::vector<SpillPop>{SpillPop::popped, SpillPop::refilled, SpillPop::popped}));
  EXPECT_EQ(pop(queue)->number(), 3);
}

TEST(SpillingQueue, WhatIsLeftIsDestroyedWithIt) {
  const auto item = std::make_shared<int>(1);
  {
    SpillingQueue<std::shared_ptr<int>> queue(2);
    for (int i = 0; i < 200; ++i) queue.push(std::shared_ptr<int>(item));
    EXPECT_EQ(item.use_count(), 201);
    EXPECT_TRUE(pop(queue));
  }
  EXPECT_EQ(item.use_count(), 1);
}

}  // namespace
}  // namespace muster
