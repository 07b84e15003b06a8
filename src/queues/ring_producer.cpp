// ring_producer.cpp: from a free slot to a ready one.
#include <muster/queues/ring_producer.hpp>

#include "queues/extent_steps.hpp"
#include "queues/hand_over.hpp"

namespace muster {

Submitted RingProducer::submit_quietly(const TaskContents& contents) const noexcept {
  if (!fits(ring_, stated_by(contents))) return {SubmitOutcome::too_large};
  const bool has_extent = contents.extent != 0 && !ring_.is_pair();
  if (has_extent && !holds_extent(ring_, contents.extent, index_)) {
    return {SubmitOutcome::not_held};
  }
  const Taken taken = ring_.take_free(index_);
  if (taken.outcome == TakeOutcome::empty) return {SubmitOutcome::no_room};
  if (taken.outcome == TakeOutcome::contended) {
    ring_.note_contended(index_);
    return {SubmitOutcome::contended};
  }
  TaskSlot& slot = ring_.slot(taken.slot);
  note_plain_write(&slot.contents);
  slot.contents = contents;
  // The reference stands, so whoever finds the slot finds the extent. If we die before the next
  // step the sweep frees both.
  if (has_extent &&
      !attach_extent(ring_, contents.extent, index_, {taken.slot, ExtentUse::payload})) {
    return {SubmitOutcome::fenced};
  }
  const SlotWord ready = taken.word.moved(SlotState::ready, index_);
  // From here on the task is accepted: if we die now, the sweep publishes it.
  if (!hand_over_slot(ring_, taken.slot, taken.word, ready, CancelFlag::drop))
    return {SubmitOutcome::fenced};
  if (ring_.put_ready(taken.slot, ready) != PutOutcome::put) return {SubmitOutcome::damaged};
  return {SubmitOutcome::submitted, {taken.slot, taken.word.generation}};
}

Submitted RingProducer::submit(const TaskContents& contents) const noexcept {
  const Submitted submitted = submit_quietly(contents);
  if (submitted.outcome == SubmitOutcome::submitted) ring_.sleepers(Awaited::work).wake(1);
  return submitted;
}

BatchSubmitted RingProducer::submit_batch(std::span<const TaskContents> tasks,
                                          std::span<TaskPlace> places) const noexcept {
  BatchSubmitted batch;
  for (const TaskContents& contents : tasks) {
    const Submitted submitted = submit_quietly(contents);
    batch.outcome = submitted.outcome;
    if (submitted.outcome != SubmitOutcome::submitted) break;
    if (!places.empty()) places[batch.count] = submitted.place;
    ++batch.count;
  }
  if (batch.count > 0) ring_.sleepers(Awaited::work).wake(batch.count);
  return batch;
}

CancelOutcome RingProducer::cancel(const TaskPlace& place) const noexcept {
  Atomic<std::uint64_t>& atomic = ring_.slot(place.slot).word;
  std::uint64_t bits = atomic.load(relaxed);  // relaxed: found out by the exchange
  for (;;) {
    SlotWord word = SlotWord::from_bits(bits);
    const bool under_way = word.state == SlotState::ready || word.state == SlotState::claimed ||
                           word.state == SlotState::delayed;
    if (!under_way || word.generation != place.generation) return CancelOutcome::too_late;
    word.cancelled = true;
    // relaxed: the flag carries nothing with it, and goes on what others have released.
    if (atomic.compare_exchange_strong(bits, word.bits(), relaxed, relaxed)) {
      return CancelOutcome::cancelled;
    }
  }
}

}  // namespace muster
