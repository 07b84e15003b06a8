// shared_ring.hpp: tasks handed from process to process through memory that both have mapped.
//
//     SharedRing ring;                                       // in each process
//     if (ring.attach(memory) != AttachOutcome::attached) ...
//     RingProducer(ring, 0).submit(contents);                // ring_producer.hpp
//     Claim claim = RingWorker(ring, 1).claim();             // ring_worker.hpp
//     RingSupervisor(ring, 0).sweep(1, found);               // ring_supervisor.hpp
//
// A slot's word is the only authority on a task; three rings (ready, done, free) are mere lists of
// where to look. Any participant may be killed at any instruction: the others go on, and a sweep of
// the dead one brings back what it held. Nothing is lost, nothing is taken twice.
//
// A view of memory that belongs to the caller, which must outlive it; copies share the memory.
// Needs nothing but the compiler (and shared_futex.hpp to sleep): no allocation, no exceptions.
//
// Thread safety: format() alone; everything else from any participant. Each index belongs to one
// participant at a time; threads that live and die together may share one, but not sleep under it.
// Of a pair see RingParties.
// Ordering: whatever was done before a task is published is visible to whoever claims it, and
// whatever was done before it is completed is visible to whoever collects it.
// Design note: docs/protocol.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <muster/base/api.hpp>
#include <muster/queues/extent_word.hpp>
#include <muster/queues/pair_lane.hpp>
#include <muster/queues/shared_layout.hpp>
#include <muster/queues/shared_sleepers.hpp>
#include <muster/queues/tag_ring.hpp>

namespace muster {

enum class AttachOutcome {
  attached,
  misaligned,     // the memory must begin at a cache line
  too_small,      // shorter than what is asked for, or than the header says
  unformatted,    // nobody has formatted it yet, or somebody is about to
  not_a_ring,     // the magic number is another
  wrong_version,  // a ring, but not of kRingVersion
  bad_geometry,   // sizes that no ring can have, or that contradict each other
};

// What is wrong and what to do, for a message.
[[nodiscard]] MUSTER_API const char* describe(AttachOutcome outcome) noexcept;

// What one task was given: the slot, and which of its lives.
struct TaskPlace {
  SlotIndex slot = 0;
  std::uint64_t generation = 0;
};

// How a slot or an extent was handed on.
enum class HandOver {
  done,
  fenced,     // this participant was declared dead, and the slot is no longer its
  damaged,    // see SharedRing::damage()
  too_large,  // there are more bytes than room for them
  not_held,   // the extent is not, or no longer, this participant's
};

class MUSTER_API SharedRing {
 public:
  SharedRing() = default;

  // Bytes that a ring of this geometry needs. Requires: valid(geometry).
  [[nodiscard]] static std::uint64_t bytes_for(const RingGeometry& geometry) noexcept {
    return layout_of(geometry).total_bytes;
  }

  // Makes an empty ring in memory that nobody else uses yet, and attaches to it.
  [[nodiscard]] AttachOutcome format(std::span<std::byte> memory,
                                     const RingGeometry& geometry) noexcept;

  // Checks what is there and views it. Whatever the bytes are, only the header is believed, and
  // only after it was checked.
  [[nodiscard]] AttachOutcome attach(std::span<std::byte> memory) noexcept;

  [[nodiscard]] const RingGeometry& geometry() const noexcept { return geometry_; }

  // Gives an index to `who` (not 0; a process id, say). False if somebody has it: also one who is
  // dead and was not swept.
  [[nodiscard]] bool occupy(ParticipantIndex index, std::uint64_t who) const noexcept;
  [[nodiscard]] std::uint64_t occupant(ParticipantIndex index) const noexcept;

  // By a participant that holds nothing and will never sleep again, and at the end of a sweep.
  void vacate(ParticipantIndex index) const noexcept;

  // Racy: is there a result? For those who look again and again.
  [[nodiscard]] bool has_done() const noexcept {
    return is_pair() ? lane_.has_done() : done_.has_entry();
  }

