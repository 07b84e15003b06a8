// supervisor_results.cpp: how results come back, and who takes them.
#include <sys/prctl.h>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/quick_clock.hpp>

#include "processes/supervisor.hpp"

namespace muster {
namespace {

// The pool whose results this thread settles right now, and whose seat it has.
thread_local const Supervisor* collects_for = nullptr;

// Verdicts that this thread says, one after the other. What follows one of them may wait for
// another that is still to be said, here or further out; nobody else has those.
class Saying {
 public:
  explicit Saying(Verdicts& verdicts) noexcept : verdicts_(verdicts), outer_(innermost_) {
    innermost_ = this;
  }
  ~Saying() { innermost_ = outer_; }
  Saying(const Saying&) = delete;
  Saying& operator=(const Saying&) = delete;

  void say_rest() {
    while (!verdicts_.empty()) verdicts_.pop()->tell();
  }

  // Whatever this thread has begun to say.
  static void say_all() {
    for (Saying* saying = innermost_; saying != nullptr; saying = saying->outer_) {
      saying->say_rest();
    }
  }

 private:
  static thread_local Saying* innermost_;

  Verdicts& verdicts_;
  Saying* const outer_;
};

thread_local Saying* Saying::innermost_ = nullptr;

// The worker may wait for it.
void give_back(const WorkerSegment& segment, SharedBlocks::Number block) {
  segment.blocks().give_back(block);
  segment.ring().wake_for_room();
}

// Keeps a block of a worker's memory until the last who looks at it is gone, also if the worker and
// its pool have gone before.
class PinnedBlock {
 public:
  PinnedBlock(std::shared_ptr<const WorkerSegment> segment, SharedBlocks::Number block) noexcept
      : segment_(std::move(segment)), block_(block) {}
  ~PinnedBlock() {
    segment_->blocks().unpin();
    give_back(*segment_, block_);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

 private:
  const std::shared_ptr<const WorkerSegment> segment_;
  const SharedBlocks::Number block_;
};

}  // namespace

unsigned Supervisor::take_results() {
  unsigned taken = 0;
  const Time now = quick_now();
  // From behind: a member that has nothing left is taken out of the list, and the last takes its
  // place.
  for (std::size_t i = lists_.busy().size(); i-- > 0;) {
    Member& member = *lists_.busy()[i];
    const unsigned of_this = take_results_of(member, now);
    if (of_this == 0) continue;
    taken += of_this;
    note_pace(member, now);  // and where it stands in the lists
    if (recycles_by_task_) [[unlikely]]
      recycle_if_due(member, member.read().anonymous_bytes, now);
    feed(member, now);
    if (member.state == WorkerState::draining && member.in_flight == 0) [[unlikely]]
      order_to_stop(member);
  }
  if (taken == 0) return 0;
  recall_from_held_up(now);
  feed_idle(now);
  note_backlog();
  return taken;
}

// What waits, or others have not begun, is for those that have nothing.
void Supervisor::feed_idle(Time now) {
  const bool has_more = !waiting_.empty() || lists_.in_flight() > lists_.with_tasks();
  if (!has_more) return;
  for (std::size_t i = lists_.idle().size(); i-- > 0;) {
    if (i >= lists_.idle().size()) continue;  // feeding takes some out
    Member& member = *lists_.idle()[i];
    feed(member, now);
    share_with(member, now);
  }
}

unsigned Supervisor::take_results_of(Member& member, Time now) {
  const RingSupervisor rings(member.segment->ring(), kPoolIndex);
  unsigned taken = 0;
  for (;;) {
    const Settling settling = rings.collect();
    const bool is_result = settling.outcome == TakeOutcome::taken;
    if (is_result && take_result(member, settling, now)) {
      ++taken;
      continue;
    }
    if (is_result || member.segment->ring().damage() > 0) [[unlikely]]
      punish(member);
    break;
  }
  if (taken > 0 && member.in_flight == 0) {
    if (member.state == WorkerState::busy) member.state = WorkerState::ready;
    member.idle_since = now;
  }
  return taken;
}

void Supervisor::punish(Member& member) {
  MUSTER_LOG(LogLevel::error, "worker " << member.id
                                        << " has spoilt the memory it shares with its pool, "
                                           "and is killed");
  kill(member, EndReason::none);
}

// False: no correct worker can have left this.
bool Supervisor::take_result(Member& member, const Settling& settling, Time now) {
  const RingSupervisor rings(member.segment->ring(), kPoolIndex);
  Flight& flight = member.flights[settling.slot];
  if (!flight.task || flight.generation != settling.word.generation) return false;
  const TaskResult result = rings.result(settling);
  const auto status = static_cast<ResultStatus>(result.status);
  const Duration took =
      result.run_ns == kLongRun ? now - flight.task->progress.began : Duration(result.run_ns);
  std::optional<Bytes> value = value_of(member, *flight.task, result);
  if (!value) [[unlikely]]
    return false;
  rings.release(settling);
  TaskRef task = take_back(member, flight);
  note_end(member, *task, took);
  if (status == ResultStatus::value || status == ResultStatus::part) [[likely]] {
    conclude(std::move(task), *std::move(value));
    return true;
  }
  ++member.failed;
  const bool is_known = status == ResultStatus::error || status == ResultStatus::cancelled;
  task->progress.is_cancelled |= status == ResultStatus::cancelled;
  after_failure(std::move(task),
                {.kind = FailureKind::error,
                 .what = is_known ? value->to_string() : "a result of unknown kind"});
  return true;
}

// Nothing: no correct worker says this.
std::optional<Bytes> Supervisor::value_of(const Member& member, const ProcessTask& task,
                                          const TaskResult& result) {
  if (result.extent != 0) [[unlikely]] {
    return keep_or_copy(member, {.block = result.extent - 1, .bytes = result.payload_bytes});
  }
  if (result.payload_bytes > kInlineResult) return std::nullopt;
  if (static_cast<ResultStatus>(result.status) == ResultStatus::part) [[unlikely]] {
    // Whoever sent the task has these bytes already.
    PayloadPart part;
    std::memcpy(&part, result.payload.data(), sizeof(part));
    const Bytes& payload = task.order.payload;
    const bool is_there =
        part.offset <= payload.size() && part.bytes <= payload.size() - part.offset;
    return is_there ? std::optional(payload.part(part.offset, part.bytes)) : std::nullopt;
  }
  return Bytes::copy_of(std::span(result.payload).first(result.payload_bytes));
}

// As a view of the worker's memory, as long as enough of that is left for others.
std::optional<Bytes> Supervisor::keep_or_copy(const Member& member,
                                              const SharedBlocks::Stated& stated) {
  SharedBlocks& blocks = member.segment->blocks();
  const auto bytes = blocks.read(stated);
  if (!bytes) return std::nullopt;
  if (bytes->size() > Bytes::kInsideBytes && blocks.pin()) {
    return Bytes::view_of(*bytes, std::make_shared<PinnedBlock>(member.segment, stated.block));
  }
  Bytes copy = Bytes::copy_of(*bytes);
  give_back(*member.segment, stated.block);
  return copy;
}

bool Supervisor::is_collecting() const noexcept {
  return collects_for == this;
}

// By those who do not have the seat. Whoever has it may wait for one of these.
void Supervisor::pronounce(Verdicts verdicts) {
  if (verdicts.empty()) [[likely]]
    return;
  Saying(verdicts).say_rest();
  bell_.ring();
}

Verdicts Supervisor::take_verdicts() {
  return std::move(verdicts_);  // which leaves none
}

// Settles outside of the lock: what follows a task may take its time, and may call the pool.
std::size_t Supervisor::collect() {
  Verdicts verdicts;
  {
    const MutexLock lock(mutex_);
    if (!have_results()) {
      if (seat_.spins()) watched_.update(lists_);
      return 0;
    }
    take_results();
    if (seat_.spins()) watched_.update(lists_);
    verdicts = take_verdicts();
  }
  const std::size_t count = verdicts.size();
  const Supervisor* const before = std::exchange(collects_for, this);
  Saying(verdicts).say_rest();
  collects_for = before;
  return count;
}

bool Supervisor::has_results_approx() const {
  return watched_.may_have_results(lists_);
}

bool Supervisor::has_results() const {
  const MutexLock lock(mutex_);
  return have_results();
}

bool Supervisor::have_results() const {
  if (!verdicts_.empty()) return true;
  for (const Member* const member : lists_.busy()) {
    if (member->segment->ring().has_done()) return true;
  }
  return false;
}

void Supervisor::attend(const Seat::Errand& errand, Time deadline) {
  refuse_strategies();
  Saying::say_all();
  if (collects_for == this) {  // what follows a task waits for another one
    seat_.attend_nested(errand, deadline);
  } else {
    seat_.attend(errand, deadline);
  }
}

void Supervisor::serve_as_clerk() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // its naps are short
  for (;;) {
    const SharedSleepers::Ticket ticket = seat_.clerk_ticket();
    {
      const MutexLock lock(mutex_);
      if (clerk_stops_) return;
    }
    seat_.serve_as_clerk(ticket);
  }
}

}  // namespace muster
