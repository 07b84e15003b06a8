// ring_supervisor.cpp: from a done slot to a free one, or to a ready one again.
#include <muster/queues/ring_supervisor.hpp>

#include "queues/extent_steps.hpp"
#include "queues/hand_over.hpp"

namespace muster {

Settling RingSupervisor::collect() const noexcept {
  const Settling settling = ring_.take_done(index_);
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

RingSupervisor::Bytes RingSupervisor::payload(const Settling& settling) const noexcept {
  return payload_in(ring_, settling.slot);
}

RingSupervisor::Bytes RingSupervisor::result_payload(const Settling& settling) const noexcept {
  return result_in(ring_, settling.slot);
}

Tag RingSupervisor::keep_result(const Settling& settling) const noexcept {
  const Tag extent = result(settling).extent;
  const bool kept = keep_extent(ring_, extent, index_, {settling.slot, ExtentUse::result});
  return kept ? extent : 0;
}

bool RingSupervisor::still_ours(const Settling& settling) const noexcept {
  return same_but_flag(ring_.word(settling.slot), settling.word);
}

// True if there was one.
bool RingSupervisor::free_extent_of(const Settling& settling, ExtentUse use) const noexcept {
  const bool of_payload = use == ExtentUse::payload;
  const Tag extent = of_payload ? contents(settling).extent : result(settling).extent;
  return free_attached(ring_, extent, index_, {settling.slot, use});
}

HandOver RingSupervisor::release(const Settling& settling) const noexcept {
  if (ring_.is_pair()) [[likely]]
    return release_of_pair(settling);
  if (ring_.geometry().extents > 0) {
    // Extents before the slot: what is attached to one that is free would never be found.
    if (!still_ours(settling)) return HandOver::fenced;
    free_extent_of(settling, ExtentUse::payload);
    free_extent_of(settling, ExtentUse::result);
  }
  const SlotWord free = freed(settling.word, index_);
  if (!hand_over_slot(ring_, settling.slot, settling.word, free, CancelFlag::drop)) {
    return HandOver::fenced;
  }
  if (ring_.free().put(tag_of(free, settling.slot)) != PutOutcome::put) return HandOver::damaged;
  ring_.wake_for_room();
  return HandOver::done;
}

HandOver RingSupervisor::release_of_pair(const Settling& settling) const noexcept {
  const PairLane& lane = ring_.lane();
  const SlotWord free = lane.free_word(settling.word);
  (void)hand_over_slot(ring_, settling.slot, settling.word, free, CancelFlag::drop);
  // It will never be done; its turn to be collected has to be passed.
  if (settling.word.state == SlotState::claimed) lane.publish_done(settling.slot, free);
  return HandOver::done;
}

// Whoever completes the next attempt writes its reference over this one's, so the extent goes now.
// False if the slot is not ours any more.
bool RingSupervisor::drop_result(Settling& settling) const noexcept {
  if (!still_ours(settling)) return false;
  if (result(settling).extent == 0) return true;
  // First it is said that the task will be retried: should we die when the result is gone and the
  // task is not ready yet, the next one must not take it for one that was delivered.
  const bool collected = settling.word.state == SlotState::settling;
  if (collected && delay(settling) != HandOver::done) return false;
  if (free_extent_of(settling, ExtentUse::result)) ring_.wake_for_room();
  return true;
}

RetryOutcome RingSupervisor::retry(const Settling& settling) const noexcept {
  if (settling.word.attempt == kMaxAttempts || ring_.is_pair()) return RetryOutcome::exhausted;
  Settling ours = settling;
  if (ring_.geometry().extents > 0 && !drop_result(ours)) return RetryOutcome::fenced;
  const SlotWord ready = ours.word.moved(SlotState::ready, index_);
  if (!hand_over_slot(ring_, settling.slot, ours.word, ready, CancelFlag::keep)) {
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
  if (ring_.is_pair()) return HandOver::not_held;
  const SlotWord delayed = settling.word.moved(SlotState::delayed, index_);
  if (!hand_over_slot(ring_, settling.slot, settling.word, delayed, CancelFlag::keep)) {
    return HandOver::fenced;
  }
  settling.word = delayed;
  return HandOver::done;
}

}  // namespace muster
