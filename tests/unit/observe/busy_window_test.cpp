// busy_window_test.cpp: the share of the last so long in which somebody was busy.
#include <chrono>

#include <gtest/gtest.h>

#include <muster/observe/busy_window.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

BusyWindow::Work work(Duration begin, Duration end) {
  return {.begin = Time(begin), .end = Time(end)};
}

TEST(BusyWindow, TellsTheBusyShareOfTheWindow) {
  BusyWindow window(1s, Time{});
  window.add(work(5s, 5s + 250ms));
  EXPECT_NEAR(window.utilisation(Time(5s + 250ms)), 0.25, 1e-9);
  EXPECT_NEAR(window.utilisation(Time(5s + 900ms)), 0.25, 1e-9);
}

TEST(BusyWindow, ForgetsWhatIsOlder) {
  BusyWindow window(1s, Time{});
  window.add(work(5s, 6s));
  EXPECT_NEAR(window.utilisation(Time(6s)), 1, 1e-9);
  for (const Duration later : {100ms, 350ms, 725ms}) {
    const double left = 1 - std::chrono::duration<double>(later).count();
    EXPECT_NEAR(window.utilisation(Time(6s + later)), left, 1e-9);
  }
  EXPECT_EQ(window.utilisation(Time(7s)), 0);
  EXPECT_EQ(window.utilisation(Time(1000h)), 0);
}

TEST(BusyWindow, LooksNoFurtherBackThanTheStart) {
  BusyWindow window(1s, Time(5s + 30ms));
  EXPECT_EQ(window.utilisation(Time(5s + 30ms)), 0);
  window.add(work(5s + 50ms, 5s + 80ms));
  EXPECT_NEAR(window.utilisation(Time(5s + 90ms)), 0.5, 1e-9);
}

TEST(BusyWindow, SteadilyCountsWhatWasBeforeTheStartAsIdle) {
  BusyWindow window(1s, Time(5s));
  window.add(work(5s, 5s + 10ms));
  EXPECT_NEAR(window.utilisation(Time(5s + 10ms)), 1, 1e-9);
  EXPECT_NEAR(window.steady_utilisation(Time(5s + 10ms), Time(5s + 10ms)), 0.01, 1e-9);
  EXPECT_NEAR(window.steady_utilisation(Time(5s + 900ms), Time(5s + 400ms)), 0.51, 1e-9);
  EXPECT_EQ(window.steady_utilisation(Time(6s + 50ms), Time(5s)), 1) << "no more than all";
}

TEST(BusyWindow, CountsWhatIsBeingDone) {
  const BusyWindow window(1s, Time{});
  EXPECT_NEAR(window.utilisation(Time(9s), Time(8s + 700ms)), 0.3, 1e-9);
  EXPECT_NEAR(window.utilisation(Time(9s), Time(2s)), 1, 1e-9);
}

TEST(BusyWindow, OneMayStandForMany) {
  BusyWindow window(1s, Time{});
  window.add({.begin = Time(5s), .end = Time(5s + 1us), .times = 64});
  EXPECT_NEAR(window.utilisation(Time(5s + 1ms)), 64e-6, 1e-9);
}

TEST(BusyWindow, ManySmallOnesAddUp) {
  BusyWindow window(1s, Time{});
  for (Duration at = 0ms; at < 4s; at += 1ms) window.add(work(at, at + 250us));
  EXPECT_NEAR(window.utilisation(Time(4s)), 0.25, 1e-3);
  EXPECT_NEAR(window.utilisation(Time(4s + 500ms)), 0.125, 1e-3);
}

TEST(BusyWindow, AReaderChangesNothingForOthers) {
  BusyWindow window(1s, Time{});
  window.add(work(5s, 5s + 400ms));
  const double seen = window.utilisation(Time(6s));
  for (int i = 0; i < 100; ++i) (void)window.utilisation(Time(5s + i * 10ms));
  EXPECT_EQ(window.utilisation(Time(6s)), seen);
}

TEST(BusyWindow, IsNeverMoreThanBusy) {
  BusyWindow window(1s, Time{});
  window.add({.begin = Time(5s), .end = Time(6s), .times = 1'000'000});
  EXPECT_EQ(window.utilisation(Time(6s)), 1);
}

}  // namespace
}  // namespace muster
