// extent_steps.cpp: held, attached, kept and free.
#include "queues/extent_steps.hpp"

#include "queues/hand_over.hpp"

namespace muster {
namespace {

SlotWord word_of(const SharedRing& ring, ExtentIndex extent) {
  // relaxed: a look; whoever acts on it exchanges the word. Whoever holds the slot or the extent
  // sees at least the word that was there when it was given it.
  return SlotWord::from_bits(ring.free_extents().words()[extent].load(relaxed));
}

// From `word`, held or attached, to free; not_held if somebody else has moved it.
HandOver give_back(const SharedRing& ring, ExtentIndex extent, const SlotWord& word,
                   ParticipantIndex by) {
  const TagRing& extents = ring.free_extents();
  const SlotWord free = freed(word, by);
  if (!hand_over(extents.words()[extent], word, free, CancelFlag::drop)) return HandOver::not_held;
  // From here on we owe it to its ring: if we die now, the sweep puts it there.
  const PutOutcome put = extents.put(tag_of(free, extent));
  return put == PutOutcome::put ? HandOver::done : HandOver::damaged;
}

// The word, if the extent exists and is still in the life that the tag means.
std::optional<SlotWord> meant_by(const SharedRing& ring, Tag extent) {
  if (!ring.names_extent(extent)) return std::nullopt;
  const SlotWord word = word_of(ring, extent_of(extent));
  if (extent_tag(word, extent_of(extent)) != extent) return std::nullopt;
  return word;
}

// By value, and never part of its callers: the size that is checked is the size that is used,
// whatever a process that went wild does meanwhile to the memory that it was read from.
[[gnu::noinline]] Bytes bytes_of(const SharedRing& ring, StatedBytes stated, ExtentPlace place) {
  const bool somewhere = stated.extent == 0 || ring.names_extent(stated.extent);
  if (!somewhere || !fits(ring, stated)) {
    ring.note_damage();
    return std::nullopt;
  }
  if (stated.extent == 0) return stated.inline_place.first(stated.count);
  const std::optional<SlotWord> word = meant_by(ring, stated.extent);
  if (!word || !is_attached(*word, place)) return std::nullopt;
  const std::span<const std::byte> memory = ring.extent_memory(extent_of(stated.extent));
  note_plain_read(memory.data());
  return memory.first(stated.count);
}

}  // namespace

bool fits(const SharedRing& ring, const StatedBytes& stated) noexcept {
  if (ring.is_pair() && stated.extent != 0) return true;  // not ours: RingParties::pair
  const std::size_t room =
      stated.extent == 0 ? stated.inline_place.size() : ring.geometry().extent_bytes;
  return stated.count <= room;
}

bool holds_extent(const SharedRing& ring, Tag extent, ParticipantIndex by) noexcept {
  const std::optional<SlotWord> word = meant_by(ring, extent);
  return word && is_held(*word, by);
}

bool attach_extent(const SharedRing& ring, Tag extent, ParticipantIndex by,
                   const ExtentPlace& place) noexcept {
  const std::optional<SlotWord> word = meant_by(ring, extent);
  if (!word || !is_held(*word, by)) return false;
  return hand_over(ring.free_extents().words()[extent_of(extent)], *word, attached(*word, place),
                   CancelFlag::drop);
}

bool keep_extent(const SharedRing& ring, Tag extent, ParticipantIndex by,
                 const ExtentPlace& place) noexcept {
  const std::optional<SlotWord> word = meant_by(ring, extent);
  if (!word || !is_attached(*word, place)) return false;
  std::uint64_t bits = word->bits();
  const SlotWord mine{SlotState::writing, false, 0, by, word->generation};
  // relaxed: what is in it became visible with the slot, and nobody else is given it here.
  return ring.free_extents().words()[extent_of(extent)].compare_exchange_strong(bits, mine.bits(),
                                                                                relaxed, relaxed);
}

bool free_attached(const SharedRing& ring, Tag extent, ParticipantIndex by,
                   const ExtentPlace& place) noexcept {
  const std::optional<SlotWord> word = meant_by(ring, extent);
  if (!word || !is_attached(*word, place)) return false;
  return give_back(ring, extent_of(extent), *word, by) != HandOver::not_held;
}

HandOver free_held(const SharedRing& ring, Tag extent, ParticipantIndex by) noexcept {
  const std::optional<SlotWord> word = meant_by(ring, extent);
  if (!word || !is_held(*word, by)) return HandOver::not_held;
  return give_back(ring, extent_of(extent), *word, by);
}

std::uint32_t free_all_held(const SharedRing& ring, ParticipantIndex dead,
                            ParticipantIndex by) noexcept {
  std::uint32_t count = 0;
  for (ExtentIndex extent = 0; extent < ring.geometry().extents; ++extent) {
    const SlotWord word = word_of(ring, extent);
    if (!is_held(word, dead)) continue;
    if (give_back(ring, extent, word, by) != HandOver::not_held) ++count;
  }
  return count;
}

Bytes payload_in(const SharedRing& ring, SlotIndex slot) noexcept {
  const TaskContents& contents = ring.slot(slot).contents;
  note_plain_read(&contents);
  return bytes_of(ring, stated_by(contents), {slot, ExtentUse::payload});
}

Bytes result_in(const SharedRing& ring, SlotIndex slot) noexcept {
  const TaskResult& result = ring.result(slot);
  note_plain_read(&result);
  return bytes_of(ring, stated_by(result), {slot, ExtentUse::result});
}

}  // namespace muster
