// hand_over.hpp: the step by which an owner gives its slot, or its extent, away.
#pragma once

#include <muster/queues/shared_ring.hpp>
#include <muster/queues/slot_word.hpp>
#include <muster/sync/atomic.hpp>

namespace muster {

// Called off or not, is it the same word?
constexpr bool same_but_flag(SlotWord one, const SlotWord& other) noexcept {
  one.cancelled = other.cancelled;
  return one == other;
}

// Moves the slot from `word` to `next`, unless somebody has taken it from its owner. Only that
// counts: who merely called the task off in between has changed nothing but the flag, which goes
// along. `keep` says whether there is still a task to be called off.
enum class CancelFlag { keep, drop };

inline bool hand_over(Atomic<std::uint64_t>& atomic, const SlotWord& word, SlotWord next,
                      CancelFlag flag) noexcept {
  SlotWord seen = word;
  for (;;) {
    next.cancelled = flag == CancelFlag::keep && seen.cancelled;
    std::uint64_t bits = seen.bits();
    // sync(slot-handed-over): pairs with the exchange in TagRing::take(), and that of whoever
    // sweeps up after us. relaxed: on failure we only compare.
    if (atomic.compare_exchange_strong(bits, next.bits(), release, relaxed)) return true;
    seen = SlotWord::from_bits(bits);
    if (!same_but_flag(seen, word)) return false;
  }
}

// Of a pair nobody takes a slot from its owner, so that a store will do. A flag that has come since
// is lost, as if it had come too late.
inline bool hand_over_slot(const SharedRing& ring, SlotIndex slot, const SlotWord& word,
                           SlotWord next, CancelFlag flag) noexcept {
  Atomic<std::uint64_t>& atomic = ring.slot(slot).word;
  if (!ring.is_pair()) [[unlikely]]
    return hand_over(atomic, word, next, flag);
  next.cancelled = flag == CancelFlag::keep && word.cancelled;
  atomic.store(next.bits(), release);  // sync(slot-handed-over): pairs with PairLane::claim()
  return true;
}

// The same slot without a task.
constexpr SlotWord freed(const SlotWord& word, ParticipantIndex by) noexcept {
  return {SlotState::free, false, 0, by, word.generation};
}

}  // namespace muster
