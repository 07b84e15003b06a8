// supervisor_tasks.cpp: how a task is accepted, given to a worker, and ends.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/quick_clock.hpp>
#include <muster/policy/key_hash.hpp>
#include <muster/process_error.hpp>
#include <muster/queues/ring_extents.hpp>
#include <muster/queues/ring_producer.hpp>

#include "processes/supervisor.hpp"

namespace muster {
namespace {

std::exception_ptr error_of(const ProcessTask& task, FailureKind kind, const std::string& what,
                            const std::optional<ExitStatus>& exit) {
  const std::string& name = task.order.name;
  const unsigned attempts = task.progress.attempts;
  switch (kind) {
    case FailureKind::error:
      return std::make_exception_ptr(
          RemoteError({.name = name, .what = what, .attempts = attempts}));
    case FailureKind::crash:
      return std::make_exception_ptr(WorkerCrashed(
          {.name = name, .exit = exit.value_or(ExitStatus{}), .attempts = attempts, .why = what}));
    case FailureKind::timeout:
      break;
  }
  return std::make_exception_ptr(TimedOut(what));
}

void refuse(std::vector<BadField> bad) {
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
}

// Throws InvalidArgument. To look closely takes longer than most tasks.
void check(const ExecOptions& options) {
  const bool is_plain = options.priority == 0 && !options.timeout && !options.retry;
  if (!is_plain) [[unlikely]]
    refuse(validate(options));
}

}  // namespace

std::optional<Future<Bytes>> Supervisor::exec(std::string_view name, Bytes&& payload,
                                              ExecOptions&& options, Entry entry) {
  refuse_strategies();
  check(options);
  if (options_.command) [[unlikely]]
    check_command(name, {&payload, 1});
  NewTask made = make_task(name, std::move(payload), std::move(options));
  Verdicts verdicts;
  bool is_let_in = true;
  {
    const MutexLock lock(mutex_);
    const FoundMethod method = find_method(made.task->order);
    is_let_in = entry == Entry::by_policy || has_room();
    if (is_let_in) [[likely]] {
      submit(std::move(made.task), method, find_room(name));
    } else {
      ++pressure_.rejected;
    }
    verdicts = take_verdicts();
  }
  pronounce(std::move(verdicts));
  return is_let_in ? std::optional(std::move(made.future)) : std::nullopt;
}

std::vector<Future<Bytes>> Supervisor::exec_many(std::string_view name,
                                                 std::span<const Bytes> payloads,
                                                 const ExecOptions& options) {
  refuse_strategies();
  check(options);
  if (options_.command) check_command(name, payloads);
  std::vector<TaskRef> tasks;
  std::vector<Future<Bytes>> futures;
  for (const Bytes& payload : payloads) {
    // NOLINTNEXTLINE(clang-analyzer-*): references are counted
    NewTask made = make_task(name, Bytes(payload), ExecOptions(options));
    tasks.push_back(std::move(made.task));
    futures.push_back(std::move(made.future));
  }
  Verdicts verdicts;
  {
    const MutexLock lock(mutex_);
    FoundMethod method;
    for (const TaskRef& task : tasks) method = find_method(task->order);
    for (TaskRef& task : tasks) submit(std::move(task), method, find_room(name));
    verdicts = take_verdicts();
  }
  pronounce(std::move(verdicts));
  return futures;
}

// Whether a program can be sent these at all. Throws InvalidArgument. Requires: workers are such.
void Supervisor::check_command(std::string_view name, std::span<const Bytes> payloads) const {
  for (const Bytes& payload : payloads) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): required
    refuse(command_problems(*options_.command, name, payload));
  }
}

NewTask Supervisor::make_task(std::string_view name, Bytes&& payload, ExecOptions&& options) {
  auto* const task =
      new ProcessTask(shared_from_this(), name, std::move(payload), std::move(options));
  // One reference is the future's.
  return {TaskRef(task), Future<Bytes>{FutureRef<FutureState<Bytes>>(task)}};
}

// `refusal`: why there is no room for it; null: there is.
void Supervisor::submit(TaskRef task, FoundMethod method, std::exception_ptr refusal) {
  task->order.id = next_task_++;
  task->progress.method = method.number;
  task->progress.edition = method.edition;
  ++unsettled_;
  if (refusal != nullptr) [[unlikely]] {
    ++counts_.submitted;
    settle_with(std::move(task), std::move(refusal));
  } else {
    accept(std::move(task));
  }
}

// Throws InvalidArgument. Its number in the abilities that are known.
FoundMethod Supervisor::find_method(const TaskOrder& order) {
  const bool are_known = abilities_ != nullptr;
  const std::optional<std::uint32_t> method = are_known ? known_method(order.name) : 0;
  const bool is_plain =
      order.options.capability.empty() && order.payload.size() <= options_.max_payload_bytes;
  if (!method || !is_plain) [[unlikely]]
    refuse(problems_of(order, method.has_value()));
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): without one it was refused
  return {.number = *method, .edition = are_known ? abilities_->edition : 0};
}

