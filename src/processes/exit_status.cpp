// exit_status.cpp: from what the kernel saw and the pool knows to a kind and a sentence.
#include <csignal>
#include <cstring>

#include <muster/processes/exit_status.hpp>

namespace muster {
namespace {

// Signals by which the pool ends workers. A crash on the way out is still a crash.
bool is_ending_signal(int number) {
  return number == SIGTERM || number == SIGKILL;
}

// True if a process that was told to end has ended of that.
bool obeyed(const ProcessEnd& end, const WorkerPast& past) {
  if (!end.by_signal) return true;
  return end.number == SIGKILL ? past.was_killed : is_ending_signal(end.number);
}

ExitKind kind_of(const ProcessEnd& end, const WorkerPast& past) {
  if (past.reason == EndReason::asked && obeyed(end, past)) {
    const bool well = end.by_signal || end.number == 0 || end.number == kRecycleExitCode;
    if (well) return ExitKind::asked;
  }
  if (!past.was_ready) return ExitKind::never_ready;
  if (past.reason == EndReason::timeout && obeyed(end, past)) return ExitKind::timeout;
  if (past.reason == EndReason::silence && obeyed(end, past)) return ExitKind::silence;
  if (end.by_signal) {
    return end.number == SIGKILL && !past.was_killed ? ExitKind::out_of_memory : ExitKind::signal;
  }
  return end.number == kRecycleExitCode ? ExitKind::recycled : ExitKind::exit_code;
}

// "SIGSEGV"; for real-time signals there is only the number.
std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? "real-time" : std::string("SIG") + name;
}

std::string describe_end(const ProcessEnd& end) {
  if (!end.by_signal) return "exit code " + std::to_string(end.number);
  std::string text =
      "killed by signal " + std::to_string(end.number) + " (" + signal_name(end.number) + ")";
  if (end.number == SIGXCPU) text += ", CPU time used up";
  if (end.dumped_core) text += ", core dumped";
  return text;
}

}  // namespace

ProcessEnd process_end(int code, int status) noexcept {
  return {.by_signal = code != CLD_EXITED, .number = status, .dumped_core = code == CLD_DUMPED};
}

std::string_view to_string(ExitKind kind) {
  switch (kind) {
    case ExitKind::asked:
      return "asked";
    case ExitKind::recycled:
      return "recycled";
    case ExitKind::exit_code:
      return "exit_code";
    case ExitKind::signal:
      return "signal";
    case ExitKind::out_of_memory:
      return "out_of_memory";
    case ExitKind::timeout:
      return "timeout";
    case ExitKind::silence:
      return "silence";
    case ExitKind::never_ready:
      return "never_ready";
    case ExitKind::unknown:
      break;
  }
  return "unknown";
}

ExitStatus classify(const std::optional<ProcessEnd>& end, const WorkerPast& past) noexcept {
  if (end) return {.kind = kind_of(*end, past), .end = end};
  // Nobody saw it; but who was to end has, and who was never ready no longer can be.
  if (past.reason == EndReason::asked) return {.kind = ExitKind::asked};
  return {.kind = past.was_ready ? ExitKind::unknown : ExitKind::never_ready};
}

std::string describe(const ExitStatus& status) {
  std::string end = status.end ? describe_end(*status.end) : "ended with its spawner";
  switch (status.kind) {
    case ExitKind::asked:
      return "ended as asked: " + end;
    case ExitKind::recycled:
      return "ended to be replaced: " + end;
    case ExitKind::out_of_memory:
      return end + " from outside, perhaps out of memory";
    case ExitKind::timeout:
      return "took too long: " + end;
    case ExitKind::silence:
      return "gave no sign of life: " + end;
    case ExitKind::never_ready:
      return "never became ready: " + end;
    case ExitKind::unknown:
      return end + ", nobody saw how";
    case ExitKind::exit_code:
    case ExitKind::signal:
      break;
  }
  return end;
}

FailureKind failure_kind(ExitKind kind) noexcept {
  return kind == ExitKind::timeout ? FailureKind::timeout : FailureKind::crash;
}

}  // namespace muster
