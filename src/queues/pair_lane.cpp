// pair_lane.cpp: the steps of both sides.
#include <muster/queues/pair_lane.hpp>

namespace muster {

void PairLane::note_damage() const noexcept {
  parts_.damage->fetch_add(1, relaxed);  // relaxed: a count
}

void PairLane::keep_positions_in(PairPositions& own) noexcept {
  const auto keep = [](Atomic<std::uint64_t>*& place, Atomic<std::uint64_t>& mine) {
    mine.store(place->load(relaxed), relaxed);  // relaxed: what is ours is ours
    place = &mine;
  };
  keep(parts_.submitted, own.submitted);
  keep(parts_.claimed, own.claimed);
  keep(parts_.collected, own.collected);
}

Taken PairLane::take_free() const noexcept {
  // relaxed: free slots and this position are changed by us alone.
  const std::uint64_t position = parts_.submitted->load(relaxed);
  const SlotIndex slot = slot_at(position);
  const SlotWord seen = SlotWord::from_bits(word(slot).load(relaxed));  // relaxed: as above
  if (seen.state != SlotState::free) return {TakeOutcome::empty};
  const SlotWord mine = seen.taken(kPairSender);
  if (mine.generation != life_at(position)) [[unlikely]] {
    note_damage();
    return {TakeOutcome::empty};
  }
  // The last task here was a dead worker's, and was released before it was collected: its turn
  // would be overwritten, and so it is passed now.
  const std::uint64_t collected = parts_.collected->load(relaxed);  // relaxed: as above
  if (position - collected == parts_.count) [[unlikely]] {
    parts_.collected->store(collected + 1, relaxed);  // relaxed: as above
  }
  return {TakeOutcome::taken, slot, mine};  // not written down: nobody looks until it is ready
}

void PairLane::publish_ready() const noexcept {
  // relaxed: ours alone. The word is what the worker looks at.
  parts_.submitted->store(parts_.submitted->load(relaxed) + 1, relaxed);
}

Taken PairLane::take_back() const noexcept {
  // relaxed: ours alone. Without any task this is the slot of one that has ended, or of none.
  const std::uint64_t position = parts_.submitted->load(relaxed) - 1;
  const SlotIndex slot = slot_at(position);
  std::uint64_t bits = word(slot).load(relaxed);  // relaxed: found out by the exchange
  const SlotWord seen = SlotWord::from_bits(bits);
  if (seen.state != SlotState::ready || seen.generation != life_at(position)) {
    return {TakeOutcome::empty};
  }
  const SlotWord mine = seen.moved(SlotState::writing, kPairSender);
  // relaxed: what stands in the slot we have written ourselves. The worker was faster: then
  // it has all that are older, too.
  if (!word(slot).compare_exchange_strong(bits, mine.bits(), relaxed, relaxed)) {
    return {TakeOutcome::empty};
  }
  parts_.submitted->store(position, relaxed);  // relaxed: ours alone
  return {TakeOutcome::taken, slot, mine};
}

Taken PairLane::claim() const noexcept {
  // relaxed: ours alone.
  const std::uint64_t position = parts_.claimed->load(relaxed);
  const SlotIndex slot = slot_at(position);
  std::uint64_t bits = word(slot).load(relaxed);  // relaxed: found out by the exchange
  for (;;) {
    const SlotWord seen = SlotWord::from_bits(bits);
    if (seen.state != SlotState::ready || seen.generation != life_at(position)) {
      return {TakeOutcome::empty};
    }
    const SlotWord mine = seen.taken(kPairWorker);
    // sync(slot-handed-over): pairs with the store in hand_over_slot(). The task is the one that
    // stands there now: it may have been taken back since, and another submitted in the same words.
    // relaxed: on failure it was taken back, or called off; we look again.
    if (!word(slot).compare_exchange_strong(bits, mine.bits(), acquire, relaxed)) continue;
    parts_.claimed->store(position + 1, relaxed);  // relaxed: ours alone
    return {TakeOutcome::taken, slot, mine};
  }
}

void PairLane::publish_done(SlotIndex slot, const SlotWord& word) const noexcept {
  // sync(result-visible): pairs with the load in collect(): whoever sees the turn sees the word,
  // the result, and what was done before.
  parts_.results[slot].turn.store(static_cast<std::uint32_t>(word.generation), release);
}

Taken PairLane::collect() const noexcept {
  for (;;) {
    const std::uint64_t position = parts_.collected->load(relaxed);  // relaxed: ours alone
    const SlotIndex slot = slot_at(position);
    // sync(result-visible): pairs with the store in publish_done().
    if (parts_.results[slot].turn.load(acquire) != turn_at(position)) return {TakeOutcome::empty};
    const SlotWord seen = SlotWord::from_bits(word(slot).load(relaxed));  // relaxed: see the turn
    parts_.collected->store(position + 1, relaxed);                       // relaxed: ours alone
    if (seen.generation == life_at(position)) {
      if (seen.state == SlotState::done) {
        // Not written down: nobody looks at it until it is free.
        return {TakeOutcome::taken, slot, seen.taken(kPairSender)};
      }
      if (seen.state == SlotState::free) continue;  // its worker died, and it was released
    }
    note_damage();
    return {TakeOutcome::empty};
  }
}

void PairLane::mend_claimed() const noexcept {
  // relaxed: what the dead one did is visible since the kernel said so.
  const std::uint64_t submitted = parts_.submitted->load(relaxed);
  std::uint64_t position = parts_.claimed->load(relaxed);  // relaxed: as above
  // There are no more than the slots, whatever a position says that somebody has spoilt.
  for (std::uint32_t i = 0; i < parts_.count && position != submitted; ++i) {
    const auto seen =
        SlotWord::from_bits(word(slot_at(position)).load(relaxed));  // relaxed: as above
    if (seen.state == SlotState::ready && seen.generation == life_at(position)) break;
    ++position;
  }
  parts_.claimed->store(position, relaxed);  // relaxed: as above
}

SlotWord PairLane::free_word(const SlotWord& word) const noexcept {
  const bool was_submitted = word.state != SlotState::writing;
  // What was taken back, or not submitted after all, has not had this life.
  const std::uint64_t life = was_submitted ? word.generation : word.generation - 1;
  return {SlotState::free, false, 0, kPairSender, life & SlotWord::kGenerationMask};
}

// relaxed, all of them: racy by contract.
std::uint64_t PairLane::ready_approx() const noexcept {
  const std::uint64_t claimed = parts_.claimed->load(relaxed);      // relaxed: as above
  const std::uint64_t submitted = parts_.submitted->load(relaxed);  // relaxed: as above
  return submitted > claimed ? submitted - claimed : 0;
}

std::uint64_t PairLane::begun_approx() const noexcept {
  const std::uint64_t collected = parts_.collected->load(relaxed);  // relaxed: as above
  const std::uint64_t claimed = parts_.claimed->load(relaxed);      // relaxed: as above
  return claimed > collected ? claimed - collected : 0;
}

std::uint64_t PairLane::free_approx() const noexcept {
  // Who is claimed between the two is counted twice.
  const std::uint64_t used = ready_approx() + begun_approx();
  return used < parts_.count ? parts_.count - used : 0;
}

}  // namespace muster
