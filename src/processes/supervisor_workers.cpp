// supervisor_workers.cpp: how workers come, get ready, end, and what becomes of what they had.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/quick_clock.hpp>
#include <muster/queues/ring_supervisor.hpp>

#include "processes/hello.hpp"
#include "processes/supervisor.hpp"
#include "processes/worker_process.hpp"

namespace muster {
namespace {

struct SocketPair {
  FileDescriptor ours;    // does not wait
  FileDescriptor theirs;  // waits
};

SocketPair make_sockets() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw SystemFailure("make a pair of sockets for a worker", errno, "close descriptors");
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// How long a worker may take to say where it hangs.
constexpr Duration kTraceTime = std::chrono::milliseconds(200);

// The kernel has killed it, and may take a moment.
void await_death(const ProcessHandle& process) {
  pollfd wait{.fd = process.descriptor(), .events = POLLIN, .revents = 0};
  if (process) (void)poll(&wait, 1, 5000);
}

}  // namespace

// Throws SystemFailure if there are not the means.
void Supervisor::launch(Member& member) {
  LaunchOptions launch{.program = options_.program,
                       .arguments = options_.arguments,
                       .environment = options_.environment,
                       .working_directory = options_.working_directory,
                       .limits = options_.limits,
                       .nice = options_.nice,
                       .oom_score_adj = options_.oom_score_adj,
                       .no_new_privileges = options_.no_new_privileges,
                       .writable_paths = options_.writable_paths};
  if (options_.worker_environment) {
    for (EnvironmentVariable& each : options_.worker_environment(member.id)) {
      launch.environment.push_back(std::move(each));
    }
  }
  const std::uint64_t run = next_run_++;
  FileDescriptor output;
  FileDescriptor errors;
  if (capture_ != nullptr) {
    errors = capture_->open(run << kRunShift | member.id, OutputStream::standard_error);
    launch.standard_error = errors.get();
    if (!options_.command) {
      output = capture_->open(run << kRunShift | member.id, OutputStream::standard_output);
      launch.standard_output = output.get();
    }
  }
  SocketPair sockets;
  if (options_.command) {
    prepare_command(member, launch);
  } else {
    sockets = make_sockets();
    launch.descriptors = {sockets.theirs.get()};
    prepare_ring(member, launch);
  }
  const LaunchOutcome outcome = spawner_->launch(run, launch);
  if (member.command != nullptr) member.command->worker_ends() = {};
  if (outcome != LaunchOutcome::sent) return;  // full or lost: later
  member.control = std::move(sockets.ours);    // from here on there is somebody to hear from
  member.run = run;
  member.state = WorkerState::warming;
  member.flights.clear();
  member.flights.resize(segment_sizes_.ring.slots);
  member.in_flight = 0;
  member.lowest_priority = kNoPriority;
  member.past_tasks += std::exchange(member.tasks, 0);
  member.past_failed += std::exchange(member.failed, 0);
  member.runs = 0;
  member.run_time = {};
  member.beats = 0;
  member.first_memory = 0;
  member.luck = random_.real();
  member.room = room_of(member);
  member.launched = Time::clock::now();
  member.past = {};
  member.kill_at.reset();
  member.health.reset();
  ++counts_.starts;
}

void Supervisor::prepare_ring(Member& member, LaunchOptions& launch) {
  auto segment = std::make_shared<const WorkerSegment>(WorkerSegment::create(segment_sizes_));
  WorkerBoard& board = segment->board();
  board.worker = member.id;
  board.heartbeat_ns = static_cast<std::uint64_t>(options_.health.heartbeat.count());
  board.idle_policy = static_cast<std::uint32_t>(options_.idle);
  board.counter_speed = counter_speed();
  board.beats_by_task = options_.recycling.max_growth_bytes ? 1 : 0;
  launch.descriptors = descriptors_for({.control = launch.descriptors.at(0),
                                        .segment = segment->descriptor(),
                                        .bell = bell_.descriptor()});
  launch.environment.push_back({kWorkerVariable, std::to_string(member.id)});
  member.segment = std::move(segment);
  member.abilities = std::make_shared<Abilities>();
}

void Supervisor::prepare_command(Member& member, LaunchOptions& launch) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): its workers are commands
  const CommandOptions& command = *options_.command;
  member.command = std::make_unique<CommandLink>(command, options_.prefetch);
  member.command_reading = {};
  member.tells_memory = false;
  member.command_failure.clear();
  launch.standard_input = member.command->worker_ends().input.get();
  launch.standard_output = member.command->worker_ends().output.get();
  auto abilities = std::make_shared<Abilities>();
  for (const std::string& name : command.tasks) abilities->methods.emplace(name, 0);
  abilities->capabilities = command.capabilities;
  abilities->takes_any = command.tasks.empty();
  member.abilities = std::move(abilities);
}

