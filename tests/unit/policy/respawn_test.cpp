// respawn_test.cpp: deaths within the budget are replaced at once, a crash loop is slowed down.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/respawn.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart = Time(1h);

// Times since the start at which a worker is started that dies as soon as it is.
std::vector<Duration> spawns(Respawn& respawn, Stage stage, std::size_t count) {
  std::vector<Duration> times;
  Time now = kStart;
  for (std::size_t i = 0; i < count; ++i) {
    respawn.note_death(stage, now);
    now = respawn.next_spawn(now);
    times.emplace_back(now - kStart);
  }
  return times;
}

TEST(Respawn, DeathsWithinTheBudgetAreReplacedAtOnce) {
  Respawn respawn({});
  EXPECT_EQ(spawns(respawn, Stage::before_ready, 3), (std::vector<Duration>{0s, 0s, 0s}));
  EXPECT_EQ(spawns(respawn, Stage::after_ready, 10), std::vector<Duration>(10, 0s))
      << "budgets are apart";
}

TEST(Respawn, ACrashLoopIsPausedEveryTimeForLonger) {
  Respawn respawn({});
  EXPECT_EQ(spawns(respawn, Stage::before_ready, 8),
            (std::vector<Duration>{0s, 0s, 0s, 1s, 3s, 7s, 15s, 31s}));
  EXPECT_EQ(respawn.pauses(), 5U);
}

TEST(Respawn, ABeginningPauseIsToldOnceHoweverManyDieInIt) {
  Respawn respawn({.deaths_after_ready = 2});
  EXPECT_FALSE(respawn.note_death(Stage::after_ready, kStart));
  EXPECT_FALSE(respawn.note_death(Stage::after_ready, kStart));
  EXPECT_TRUE(respawn.note_death(Stage::after_ready, kStart));
  EXPECT_FALSE(respawn.note_death(Stage::after_ready, kStart));
  EXPECT_EQ(respawn.next_spawn(kStart), kStart + 1s);
}

TEST(Respawn, DeathsThatAreFarApartAreNoLoop) {
  Respawn respawn({});
  for (int i = 0; i < 100; ++i) {
    const Time now = kStart + i * 20s;  // three within every 60 s
    EXPECT_FALSE(respawn.note_death(Stage::before_ready, now)) << i;
  }
  EXPECT_TRUE(respawn.note_death(Stage::before_ready, kStart + 99 * 20s + 1s));
}

TEST(Respawn, AWorkerThatBecomesReadyRestoresTheBudgetOfTheOthers) {
  Respawn respawn({});
  spawns(respawn, Stage::before_ready, 3);
  respawn.note_ready();
  EXPECT_FALSE(respawn.note_death(Stage::before_ready, kStart));
  Respawn poisoned({.deaths_after_ready = 3});
  spawns(poisoned, Stage::after_ready, 3);
  poisoned.note_ready();
  EXPECT_TRUE(poisoned.note_death(Stage::after_ready, kStart)) << "each was ready before it died";
}

TEST(Respawn, PausesAreShortAgainAfterAPeriodWithoutAny) {
  Respawn respawn({});
  EXPECT_EQ(spawns(respawn, Stage::before_ready, 6).back(), 7s);
  const auto die_four_times = [&](Time now) {
    for (int i = 0; i < 4; ++i) respawn.note_death(Stage::before_ready, now);
    return respawn.next_spawn(now) - now;
  };
  EXPECT_EQ(die_four_times(kStart + 67s - 1ns), 8s);
  EXPECT_EQ(die_four_times(kStart + 75s + 60s - 1ns), 1s);
}

TEST(Respawn, EveryBadFieldIsNamedAtOnce) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(RespawnOptions{
           .deaths_before_ready = 0, .deaths_after_ready = 0, .period = 0s, .pause = fixed(-1s)})) {
    fields.push_back(bad.field);
  }
  EXPECT_EQ(fields, (std::vector<std::string>{"deaths_before_ready", "deaths_after_ready", "period",
                                              "pause"}));
  EXPECT_TRUE(validate(RespawnOptions{}).empty());
}

}  // namespace
}  // namespace muster
