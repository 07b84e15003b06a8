// log_test.cpp: the log hook gets what is logged, costs nothing when unset, and may be swapped.
#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/log.hpp>

namespace muster {
namespace {

// Every test starts and ends without a hook.
class Log : public testing::Test {
 protected:
  Log() { set_log_hook({}); }
  ~Log() override { set_log_hook({}); }

  std::vector<std::string> messages_;
  LogHook keep_ = [this](const LogRecord& record) { messages_.emplace_back(record.message); };
};

TEST_F(Log, WithoutAHookTheMessageIsNotEvaluated) {
  int evaluations = 0;
  MUSTER_LOG(LogLevel::error, "value " << ++evaluations);
  EXPECT_EQ(evaluations, 0);
  EXPECT_FALSE(log_enabled());
}

TEST_F(Log, AHookReceivesLevelMessageAndPlace) {
  int calls = 0;
  set_log_hook([&](const LogRecord& record) {
    ++calls;
    EXPECT_EQ(record.level, LogLevel::warning);
    EXPECT_EQ(record.message, "worker 7 died");
    EXPECT_TRUE(std::string(record.location.file_name()).ends_with("log_test.cpp"));
    EXPECT_GT(record.location.line(), 0U);
  });
  MUSTER_LOG(LogLevel::warning, "worker " << 7 << " died");
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(log_enabled());
}

TEST_F(Log, ReplacingReturnsTheOldHook) {
  EXPECT_FALSE(set_log_hook(keep_));
  const LogHook old = set_log_hook(log_to_stderr);
  ASSERT_TRUE(old);
  old({.level = LogLevel::info, .message = "by hand"});
  EXPECT_EQ(messages_, std::vector<std::string>{"by hand"});
}

TEST_F(Log, AnEmptyHookTurnsLoggingOff) {
  set_log_hook(keep_);
  set_log_hook({});
  MUSTER_LOG(LogLevel::info, "unheard");
  EXPECT_TRUE(messages_.empty());
}

TEST_F(Log, WhatTheHookThrowsIsDropped) {
  set_log_hook([](const LogRecord&) { throw std::runtime_error("disk full"); });
  EXPECT_NO_THROW(MUSTER_LOG(LogLevel::info, "hello"));
  set_log_hook(keep_);
  MUSTER_LOG(LogLevel::info, "still works");
  EXPECT_EQ(messages_, std::vector<std::string>{"still works"});
}

TEST_F(Log, AHookThatLogsDoesNotCallItself) {
  int calls = 0;
  set_log_hook([&](const LogRecord&) {
    ++calls;
    MUSTER_LOG(LogLevel::info, "from inside");
  });
  MUSTER_LOG(LogLevel::info, "from outside");
  EXPECT_EQ(calls, 1);
}

TEST_F(Log, ReplacingWaitsForAHookThatIsStillRunning) {
  std::latch entered(1);
  std::latch replacing(1);
  std::atomic<bool> finished = false;
  set_log_hook([&](const LogRecord&) {
    entered.count_down();
    replacing.wait();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    finished.store(true);
  });
  std::thread logger([] { MUSTER_LOG(LogLevel::info, "slow"); });
  entered.wait();
  replacing.count_down();
  set_log_hook({});
  EXPECT_TRUE(finished.load());
  logger.join();
}

TEST_F(Log, HooksAreSwappedSafelyWhileOthersLog) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> loggers;
  for (int i = 0; i < 2; ++i) {
    loggers.emplace_back([&] {
      while (!stop.load()) MUSTER_LOG(LogLevel::info, "busy");
    });
  }
  for (int round = 0; round < 200; ++round) {
    // What the hook refers to dies right after the hook; the flag shows if that was too early.
    auto alive = std::make_unique<std::atomic<int>>(1);
    set_log_hook([flag = alive.get()](const LogRecord&) { EXPECT_EQ(flag->load(), 1); });
    set_log_hook({});
    alive->store(0);
  }
  stop.store(true);
  for (std::thread& logger : loggers) logger.join();
}

TEST_F(Log, TheReadyMadeHookWritesOneLine) {
  testing::internal::CaptureStderr();
  set_log_hook(log_to_stderr);
  MUSTER_LOG(LogLevel::error, "out of " << "luck");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.starts_with("muster error: log_test.cpp:")) << line;
  EXPECT_TRUE(line.ends_with(": out of luck\n")) << line;
}

TEST(LogDeathTest, ReplacingTheHookFromInsideItIsABug) {
  const auto replace_inside = [] {
    set_log_hook([](const LogRecord&) { set_log_hook({}); });
    MUSTER_LOG(LogLevel::info, "go");
  };
  EXPECT_DEATH(replace_inside(), "a log hook called set_log_hook\\(\\)");
}

}  // namespace
}  // namespace muster
