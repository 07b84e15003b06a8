// inbox_test.cpp: what is sent comes out all at once, in order, and announces itself once.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/inbox.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster {
namespace {

struct Letter : InboxLink<Letter> {
  int number = 0;
};

static_assert(alignof(Inbox<Letter>) == kCacheLine && sizeof(Inbox<Letter>) == kCacheLine,
              "pushers to one inbox do not disturb its neighbours");
static_assert(sizeof(Letter) == 2 * sizeof(void*), "an item pays one pointer for its link");

class InboxTest : public ::testing::Test {
 protected:
  InboxTest() {
    for (int i = 0; i < 8; ++i) letters_.at(static_cast<std::size_t>(i)).number = i;
  }

  Letter& letter(int number) { return letters_.at(static_cast<std::size_t>(number)); }
  InboxPush push(int number) { return inbox_.push(letter(number)); }
  InboxPush push_batch(const std::vector<int>& numbers) {
    std::vector<Letter*> batch;
    for (const int number : numbers) batch.push_back(&letter(number));
    return inbox_.push_batch(batch);
  }
  std::vector<int> take_all() {
    std::vector<int> numbers;
    Inbox<Letter>::Batch batch = inbox_.take_all();
    while (const Letter* const taken = batch.next()) numbers.push_back(taken->number);
    EXPECT_TRUE(batch.empty());
    return numbers;
  }

  Inbox<Letter> inbox_;
  std::array<Letter, 8> letters_;
};

TEST_F(InboxTest, AnEmptyInboxGivesAnEmptyBatch) {
  Inbox<Letter>::Batch batch = inbox_.take_all();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.next(), nullptr);
  EXPECT_EQ(batch.next(), nullptr);
}

TEST_F(InboxTest, ABatchBeginsWithTheOldest) {
  for (int i = 0; i < 8; ++i) push(i);
  EXPECT_EQ(take_all(), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(InboxTest, TakingLeavesNothing) {
  push(0);
  push(1);
  EXPECT_EQ(take_all(), (std::vector{0, 1}));
  EXPECT_EQ(take_all(), std::vector<int>{});
}

TEST_F(InboxTest, AnItemIsTheSameObjectThatWasSent) {
  push(3);
  Inbox<Letter>::Batch batch = inbox_.take_all();
  EXPECT_EQ(batch.next(), &letter(3));
}

TEST_F(InboxTest, ABatchIsEmptyOnceItsLastItemHasLeftIt) {
  push(0);
  push(1);
  Inbox<Letter>::Batch batch = inbox_.take_all();
  EXPECT_FALSE(batch.empty());
  EXPECT_EQ(batch.next(), &letter(0));
  EXPECT_FALSE(batch.empty());
  EXPECT_EQ(batch.next(), &letter(1));
  EXPECT_TRUE(batch.empty());
}

TEST_F(InboxTest, OnlyTheFirstPushOfAFillingFindsItEmpty) {
  for (int filling = 0; filling < 3; ++filling) {
    EXPECT_EQ(push(0), InboxPush::was_empty);
    EXPECT_EQ(push(1), InboxPush::had_items);
    EXPECT_EQ(push_batch({2, 3}), InboxPush::had_items);
    take_all();
    EXPECT_EQ(push_batch({4, 5, 6}), InboxPush::was_empty);
    EXPECT_EQ(push(7), InboxPush::had_items);
    take_all();
  }
}

TEST_F(InboxTest, APushedBatchStaysInOrderAndTogether) {
  push(7);
  push_batch({4, 2, 6});
  push(5);
  push_batch({1});
  push_batch({3, 0});
  EXPECT_EQ(take_all(), (std::vector{7, 4, 2, 6, 5, 1, 3, 0}));
}

TEST_F(InboxTest, AnItemCanBeSentAgainAsSoonAsItHasLeftItsBatch) {
  for (int i = 0; i < 4; ++i) push(i);
  Inbox<Letter>::Batch batch = inbox_.take_all();
  for (int i = 0; i < 4; ++i) {
    Letter* const taken = batch.next();
    ASSERT_EQ(taken, &letter(i));
    inbox_.push(*taken);
  }
  EXPECT_EQ(batch.next(), nullptr);
  EXPECT_EQ(take_all(), (std::vector{0, 1, 2, 3}));
}

TEST_F(InboxTest, ItemsMoveFromInboxToInbox) {
  Inbox<Letter> other;
  push(0);
  push(1);
  Inbox<Letter>::Batch batch = inbox_.take_all();
  while (Letter* const taken = batch.next()) other.push(*taken);
  EXPECT_TRUE(inbox_.empty_approx());
  Inbox<Letter>::Batch moved = other.take_all();
  EXPECT_EQ(moved.next(), &letter(0));
  EXPECT_EQ(moved.next(), &letter(1));
  EXPECT_EQ(moved.next(), nullptr);
}

TEST_F(InboxTest, PushingWhileABatchIsReadDoesNotChangeIt) {
  push(0);
  push(1);
  Inbox<Letter>::Batch batch = inbox_.take_all();
  EXPECT_EQ(push(2), InboxPush::was_empty);
  EXPECT_EQ(batch.next(), &letter(0));
  EXPECT_EQ(batch.next(), &letter(1));
  EXPECT_EQ(batch.next(), nullptr);
  EXPECT_EQ(take_all(), std::vector{2});
}

TEST_F(InboxTest, EmptyIsExactWhileNobodyPushesOrTakes) {
  EXPECT_TRUE(inbox_.empty_approx());
  push(0);
  EXPECT_FALSE(inbox_.empty_approx());
  take_all();
  EXPECT_TRUE(inbox_.empty_approx());
}

}  // namespace
}  // namespace muster
