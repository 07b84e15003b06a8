// ring_supervisor.hpp: collecting results, giving slots back, and sweeping up after the dead.
//
//     RingSupervisor supervisor(ring, me);
//     while (const Settling settling = supervisor.collect(); settling.outcome ==
//     TakeOutcome::taken)
//     {
//       deliver(supervisor.contents(settling), supervisor.result(settling));
//       supervisor.release(settling);
//     }
//
// and, when the kernel has reported the death of a participant, and not before:
//
//     std::array<Settling, 16> found;
//     do {
//       swept = supervisor.sweep(dead, found);
//       for (const Settling& task : std::span(found).first(swept.count)) retry or release it
//     } while (swept.outcome == SweepOutcome::more);
//
// Lifetime: the ring outlives it.
// Thread safety: as SharedRing.
// Design note: docs/protocol.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <muster/base/api.hpp>
#include <muster/queues/ring_worker.hpp>
#include <muster/queues/shared_ring.hpp>

namespace muster {

// A slot that is ours to decide about, as its word is now. After collect() it is settling; after a
// sweep it is what the dead one had made of it: claimed (it was being run), settling or delayed.
using Settling = Taken;

enum class SweepOutcome {
  complete,
  more,  // there was no room for all that was found: deal with it and sweep again
};

struct SweepResult {
  SweepOutcome outcome = SweepOutcome::complete;
  std::uint32_t count = 0;      // tasks found
  std::uint32_t published = 0;  // slots and extents whose publication the dead one still owed
  std::uint32_t extents = 0;    // that the dead one held; they are free now
};

enum class RetryOutcome {
  retried,
  exhausted,  // it was tried kMaxAttempts times, or this is a pair; it is still ours
  fenced,
  damaged,
};

class MUSTER_API RingSupervisor {
 public:
  RingSupervisor(const SharedRing& ring, ParticipantIndex index) noexcept
      : ring_(ring), index_(index) {}
  RingSupervisor(SharedRing&&, ParticipantIndex) = delete;

  // The oldest result that waits.
  [[nodiscard]] Settling collect() const noexcept;

  [[nodiscard]] const TaskContents& contents(const Settling& settling) const noexcept;
  [[nodiscard]] const TaskResult& result(const Settling& settling) const noexcept;

  // The task's payload and its result's, inline or in an extent, in place: they stay until
  // released. Nothing if no correct run leaves what stands there (see SharedRing::damage()), or if
  // whoever was swept had kept the result or begun to release the slot, and so had delivered it.
  using Bytes = std::optional<std::span<const std::byte>>;
  [[nodiscard]] Bytes payload(const Settling& settling) const noexcept;
  [[nodiscard]] Bytes result_payload(const Settling& settling) const noexcept;

  // The result's extent is held by this participant from here on, so that what is in it stays when
  // the slot is released; RingExtents::free() gives it back. 0 if there is none.
  [[nodiscard]] Tag keep_result(const Settling& settling) const noexcept;

  // The task is settled: frees the extents of its payload and of its result, gives the slot back
  // and wakes one who waits for room.
  [[gnu::hot]] HandOver release(const Settling& settling) const noexcept;

  // Makes the task ready once more, behind those that wait. It keeps its payload's extent, but not
  // that of a result.
  RetryOutcome retry(const Settling& settling) const noexcept;

  // Keeps it for later; retry() with the word that is returned. Not of a pair: not_held.
  HandOver delay(Settling& settling) const noexcept;

  // Brings back what the dead one held, publishes what it owed, wakes everybody and vacates its
  // index. May be repeated, also by others at the same time, and after the death of a sweeper.
  // Requires: the kernel has reported the death; it is not this participant, and of a pair it is 1.
  [[nodiscard]] SweepResult sweep(ParticipantIndex dead, std::span<Settling> found) const noexcept;

 private:
  [[nodiscard]] bool still_ours(const Settling& settling) const noexcept;
  bool free_extent_of(const Settling& settling, ExtentUse use) const noexcept;
  HandOver release_of_pair(const Settling& settling) const noexcept;
  std::uint32_t publish_lane(ParticipantIndex dead) const noexcept;
  [[nodiscard]] bool drop_result(Settling& settling) const noexcept;
  [[nodiscard]] Settling seize(SlotIndex slot, ParticipantIndex dead) const noexcept;
  std::uint32_t publish_owed(const TagRing& ring, SlotState state,
                             ParticipantIndex dead) const noexcept;
  std::uint32_t publish_owed_of(const TagRing& ring, SlotState state, ParticipantIndex dead,
                                SlotIndex first) const noexcept;

  const SharedRing& ring_;
  ParticipantIndex index_;
};

}  // namespace muster
