// closure_test.cpp: what a closure stores, when it runs and when it lets go.
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <muster/sync/closure.hpp>

namespace muster {
namespace {

TEST(Closure, RunsItsCallableOnceAndIsEmptyThen) {
  int runs = 0;
  Closure closure([&runs] { ++runs; });
  EXPECT_TRUE(closure);
  std::move(closure)();
  EXPECT_FALSE(closure);  // NOLINT: that is the claim
  EXPECT_EQ(runs, 1);
}

TEST(Closure, AnEmptyOneIsFalseAndCanBeReset) {
  Closure closure;
  EXPECT_FALSE(closure);
  closure.reset();
  const Closure moved(std::move(closure));
  EXPECT_FALSE(moved);
}

struct Counted {
  static constexpr bool kMustRun = true;
  std::array<char, 100> large = {};
  void operator()() const {}
};

TEST(Closure, KnowsWhetherOthersCountOnItsBeingCalled) {
  EXPECT_FALSE(Closure().must_run());
  EXPECT_FALSE(Closure([] {}).must_run());
  Closure counted{Counted{}};
  EXPECT_TRUE(counted.must_run());
  counted.reset();
  EXPECT_FALSE(counted.must_run());
}

template <std::size_t kBytes>
struct Sized {
  std::array<unsigned char, kBytes> bytes = {};
  std::shared_ptr<int> moves_by_hand = nullptr;
  void operator()() const {}
};

template <class Callable>
void expect_stamp_stays(std::uint64_t stamp) {
  Closure first{Callable{}};
  EXPECT_EQ(first.stamp(), 0U);
  EXPECT_FALSE(first.is_marked());
  first.mark(stamp);
  Closure second(std::move(first));
  Closure third;
  third = std::move(second);
  EXPECT_EQ(third.stamp(), stamp);
  EXPECT_TRUE(third.is_marked());
  EXPECT_EQ(second.stamp(), 0U);  // NOLINT(bugprone-use-after-move): that is the claim
  std::move(third)();
  EXPECT_FALSE(third.is_marked());  // NOLINT(bugprone-use-after-move): that is the claim
  EXPECT_FALSE(third);              // NOLINT(bugprone-use-after-move): that is the claim
}

TEST(Closure, CarriesAStampAlongIfThereIsRoom) {
  expect_stamp_stays<Sized<8>>(1);
  expect_stamp_stays<Sized<24>>(2);   // 40 bytes
  expect_stamp_stays<Sized<100>>(3);  // outside
  static_assert(sizeof(Sized<24>) == 40);
  const auto small = [] {};
  expect_stamp_stays<decltype(small)>(4);
  EXPECT_EQ(Closure().stamp(), 0U);
}

TEST(Closure, HasNoRoomForAStampBesideALargeCallable) {
  static_assert(sizeof(Sized<25>) == 48);
  Closure full{Sized<25>{}};
  full.mark(1);
  EXPECT_TRUE(full.is_marked());
  EXPECT_EQ(full.stamp(), 0U);
  full.reset();
  EXPECT_FALSE(full.is_marked());
}

TEST(Closure, MovingTakesTheCallableAlong) {
  std::string text;
  Closure first([&text, word = std::string("short")] { text += word; });
  Closure second(std::move(first));
  Closure third([&text] { text += "dropped"; });
  third = std::move(second);
  EXPECT_FALSE(first);   // NOLINT: that is the claim
  EXPECT_FALSE(second);  // NOLINT: that is the claim
  std::move(third)();
  EXPECT_EQ(text, "short");
}

TEST(Closure, CapturesEndWithTheCallAlsoIfItThrows) {
  const auto item = std::make_shared<int>(1);
  Closure quiet([item] {});
  Closure loud([item] { throw std::runtime_error("loud"); });
  EXPECT_EQ(item.use_count(), 3);
  std::move(quiet)();
  EXPECT_EQ(item.use_count(), 2);
  EXPECT_THROW(std::move(loud)(), std::runtime_error);
  EXPECT_EQ(item.use_count(), 1);
}

TEST(Closure, CapturesEndWithAClosureThatNeverRan) {
  const auto item = std::make_shared<int>(1);
  {
    const Closure inside([item] {});
    const Closure outside([item, room = std::array<char, 100>{}] { (void)room; });
    EXPECT_EQ(item.use_count(), 3);
  }
  EXPECT_EQ(item.use_count(), 1);
}

TEST(Closure, LargeCallablesAreKeptOutside) {
  std::array<int, 100> numbers{};
  numbers[99] = 7;
  int seen = 0;
  Closure first([numbers, &seen] { seen = numbers[99]; });
  Closure second(std::move(first));
  std::move(second)();
  EXPECT_EQ(seen, 7);
}

TEST(Closure, TakesFunctionsAndMoveOnlyCallables) {
  static int runs = 0;
  Closure function(+[] { ++runs; });
  Closure wrapped(std::function<void()>([] { ++runs; }));
  Closure owner([number = std::make_unique<int>(3)] { runs += *number; });
  std::move(function)();
  std::move(wrapped)();
  std::move(owner)();
  EXPECT_EQ(runs, 5);
}

// Not trivially copyable, as libstdc++'s std::string, which points into itself.
TEST(Closure, CallablesThatPointIntoThemselvesSurviveAMove) {
  struct Inner {
    int value = 5;
    int* self = &value;
    Inner() = default;
    Inner(Inner&& other) noexcept : value(other.value) {}
  };
  int seen = 0;
  Closure first([inner = Inner(), &seen]() mutable { seen = *inner.self; });
  Closure second(std::move(first));
  std::move(second)();
  EXPECT_EQ(seen, 5);
}

}  // namespace
}  // namespace muster
