// supervisor_placing.cpp: which worker gets a task, and how it gets there.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include <muster/base/quick_clock.hpp>
#include <muster/policy/key_hash.hpp>
#include <muster/queues/ring_producer.hpp>

#include "processes/supervisor.hpp"

namespace muster {
namespace {

// How soon a task is sent again for whose payload there was no memory.
constexpr Duration kMoreMemory = std::chrono::milliseconds(100);

}  // namespace

// Whom its key belongs to, if it has one and that one can run it.
std::optional<unsigned> Supervisor::home_of(const ProcessTask& task) const {
  const ExecOptions& options = task.order.options;
  if (!options.affinity || options.affinity_class == AffinityClass::none) [[likely]]
    return std::nullopt;
  const auto owner = ring_.worker_of(hash_key(*options.affinity));
  if (!owner) return std::nullopt;
  const Member& member = *members_[*owner];
  const bool is_able = options.capability.empty() || member.abilities == nullptr ||
                       member.abilities->has_capability(options.capability);
  return is_able ? std::optional(member.id) : std::nullopt;
}

Member* Supervisor::choose_for(const ProcessTask& task) {
  if (lists_.roomy().empty()) return nullptr;
  // Nobody is given a task ahead while another has none.
  const std::vector<Member*>& free = lists_.idle().empty() ? lists_.roomy() : lists_.idle();
  const std::string& capability = task.order.options.capability;
  if (capability.empty()) [[likely]]
    return &chooser_.choose(task, free, members_);
  std::vector<Member*> able;
  for (Member* const member : free) {
    if (member->abilities->has_capability(capability)) able.push_back(member);
  }
  return able.empty() ? nullptr : &chooser_.choose(task, able, members_);
}

// As many tasks as it may have, of those that wait. Most often none does, and that is soon said.
void Supervisor::feed(Member& member, Time now) {
  if (!waiting_.empty()) feed_waiting(member, now);
}

void Supervisor::feed_waiting(Member& member, Time now) {
  while (member.takes_tasks() && member.in_flight < member.room && !waiting_.empty()) {
    const WaitingTasks::Taker taker{.worker = member.id,
                                    .capabilities = member.abilities->capabilities};
    TaskRef task = waiting_.pop_for(taker);
    if (!task && member.in_flight == 0) task = waiting_.pop_soft_for(taker);
    if (!task) break;
    if (!send(member, task, now)) {
      if (!task) break;
      const std::optional<unsigned> home = home_of(*task);
      waiting_.push(std::move(task), home);
      break;
    }
  }
}

// True: it has it. False: it has no place for it now; or the task has failed, and is taken. Without
// a time, the task comes straight from who sent it, and the clock can wait until the worker has it.
bool Supervisor::send(Member& member, TaskRef& task, std::optional<Time> now) {
  if (member.command != nullptr) [[unlikely]]
    return send_command(member, task, now);
  const TaskOrder& order = task->order;
  std::optional<std::uint32_t> method = task->progress.method;
  if (task->progress.edition != member.abilities->edition) [[unlikely]] {
    method = member.abilities->method(order.name);
  }
  if (!method) [[unlikely]] {
    after_failure(std::move(task), {.what = "worker " + std::to_string(member.id) +
                                            " has no task of this name any more"});
    return false;
  }
  TaskContents contents;
  contents.priority = static_cast<std::int16_t>(order.options.priority);
  contents.payload_bytes = static_cast<std::uint32_t>(order.payload.size());
  contents.method = *method;
  contents.id = order.id;
  contents.flags = static_cast<std::uint16_t>(task->progress.attempts + 1);
  std::optional<SharedBlocks::Number> block;
  if (order.payload.size() <= kInlinePayload) [[likely]] {
    std::memcpy(contents.payload.data(), order.payload.span().data(), order.payload.size());
  } else {
    block = lend(member, order.payload);
    if (!block) return false;
    contents.extent = *block + 1;
  }
  const Submitted submitted = RingProducer(member.segment->ring(), kPoolIndex).submit(contents);
  if (submitted.outcome != SubmitOutcome::submitted) [[unlikely]] {
    if (block) member.segment->blocks().put_back(*block);
    return false;
  }
  if (!now) {
    now = quick_now();
    task->progress.queued = *now;
  }
  note_sent(member, *task, *now);
  member.flights[submitted.place.slot] = {std::move(task), submitted.place.generation, block};
  update_lists(member);
  return true;
}

void Supervisor::note_sent(Member& member, ProcessTask& task, Time now) {
  task.progress.state = TaskState::dequeued;
  task.progress.worker = member.id;
  task.progress.began = now;
  task.progress.noticed = {};
  ++task.progress.attempts;
  if (const auto& timeout = task.order.options.timeout) [[unlikely]] {
    const Time due = later(now, *timeout);
    const bool is_next = timeouts_.empty() || due < timeouts_.next();
    task.add_reference();
    timeouts_.push(due, TaskRef(&task));
    if (is_next) kick_.give();
  }
  member.lowest_priority = std::min(member.lowest_priority, task.order.options.priority);
  if (member.in_flight++ == 0) member.last_result = now;
  member.state = WorkerState::busy;
}

// What it has no longer, however that came.
TaskRef Supervisor::take_back(Member& member, Flight& flight) {
  TaskRef task = std::move(flight.task);
  if (flight.block) [[unlikely]] {
    SharedBlocks& blocks = member.segment->blocks();
    blocks.payload_back(*flight.block);
    blocks.warm_next(task->order.payload.size());  // the next payload may come soon
  }
  flight = {};
  if (--member.in_flight == 0) member.lowest_priority = kNoPriority;
  timeouts_.remove(*task);
  return task;
}

// Nothing: no block is free, or there is no memory for it.
std::optional<SharedBlocks::Number> Supervisor::lend(const Member& member, const Bytes& payload) {
  SharedBlocks& blocks = member.segment->blocks();
  const SharedBlocks::Taken taken = blocks.take(payload.size());
  if (taken.outcome == SharedBlocks::Outcome::no_memory && !more_memory_) {
    more_memory_ = Time::clock::now() + kMoreMemory;
    kick_.give();
  }
  if (taken.outcome != SharedBlocks::Outcome::taken) return std::nullopt;
  std::memcpy(blocks.own_memory(taken.block).data(), payload.span().data(), payload.size());
  return taken.block;
}

// Behind all that it has.
void Supervisor::order_to_stop(Member& member) {
  bool is_ordered = true;
  if (member.command != nullptr) {
    member.command->close_input();
  } else {
    TaskContents contents;
    contents.method = kStopOrder;
    const Submitted submitted = RingProducer(member.segment->ring(), kPoolIndex).submit(contents);
    // There is always a slot for it; if not, the memory is not to be trusted.
    is_ordered = submitted.outcome == SubmitOutcome::submitted;
  }
  member.state = WorkerState::terminating;
  member.past.reason = EndReason::asked;
  if (member.health) member.health->expect_end();
  if (!is_ordered) kill(member, EndReason::asked);
  update_lists(member);
}

void Supervisor::update_lists(Member& member) {
  lists_.update(member);
}

void Supervisor::set_strategy(const StrategyChoice& strategy) {
  refuse_strategies();
  if (std::vector<BadField> bad = validate(strategy); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  const MutexLock lock(mutex_);
  const std::string before = chooser_.strategy_name();
  chooser_.set_strategy(strategy, members_);
  const std::string after = chooser_.strategy_name();
  notices_.tell([&] { return StrategyChanged{.from = before, .to = after}; });
}

std::string Supervisor::strategy() const {
  refuse_strategies();
  const MutexLock lock(mutex_);
  return chooser_.strategy_name();
}

// What asks it holds the lock.
void Supervisor::refuse_strategies() {
  if (!Chooser::is_asking()) return;
  throw WouldDeadlock("a strategy cannot call the process pool that asks it");
}

}  // namespace muster