bool Supervisor::is_missing(const Member& member) const {
  return !member.has_process() && member.id < target_ && !member.stays_down;
}

void Supervisor::launch_missing(Time now) {
  if (respawn_.next_spawn(now) > now) return;
  for (const auto& member : members_) {
    if (!is_missing(*member)) continue;
    if (!has_spawner(now)) return;
    try {
      launch(*member);
    } catch (const std::exception& error) {
      MUSTER_LOG(LogLevel::warning, "cannot start worker " << member->id << ": " << error.what());
      start_failure_ = error.what();
      note_death(Stage::before_ready, now);
      return;
    }
  }
}

// All have died, and none is replaced.
bool Supervisor::nobody_is_left() const {
  return lists_.ready() == 0 && target_ > 0 &&
         std::all_of(members_.begin(), members_.end(), [this](const auto& member) {
           this->mutex_.is_held();
           return member->stays_down || member->id >= target_;
         });
}

Member* Supervisor::member_of_run(std::uint64_t run) {
  for (const auto& member : members_) {
    if (member->run == run) return member.get();
  }
  return nullptr;
}

void Supervisor::receive_spawner_events() {
  while (spawner_ != nullptr) {
    std::optional<SpawnerEvent> event = spawner_->try_receive();
    if (!event) return;
    if (auto* const started = std::get_if<WorkerStarted>(&*event)) {
      on_started(*started);
    } else if (const auto* const refused = std::get_if<WorkerRefused>(&*event)) {
      on_refused(*refused);
    } else if (const auto* const ended = std::get_if<WorkerEnded>(&*event)) {
      if (Member* const member = member_of_run(ended->worker)) on_ended(*member, ended->end);
    } else {
      on_spawner_lost();
    }
  }
}

void Supervisor::on_started(WorkerStarted& started) {
  Member* const member = member_of_run(started.worker);
  if (member == nullptr) return;
  member->process = std::move(started.process);
  if (member->past.was_killed) member->process.send_signal(SIGKILL);  // it was to go before it came
  if (member->command != nullptr) become_ready(*member);
}

void Supervisor::on_refused(const WorkerRefused& refused) {
  Member* const member = member_of_run(refused.worker);
  if (member == nullptr) return;
  start_failure_ = refused.failure().what();
  MUSTER_LOG(LogLevel::warning, start_failure_);
  on_ended(*member, std::nullopt);
}

// The one place where a process is done with. Until here its memory may still change.
void Supervisor::on_ended(Member& member, const std::optional<ProcessEnd>& end) {
  const Time now = Time::clock::now();
  const ExitStatus status = classify(end, member.past);
  const bool was_expected = member.past.reason == EndReason::asked;
  // A command is ready when it runs, and has shown that it can when it has said something.
  const bool has_served =
      member.past.was_ready && (member.command == nullptr || member.command->session().signs() > 0);
  if (capture_ != nullptr) capture_->finish(member.run << kRunShift | member.id);
  if (member.state == WorkerState::warming && start_failure_.empty()) {
    start_failure_ = describe(status);
  }
  member.last_exit = status;
  member.state = was_expected || status.kind == ExitKind::recycled ? WorkerState::terminated
                                                                   : WorkerState::failed;
  update_lists(member);  // what it had must not be given to it again
  take_back_flights(member, status);
  if (member.past.was_ready) chooser_.note_removed(member);
  update_lists(member);
  member.process = ProcessHandle();
  member.control.reset();
  member.segment.reset();
  member.command.reset();
  member.health.reset();
  member.stays_down = member.state == WorkerState::failed && !options_.auto_restart;
  if (member.state == WorkerState::failed && status.kind != ExitKind::timeout) {
    ++counts_.crashes;
    notices_.tell([&] { return WorkerDied{member.id, describe(status)}; });
    const Stage stage = has_served ? Stage::after_ready : Stage::before_ready;
    note_death(stage, now);
  }
  if (nobody_is_left()) drop_waiting(kNobodyIsLeft);
  if (discards_) drop_waiting(kStoppedTooEarly);  // what it was given and had not begun
  if (member.id < target_) ++member.restarts;
  if (member.is_removed) notices_.tell([&] { return WorkerRemoved{member.id}; });
  if (member.is_removed || member.stays_down) disinherit(member);
  note_backlog();
  changed_.notify_all();
  bell_.ring();  // in case it died between a result and that
}

