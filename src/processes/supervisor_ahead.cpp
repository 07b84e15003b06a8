// supervisor_ahead.cpp: tasks that workers are given ahead, and how they come back.
#include <algorithm>
#include <utility>

#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>

#include "processes/look_ahead.hpp"
#include "processes/supervisor.hpp"

namespace muster {

// How many tasks it may have now.
unsigned Supervisor::room_of(const Member& member) const {
  const bool is_fixed = options_.prefetch > 1 || member.command != nullptr;
  const unsigned room = is_fixed ? options_.prefetch : tasks_at_once(member.average_task);
  if (!recycles_by_task_) [[likely]]
    return room;
  return std::min(room, tasks_at_hand(options_.recycling, member.tasks, member.luck));
}

// What its tasks took since it was last looked at, and before.
void Supervisor::note_pace(Member& member, Time now) {
  member.last_result = now;
  if (member.runs == 0) return;
  member.recent.add({.begin = now - member.run_time, .end = now});
  const Duration average = member.runs == 1
                               ? member.run_time
                               : member.run_time / static_cast<Duration::rep>(member.runs);
  // Slower at once, faster by and by: a long task that waits behind others costs more than a wait.
  member.average_task = std::max({average, (member.average_task + average) / 2, Duration(1)});
  member.run_time = {};
  member.runs = 0;
  member.room = room_of(member);
  update_lists(member);
}

// Takes back what it has not begun. It waits again where it waited before.
void Supervisor::recall(Member& member) {
  if (!member.takes_tasks() || member.in_flight < 2) return;
  if (member.segment == nullptr) return;  // what a command was sent cannot be taken back
  const SharedRing& ring = member.segment->ring();
  const RingProducer taker(ring, kPoolIndex);
  const RingSupervisor rings(ring, kPoolIndex);
  while (member.in_flight > 1) {
    const Taken taken = taker.take_back();
    if (taken.outcome != TakeOutcome::taken) break;
    Flight& flight = member.flights[taken.slot];
    rings.release(taken);
    if (!flight.task) continue;  // its memory is damaged, which the next result shows
    TaskRef task = take_back(member, flight);
    ++counts_.recalled;
    if (ends_unbegun(task)) continue;
    task->progress.state = TaskState::queued;
    const std::optional<unsigned> home = home_of(*task);
    waiting_.push(std::move(task), home);
  }
  member.lowest_priority = kNoPriority;
  update_lists(member);
}

// A worker had it and has not begun it. True: it was called off meanwhile, and this is its end.
bool Supervisor::ends_unbegun(TaskRef& task) {
  --task->progress.attempts;
  if (!task->progress.is_cancelled) return false;
  std::exception_ptr why = task->called_off();
  settle_with(std::move(task), std::move(why));
  return true;
}

// Before a task of this priority is placed: what is less urgent must not be begun before it.
void Supervisor::recall_less_urgent(int priority) {
  if (options_.prefetch > 1) return;
  for (std::size_t i = lists_.busy().size(); i-- > 0;) {
    if (lists_.busy()[i]->lowest_priority < priority) recall(*lists_.busy()[i]);
  }
}

// Of those who are held up by a long task, for whoever is free.
void Supervisor::recall_from_held_up(Time now) {
  for (std::size_t i = lists_.busy().size(); i-- > 0;) {
    Member& member = *lists_.busy()[i];
    if (member.in_flight > 1 && now - member.last_result > kHeldUp) recall(member);
  }
}

// Half of what the one with the most has not begun, for one that has nothing.
void Supervisor::share_with(Member& idle, Time now) {
  if (idle.in_flight > 0 || !idle.takes_tasks()) return;
  Member* richest = nullptr;
  for (Member* const member : lists_.busy()) {
    if (member->in_flight > 1 && (richest == nullptr || member->in_flight > richest->in_flight)) {
      richest = member;
    }
  }
  if (richest == nullptr) return;
  recall(*richest);
  feed(idle, now);
  feed(*richest, now);
}

}  // namespace muster
