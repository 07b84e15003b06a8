// plain_test.cpp: Plain and Cell hold what they are given, end its life once, and cost nothing.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <muster/sync/plain.hpp>

namespace muster {
namespace {

template <class T>
T taken_from(Cell<T>& cell) {
  std::optional<T> item;
  cell.take_into(item);
  return std::move(*item);
}

static_assert(sizeof(Plain<int>) == sizeof(int));
static_assert(sizeof(Plain<void*>) == sizeof(void*));
static_assert(sizeof(Cell<int>) == sizeof(int));
static_assert(sizeof(Cell<std::string>) == sizeof(std::string));

// Counts the living objects; has no default constructor.
class Counted {
 public:
  explicit Counted(int& alive) : alive_(&alive) { ++*alive_; }
  Counted(Counted&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(Counted&& other) noexcept = default;
  ~Counted() { --*alive_; }

 private:
  int* alive_;
};

TEST(Plain, StartsAtZeroAndHoldsWhatWasSet) {
  Plain<int> number;
  EXPECT_EQ(number.get(), 0);
  number.set(7);
  EXPECT_EQ(number.get(), 7);
}

TEST(Plain, HoldsWhatCanOnlyBeMoved) {
  Plain<std::unique_ptr<int>> box;
  EXPECT_EQ(box.get(), nullptr);
  box.set(std::make_unique<int>(5));
  EXPECT_EQ(*box.get(), 5);
}

TEST(Cell, GivesBackWhatWasPutIn) {
  Cell<std::string> cell;
  std::string item = "a text too long to stand inside of the string object";
  cell.put(std::string(item));
  EXPECT_EQ(taken_from(cell), item);
}

TEST(Cell, HoldsWhatCanOnlyBeMoved) {
  Cell<std::unique_ptr<int>> cell;
  auto item = std::make_unique<int>(5);
  const int* const address = item.get();
  cell.put(std::move(item));
  const std::unique_ptr<int> taken = taken_from(cell);
  EXPECT_EQ(taken.get(), address);
}

TEST(Cell, CanBeFilledAndEmptiedAgainAndAgain) {
  Cell<std::unique_ptr<int>> cell;
  for (int i = 0; i < 10; ++i) {
    cell.put(std::make_unique<int>(i));
    EXPECT_EQ(*taken_from(cell), i);
  }
}

TEST(Cell, TakingIntoAnObjectReplacesIt) {
  Cell<std::unique_ptr<int>> cell;
  cell.put(std::make_unique<int>(2));
  auto out = std::make_unique<int>(1);
  cell.take_into(out);
  EXPECT_EQ(*out, 2);
}

TEST(Cell, TakingLeavesNothingBehind) {
  int alive = 0;
  Cell<Counted> cell;
  {
    Counted item(alive);
    cell.put(std::move(item));
    EXPECT_EQ(alive, 2) << "the caller's own and the one in the cell";
  }
  EXPECT_EQ(alive, 1);
  {
    const Counted taken = taken_from(cell);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Cell, TakingIntoAnObjectLeavesNothingBehind) {
  int alive = 0;
  Cell<Counted> cell;
  Counted out(alive);
  cell.put(Counted(alive));
  EXPECT_EQ(alive, 2);
  cell.take_into(out);
  EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace muster
