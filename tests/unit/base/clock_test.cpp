// clock_test.cpp: the fake clock obeys, and the real one runs.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(Clock, TheRealClockNeverRunsBackwards) {
  Clock& clock = real_clock();
  const Time first = clock.now();
  EXPECT_GE(clock.now(), first);
  EXPECT_EQ(&clock, &real_clock());
}

TEST(Clock, TheRealWallClockIsTheSystemsClock) {
  const WallTime before = std::chrono::system_clock::now();
  const WallTime told = real_clock().wall_now();
  EXPECT_GE(told, before - 1h);
  EXPECT_LE(told, before + 1h);
}

TEST(FakeClock, StandsStillUntilAdvanced) {
  FakeClock clock;
  const Time start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(5ms);
  clock.advance(0ms);
  EXPECT_EQ(clock.now() - start, 5ms);
}

TEST(FakeClock, AdvancingMovesTheWallToo) {
  FakeClock clock;
  clock.set_wall(WallTime(24h));
  clock.advance(90s);
  EXPECT_EQ(clock.wall_now(), WallTime(24h + 90s));
}

TEST(FakeClock, OnlyTheWallMayJumpBack) {
  FakeClock clock;
  clock.advance(10s);
  clock.set_wall(WallTime(3s));
  EXPECT_EQ(clock.wall_now(), WallTime(3s));
  EXPECT_EQ(clock.now(), Time(10s));
}

TEST(FakeClock, ANegativeAdvanceIsRefusedAndChangesNothing) {
  FakeClock clock;
  clock.advance(10s);
  EXPECT_THROW(clock.advance(-1ns), InvalidArgument);
  EXPECT_EQ(clock.now(), Time(10s));
}

TEST(FakeClock, AdvancesFromSeveralThreadsAddUp) {
  FakeClock clock;
  const auto advance_often = [&] {
    for (int i = 0; i < 1000; ++i) clock.advance(1us);
  };
  std::thread other(advance_often);
  advance_often();
  other.join();
  EXPECT_EQ(clock.now(), Time(2ms));
}

}  // namespace
}  // namespace muster
