// ring_supervisor.cpp: from a done slot to a free one, or to a ready one again.
#include <muster/queues/ring_supervisor.hpp>

#include "queues/hand_over.hpp"

namespace muster {

Settling RingSupervisor::collect() const noexcept {
  const Settling settling = ring_.done().take(SlotState::done, index_);
  if (settling.outcome == TakeOutcome::contended) ring_.note_contended(index_);
  return settling;
}

const TaskContents& RingSupervisor::contents(const Settling& settling) const noexcept {
  const TaskContents& contents = ring_.slot(settling.slot).contents;
  note_plain_read(&contents);
  return contents;
}

const TaskResult& RingSupervisor::result(const Settling& settling) const noexcept {
  const TaskResult& result = ring_.result(settling.slot);
  note_plain_read(&result);
  return result;
}

HandOver RingSupervisor::release(const Settling& settling) const noexcept {
  const SlotWord free = freed(settling.word, index_);
  if (!hand_over(ring_.slot(settling.slot).word, settling.word, free, CancelFlag::drop)) {
    return HandOver::fenced;
  }
  if (ring_.free().put(tag_of(free, settling.slot)) != PutOutcome::put) return HandOver::damaged;
  ring_.sleepers(Awaited::room).wake(1);
  return HandOver::done;
}

RetryOutcome RingSupervisor::retry(const Settling& settling) const noexcept {
  if (settling.word.attempt == kMaxAttempts) return RetryOutcome::exhausted;
  const SlotWord ready = settling.word.moved(SlotState::ready, index_);
  if (!hand_over(ring_.slot(settling.slot).word, settling.word, ready, CancelFlag::keep)) {
    return RetryOutcome::fenced;
  }
  // Always a new entry: the attempt in it differs from that of any older one.
  if (ring_.ready().put(tag_of(ready, settling.slot)) != PutOutcome::put) {
    return RetryOutcome::damaged;
  }
  ring_.sleepers(Awaited::work).wake(1);
  return RetryOutcome::retried;
}

HandOver RingSupervisor::delay(Settling& settling) const noexcept {
  const SlotWord delayed = settling.word.moved(SlotState::delayed, index_);
  if (!hand_over(ring_.slot(settling.slot).word, settling.word, delayed, CancelFlag::keep)) {
    return HandOver::fenced;
  }
  settling.word = delayed;
  return HandOver::done;
}

}  // namespace muster
