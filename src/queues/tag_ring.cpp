// tag_ring.cpp: publishing, taking, and helping those who did not come to it.
#include <bit>
#include <new>

#include <muster/queues/tag_ring.hpp>

namespace muster {
namespace {

// How often others may be faster before take() gives up.
constexpr unsigned kMostTries = 64;

// And put(), which cannot give up halfway: so many, for whatever reasons, are not contention but a
// damaged ring.
constexpr unsigned kEndlessTries = 10'000;

// Spins twice as long each time. No yielding: there is not always a system to yield to.
class Pause {
 public:
  void operator()() noexcept {
    for (unsigned i = 0; i < spins_; ++i) spin_pause();
    if (spins_ < kMostSpins) spins_ *= 2;
  }

 private:
  // Explored, one pause shows what many show.
  static constexpr unsigned kMostSpins = kRealAtomics ? 64 : 1;
  unsigned spins_ = 1;
};

}  // namespace

void TagRing::format() const noexcept {
  // Positions begin in the second lap, so that all cells are of the lap before.
  parts_.ends->head.position.store(parts_.capacity, relaxed);   // relaxed: nobody else has it yet
  parts_.ends->tail.position.store(parts_.capacity, relaxed);   // relaxed: as above
  parts_.ends->tail.head_seen.store(parts_.capacity, relaxed);  // relaxed: as above
  for (std::uint32_t i = 0; i < parts_.capacity; ++i) {
    new (&parts_.cells[i]) Atomic<std::uint64_t>(0);
  }
}

std::uint32_t TagRing::cycle_of(std::uint64_t position) const noexcept {
  return static_cast<std::uint32_t>(position >> std::countr_zero(parts_.capacity));
}

// True if it was us.
bool TagRing::pass(std::uint64_t position) const noexcept {
  // relaxed: head only says where to look; what is there says the cell.
  return parts_.ends->head.position.compare_exchange_strong(position, position + 1, relaxed,
                                                            relaxed);
}

void TagRing::help_tail(std::uint64_t position) const noexcept {
  // relaxed: as head, in pass().
  parts_.ends->tail.position.compare_exchange_strong(position, position + 1, relaxed, relaxed);
}

void TagRing::note_damage() const noexcept {
  parts_.damage->fetch_add(1, relaxed);  // relaxed: a count
}

// Would an entry at `position` overwrite one that nobody passed?
bool TagRing::full(std::uint64_t position) const noexcept {
  const auto reached = [&](std::uint64_t head) {
    // Signed: head is ahead of the tail when nobody has helped that one yet.
    return static_cast<std::int64_t>(position - head) >= static_cast<std::int64_t>(parts_.capacity);
  };
  // On our line, while the head is on the takers'. relaxed: an old head is too small, and makes us
  // look again.
  if (!reached(parts_.ends->tail.head_seen.load(relaxed))) return false;
  // relaxed: a read-modify-write sees the newest value there is.
  const std::uint64_t head = parts_.ends->head.position.fetch_add(0, relaxed);
  parts_.ends->tail.head_seen.store(head, relaxed);  // relaxed: as above
  return reached(head);
}

PutOutcome TagRing::put(Tag tag) const noexcept {
  Pause pause;
  for (unsigned tries = 0; tries < kEndlessTries; ++tries) {
    // relaxed: an old tail is found out by its cell.
    const std::uint64_t position = parts_.ends->tail.position.load(relaxed);
    // relaxed: nothing is read through it; an old value is found out by the exchange.
    std::uint64_t seen = cell(position).load(relaxed);
    const std::uint32_t cycle = cycle_of(position);
    const std::uint32_t found = RingEntry::from_bits(seen).cycle;
    if (found == cycle) {
      help_tail(position);
      continue;
    }
    if (found != cycle - 1) {
      // In a sound ring others have gone all round between our two loads, and the next look finds
      // them: no growing pause. In a damaged one it stays so, and we must soon be done.
      spin_pause();
      continue;
    }
    if (full(position)) {
      // relaxed: as in full(), the newest there is.
      if (parts_.ends->tail.position.fetch_add(0, relaxed) == position) break;
      continue;
    }
    // sync(entry-visible): pairs with the load in take(): whoever sees the entry sees the word that
    // it fits, and what was written before that.
    // relaxed: on failure we look again.
    if (cell(position).compare_exchange_strong(seen, RingEntry{cycle, tag}.bits(), release,
                                               relaxed)) {
      help_tail(position);
      return PutOutcome::put;
    }
    pause();
  }
  note_damage();
  return PutOutcome::refused;
}

Taken TagRing::take(SlotState from, ParticipantIndex by) const noexcept {
  Pause pause;
  for (unsigned tries = 0; tries < kMostTries;) {
    // relaxed: an old head is found out by its cell or by the word.
    const std::uint64_t position = parts_.ends->head.position.load(relaxed);
    // sync(entry-visible): pairs with put(). A word that does not fit the entry is one that has
    // moved on, never one that is not there yet; else the entry would be passed and lost.
    const auto entry = RingEntry::from_bits(cell(position).load(acquire));
    const std::uint32_t cycle = cycle_of(position);
    if (entry.cycle == cycle - 1) return {TakeOutcome::empty};
    if (entry.cycle != cycle) {
      ++tries;
      pause();
      continue;
    }
    const SlotIndex slot = slot_of(entry.tag);
    if (slot >= parts_.words.count()) {
      note_damage();
      if (!pass(position)) ++tries;
      continue;
    }
    // relaxed: the entry showed us at least the word that it fits.
    std::uint64_t bits = parts_.words[slot].load(relaxed);
    const SlotWord word = SlotWord::from_bits(bits);
    if (word.state != from || tag_of(word, slot) != entry.tag) {
      if (!pass(position)) ++tries;
      continue;
    }
    const SlotWord mine = word.taken(by);
    // sync(slot-handed-over): pairs with whoever moved the slot into `from`. An entry may be an old
    // one that fits again by chance, and then the word alone makes what was written visible.
    // relaxed: on failure we look again. Head stays: the word may still fit, with another flag.
    if (parts_.words[slot].compare_exchange_strong(bits, mine.bits(), acquire, relaxed)) {
      pass(position);
      return {TakeOutcome::taken, slot, mine};
    }
    ++tries;
    pause();
  }
  return {TakeOutcome::contended};
}

bool TagRing::pending(std::uint32_t cell_index, Tag& tag) const noexcept {
  // relaxed: what the dead did is visible since the kernel said so; what the living do only takes
  // entries away.
  const auto entry = RingEntry::from_bits(parts_.cells[cell_index].load(relaxed));
  const std::uint64_t head = parts_.ends->head.position.load(relaxed);  // relaxed: as above
  const std::uint64_t position = head + ((cell_index - head) & (parts_.capacity - 1));
  tag = entry.tag;
  return entry.cycle == cycle_of(position);
}

bool TagRing::has_entry() const noexcept {
  // relaxed: racy by contract.
  const std::uint64_t head = parts_.ends->head.position.load(relaxed);
  return RingEntry::from_bits(cell(head).load(relaxed)).cycle ==
         cycle_of(head);  // relaxed: as above
}

std::uint64_t TagRing::size_approx() const noexcept {
  // relaxed: racy by contract; head first, so that the difference is rarely too small.
  const std::uint64_t head = parts_.ends->head.position.load(relaxed);
  const std::uint64_t tail = parts_.ends->tail.position.load(relaxed);  // relaxed: as above
  return tail > head ? tail - head : 0;
}

}  // namespace muster
