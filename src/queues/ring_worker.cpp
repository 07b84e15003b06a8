// ring_worker.cpp: from a ready slot to a done one.
#include <muster/queues/ring_worker.hpp>

#include "queues/extent_steps.hpp"
#include "queues/hand_over.hpp"

namespace muster {

Claim RingWorker::claim() const noexcept {
  const Claim claim = ring_.take_ready(index_);
  if (claim.outcome == TakeOutcome::contended) ring_.note_contended(index_);
  return claim;
}

std::uint32_t RingWorker::claim_batch(std::span<Claim> claims) const noexcept {
  std::uint32_t count = 0;
  for (Claim& place : claims) {
    const Claim next = claim();
    if (next.outcome != TakeOutcome::taken) break;
    place = next;
    ++count;
  }
  return count;
}

const TaskContents& RingWorker::contents(const Claim& claim) const noexcept {
  const TaskContents& contents = ring_.slot(claim.slot).contents;
  note_plain_read(&contents);
  return contents;
}

std::optional<std::span<const std::byte>> RingWorker::payload(const Claim& claim) const noexcept {
  return payload_in(ring_, claim.slot);
}

bool RingWorker::cancelled(const Claim& claim) const noexcept {
  return ring_.word(claim.slot).cancelled;
}

HandOver RingWorker::complete_quietly(const Claim& claim, const TaskResult& result) const noexcept {
  if (!fits(ring_, stated_by(result))) return HandOver::too_large;
  const bool has_extent = result.extent != 0 && !ring_.is_pair();
  if (has_extent && !holds_extent(ring_, result.extent, index_)) {
    // One who was swept holds neither.
    const bool ours = same_but_flag(ring_.word(claim.slot), claim.word);
    return ours ? HandOver::not_held : HandOver::fenced;
  }
  // Of a pair nobody takes it away; if it is another all the same, the memory is spoilt.
  if (ring_.is_pair() && !same_but_flag(ring_.word(claim.slot), claim.word)) {
    return HandOver::damaged;
  }
  TaskResult& place = ring_.result(claim.slot);
  note_plain_write(&place);
  place = result;
  // As in submit(): the reference first. If we die before the next step, there is no result yet;
  // whoever retries or releases the task frees the extent.
  if (has_extent && !attach_extent(ring_, result.extent, index_, {claim.slot, ExtentUse::result})) {
    return HandOver::fenced;
  }
  const SlotWord done = claim.word.moved(SlotState::done, index_);
  // From here on the task has a result: if we die now, the sweep publishes it.
  if (!hand_over_slot(ring_, claim.slot, claim.word, done, CancelFlag::keep)) {
    return HandOver::fenced;
  }
  if (ring_.put_done(claim.slot, done) != PutOutcome::put) return HandOver::damaged;
  return HandOver::done;
}

HandOver RingWorker::complete(const Claim& claim, const TaskResult& result) const noexcept {
  const HandOver outcome = complete_quietly(claim, result);
  if (outcome == HandOver::done) ring_.sleepers(Awaited::results).wake(1);
  return outcome;
}

void RingWorker::record(const Spell& spell) const noexcept {
  WorkerFigures& figures = ring_.participant(index_).figures;
  const auto added = [](Atomic<std::uint64_t>& sum, std::uint64_t more) {
    const std::uint64_t now = sum.load(relaxed) + more;  // relaxed: nobody else writes it
    sum.store(now, relaxed);                             // relaxed: a figure, racy by contract
    return now;
  };
  added(figures.tasks, 1);
  const std::uint64_t busy = added(figures.busy_ns, spell.busy_ns);
  const std::uint64_t all = busy + added(figures.idle_ns, spell.idle_ns);
  const float percent = all == 0 ? 0 : 100 * static_cast<float>(busy) / static_cast<float>(all);
  figures.utilisation.store(percent, relaxed);  // relaxed: as above
}

void RingWorker::set_state(std::uint8_t state) const noexcept {
  ring_.participant(index_).figures.state.store(state, relaxed);  // relaxed: a figure
}

}  // namespace muster
