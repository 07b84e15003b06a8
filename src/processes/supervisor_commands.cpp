// supervisor_commands.cpp: workers that are programs of any language.
#include <algorithm>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/quick_clock.hpp>

#include "processes/supervisor.hpp"

namespace muster {

// False: the task has failed, as its state says.
bool Supervisor::send_command(Member& member, TaskRef& task, std::optional<Time> at) {
  const Time now = at.value_or(quick_now());
  if (!at) task->progress.queued = now;  // just now
  try {
    member.command->send(task->order, now);
  } catch (const InvalidArgument& error) {
    ++task->progress.attempts;
    after_failure(std::move(task), {.what = error.what()});
    return false;
  }
  // The loop must wait until it reads on, or look after its silence.
  if (member.command->has_unsent() || member.in_flight == 0) kick_.give();
  note_sent(member, *task, now);
  for (Flight& flight : member.flights) {
    if (flight.task) continue;
    flight.task = std::move(task);
    break;
  }
  update_lists(member);
  return true;
}

TaskRef Supervisor::take_command_task(Member& member, std::uint64_t id) {
  for (Flight& flight : member.flights) {
    if (!flight.task || flight.task->order.id != id) continue;
    TaskRef task = take_back(member, flight);
    member.command_reading.progress = 0;
    if (member.in_flight == 0 && member.state == WorkerState::busy) {
      member.state = WorkerState::ready;
      member.idle_since = Time::clock::now();
    }
    return task;
  }
  return {};
}

void Supervisor::handle(Member& member, CommandEvent event) {
  if (auto* const settled = std::get_if<CommandSettled>(&event)) {
    TaskRef task = take_command_task(member, settled->task);
    note_command_end(member, *task);
    conclude(std::move(task), Bytes(std::move(settled->bytes)));
  } else if (auto* const failed = std::get_if<CommandFailed>(&event)) {
    if (failed->kind == FailureKind::crash) return;  // its worker is killed: see on_ended()
    TaskRef task = take_command_task(member, failed->task);
    note_command_end(member, *task);
    ++member.failed;
    after_failure(std::move(task), {.kind = failed->kind, .what = std::move(failed->text)});
  } else if (const auto* const returned = std::get_if<CommandReturned>(&event)) {
    TaskRef task = take_command_task(member, returned->task);
    // Nobody knows whether it had begun. If it must not be run twice, it counts as begun.
    if (task->order.options.idempotent) --task->progress.attempts;
    after_return(std::move(task));
  } else if (const auto* const progressed = std::get_if<CommandProgressed>(&event)) {
    member.command_reading.progress = static_cast<float>(progressed->fraction);
  } else if (const auto* const beat = std::get_if<CommandBeat>(&event)) {
    if (beat->memory_bytes) member.command_reading.anonymous_bytes = *beat->memory_bytes;
    member.tells_memory |= beat->memory_bytes.has_value();
  } else if (const auto* const output = std::get_if<CommandOutput>(&event)) {
    if (capture_ == nullptr) return;
    capture_->tell({.worker = member.run << kRunShift | member.id,
                    .stream = OutputStream::standard_output,
                    .text = output->text,
                    .cut_bytes = output->cut_bytes,
                    .is_unfinished = output->is_unfinished});
  } else if (const auto* const restart = std::get_if<CommandRestart>(&event)) {
    // That it has ended its exit says better.
    const bool has_ended = !member.has_process();
    if (!has_ended || restart->reason != RestartReason::ended) {
      member.command_failure = restart->text;
    }
    if (has_ended) return;
    MUSTER_LOG(LogLevel::warning, "worker " << member.id << " is restarted: " << restart->text);
    if (restart->reason == RestartReason::ended) {
      member.state = WorkerState::terminating;
      end_process(member, member.past.reason);  // if it has not ended anyway
    } else {
      kill(member,
           restart->reason == RestartReason::silence ? EndReason::silence : EndReason::none);
    }
  }
}

// It ran from when it was sent, or the one before it had ended.
void Supervisor::note_command_end(Member& member, const ProcessTask& task) {
  const Time now = quick_now();
  const Duration took = now - std::max(task.progress.began, member.last_result);
  note_end(member, task, took);
  note_pace(member, now);
}

void Supervisor::after_return(TaskRef task) {
  if (task->order.options.idempotent && !task->progress.is_cancelled) {
    enqueue(std::move(task));
  } else {
    after_failure(std::move(task), {.kind = FailureKind::crash,
                                    .what = "its worker was restarted, and may have begun it"});
  }
}

// One whose session is over is restarted: what it had must go elsewhere, now that it comes back.
void Supervisor::handle_all(Member& member, std::vector<CommandEvent> events) {
  if (member.takes_tasks() && member.command->session().is_over()) {
    member.state = WorkerState::terminating;
    update_lists(member);
  }
  if (member.command->session().signs() > 0) respawn_.note_ready();
  for (CommandEvent& event : events) handle(member, std::move(event));
}

void Supervisor::serve_commands(Time now) {
  for (const auto& member : members_) {
    if (member->command == nullptr || !member->has_process()) continue;
    member->command->flush();
    if (may_read_commands()) {
      handle_all(*member, member->command->receive(now));
      handle_all(*member, member->command->look(now));
    }
    update_lists(*member);
    feed(*member, now);
    if (member->state == WorkerState::draining && member->in_flight == 0) order_to_stop(*member);
  }
  note_backlog();
}

}  // namespace muster
