// slot_word.hpp: the word that alone says what a slot is, and the tag by which rings name a slot.
//
// A slot's word holds its state, who is answerable for it, how often it was tried and which of its
// many lives this is. It changes only by compare-and-swap from a value that the changer has seen,
// so between "taken" and "recorded who took it" there is no instruction to die at.
//
//     bits    0-2 state   3 cancelled   4-7 attempt   8-23 owner   24-63 generation
//
// A tag is what a ring holds of a word: slot, attempt and the low bits of the generation. An entry
// of a ring is a tag and the cycle (lap) of its position. An entry whose tag does not fit the
// slot's word any more is stale, and whoever meets it passes it by.
//
//     tag     0-17 slot   18-21 attempt   22-31 generation        entry   0-31 tag   32-63 cycle
//
// Changing this layout: change kRingVersion in shared_layout.hpp and docs/protocol.md with it.
// Thread safety: values.
#pragma once

#include <cstdint>

namespace muster {

// In the order of a task's life.
enum class SlotState : std::uint8_t {
  free,      // the owner published it, or still has to
  writing,   // the owner puts a task in
  ready,     // the owner published it, or still has to
  claimed,   // the owner runs it
  done,      // the owner ran it
  settling,  // the owner reads the result, or decides what becomes of it
  delayed,   // the owner will make it ready again later
};

using ParticipantIndex = std::uint16_t;
using SlotIndex = std::uint32_t;

inline constexpr unsigned kSlotBits = 18;
inline constexpr unsigned kAttemptBits = 4;
inline constexpr unsigned kTagGenerationBits = 32 - kSlotBits - kAttemptBits;
inline constexpr std::uint32_t kMaxSlots = std::uint32_t{1} << kSlotBits;
inline constexpr std::uint8_t kMaxAttempts = (1U << kAttemptBits) - 1;

struct SlotWord {
  SlotState state = SlotState::free;
  bool cancelled = false;
  std::uint8_t attempt = 0;
  ParticipantIndex owner = 0;
  std::uint64_t generation = 0;

  bool operator==(const SlotWord&) const = default;

  static constexpr SlotWord from_bits(std::uint64_t bits) noexcept {
    return {.state = static_cast<SlotState>(bits & 7),
            .cancelled = (bits >> 3 & 1) != 0,
            .attempt = static_cast<std::uint8_t>(bits >> 4 & kMaxAttempts),
            .owner = static_cast<ParticipantIndex>(bits >> 8),
            .generation = bits >> 24};
  }

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept {
    return static_cast<std::uint64_t>(state) | std::uint64_t{cancelled} << 3 |
           std::uint64_t{attempt} << 4 | std::uint64_t{owner} << 8 | generation << 24;
  }

  // The same slot in another state, with another owner.
  [[nodiscard]] constexpr SlotWord moved(SlotState to, ParticipantIndex by) const noexcept {
    SlotWord word = *this;
    word.state = to;
    word.owner = by;
    return word;
  }

  // What the word becomes when `by` takes the slot out of a ring: free slots to write, ready ones
  // to run, done ones to settle. The attempt is counted here, before anything is run.
  [[nodiscard]] constexpr SlotWord taken(ParticipantIndex by) const noexcept {
    switch (state) {
      case SlotState::free:
        return {SlotState::writing, false, 0, by, (generation + 1) & kGenerationMask};
      case SlotState::ready: {
        SlotWord word = moved(SlotState::claimed, by);
        word.attempt = static_cast<std::uint8_t>((attempt + 1) & kMaxAttempts);
        return word;
      }
      default:
        return moved(SlotState::settling, by);
    }
  }

  static constexpr std::uint64_t kGenerationMask = (std::uint64_t{1} << 40) - 1;
};

using Tag = std::uint32_t;

constexpr Tag tag_of(const SlotWord& word, SlotIndex slot) noexcept {
  return static_cast<Tag>(word.generation << (kSlotBits + kAttemptBits)) |
         static_cast<Tag>(word.attempt) << kSlotBits | slot;
}

constexpr SlotIndex slot_of(Tag tag) noexcept {
  return tag & (kMaxSlots - 1);
}

struct RingEntry {
  std::uint32_t cycle;
  Tag tag;

  static constexpr RingEntry from_bits(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<Tag>(bits)};
  }
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept {
    return std::uint64_t{cycle} << 32 | tag;
  }
};

}  // namespace muster
