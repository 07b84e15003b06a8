// thread_pool.cpp: the pool's public face.
#include <chrono>

#include <muster/base/assert.hpp>
#include <muster/base/cpu_topology.hpp>
#include <muster/thread_pool.hpp>

#include "threads/crew.hpp"
#include "threads/task_span.hpp"
#include "threads/timers.hpp"

namespace muster {
namespace {

constexpr unsigned kMaxWorkers = 1024;
constexpr std::size_t kMaxName = 10;

// The highest priority times this, and the time since the machine was started, fit into 64 bits.
constexpr std::chrono::hours kLongestAging{24};

constexpr std::chrono::milliseconds kShortestWindow{1};

void check_cpus(const ThreadPoolOptions& options, const CpuTopology& topology,
                std::vector<BadField>& bad) {
  CpuList usable;
  for (const Cpu& cpu : topology.cpus) usable.push_back(cpu.id);
  for (std::size_t i = 0; i < options.cpus.size(); ++i) {
    if (std::binary_search(usable.begin(), usable.end(), options.cpus[i])) continue;
    bad.push_back({.field = "cpus[" + std::to_string(i) + "]",
                   .value = std::to_string(options.cpus[i]),
                   .rule = "must be one that this process may use: " + format_cpu_list(usable)});
  }
}

struct WorkerLimits {
  unsigned least;
  unsigned most;
};

// Within which it may be resized.
WorkerLimits limits_of(const ThreadPoolOptions& options) {
  if (!options.scaling) return {1, options.max_workers == 0 ? kMaxWorkers : options.max_workers};
  return {static_cast<unsigned>(options.scaling->min_workers),
          static_cast<unsigned>(options.scaling->max_workers)};
}

// So many that all of them and the usual spares fit into one word of the parking lot; but not so
// many that a bound which need not be counted for `workers` would have to be.
unsigned default_max_workers(const ThreadPoolOptions& options) {
  constexpr unsigned kDefault = 32;
  const std::size_t uncounted = options.admission.max_queued / Worker::kRingCapacity;
  const auto unnoticed = static_cast<unsigned>(std::min<std::size_t>(kDefault, uncounted));
  const unsigned most = unnoticed < options.workers ? kDefault : unnoticed;
  return std::max({options.workers, options.scaling ? limits_of(options).most : 0U, most});
}

void add_all(std::vector<BadField>& bad, const std::string& of, std::vector<BadField> fields) {
  for (BadField& each : fields) {
    each.field = of + '.' + each.field;
    bad.push_back(std::move(each));
  }
}

std::shared_ptr<Crew> make_crew(ThreadPoolOptions options) {
  std::vector<BadField> bad = validate(options);
  CpuTopology topology;
  const unsigned asked_for = options.max_workers;
  if (options.workers == 0 || options.pinning != Pinning::none) {
    topology = detect_cpus();
    check_cpus(options, topology, bad);
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  if (options.workers == 0) {
    const WorkerLimits limits = limits_of(options);
    options.workers = std::clamp(topology.worker_count(), limits.least, limits.most);
  }
  if (asked_for == 0) options.max_workers = default_max_workers(options);
  return std::make_shared<Crew>(options, std::move(topology));
}

// Whether the strategy goes together with the rest.
std::vector<BadField> validate_placing(const ThreadPoolOptions& options) {
  std::vector<BadField> bad = validate(options.strategy);
  const std::optional<BuiltIn> built_in =
      bad.empty() ? built_in_of(options.strategy) : std::nullopt;
  const bool takes_turns = built_in && is_weighted(*built_in);
  const bool looks_at_times = built_in == BuiltIn::least_elu || built_in == BuiltIn::fair_share ||
                              (takes_turns && options.weights.empty());
  if (looks_at_times && options.timing == Timing::off) {
    bad.push_back({.field = "timing",
                   .value = "off",
                   .rule = "must be sampled or full with strategy " +
                           std::string(to_string(*built_in)) +
                           (takes_turns ? " if no weights are given" : "")});
  }
  const bool has_one_queue = options.queueing == Queueing::global || options.priority_aging;
  if (has_one_queue && built_in != BuiltIn::least_busy) {
    bad.push_back({.field = "strategy",
                   .value = built_in ? std::string(to_string(*built_in)) : "given",
                   .rule = "must be left alone if all workers share one queue"});
  }
  return bad;
}

void add(std::vector<BadField>& bad, std::string field, unsigned value, std::string rule) {
  bad.push_back({std::move(field), std::to_string(value), std::move(rule)});
}

// How many workers and how they change.
void check_workers(const ThreadPoolOptions& options, std::vector<BadField>& bad) {
  const std::string at_most = "must be at most " + std::to_string(kMaxWorkers);
  if (options.workers > kMaxWorkers) add(bad, "workers", options.workers, at_most);
  if (options.max_workers > kMaxWorkers) add(bad, "max_workers", options.max_workers, at_most);
  if (options.max_workers != 0 && options.max_workers < options.workers) {
    add(bad, "max_workers", options.max_workers,
        "must be 0, or at least workers: " + std::to_string(options.workers));
  }
  if (options.max_spare_workers > kMaxWorkers) {
    add(bad, "max_spare_workers", options.max_spare_workers, at_most);
  }
  if (options.warm_up.at_least < Duration::zero()) {
    bad.push_back({.field = "warm_up.at_least",
                   .value = std::to_string(options.warm_up.at_least.count()) + " ns",
                   .rule = "must not be negative"});
  }
  if (!options.scaling) return;
  const ScalingOptions& scaling = *options.scaling;
  add_all(bad, "scaling", validate(scaling));
  if (options.workers != 0 &&
      (options.workers < scaling.min_workers || options.workers > scaling.max_workers)) {
    add(bad, "workers", options.workers,
        "must be 0, or from scaling.min_workers to scaling.max_workers: from " +
            std::to_string(scaling.min_workers) + " to " + std::to_string(scaling.max_workers));
  }
  if (options.max_workers != 0 && options.max_workers < scaling.max_workers) {
    add(bad, "max_workers", options.max_workers,
        "must be 0, or at least scaling.max_workers: " + std::to_string(scaling.max_workers));
  }
  if (scaling.policy == ScalingPolicy::predictive && options.timing == Timing::off) {
    bad.push_back({.field = "timing",
                   .value = "off",
                   .rule = "must be sampled or full if scaling.policy is predictive"});
  }
}

// Workers may wait for the strategy's lock to tell it of a task.
void refuse_within_strategy(Crew& crew, const char* call) {
  if (!crew.placer().is_asking()) return;
  throw WouldDeadlock(std::string(call) + " from within the pool's strategy");
}

// Of a timer, which is posted later. Nothing if nobody wants to know.
std::optional<TraceContext> trace_for(const Crew& crew, const TraceContext& parent) {
  return crew.options().tracer == nullptr ? std::nullopt : std::optional(parent);
}

[[noreturn]] void refuse(const char* field, Duration value, const char* rule) {
  throw InvalidArgument({field, std::to_string(value.count()) + " ns", rule});
}

}  // namespace

std::vector<BadField> validate(const ThreadPoolOptions& options) {
  std::vector<BadField> bad;
  check_workers(options, bad);
  if (const auto aging = options.priority_aging;
      aging && (*aging <= Duration::zero() || *aging > kLongestAging)) {
    bad.push_back({.field = "priority_aging",
                   .value = std::to_string(aging->count()) + " ns",
                   .rule = "must be more than 0, and a day at most"});
  }
  if (const Duration window = options.snapshot_window;
      window < kShortestWindow || window > BusyWindow::kLongest) {
    bad.push_back({.field = "snapshot_window",
                   .value = std::to_string(window.count()) + " ns",
                   .rule = "must be from 1 ms to 1 h"});
  }
  add_all(bad, "admission", validate(options.admission));
  add_all(bad, "stealing", validate(options.stealing));
  add_all(bad, "affinity", validate(options.affinity));
  for (BadField& each : validate_placing(options)) bad.push_back(std::move(each));
  if (!options.weights.empty()) {
    for (BadField& each : validate_weights(options.weights)) bad.push_back(std::move(each));
  }
  if ((options.pinning == Pinning::listed) == options.cpus.empty()) {
    bad.push_back({.field = "cpus",
                   .value = options.cpus.empty() ? "empty" : format_cpu_list(options.cpus),
                   .rule = options.cpus.empty() ? "must name CPUs if pinning is listed"
                                                : "must be empty unless pinning is listed"});
  }
  if (options.simulation != nullptr && options.start == Start::lazy) {
    bad.push_back({.field = "start",
                   .value = "lazy",
                   .rule = "must be eager in a simulation, which has no threads"});
  }
  if (options.simulation != nullptr && options.pinning != Pinning::none) {
    bad.push_back({.field = "pinning",
                   .value = "given",
                   .rule = "must be none in a simulation, which has no threads"});
  }
  if (options.thread_name.size() > kMaxName) {
    bad.push_back({.field = "thread_name",
                   .value = '"' + options.thread_name + '"',
                   .rule = "must have at most " + std::to_string(kMaxName) + " characters"});
  }
  return bad;
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : crew_(make_crew(options)), id_(register_executor(crew_, alertness_of(options))) {}

ThreadPool::~ThreadPool() {
  if (is_orphaned(id_)) return;  // its threads cannot be joined, and it is never freed
  MUSTER_ASSERT(!is_inside(), "a pool was destroyed by one of its own workers");
  crew_->stop({});
  forget_executor(id_);
}

void ThreadPool::post_closure(Closure&& task) {
  crew_->post(std::move(task));
}

Closure* ThreadPool::place_inside() {
  return crew_->place_inside();
}

void ThreadPool::post_from(Closure* place) {
  Worker::current()->post_from(place);
}

void ThreadPool::post_with(const TaskOptions& options, Closure&& task) {
  crew_->post(options, std::move(task));
}

void ThreadPool::submit_state(const TaskOptions* options, FutureStateBase* state) {
  Closure task{QueuedTask(state)};
  try {
    if (options == nullptr) {
      crew_->post(std::move(task));
    } else {
      crew_->post(*options, std::move(task));
    }
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): see below
    if (is_orphaned(id_)) state->abandon(std::current_exception());
    // Otherwise the closure is destroyed unrun, which settles the future with Stopped.
  } catch (const QueueFull&) {
    state->abandon(std::current_exception());
  }
}

bool ThreadPool::try_post_with(const TaskOptions& options, Closure&& task) {
  return crew_->try_post(options, std::move(task));
}

bool ThreadPool::try_submit_state(const TaskOptions& options, FutureStateBase* state) {
  Closure task{QueuedTask(state)};
  try {
    return crew_->try_post(options, std::move(task));
  } catch (const Stopped&) {  // as in submit_state()
    if (is_orphaned(id_)) state->abandon(std::current_exception());
    return true;
  }
}

void ThreadPool::post_stand_in(Closure&& task) {
  crew_->post_stand_in(std::move(task));
}

void ThreadPool::trace(Closure& task) const {
  if (crew_->options().tracer != nullptr) TaskSpan::attach(*crew_, {}, task);
}

void ThreadPool::check(const TaskOptions& options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
}

Timer ThreadPool::start_after(Duration delay, std::unique_ptr<detail::TimerCall> call) {
  if (delay < Duration::zero()) refuse("delay", delay, "must not be negative");
  return Timer(crew_->timers()->start(TimerRepeat::never, delay, std::move(call),
                                      trace_for(*crew_, current_trace())));
}

Timer ThreadPool::start_every(Duration period, std::unique_ptr<detail::TimerCall> call) {
  if (period <= Duration::zero()) refuse("period", period, "must be more than 0");
  return Timer(
      crew_->timers()->start(TimerRepeat::always, period, std::move(call), trace_for(*crew_, {})));
}

void ThreadPool::wait_idle() {
  if (is_inside() || crew_->timers()->is_own_thread()) {
    throw WouldDeadlock("wait_idle() on a thread of the same pool: its own task never ends");
  }
  refuse_within_strategy(*crew_, "wait_idle()");
  crew_->wait_idle();
}

StopResult ThreadPool::stop(const StopOptions& options) {
  if (is_inside() || crew_->timers()->is_own_thread()) {
    throw WouldDeadlock("stop() on a thread of the same pool: it would wait for its own task");
  }
  refuse_within_strategy(*crew_, "stop()");
  if (options.timeout && *options.timeout < Duration::zero()) {
    refuse("timeout", *options.timeout, "must not be negative");
  }
  return crew_->stop(options);
}

unsigned ThreadPool::worker_count() const noexcept {
  return static_cast<unsigned>(crew_->staff().wanted());
}

void ThreadPool::resize(unsigned workers) {
  const WorkerLimits limits = limits_of(crew_->options());
  if (workers < limits.least || workers > limits.most) {
    const char* const why = crew_->options().scaling ? ", the limits of scaling" : " (max_workers)";
    throw InvalidArgument({.field = "workers",
                           .value = std::to_string(workers),
                           .rule = "must be from " + std::to_string(limits.least) + " to " +
                                   std::to_string(limits.most) + why});
  }
  if (is_orphaned(id_)) {
    throw Stopped("cannot resize: the pool belongs to the parent of this process");
  }
  crew_->resize({.change = 0, .least = workers, .most = workers}, "resize");
}

ThreadPoolStats ThreadPool::stats() const {
  return crew_->stats();
}

void ThreadPool::set_strategy(const StrategyChoice& strategy) {
  ThreadPoolOptions options = crew_->options();
  options.strategy = strategy;
  if (std::vector<BadField> bad = validate_placing(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  crew_->set_strategy(strategy);
}

std::string ThreadPool::strategy() const {
  return crew_->placer().strategy_name();
}

std::vector<unsigned> ThreadPool::workers_for(std::string_view key, std::size_t most) {
  return crew_->workers_for(key, most);
}

NoticeStream ThreadPool::notices(std::size_t capacity) {
  return crew_->notices().subscribe(capacity);
}

PoolSnapshot ThreadPool::snapshot() {
  return crew_->snapshot();
}

void ThreadPool::reset_stats() {
  crew_->reset_stats();
}

bool ThreadPool::is_inside() const noexcept {
  const Worker* const self = Worker::current();
  return self != nullptr && &self->crew() == crew_.get();
}

void ThreadPool::refuse_empty_callable() {
  throw InvalidArgument({.field = "task", .value = "empty", .rule = "must be callable"});
}

}  // namespace muster