// It does not come back: what is its by key belongs to others now.
void Supervisor::disinherit(const Member& member) {
  ring_.remove(member.id);
  for (TaskRef& task : waiting_.take_all_of(member.id)) enqueue(std::move(task));
}

// Results that it had ready count; what it had begun has failed; what it had not waits again.
void Supervisor::take_back_flights(Member& member, const ExitStatus& status) {
  if (member.command != nullptr) handle_all(member, member.command->finish(Time::clock::now()));
  if (member.in_flight == 0) return;
  if (member.segment != nullptr && member.segment->ring().damage() == 0) {
    const RingSupervisor rings(member.segment->ring(), kPoolIndex);
    std::array<Settling, 16> found;
    while (rings.sweep(kWorkerIndex, found).outcome == SweepOutcome::more) {
    }
    (void)take_results_of(member, Time::clock::now());
  }
  for (SlotIndex slot = 0; slot < member.flights.size(); ++slot) {
    Flight& flight = member.flights[slot];
    if (!flight.task) continue;
    // Whatever is not as we left it counts as begun: the worker may have written anything.
    const SlotWord word =
        member.segment != nullptr ? member.segment->ring().word(slot) : SlotWord{};
    const bool is_untouched =
        word.state == SlotState::ready && word.generation == flight.generation;
    TaskRef task = take_back(member, flight);
    if (is_untouched) {
      if (!ends_unbegun(task)) enqueue(std::move(task));
    } else {
      const FailureKind kind = failure_kind(status.kind);
      const std::string what = kind == FailureKind::timeout
                                   ? task->describe() + " ran longer than its timeout"
                               : member.command_failure.empty() ? describe(status)
                                                                : member.command_failure;
      after_failure(std::move(task), {.kind = kind, .what = what, .exit = status});
    }
  }
}

void Supervisor::on_spawner_lost() {
  MUSTER_LOG(LogLevel::error, "the spawner of a process pool was killed; a new one is started");
  std::vector<Member*> orphans;
  for (const auto& member : members_) {
    if (member->has_process()) orphans.push_back(member.get());
  }
  // They die with it. It is made sure of, as their tasks are given to others now.
  for (const Member* const member : orphans) member->process.send_signal(SIGKILL);
  for (const Member* const member : orphans) await_death(member->process);
  for (Member* const member : orphans) on_ended(*member, member->process.try_reap());
  spawner_.reset();
}

// False: not now. Tried again after a pause, like the start of a worker.
bool Supervisor::has_spawner(Time now) {
  if (spawner_ != nullptr) return true;
  try {
    spawner_ = std::make_unique<Spawner>(SpawnerOptions{.start_timeout = options_.start_timeout});
    return true;
  } catch (const Error& error) {
    MUSTER_LOG(LogLevel::error, "there are no new workers for now: " << error.what());
    start_failure_ = error.what();
    note_death(Stage::before_ready, now);
    return false;
  }
}

// Of a worker that was not told to end, or could not be started.
void Supervisor::note_death(Stage stage, Time now) {
  if (!respawn_.note_death(stage, now)) return;
  const Duration pause = respawn_.next_spawn(now) - now;
  notices_.tell([&] { return CrashLoop{pause}; });
}

