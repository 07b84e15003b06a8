// extent_word.hpp: what a word says of an extent, and the tag by which a task refers to one.
//
// An extent's word is a slot's word (slot_word.hpp), in four states:
//
//     free      in the ring of free extents, or its owner still has to put it there
//     writing   held by its owner, a participant
//     ready     attached: the payload of a slot, whose number stands where attempt and owner were
//     done      attached: the result of a slot, likewise
//
// An attached extent belongs to its slot, and so to whoever holds that. The slot refers to the
// extent and the extent's word names the slot; only where both agree is there anything to read or
// to free. So a reference that is old, or was never completed, does no harm however often the
// extent has been used since.
//
//     tag     0-17 extent   18-21 always 1, so that no tag is 0   22-31 generation
//
// Changing this layout: change kRingVersion in shared_layout.hpp and docs/protocol.md with it.
// Thread safety: values.
#pragma once

#include <cstdint>

#include <muster/queues/slot_word.hpp>

namespace muster {

using ExtentIndex = SlotIndex;

enum class ExtentUse : std::uint8_t { payload, result };

// Where an extent is attached.
struct ExtentPlace {
  SlotIndex slot = 0;
  ExtentUse use = ExtentUse::payload;
};

// The word of the same extent in the same life, attached there.
constexpr SlotWord attached(const SlotWord& word, const ExtentPlace& place) noexcept {
  constexpr unsigned kOwnerBits = 16;
  return {.state = place.use == ExtentUse::payload ? SlotState::ready : SlotState::done,
          .cancelled = false,
          .attempt = static_cast<std::uint8_t>(place.slot >> kOwnerBits),
          .owner = static_cast<ParticipantIndex>(place.slot),
          .generation = word.generation};
}

constexpr bool is_attached(const SlotWord& word, const ExtentPlace& place) noexcept {
  return word == attached(word, place);
}

constexpr bool is_held(const SlotWord& word, ParticipantIndex by) noexcept {
  return word.state == SlotState::writing && word.owner == by;
}

constexpr Tag extent_tag(const SlotWord& word, ExtentIndex extent) noexcept {
  return static_cast<Tag>(word.generation << (kSlotBits + kAttemptBits)) | Tag{1} << kSlotBits |
         extent;
}

constexpr ExtentIndex extent_of(Tag tag) noexcept {
  return slot_of(tag);
}

// Can this be the tag of an extent? All but one in sixteen numbers cannot.
constexpr bool is_extent_tag(Tag tag) noexcept {
  return (tag >> kSlotBits & kMaxAttempts) == 1;
}

}  // namespace muster
