// exit_status_test.cpp: what the kernel saw and what the pool knew make one kind and one sentence.
#include <csignal>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <muster/processes/exit_status.hpp>

namespace muster {
namespace {

constexpr ProcessEnd code(int number) {
  return {.by_signal = false, .number = number};
}

constexpr ProcessEnd killed_by(int number) {
  return {.by_signal = true, .number = number};
}

constexpr WorkerPast kAtWork{.was_ready = true};
constexpr WorkerPast kStarting{.was_ready = false};
constexpr WorkerPast kAsked{.was_ready = true, .reason = EndReason::asked};
constexpr WorkerPast kAskedKilled{
    .was_ready = true, .was_killed = true, .reason = EndReason::asked};
constexpr WorkerPast kTimeout{.was_ready = true, .reason = EndReason::timeout};
constexpr WorkerPast kTimeoutKilled{
    .was_ready = true, .was_killed = true, .reason = EndReason::timeout};
constexpr WorkerPast kSilentKilled{
    .was_ready = true, .was_killed = true, .reason = EndReason::silence};
constexpr WorkerPast kSlowStartKilled{.was_killed = true, .reason = EndReason::timeout};

TEST(ExitStatus, IsClassifiedByWhatThePoolKnew) {
  const struct {
    ProcessEnd end;
    WorkerPast past;
    ExitKind kind;
    const char* text;
  } cases[] = {
      {code(0), kAtWork, ExitKind::exit_code, "exit code 0"},
      {code(7), kAtWork, ExitKind::exit_code, "exit code 7"},
      {code(kRecycleExitCode), kAtWork, ExitKind::recycled, "ended to be replaced: exit code 85"},
      {killed_by(SIGABRT), kAtWork, ExitKind::signal, "killed by signal 6 (SIGABRT)"},
      {killed_by(SIGTERM), kAtWork, ExitKind::signal, "killed by signal 15 (SIGTERM)"},
      {killed_by(SIGXCPU), kAtWork, ExitKind::signal,
       "killed by signal 24 (SIGXCPU), CPU time used up"},
      {killed_by(SIGRTMIN), kAtWork, ExitKind::signal, "killed by signal 34 (real-time)"},
      {killed_by(SIGKILL), kAtWork, ExitKind::out_of_memory,
       "killed by signal 9 (SIGKILL) from outside, perhaps out of memory"},

      {code(0), kAsked, ExitKind::asked, "ended as asked: exit code 0"},
      {code(kRecycleExitCode), kAsked, ExitKind::asked, "ended as asked: exit code 85"},
      {code(7), kAsked, ExitKind::exit_code, "exit code 7"},
      {killed_by(SIGTERM), kAsked, ExitKind::asked,
       "ended as asked: killed by signal 15 (SIGTERM)"},
      {killed_by(SIGSEGV), kAsked, ExitKind::signal, "killed by signal 11 (SIGSEGV)"},
      {killed_by(SIGKILL), kAsked, ExitKind::out_of_memory,
       "killed by signal 9 (SIGKILL) from outside, perhaps out of memory"},
      {killed_by(SIGKILL), kAskedKilled, ExitKind::asked,
       "ended as asked: killed by signal 9 (SIGKILL)"},

      {killed_by(SIGTERM), kTimeout, ExitKind::timeout,
       "took too long: killed by signal 15 (SIGTERM)"},
      {code(0), kTimeout, ExitKind::timeout, "took too long: exit code 0"},
      {killed_by(SIGKILL), kTimeoutKilled, ExitKind::timeout,
       "took too long: killed by signal 9 (SIGKILL)"},
      {killed_by(SIGKILL), kTimeout, ExitKind::out_of_memory,
       "killed by signal 9 (SIGKILL) from outside, perhaps out of memory"},
      {killed_by(SIGSEGV), kTimeoutKilled, ExitKind::signal, "killed by signal 11 (SIGSEGV)"},
      {killed_by(SIGKILL), kSilentKilled, ExitKind::silence,
       "gave no sign of life: killed by signal 9 (SIGKILL)"},

      {code(127), kStarting, ExitKind::never_ready, "never became ready: exit code 127"},
      {code(0), kStarting, ExitKind::never_ready, "never became ready: exit code 0"},
      {code(kRecycleExitCode), kStarting, ExitKind::never_ready,
       "never became ready: exit code 85"},
      {killed_by(SIGSEGV), kStarting, ExitKind::never_ready,
       "never became ready: killed by signal 11 (SIGSEGV)"},
      {killed_by(SIGKILL), kSlowStartKilled, ExitKind::never_ready,
       "never became ready: killed by signal 9 (SIGKILL)"},
      {killed_by(SIGTERM),
       {.reason = EndReason::asked},
       ExitKind::asked,
       "ended as asked: killed by signal 15 (SIGTERM)"},
  };
  for (const auto& [end, past, kind, text] : cases) {
    const ExitStatus status = classify(end, past);
    EXPECT_EQ(to_string(status.kind), to_string(kind)) << text;
    EXPECT_EQ(status.end, end) << text;
    EXPECT_EQ(describe(status), text);
  }
}

TEST(ExitStatus, ACoreDumpIsSaid) {
  const ProcessEnd end = process_end(CLD_DUMPED, SIGSEGV);
  EXPECT_EQ(describe(classify(end, kAtWork)), "killed by signal 11 (SIGSEGV), core dumped");
}

TEST(ExitStatus, TheKernelsCodesAreTold) {
  EXPECT_EQ(process_end(CLD_EXITED, 7), code(7));
  EXPECT_EQ(process_end(CLD_KILLED, SIGKILL), killed_by(SIGKILL));
  EXPECT_TRUE(process_end(CLD_DUMPED, SIGABRT).dumped_core);
}

TEST(ExitStatus, AnEndThatNobodySawIsNotInvented) {
  EXPECT_EQ(classify(std::nullopt, kAtWork).kind, ExitKind::unknown);
  EXPECT_EQ(classify(std::nullopt, kStarting).kind, ExitKind::never_ready);
  EXPECT_EQ(classify(std::nullopt, kAskedKilled).kind, ExitKind::asked);
  EXPECT_EQ(describe(classify(std::nullopt, kAtWork)), "ended with its spawner, nobody saw how");
}

TEST(ExitStatus, ForATaskItIsATimeoutOrACrash) {
  EXPECT_EQ(failure_kind(ExitKind::timeout), FailureKind::timeout);
  EXPECT_EQ(failure_kind(ExitKind::out_of_memory), FailureKind::crash);
  EXPECT_EQ(failure_kind(ExitKind::silence), FailureKind::crash);
}

TEST(ExitStatus, EveryKindHasAName) {
  EXPECT_EQ(to_string(ExitKind::asked), "asked");
  EXPECT_EQ(to_string(ExitKind::unknown), "unknown");
}

}  // namespace
}  // namespace muster