std::vector<BadField> Supervisor::problems_of(const TaskOrder& order, bool is_method_known) const {
  const std::string& capability = order.options.capability;
  std::vector<BadField> bad;
  if (abilities_ != nullptr) {
    if (!is_method_known) {
      bad.push_back({"name", order.name, "must be a task that the workers have"});
    }
    if (!capability.empty() && !may_have(capability)) {
      bad.push_back({"capability", capability, "must be one that a worker has"});
    }
  }
  if (order.payload.size() > options_.max_payload_bytes) {
    bad.push_back(
        {"payload", std::to_string(order.payload.size()) + " bytes",
         "must be at most max_payload_bytes, " + std::to_string(options_.max_payload_bytes)});
  }
  return bad;
}

// If workers differ, one that has not yet said what it can may be the one.
bool Supervisor::may_have(const std::string& capability) const {
  return std::ranges::any_of(members_, [&](const auto& member) {
    this->mutex_.is_held();
    if (member->id >= target_ || member->stays_down) return false;
    const bool is_known = member->abilities != nullptr && member->abilities->edition != 0;
    if (!is_known) return options_.worker_environment != nullptr;
    return member->abilities->has_capability(capability);
  });
}

// Requires: abilities are known.
std::optional<std::uint32_t> Supervisor::known_method(const std::string& name) {
  if (last_method_.edition == abilities_->edition && last_method_.name == name) {
    return last_method_.method;
  }
  const std::optional<std::uint32_t> method = abilities_->method(name);
  if (method) last_method_ = {abilities_->edition, name, *method};
  return method;
}

void Supervisor::accept(TaskRef task) {
  ++counts_.submitted;
  if (is_closed()) [[unlikely]] {
    settle_with(std::move(task), why_closed());
    return;
  }
  const std::optional<Time> run_at = task->order.options.run_at;
  if (run_at && *run_at > Time::clock::now()) [[unlikely]] {
    task->progress.state = TaskState::created;
    const bool is_next = delayed_.empty() || *run_at < delayed_.next();
    delayed_.push(*run_at, std::move(task));
    if (is_next) kick_.give();
    return;
  }
  enqueue(std::move(task));
  note_backlog();
}

// A worker with room has nothing waiting that it may have; so a new task goes straight to one.
void Supervisor::enqueue(TaskRef task) {
  task->progress.state = TaskState::queued;
  const ExecOptions& options = task->order.options;
  recall_less_urgent(options.priority);
  const std::optional<unsigned> home = home_of(*task);
  Member* member = home ? members_[*home].get() : nullptr;
  const bool is_soft = !home || options.affinity_class == AffinityClass::soft;
  const bool has_room = member != nullptr && member->place_in_roomy != Member::kNowhere;
  const bool is_next = has_room && (member->in_flight == 0 || lists_.idle().empty());
  if (is_soft && !is_next) {
    member = choose_for(*task);
  } else if (!has_room) {
    member = nullptr;
  }
  if (member != nullptr && send(*member, task, std::nullopt)) return;
  if (!task) return;
  task->progress.queued = quick_now();
  waiting_.push(std::move(task), home);
}

// An attempt of it, by this worker, whether it goes on or not.
void Supervisor::note_end(Member& member, const ProcessTask& task, Duration took) {
  if (member.tasks++ == 0) ++first_tasks_;
  ++member.runs;
  member.run_time += took;
  member.busy += took;
  member.last_task = took;
  queue_wait_.record(task.progress.began - task.progress.queued);
  run_.record(took);
  chooser_.note_done(member, took);
  const ExecOptions& options = task.order.options;
  if (!options.affinity || options.affinity_class == AffinityClass::none) return;
  const bool is_home = ring_.worker_of(hash_key(*options.affinity)) == member.id;
  ++(is_home ? affinity_.hits : affinity_.misses);
}

void Supervisor::conclude(TaskRef task, Bytes&& value) {
  task->progress.state = TaskState::completed;
  ++counts_.completed;
  --unsettled_;
  task->conclude(std::move(value));
  pass(std::move(task));
}

void Supervisor::settle_with(TaskRef task, std::exception_ptr error) {
  task->progress.state = TaskState::failed;
  ++counts_.failed;
  --unsettled_;
  task->conclude(std::move(error));
  pass(std::move(task));
}

// Only stop() waits for the last one.
void Supervisor::pass(TaskRef task) {
  verdicts_.push(std::move(task));
  if (unsettled_ == 0 && !is_open()) changed_.notify_all();
}

