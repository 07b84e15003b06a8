// health_test.cpp: who is warned about, told to end and killed, and who is spared.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/health.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> bad_fields(const HealthOptions& options) {
  std::vector<std::string> fields;
  for (const BadField& bad : validate(options)) fields.push_back(bad.field);
  return fields;
}

// One worker, looked at once a second.
class HealthTest : public ::testing::Test {
 protected:
  // What is done while so many seconds pass, as "15 warn".
  std::vector<std::string> pass(int seconds) {
    std::vector<std::string> actions;
    for (int i = 0; i < seconds; ++i) {
      now_ += 1s;
      signs_.cpu_time += cpu_per_second_;
      const HealthAction action = health_.look(signs_, now_);
      if (action == HealthAction::none) continue;
      actions.push_back(std::to_string(now_.time_since_epoch() / 1s) + " " +
                        std::string(to_string(action)));
    }
    return actions;
  }

  using Actions = std::vector<std::string>;

  VitalSigns signs_;
  Duration cpu_per_second_{};
  Time now_{};
  Health health_{HealthOptions{}, signs_, now_};
};

TEST_F(HealthTest, SilenceIsWarnedAboutThenEndedThenKilled) {
  EXPECT_EQ(pass(100), (Actions{"15 warn", "30 terminate", "35 kill"}));
  EXPECT_TRUE(health_.is_zombie());
}

TEST_F(HealthTest, OneThatBeatsIsLeftAlone) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(pass(14), Actions{});
    ++signs_.beats;
  }
  EXPECT_FALSE(health_.is_late());
}

TEST_F(HealthTest, OneThatWasLateRecoversAndMayBeLateAgain) {
  EXPECT_EQ(pass(29), Actions{"15 warn"});
  EXPECT_TRUE(health_.is_late());
  ++signs_.beats;
  EXPECT_EQ(pass(1), Actions{"30 recovered"});
  EXPECT_EQ(health_.silence(), 0s);
  EXPECT_EQ(pass(40), (Actions{"45 warn", "60 terminate", "65 kill"}));
}

TEST_F(HealthTest, WhoeverUsesCpuTimeIsGivenMore) {
  cpu_per_second_ = 1ms;
  EXPECT_EQ(pass(59), Actions{"15 warn"});
  EXPECT_EQ(pass(10), (Actions{"60 terminate", "65 kill"}));
}

TEST_F(HealthTest, WhoseCoreIsDumpedIsGivenMore) {
  signs_.dumps_core = true;
  EXPECT_EQ(pass(60), (Actions{"15 warn", "60 terminate"}));
}

TEST_F(HealthTest, WhoeverStopsUsingCpuTimeIsNotGivenMore) {
  cpu_per_second_ = 1ms;
  EXPECT_EQ(pass(45), Actions{"15 warn"});
  cpu_per_second_ = 0ms;
  EXPECT_EQ(pass(1), Actions{"46 terminate"});
}

TEST_F(HealthTest, ACoreIsNotCutShortButNotWaitedForWithoutEnd) {
  EXPECT_EQ(pass(31), (Actions{"15 warn", "30 terminate"}));
  signs_.dumps_core = true;
  EXPECT_EQ(pass(63), Actions{});
  EXPECT_EQ(pass(1), Actions{"95 kill"});
}

TEST_F(HealthTest, AGapBetweenLooksIsNotTheWorkersFault) {
  now_ += 1h;  // whoever looks was stopped
  EXPECT_EQ(pass(1), Actions{});
  EXPECT_EQ(health_.silence(), 10s);
  now_ += 1h;
  EXPECT_EQ(pass(1).size(), 1U) << "a warning, no more";
  ++signs_.beats;
  now_ += 1h;
  EXPECT_EQ(pass(1).size(), 1U) << "recovered";
  EXPECT_FALSE(health_.is_zombie());
}

TEST_F(HealthTest, ATimeThatRunsBackCountsAsNone) {
  EXPECT_EQ(pass(10), Actions{});
  EXPECT_EQ(health_.look(signs_, Time{}), HealthAction::none);
  EXPECT_EQ(health_.silence(), 10s);
  EXPECT_EQ(pass(5), Actions{"15 warn"});
}

TEST_F(HealthTest, WhoeverIsToEndIsKilledAfterTheGrace) {
  EXPECT_EQ(pass(3), Actions{});
  health_.expect_end();
  ++signs_.beats;
  EXPECT_EQ(pass(100), Actions{"8 kill"});
  health_.expect_end();
  EXPECT_EQ(pass(100), Actions{}) << "once";
  EXPECT_FALSE(health_.is_zombie());
}

TEST(HealthOptions, AreGoodByDefault) {
  const HealthOptions options;
  EXPECT_TRUE(validate(options).empty());
  EXPECT_EQ(options.heartbeat, 5s);
  EXPECT_EQ(options.warning, 15s);
  EXPECT_EQ(options.zombie, 30s);
  EXPECT_EQ(options.terminate_grace, 5s);
}

TEST(HealthOptions, AreCheckedAgainstEachOtherAllAtOnce) {
  EXPECT_EQ(bad_fields({.heartbeat = 0s,
                        .warning = -1s,
                        .zombie = -1s,
                        .busy_zombie = -2s,
                        .terminate_grace = -1s}),
            (std::vector<std::string>{"heartbeat", "warning", "zombie", "busy_zombie",
                                      "terminate_grace"}));
  EXPECT_EQ(bad_fields({.heartbeat = 8s}), std::vector<std::string>{"warning"});
  EXPECT_EQ(bad_fields({.warning = 30s}), std::vector<std::string>{"zombie"});
  EXPECT_EQ(bad_fields({.zombie = 61s}), std::vector<std::string>{"busy_zombie"});
  EXPECT_EQ(bad_fields({.terminate_grace = Duration::max()}),
            std::vector<std::string>{"terminate_grace"});
}

}  // namespace
}  // namespace muster
