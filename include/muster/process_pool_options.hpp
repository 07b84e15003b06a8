// process_pool_options.hpp: what a ProcessPool and its tasks may be told, and what it says of
// itself.
//
//     muster::ProcessPool pool({.workers = 4, .limits = {.memory_bytes = 1 << 30}});
//     pool.exec("resize", image, {.priority = 10, .timeout = 5s, .idempotent = false});
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/bytes.hpp>
#include <muster/error.hpp>
#include <muster/observe/worker_state.hpp>
#include <muster/policy/admission.hpp>
#include <muster/policy/affinity_options.hpp>
#include <muster/policy/health.hpp>
#include <muster/policy/recycling.hpp>
#include <muster/policy/respawn.hpp>
#include <muster/policy/retry.hpp>
#include <muster/policy/scaling.hpp>
#include <muster/pool_options.hpp>
#include <muster/processes/command_lines.hpp>
#include <muster/processes/exit_status.hpp>
#include <muster/processes/launch_options.hpp>
#include <muster/processes/output_capture.hpp>
#include <muster/strategy.hpp>

namespace muster {

inline constexpr unsigned kMaxWorkers = 4096;
inline constexpr unsigned kMaxPrefetch = 1024;
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{1} << 30;

// For workers that are programs of any language, which get tasks and answer them by lines of JSON:
// docs/guides/command_workers.md
struct CommandOptions {
  // The tasks that they know. Empty: all that they are given.
  std::vector<std::string> tasks = {};
  std::vector<std::string> capabilities = {};

  PayloadForm payload_form = PayloadForm::text;

  // The longest line that they are given, its end included; at least 1. A task that needs a longer
  // one is refused by exec(). By default the largest payload fits as base64, and as text unless
  // nearly all of it must be escaped.
  std::size_t max_request_bytes = std::size_t{128} << 20;

  // The longest line that they may write; at least 1. What is longer fails its task.
  std::size_t max_line_bytes = std::size_t{1} << 20;

  // How long one that has a task may write nothing, from 1 ms to a year; then it is restarted.
  Duration max_silence = std::chrono::minutes(5);

  // Lines that are no answers which it may write between two answers.
  std::size_t max_other_lines = 100;
};

struct ProcessPoolOptions {
  // Processes, from 1 to 4096. 0: one per CPU that this process may use.
  unsigned workers = 0;

  // What they run: a path, or a name that is looked up in PATH. Empty: this very program.
  std::string program = {};
  std::vector<std::string> arguments = {};

  // Unset: a program that calls worker_main().
  std::optional<CommandOptions> command = {};

  // On top of this process's own, and where they run; empty: where this process does.
  std::vector<EnvironmentVariable> environment = {};
  std::string working_directory = {};

  // What each worker has beside that, by its number, from 0: the device it is to use, say, by which
  // it knows its capabilities (Registry::capabilities). Called when a worker is started, while the
  // pool waits; it must not call the pool. Empty: nothing.
  std::function<std::vector<EnvironmentVariable>(unsigned worker)> worker_environment = {};

  // What the kernel holds each of them to.
  ProcessLimits limits = {};
  int nice = 0;                            // added to ours
  std::optional<int> oom_score_adj = 500;  // killed before us when memory runs out
  bool no_new_privileges = false;

  // They, and all that they start, can create, change and remove files only below these paths, and
  // write to /dev/null. Unset: wherever we can. Needs Linux 5.13; where the kernel has no Landlock
  // no worker can be started. Before Linux 6.2 they can still truncate files elsewhere.
  std::optional<std::vector<std::string>> writable_paths = {};

  // What they write to their outputs, line by line, on a thread of its own. It may call the pool,
  // but not stop it. Unset: they share ours.
  std::function<void(const OutputLine&)> on_output = {};

  // One that is killed, because its task takes too long, first writes to its standard error where
  // it is. Not of command workers.
  bool trace_before_kill = true;

  // How long a worker may take from its start until it is ready; more than 0.
  Duration start_timeout = std::chrono::seconds(10);

  // Tasks that a worker may have at once, from 1 to 1024: one that runs, the others next in line.
  // More than 1: what is next in line is not overtaken by what is more urgent. 1: it is; a worker
  // is given more than one only while tasks take less than 50 us, and what it has not begun is
  // taken back when something more urgent comes, or when it has not ended a task for 100 us.
  unsigned prefetch = 1;

  // The largest payload and the largest result, up to 1 GiB. Takes address space, and memory as it
  // is used.
  std::size_t max_payload_bytes = std::size_t{64} << 20;

  // How many tasks may wait, for a worker or for their time, and what happens to more. What follows
  // a task of the pool is always let in. Not caller_runs, since only workers have the tasks, and
  // not max_queued_per_key.
  AdmissionOptions admission = {};

  // What becomes of tasks that failed, unless they say so themselves.
  RetryOptions retry = {};

  // Tasks that have failed for good which are kept for dead_letters(); then the oldest goes.
  std::size_t max_dead_letters = 1000;

  // Which of several free workers gets a task; it may be changed later by set_strategy(). One of
  // yours is asked, and told of what happens, while the pool waits: it must be quick, and must not
  // call the pool.
  StrategyChoice strategy = BuiltIn::least_busy;

