// pair_lane.hpp: the way of tasks between two: one sends them and gets their results, one works.
//
// Nothing but positions: the task at position p stands in slot p mod slots, in the life (p / slots)
// + 1 of that slot. So neither side needs a list of where to look. The worker looks at the next
// slot's word, the sender at the next result's turn, and each finds there all that it needs: one
// line of memory goes over, and one comes back.
//
//     submitted --> | ready ready ready | --> claimed --> | done done | --> collected
//                     take_back() <--'
//
// Both want a task that is ready: the worker to run it, the sender to take it back, the newest
// first. An exchange of the slot's word decides. All else is done by stores, since there is nobody
// to interfere. The worker may be killed at any instruction: what it left is told by the words, and
// a sweep publishes a result that it still owed.
//
// Thread safety: claim() and publish_done() by the worker, on one thread at a time; the rest by the
// sender, likewise.
// Ordering: what was done before publish_ready() is visible to whoever claims, and what was done
// before publish_done() to whoever collects.
// Design note: docs/protocol.md, "Pairs"
#pragma once

#include <bit>
#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/queues/shared_layout.hpp>
#include <muster/queues/slot_word.hpp>
#include <muster/queues/tag_ring.hpp>

namespace muster {

inline constexpr ParticipantIndex kPairSender = 0;
inline constexpr ParticipantIndex kPairWorker = 1;

// The next position of each kind.
struct PairPositions {
  Atomic<std::uint64_t> submitted = 0;
  Atomic<std::uint64_t> claimed = 0;
  Atomic<std::uint64_t> collected = 0;
};

class MUSTER_API PairLane {
 public:
  struct Parts {
    Atomic<std::uint64_t>* submitted;  // by the sender
    Atomic<std::uint64_t>* claimed;    // by the worker
    Atomic<std::uint64_t>* collected;  // by the sender
    TaskSlot* slots;
    ResultLine* results;
    std::uint32_t count;  // of slots, a power of two
    Atomic<std::uint64_t>* damage;
  };

  PairLane() = default;
  explicit PairLane(const Parts& parts) noexcept : parts_(parts) {}

  // From now on the positions of whoever uses this view stand in `own`, as they are, where nobody
  // else can spoil them. Nobody can go on in its place then, should it die, and the counts below
  // tell nothing.
  void keep_positions_in(PairPositions& own) noexcept;

  // The next slot, to be written; empty if its last task is not released yet.
  [[nodiscard, gnu::hot]] Taken take_free() const noexcept;

  // The slot of the last take_free() is ready.
  void publish_ready() const noexcept;

  // The newest task that nobody has claimed. It is as if it had not been submitted, and its slot is
  // held as by take_free(); to be released before the next task is submitted.
  [[nodiscard]] Taken take_back() const noexcept;

  // The oldest task that is ready.
  [[nodiscard, gnu::hot]] Taken claim() const noexcept;

  // The slot is done; `word` is what stands there.
  void publish_done(SlotIndex slot, const SlotWord& word) const noexcept;

  // The oldest task that was submitted, if it is done. One that a dead worker had claimed holds
  // back those behind it until it is released.
  [[nodiscard, gnu::hot]] Taken collect() const noexcept;

  // Racy: would collect() find something?
  [[nodiscard]] bool has_done() const noexcept {
    // relaxed: only the sender changes it.
    const std::uint64_t position = parts_.collected->load(relaxed);
    const SlotIndex slot = slot_at(position);
    // relaxed: racy by contract.
    if (parts_.results[slot].turn.load(relaxed) != turn_at(position)) return false;
    __builtin_prefetch(&parts_.slots[slot]);  // soon to be collected
    return true;
  }

  // When the worker is dead: the next one claims what this one has not.
  void mend_claimed() const noexcept;

  // What a slot becomes that is held as `word` when it is given back.
  [[nodiscard]] SlotWord free_word(const SlotWord& word) const noexcept;

  // Racy: tasks that are ready, those that are claimed or done, and slots that are free.
  [[nodiscard]] std::uint64_t ready_approx() const noexcept;
  [[nodiscard]] std::uint64_t begun_approx() const noexcept;
  [[nodiscard]] std::uint64_t free_approx() const noexcept;

 private:
  [[nodiscard]] SlotIndex slot_at(std::uint64_t position) const noexcept {
    return static_cast<SlotIndex>(position & (parts_.count - 1));
  }
  [[nodiscard]] std::uint64_t life_at(std::uint64_t position) const noexcept {
    return ((position >> std::countr_zero(parts_.count)) + 1) & SlotWord::kGenerationMask;
  }
  [[nodiscard]] std::uint32_t turn_at(std::uint64_t position) const noexcept {
    return static_cast<std::uint32_t>(life_at(position));
  }
  [[nodiscard]] Atomic<std::uint64_t>& word(SlotIndex slot) const noexcept {
    return parts_.slots[slot].word;
  }
  void note_damage() const noexcept;

  // Fixed at construction.
  Parts parts_{};
};

}  // namespace muster
