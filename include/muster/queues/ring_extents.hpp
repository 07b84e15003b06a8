// ring_extents.hpp: memory of a shared ring for what does not fit into a slot.
//
//     RingExtents extents(ring, me);
//     if (const Allocated extent = extents.allocate(); extent.outcome == TakeOutcome::taken) {
//       write(extents.memory(extent.tag), payload);
//       contents.extent = extent.tag;
//       contents.payload_bytes = payload.size();
//       submit(contents);                          // from here on it belongs to the task
//     }
//
// An extent is free, held by a participant or attached to a task; RingProducer::submit and
// RingWorker::complete attach what their caller holds, RingSupervisor::release frees what is
// attached. What a participant holds when it dies is freed by the sweep. All are of one size, and
// nothing is kept back: whoever needs extents for results must not give all away for payloads.
//
// Lifetime: the ring outlives it.
// Thread safety: as SharedRing.
// Ordering: who allocates an extent comes after all that was done with it before it was freed.
// Design note: docs/protocol.md
#pragma once

#include <cstddef>
#include <span>

#include <muster/base/api.hpp>
#include <muster/queues/extent_word.hpp>
#include <muster/queues/shared_ring.hpp>

namespace muster {

struct Allocated {
  TakeOutcome outcome = TakeOutcome::empty;  // empty: sleep for Awaited::room, or come again
  Tag tag = 0;                               // if taken; never 0 then
};

class MUSTER_API RingExtents {
 public:
  RingExtents(const SharedRing& ring, ParticipantIndex index) noexcept
      : ring_(ring), index_(index) {}
  RingExtents(SharedRing&&, ParticipantIndex) = delete;

  // One that this participant holds from here on. What stands in it is left from before.
  [[nodiscard]] Allocated allocate() const noexcept;

  // All of it, whoever has it; nothing if this is not the tag of an extent of this ring.
  [[nodiscard]] std::span<std::byte> memory(Tag extent) const noexcept;

  // Gives back one that this participant holds, and wakes those who wait for room.
  HandOver free(Tag extent) const noexcept;

 private:
  const SharedRing& ring_;
  ParticipantIndex index_;
};

}  // namespace muster
