// exit_status.hpp: how a worker process ended, and why, as far as that can be known.
//
// The kernel tells how a process ended: by an exit code or a signal. Why it did so also depends on
// what the pool had done: the same SIGKILL is a task that took too long if the pool sent it, and
// most likely the kernel short of memory if it did not.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <muster/base/api.hpp>
#include <muster/policy/retry.hpp>

namespace muster {

// With this code a worker ends that has done its share and wants to be replaced. Clear of the codes
// that shells (126 to 165), sysexits.h (64 to 78) and small numbers have a meaning for.
inline constexpr int kRecycleExitCode = 85;

// What the kernel reports of a process that is dead.
struct ProcessEnd {
  bool by_signal = false;
  int number = 0;  // of the signal, or the exit code
  bool dumped_core = false;

  bool operator==(const ProcessEnd&) const = default;
};

// From what waitid() fills in: its fields si_code and si_status.
[[nodiscard]] MUSTER_API ProcessEnd process_end(int code, int status) noexcept;

// What the pool wanted of a worker when that ended.
enum class EndReason {
  none,     // that it goes on
  asked,    // that it ends: the pool stops, shrinks or replaces it
  timeout,  // that it ends, since its task or its start took too long
  silence,  // that it ends, since it gave no sign of life
};

// What the pool knows of a worker that ended.
struct WorkerPast {
  bool was_ready = false;   // it had once said that it takes tasks
  bool was_killed = false;  // the pool had sent SIGKILL
  EndReason reason = EndReason::none;
};

enum class ExitKind {
  asked,          // it ended because it was to
  recycled,       // it ended with kRecycleExitCode
  exit_code,      // it ended by itself, 0 or not
  signal,         // a signal killed it
  out_of_memory,  // SIGKILL, not from the pool; most likely from the kernel, which needed memory
  timeout,        // the pool ended it, since its task took too long
  silence,        // the pool ended it, since it gave no sign of life
  never_ready,    // it ended, of whatever, before it was ready
  unknown,        // it ended with its spawner, and nobody saw how
};

MUSTER_API std::string_view to_string(ExitKind kind);

struct ExitStatus {
  ExitKind kind = ExitKind::unknown;
  std::optional<ProcessEnd> end = {};  // nothing: nobody saw it

  bool operator==(const ExitStatus&) const = default;
};

[[nodiscard]] MUSTER_API ExitStatus classify(const std::optional<ProcessEnd>& end,
                                             const WorkerPast& past) noexcept;

// "killed by signal 11 (SIGSEGV), core dumped", "never became ready: exit code 127".
[[nodiscard]] MUSTER_API std::string describe(const ExitStatus& status);

// What it means for the task that the worker had at hand.
[[nodiscard]] MUSTER_API FailureKind failure_kind(ExitKind kind) noexcept;

}  // namespace muster