void Supervisor::after_failure(TaskRef task, Mishap mishap) {
  if (task->progress.is_cancelled) {
    settle_with(std::move(task), std::make_exception_ptr(Cancelled("the task was cancelled")));
    return;
  }
  if (discards_) {
    settle_with(std::move(task),
                std::make_exception_ptr(Stopped("the pool was stopped while the task ran")));
    return;
  }
  const ExecOptions& options = task->order.options;
  const RetryOptions& retry = options.retry ? *options.retry : options_.retry;
  std::optional<Duration> delay;
  if (options.idempotent) {
    try {
      delay = delay_before_retry(retry, {.kind = mishap.kind, .attempt = task->progress.attempts},
                                 random_.real());
    } catch (const std::exception& error) {
      mishap.what += std::string("; and its function of delays threw: ") + error.what();
    }
  }
  if (!delay) {
    bury(std::move(task), mishap);
    return;
  }
  ++counts_.retries;
  if (*delay == Duration::zero()) {
    enqueue(std::move(task));
    return;
  }
  task->progress.state = TaskState::retry_pending;
  delayed_.push(later(Time::clock::now(), *delay), std::move(task));
  kick_.give();
}

void Supervisor::bury(TaskRef task, const Mishap& mishap) {
  const std::exception_ptr error = error_of(*task, mishap.kind, mishap.what, mishap.exit);
  const std::string what = message_of(error);
  const TaskOrder& order = task->order;
  const TaskProgress& progress = task->progress;
  notices_.tell(
      [&] { return DeadLettered{order.name, std::to_string(order.id), what, progress.attempts}; });
  ++counts_.dead_lettered;
  dead_letters_.add({.id = order.id,
                     .name = order.name,
                     .payload = order.payload,
                     .options = order.options,
                     .attempts = progress.attempts,
                     .kind = mishap.kind,
                     .what = what,
                     .exit = mishap.exit,
                     .worker = progress.worker,
                     .time = Time::clock::now()});
  settle_with(std::move(task), error);
}

bool Supervisor::cancel(ProcessTask& task) {
  refuse_strategies();
  Verdicts verdicts;
  bool is_done = false;
  {
    const MutexLock lock(mutex_);
    const TaskProgress& progress = task.progress;
    switch (progress.state) {
      case TaskState::created:
      case TaskState::queued:
      case TaskState::retry_pending:
        task.add_reference();
        if (progress.state == TaskState::queued) {
          waiting_.remove(task);
        } else {
          delayed_.remove(task);
        }
        settle_with(TaskRef(&task), task.called_off());
        note_backlog();
        is_done = true;
        break;
      case TaskState::dequeued:
        is_done = cancel_in_flight(task);
        break;
      case TaskState::completed:
      case TaskState::failed:
        break;
    }
    verdicts = take_verdicts();
  }
  pronounce(std::move(verdicts));
  return is_done;
}

// It may have begun: its worker is told, and killed if the task allows that.
bool Supervisor::cancel_in_flight(ProcessTask& task) {
  Member& member = *members_[task.progress.worker];
  for (SlotIndex slot = 0; member.segment != nullptr && slot < member.flights.size(); ++slot) {
    const SharedRing& ring = member.segment->ring();
    const Flight& flight = member.flights[slot];
    if (!flight.task || &*flight.task != &task) continue;
    RingProducer(ring, kPoolIndex).cancel({.slot = slot, .generation = flight.generation});
    // The flag stands and nobody has claimed it: whoever does will see the flag. If nobody does,
    // but it is taken back, it is known here.
    if (ring.word(slot).state == SlotState::ready) {
      task.progress.is_cancelled = true;
      return true;
    }
  }
  const ExecOptions& options = task.order.options;
  if (!options.killable) return false;
  if (options.told_first && !std::exchange(task.progress.is_told, true)) return false;
  task.progress.is_cancelled = true;
  kill(member, EndReason::asked);
  return true;
}

void Supervisor::drop_waiting(const char* why) {
  const auto drop = [this, why](TaskRef task) MUSTER_REQUIRES(mutex_) {
    settle_with(std::move(task), std::make_exception_ptr(Stopped(why)));
  };
  for (TaskRef& task : waiting_.take_all()) drop(std::move(task));
  while (!delayed_.empty()) drop(delayed_.pop());
  note_backlog();
}

std::vector<DeadLetter> Supervisor::dead_letters() const {
  const MutexLock lock(mutex_);
  return dead_letters_.all();
}

// It stays if it cannot be run now: the workers do not know it any more, or the pool is closed.
std::optional<Future<Bytes>> Supervisor::replay(std::uint64_t id) {
  refuse_strategies();
  Verdicts verdicts;
  std::optional<Future<Bytes>> future;
  {
    const MutexLock lock(mutex_);
    const DeadLetter* const letter = dead_letters_.find(id);
    if (letter == nullptr) return std::nullopt;
    ExecOptions options = letter->options;
    options.run_at.reset();
    NewTask made = make_task(letter->name, Bytes(letter->payload), std::move(options));
    const FoundMethod method = find_method(made.task->order);
    if (!is_closed()) (void)dead_letters_.take(id);
    submit(std::move(made.task), method, nullptr);  // whether there is room or not
    future = std::move(made.future);
    verdicts = take_verdicts();
  }
  pronounce(std::move(verdicts));
  return future;
}

bool Supervisor::discard(std::uint64_t id) {
  const MutexLock lock(mutex_);
  return dead_letters_.take(id).has_value();
}

}  // namespace muster
