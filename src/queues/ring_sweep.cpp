// ring_sweep.cpp: what a dead participant leaves, brought back.
//
// Of a slot that the dead one answers for, its word says all. Held (writing, claimed, settling,
// delayed): we take it over. Published (ready, done, free): there is an entry in that state's ring,
// or the dead one still owed it; nobody else can put that tag in, so a look at all cells decides.
// The same goes for extents, but those that are attached: they follow their slot.
#include <algorithm>
#include <array>

#include <muster/queues/ring_supervisor.hpp>

#include "queues/extent_steps.hpp"
#include "queues/hand_over.hpp"

namespace muster {
namespace {

// Slots looked after in one pass over a ring's cells: bounds the time that a sweep takes among many
// slots, without memory that would have to be allocated.
constexpr std::uint32_t kChunk = 4096;

class SlotSet {
 public:
  void add(std::uint32_t slot) noexcept { words_[slot / 64] |= bit(slot); }
  void remove(std::uint32_t slot) noexcept { words_[slot / 64] &= ~bit(slot); }
  [[nodiscard]] bool holds(std::uint32_t slot) const noexcept {
    return (words_[slot / 64] & bit(slot)) != 0;
  }

 private:
  static std::uint64_t bit(std::uint32_t slot) noexcept { return std::uint64_t{1} << (slot % 64); }

  std::array<std::uint64_t, kChunk / 64> words_{};
};

bool held(SlotState state) {
  return state == SlotState::writing || state == SlotState::claimed ||
         state == SlotState::settling || state == SlotState::delayed;
}

}  // namespace

SweepResult RingSupervisor::sweep(ParticipantIndex dead, std::span<Settling> found) const noexcept {
  SweepResult result;
  if (found.empty()) return {.outcome = SweepOutcome::more};
  for (SlotIndex slot = 0; slot < ring_.geometry().slots; ++slot) {
    const Settling seized = seize(slot, dead);
    if (seized.outcome != TakeOutcome::taken) continue;
    // Nobody has seen what was being written: no task, only a slot to give back.
    if (seized.word.state == SlotState::writing) {
      release(seized);
      continue;
    }
    found[result.count++] = seized;
    if (result.count == found.size()) {
      result.outcome = SweepOutcome::more;
      return result;
    }
  }
  if (ring_.is_pair()) {
    result.published += publish_lane(dead);
  } else {
    result.published += publish_owed(ring_.ready(), SlotState::ready, dead);
    result.published += publish_owed(ring_.done(), SlotState::done, dead);
    result.published += publish_owed(ring_.free(), SlotState::free, dead);
  }
  result.published += publish_owed(ring_.free_extents(), SlotState::free, dead);
  result.extents += free_all_held(ring_, dead, index_);
  // Words first, then the bits, then the wakes: woken earlier, somebody could look, find nothing
  // and sleep again; and a bit that is still there could swallow a wake that another needs.
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    ring_.sleepers(awaited).forget(dead);
  }
  ring_.sleepers(Awaited::work).wake_all();
  ring_.vacate(dead);
  return result;
}

// Of a pair: whatever is done, whether its turn was told or not.
std::uint32_t RingSupervisor::publish_lane(ParticipantIndex dead) const noexcept {
  std::uint32_t published = 0;
  ring_.lane().mend_claimed();
  for (SlotIndex slot = 0; slot < ring_.geometry().slots; ++slot) {
    const SlotWord word = ring_.word(slot);
    if (word.state != SlotState::done || word.owner != dead) continue;
    ring_.lane().publish_done(slot, word);
    ++published;
  }
  return published;
}

// Takes over a slot that the dead one held; empty if it did not. Only the owner changes: should we
// die too, the next one must still know whether there is a task, and whether it has a result.
Settling RingSupervisor::seize(SlotIndex slot, ParticipantIndex dead) const noexcept {
  Atomic<std::uint64_t>& atomic = ring_.slot(slot).word;
  std::uint64_t bits = atomic.load(relaxed);  // relaxed: found out by the exchange
  for (;;) {
    const SlotWord word = SlotWord::from_bits(bits);
    if (word.owner != dead || !held(word.state)) return {};
    const SlotWord mine = word.moved(word.state, index_);
    // sync(slot-handed-over): what the dead one was given. What it did itself is visible since the
    // kernel reported its death.
    // relaxed: on failure somebody called it off, or sweeps too; we look again.
    if (atomic.compare_exchange_strong(bits, mine.bits(), acquire, relaxed)) {
      return {TakeOutcome::taken, slot, mine};
    }
  }
}

std::uint32_t RingSupervisor::publish_owed(const TagRing& ring, SlotState state,
                                           ParticipantIndex dead) const noexcept {
  std::uint32_t published = 0;
  for (SlotIndex first = 0; first < ring.words().count(); first += kChunk) {
    published += publish_owed_of(ring, state, dead, first);
  }
  return published;
}

std::uint32_t RingSupervisor::publish_owed_of(const TagRing& ring, SlotState state,
                                              ParticipantIndex dead,
                                              SlotIndex first) const noexcept {
  const SlotWords& words = ring.words();
  const std::uint32_t count = std::min(kChunk, words.count() - first);
  const auto owed_by_dead = [&](SlotIndex slot, std::uint64_t bits) {
    const SlotWord word = SlotWord::from_bits(bits);
    return slot < words.count() && word.owner == dead && word.state == state;
  };
  SlotSet owed;
  bool any = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    // relaxed: as the loads below, found out by the exchange.
    if (!owed_by_dead(first + i, words[first + i].load(relaxed))) continue;
    owed.add(i);
    any = true;
  }
  if (!any) return 0;
  for (std::uint32_t cell = 0; cell < ring.capacity(); ++cell) {
    Tag tag = 0;
    if (!ring.pending(cell, tag)) continue;
    const SlotIndex slot = slot_of(tag);
    if (slot < first || slot - first >= count || !owed.holds(slot - first)) continue;
    // relaxed: see above.
    if (tag_of(SlotWord::from_bits(words[slot].load(relaxed)), slot) == tag) {
      owed.remove(slot - first);
    }
  }
  std::uint32_t published = 0;
  for (SlotIndex slot = first; slot < first + count; ++slot) {
    if (!owed.holds(slot - first)) continue;
    std::uint64_t bits = words[slot].load(relaxed);  // relaxed: see above
    while (owed_by_dead(slot, bits)) {
      const SlotWord mine = SlotWord::from_bits(bits).moved(state, index_);
      // The debt becomes ours before it is paid: two sweepers must not both pay.
      // relaxed: goes on what the dead one released.
      if (!words[slot].compare_exchange_strong(bits, mine.bits(), relaxed, relaxed)) continue;
      ring.put(tag_of(mine, slot));
      ++published;
      break;
    }
  }
  return published;
}

}  // namespace muster