void Supervisor::read_hello(Member& member) {
  auto abilities = std::make_shared<Abilities>(*member.abilities);
  std::string why;
  const HelloOutcome outcome = hear_hello(member.control.get(), *abilities, why);
  member.abilities = std::move(abilities);
  switch (outcome) {
    case HelloOutcome::more:
      return;
    case HelloOutcome::ready:
      become_ready(member);
      return;
    case HelloOutcome::failed:
      start_failure_ = "worker " + std::to_string(member.id) + " cannot begin: " + why;
      MUSTER_LOG(LogLevel::warning, start_failure_);
      [[fallthrough]];
    case HelloOutcome::closed:
      member.control.reset();
      kill(member, EndReason::none);
      return;
  }
}

void Supervisor::become_ready(Member& member) {
  const Time now = Time::clock::now();
  member.control.reset();
  member.past.was_ready = true;
  member.is_recycled = false;
  member.first_memory = member.read().anonymous_bytes;
  member.ready_since = now;
  member.idle_since = now;
  member.health.emplace(options_.health, VitalSigns{}, now);
  if (member.command == nullptr) respawn_.note_ready();
  know_abilities_of(member);
  if (member.state != WorkerState::warming) return;  // told to end meanwhile
  member.state = WorkerState::ready;
  notices_.tell([&] { return WorkerAdded{member.id}; });
  ring_.add(member.id);
  chooser_.note_added(member);
  update_lists(member);
  if (member.id >= target_) {
    retire(member);
  } else {
    feed(member, now);
    share_with(member, now);
    note_backlog();
  }
  if (state_ == PoolState::initializing) state_ = PoolState::ready;
  changed_.notify_all();
}

// Of the same abilities there is one object.
void Supervisor::know_abilities_of(Member& member) {
  if (abilities_ != nullptr && abilities_->is_same_as(*member.abilities)) {
    member.abilities = abilities_;
    return;
  }
  auto abilities = std::make_shared<Abilities>(*member.abilities);
  abilities->edition = ++editions_;
  abilities_ = std::move(abilities);
  member.abilities = abilities_;
}

// It gets nothing more, and ends when it has done what it has.
void Supervisor::retire(Member& member) {
  if (member.state == WorkerState::warming) {
    kill(member, EndReason::asked);
    return;
  }
  if (!member.takes_tasks()) return;
  member.state = WorkerState::draining;
  if (member.in_flight == 0) order_to_stop(member);
  update_lists(member);
}

// SIGTERM now, SIGKILL when its grace has passed.
void Supervisor::end_process(Member& member, EndReason reason) {
  member.past.reason = reason;
  if (member.health) member.health->expect_end();
  member.process.send_signal(SIGTERM);
  update_lists(member);
}

void Supervisor::kill(Member& member, EndReason reason) {
  if (!member.has_process()) return;
  member.state = WorkerState::terminating;
  member.past.reason = reason;
  member.past.was_killed = true;
  update_lists(member);
  if (!member.process) return;
  if (reason == EndReason::timeout && member.segment != nullptr && options_.trace_before_kill) {
    // Its main thread, which runs tasks, has the number of the process. It then kills itself.
    (void)tgkill(member.process.pid(), member.process.pid(), SIGQUIT);
    member.kill_at = Time::clock::now() + kTraceTime;
  } else {
    member.process.send_signal(SIGKILL);
  }
}

// So many members should be there: the lowest numbers.
void Supervisor::apply_target(const std::string& reason) {
  unsigned before = 0;
  for (const auto& member : members_) before += member->is_removed ? 0 : 1;
  while (members_.size() < target_) {
    members_.push_back(
        std::make_unique<Member>(static_cast<unsigned>(members_.size()), Time::clock::now()));
  }
  for (const auto& member : members_) {
    const bool is_wanted = member->id < target_;
    if (is_wanted) {
      member->is_removed = false;
      continue;
    }
    if (member->is_removed) continue;
    member->is_removed = true;
    if (member->has_process()) {
      retire(*member);
    } else {
      disinherit(*member);
    }
  }
  note_backlog();
  const unsigned total = target_;
  if (before > 0) scaling_.count(static_cast<int>(total) - static_cast<int>(before));
  if (total > before && before > 0) {
    notices_.tell([&] { return ScaledUp{total - before, total, reason}; });
  } else if (total < before) {
    notices_.tell([&] { return ScaledDown{before - total, total, reason}; });
  }
  kick_.give();
}

}  // namespace muster