  // For the weighted strategies: what each worker's share of the work is relative to the others',
  // more than 0; workers beyond the list have 1. Empty: as fast as they were of late.
  std::vector<double> weights = {};

  // Places of each worker on the hash ring, for tasks with a key.
  AffinityOptions affinity = {};

  HealthOptions health = {};

  // Whether workers that died are replaced, and how fast. Without it the pool shrinks.
  bool auto_restart = true;
  RespawnOptions respawn = {};

  // When workers that are well are replaced, one at a time.
  RecyclingOptions recycling = {};

  // Lets the pool add and remove workers by itself. Unset: as many as scale_up() and scale_down()
  // say.
  std::optional<ScalingOptions> scaling = {};

  // What workers do, and whoever waits for a result, before they sleep.
  IdlePolicy idle = IdlePolicy::balanced;
};

// Every problem with the options; empty: none.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const ProcessPoolOptions& options);

struct ExecOptions {
  // From -32768 to 32767. Higher runs first, equals in order of arrival.
  int priority = 0;

  // How long one attempt may run, more than 0; then its worker is killed. Unset: for ever.
  std::optional<Duration> timeout = {};

  // The first attempt begins at this time, or later.
  std::optional<Time> run_at = {};

  // Tasks of one key go to the same worker as long as it is there. A soft one goes to another if
  // that is free and it is not.
  std::optional<std::string> affinity = {};
  AffinityClass affinity_class = AffinityClass::soft;

  // Only workers with this capability (Registry::capabilities) get it. Empty: all.
  std::string capability = {};

  // Unset: as the pool's options say.
  std::optional<RetryOptions> retry = {};

  // False: never run again once a worker has begun it, whatever became of it.
  bool idempotent = true;

  // What Future::cancel() does to a task that runs: nothing but tell it (TaskContext::cancelled),
  // and say false; or, if this is set, kill its worker. One that waits is cancelled in any case.
  bool killable = false;

  // One that may be killed is only told by the first cancel(), and killed by the next.
  bool told_first = false;
};

// Every problem with the options; empty: none.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const ExecOptions& options);

enum class PoolState { uninitialized, initializing, ready, shutting_down, shut_down };

MUSTER_API std::string_view to_string(PoolState state);

enum class TaskState { created, queued, dequeued, retry_pending, completed, failed };

MUSTER_API std::string_view to_string(TaskState state);

// A task that has not ended.
struct TaskStatus {
  std::uint64_t id = 0;  // by which WorkerStatus and DeadLetter know it, too
  std::string name;
  TaskState state = TaskState::created;  // created: it waits for its time
  int priority = 0;
  unsigned attempts = 0;                // begun, this one included
  std::optional<unsigned> worker = {};  // that has it, or had it last
};

// A sign of life.
struct HeartbeatSample {
  Time time{};
  WorkerState state = WorkerState::cold;
  std::uint64_t anonymous_bytes = 0;  // memory of its own
  Duration cpu_time{};
  std::uint64_t tasks = 0;  // done so far
  std::uint64_t task = 0;   // the one at hand; 0: none
  float progress = 0;       // of that, from 0 to 1
};

struct WorkerStatus {
  unsigned id = 0;
  WorkerState state = WorkerState::cold;
  pid_t pid = -1;              // -1: there is no process
  std::uint64_t tasks = 0;     // done by this process
  unsigned in_flight = 0;      // tasks that it has
  std::uint64_t task = 0;      // the id of the one that it runs; 0: none
  float progress = 0;          // of that one, as it says itself; 0 to 1
  std::uint64_t restarts = 0;  // processes before this one
  std::optional<ExitStatus> last_exit = {};
  std::vector<std::string> capabilities = {};
  std::vector<HeartbeatSample> history = {};  // the last 100, oldest first
};

// Counts are since the start.
struct ProcessPoolMetrics {
  PoolState state = PoolState::uninitialized;
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;  // with a result
  std::uint64_t failed = 0;     // without, for good
  std::uint64_t retries = 0;
  std::uint64_t rejected = 0;   // no room
  std::uint64_t dropped = 0;    // no room, or gave way to another
  std::uint64_t queued = 0;     // now: wait for a worker
  std::uint64_t in_flight = 0;  // now: with a worker
  std::uint64_t delayed = 0;    // now: wait for their time
  std::uint64_t dead_lettered = 0;
  std::uint64_t dead_letters = 0;  // now: kept
  unsigned workers = 0;            // now: that should be there
  unsigned ready = 0;              // now: that can take tasks, busy or not
  unsigned busy = 0;
  std::uint64_t starts = 0;  // of processes
  std::uint64_t crashes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t zombies = 0;
  std::uint64_t recycled = 0;
  std::uint64_t recalled = 0;            // tasks that a worker was given ahead and did not begin
  std::uint64_t strategy_fallbacks = 0;  // a strategy of yours had no good answer

  // Tasks that ran on a worker which had run one before, as a share of all; 0 to 1.
  double reuse_rate = 0;
};

// A task that has failed for good.
struct DeadLetter {
  std::uint64_t id = 0;
  std::string name;
  Bytes payload;
  ExecOptions options;
  unsigned attempts = 0;
  FailureKind kind = FailureKind::error;
  std::string what;  // what its future says
  std::optional<ExitStatus> exit = {};
  unsigned worker = 0;  // the last one
  Time time{};
};

}  // namespace muster
