// tag_ring.hpp: a ring of slots by their tags, which survives the death of anybody at any step.
//
// One compare-and-swap publishes an entry, one takes the slot it names; head and tail follow, and
// whoever comes next moves them on if nobody did. The taking is a change of the slot's own word,
// never of the ring, so rings may hold entries that are stale or there twice: they fit no word and
// are passed by.
//
// A view: copies share the ring. Needs nothing but the compiler.
//
// Thread safety: any participant.
// Ordering: what was done before put() is visible to whoever takes the slot through that entry.
// Lock-free: yes, also among processes that are killed.
// Design note: docs/protocol.md
#pragma once

#include <cstddef>
#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/queues/shared_layout.hpp>
#include <muster/queues/slot_word.hpp>

namespace muster {

// Words that stand in memory at equal distances.
class SlotWords {
 public:
  SlotWords() = default;
  SlotWords(std::byte* first, std::size_t stride, std::uint32_t count) noexcept
      : first_(first), stride_(stride), count_(count) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] Atomic<std::uint64_t>& operator[](SlotIndex slot) const noexcept {
    return *reinterpret_cast<Atomic<std::uint64_t>*>(first_ + slot * stride_);
  }

 private:
  std::byte* first_ = nullptr;
  std::size_t stride_ = 0;
  std::uint32_t count_ = 0;
};

enum class TakeOutcome {
  taken,
  empty,
  contended,  // others were faster too many times in a row; nothing was changed
};

struct Taken {
  TakeOutcome outcome = TakeOutcome::empty;
  SlotIndex slot = 0;
  SlotWord word = {};  // as it is now
};

enum class PutOutcome {
  put,
  refused,  // no correct run gets here: the memory is damaged
};

class MUSTER_API TagRing {
 public:
  struct Parts {
    RingEnds* ends;
    Atomic<std::uint64_t>* cells;
    std::uint32_t capacity;  // a power of two, at least twice words.count()
    SlotWords words;
    Atomic<std::uint64_t>* damage;
  };

  TagRing() = default;
  explicit TagRing(const Parts& parts) noexcept : parts_(parts) {}

  // Before others have the ring: empty, as if it had been passed once. Makes the cells.
  void format() const noexcept;

  // Publishes the slot, whose word must fit the tag. Tries until it succeeds.
  PutOutcome put(Tag tag) const noexcept;

  // Takes the first slot that is in the state `from` and fits its entry.
  [[nodiscard]] Taken take(SlotState from, ParticipantIndex by) const noexcept;

  // Is there an entry ahead of the head in this cell? Then `tag` receives it.
  [[nodiscard]] bool pending(std::uint32_t cell, Tag& tag) const noexcept;

  [[nodiscard]] std::uint32_t capacity() const noexcept { return parts_.capacity; }
  [[nodiscard]] const SlotWords& words() const noexcept { return parts_.words; }

  // Racy: may take() find something? Looks where take() does, and nowhere else.
  [[nodiscard]] bool has_entry() const noexcept;

  // Racy: entries that were put and not yet passed.
  [[nodiscard]] std::uint64_t size_approx() const noexcept;

 private:
  [[nodiscard]] Atomic<std::uint64_t>& cell(std::uint64_t position) const noexcept {
    return parts_.cells[position & (parts_.capacity - 1)];
  }
  [[nodiscard]] std::uint32_t cycle_of(std::uint64_t position) const noexcept;
  bool pass(std::uint64_t position) const noexcept;
  void help_tail(std::uint64_t position) const noexcept;
  [[nodiscard]] bool full(std::uint64_t position) const noexcept;
  void note_damage() const noexcept;

  // Fixed at construction.
  Parts parts_{};
};

}  // namespace muster