  // Racy: tasks that wait, results that wait, slots and extents that are free.
  // Of a pair those that are claimed count as results, too.
  [[nodiscard]] std::uint64_t ready_approx() const noexcept {
    return is_pair() ? lane_.ready_approx() : ready_.size_approx();
  }
  [[nodiscard]] std::uint64_t done_approx() const noexcept {
    return is_pair() ? lane_.begun_approx() : done_.size_approx();
  }
  [[nodiscard]] std::uint64_t free_approx() const noexcept {
    return is_pair() ? lane_.free_approx() : free_.size_approx();
  }

  [[nodiscard]] std::uint64_t free_extents_approx() const noexcept {
    return free_extents_.size_approx();
  }

  // Operations that gave up for contention, of all participants.
  [[nodiscard]] std::uint64_t contended() const noexcept;

  // How often something was found that no run leaves behind. Above 0: end every participant and
  // begin with new memory.
  [[nodiscard]] std::uint64_t damage() const noexcept;

  [[nodiscard]] bool is_pair() const noexcept { return geometry_.parties == RingParties::pair; }

  // For the roles: how slots go from state to state, by rings or of a pair by its lane.
  [[nodiscard]] Taken take_free(ParticipantIndex by) const noexcept;
  [[nodiscard]] Taken take_ready(ParticipantIndex by) const noexcept;
  [[nodiscard]] Taken take_done(ParticipantIndex by) const noexcept;
  PutOutcome put_ready(SlotIndex slot, const SlotWord& word) const noexcept;
  PutOutcome put_done(SlotIndex slot, const SlotWord& word) const noexcept;

  // For the roles, and for tests. Of a pair the rings are empty, and of others the lane.
  [[nodiscard]] const PairLane& lane() const noexcept { return lane_; }
  [[nodiscard]] PairLane& lane() noexcept { return lane_; }
  [[nodiscard]] const TagRing& ready() const noexcept { return ready_; }
  [[nodiscard]] const TagRing& done() const noexcept { return done_; }
  [[nodiscard]] const TagRing& free() const noexcept { return free_; }
  [[nodiscard]] const TagRing& free_extents() const noexcept { return free_extents_; }
  [[nodiscard]] SharedSleepers sleepers(Awaited awaited) const noexcept;
  [[nodiscard]] TaskSlot& slot(SlotIndex index) const noexcept { return slots_[index]; }
  [[nodiscard]] TaskResult& result(SlotIndex index) const noexcept {
    return results_[index].result;
  }
  [[nodiscard]] ParticipantRecord& participant(ParticipantIndex index) const noexcept {
    return participants_[index];
  }
  [[nodiscard]] SlotWord word(SlotIndex index) const noexcept {
    // relaxed: a look; whoever acts on it exchanges the word.
    return SlotWord::from_bits(slots_[index].word.load(relaxed));
  }
  [[nodiscard]] bool names_extent(Tag tag) const noexcept {
    return is_extent_tag(tag) && extent_of(tag) < geometry_.extents;
  }
  [[nodiscard]] std::span<std::byte> extent_memory(ExtentIndex extent) const noexcept {
    return {arena_ + std::size_t{extent} * geometry_.extent_bytes, geometry_.extent_bytes};
  }

  // After freeing a slot or an extent.
  void wake_for_room() const noexcept;
  void note_contended(ParticipantIndex index) const noexcept {
    participants_[index].contended.fetch_add(1, relaxed);  // relaxed: a count
  }
  void note_damage() const noexcept;

 private:
  void view(std::byte* memory, const RingGeometry& geometry) noexcept;
  void make_atomics() const noexcept;
  void fill_free() const noexcept;

  // Fixed when attached.
  RingGeometry geometry_;
  RingLayout layout_;
  RingHeader* header_ = nullptr;
  ParticipantRecord* participants_ = nullptr;
  std::byte* sleepers_ = nullptr;
  TaskSlot* slots_ = nullptr;
  ResultLine* results_ = nullptr;
  TagRing ready_;
  TagRing done_;
  TagRing free_;
  PairLane lane_;
  TagRing free_extents_;
  std::byte* arena_ = nullptr;
};

}  // namespace muster
