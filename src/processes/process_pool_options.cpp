// process_pool_options.cpp: what is wrong with the options of a process pool, and of its tasks.
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <muster/policy/weights.hpp>
#include <muster/process_pool_options.hpp>
#include <muster/processes/command_session.hpp>

namespace muster {
namespace {

class Problems {
 public:
  void add_unless(bool is_right, std::string field, std::string value, std::string rule) {
    if (!is_right) bad_.push_back({std::move(field), std::move(value), std::move(rule)});
  }
  // Those of a group of options, under its name.
  void add_all(const std::string& group, std::vector<BadField> others) {
    for (BadField& bad : others) {
      bad_.push_back({group + '.' + bad.field, std::move(bad.value), std::move(bad.rule)});
    }
  }
  std::vector<BadField> take() { return std::move(bad_); }

 private:
  std::vector<BadField> bad_;
};

std::string text(Duration duration) {
  return std::to_string(duration.count()) + " ns";
}

}  // namespace

std::vector<BadField> validate(const ProcessPoolOptions& options) {
  Problems problems;
  problems.add_unless(options.workers <= kMaxWorkers, "workers", std::to_string(options.workers),
                      "must be at most " + std::to_string(kMaxWorkers));
  problems.add_unless(options.start_timeout > Duration::zero(), "start_timeout",
                      text(options.start_timeout), "must be more than 0");
  problems.add_unless(options.prefetch >= 1 && options.prefetch <= kMaxPrefetch, "prefetch",
                      std::to_string(options.prefetch),
                      "must be from 1 to " + std::to_string(kMaxPrefetch));
  problems.add_unless(
      options.max_payload_bytes >= 1 && options.max_payload_bytes <= kMaxPayloadBytes,
      "max_payload_bytes", std::to_string(options.max_payload_bytes),
      "must be from 1 to " + std::to_string(kMaxPayloadBytes));
  problems.add_all("admission", validate(options.admission));
  problems.add_unless(options.admission.when_full != WhenFull::caller_runs, "admission.when_full",
                      "caller_runs", "must be another: only worker processes have the tasks");
  problems.add_unless(options.admission.max_queued_per_key == 0, "admission.max_queued_per_key",
                      std::to_string(options.admission.max_queued_per_key),
                      "must be 0: a process pool has one bound for all keys");
  const LaunchOptions launch{.program = options.program,
                             .arguments = options.arguments,
                             .environment = options.environment,
                             .working_directory = options.working_directory,
                             .limits = options.limits,
                             .nice = options.nice,
                             .oom_score_adj = options.oom_score_adj,
                             .writable_paths = options.writable_paths};
  for (BadField& bad : validate(launch)) {
    problems.add_unless(false, std::move(bad.field), std::move(bad.value), std::move(bad.rule));
  }
  if (options.command) {
    const CommandOptions& command = *options.command;
    problems.add_unless(command.max_request_bytes >= 1, "command.max_request_bytes", "0",
                        "must be at least 1");
    problems.add_unless(command.max_line_bytes >= 1, "command.max_line_bytes", "0",
                        "must be at least 1");
    problems.add_unless(!options.program.empty(), "program", "\"\"",
                        "must be given for command workers");
    problems.add_all("command",
                     validate(CommandSessionOptions{.prefetch = options.prefetch,
                                                    .max_silence = command.max_silence,
                                                    .max_other_lines = command.max_other_lines}));
  }
  problems.add_all("retry", validate(options.retry));
  problems.add_all("health", validate(options.health));
  problems.add_all("respawn", validate(options.respawn));
  problems.add_all("recycling", validate(options.recycling));
  problems.add_all("affinity", validate(options.affinity));
  if (options.scaling) problems.add_all("scaling", validate(*options.scaling));
  std::vector<BadField> placing = validate(options.strategy);
  if (!options.weights.empty()) {
    for (BadField& bad : validate_weights(options.weights)) placing.push_back(std::move(bad));
  }
  for (BadField& bad : placing) {
    problems.add_unless(false, std::move(bad.field), std::move(bad.value), std::move(bad.rule));
  }
  return problems.take();
}

std::vector<BadField> validate(const ExecOptions& options) {
  using Limits = std::numeric_limits<std::int16_t>;
  Problems problems;
  problems.add_unless(options.priority >= Limits::min() && options.priority <= Limits::max(),
                      "priority", std::to_string(options.priority), "must be from -32768 to 32767");
  if (options.timeout) {
    problems.add_unless(*options.timeout > Duration::zero(), "timeout", text(*options.timeout),
                        "must be more than 0");
  }
  if (options.retry) problems.add_all("retry", validate(*options.retry));
  return problems.take();
}

std::string_view to_string(PoolState state) {
  switch (state) {
    case PoolState::uninitialized:
      return "uninitialized";
    case PoolState::initializing:
      return "initializing";
    case PoolState::ready:
      return "ready";
    case PoolState::shutting_down:
      return "shutting_down";
    case PoolState::shut_down:
      return "shut_down";
  }
  return "unknown";
}

std::string_view to_string(TaskState state) {
  switch (state) {
    case TaskState::created:
      return "created";
    case TaskState::queued:
      return "queued";
    case TaskState::dequeued:
      return "dequeued";
    case TaskState::retry_pending:
      return "retry_pending";
    case TaskState::completed:
      return "completed";
    case TaskState::failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace muster
