// ring_worker.hpp: taking tasks out of a shared ring, and handing in what came of them.
//
//     RingWorker worker(ring, me);
//     if (const Claim claim = worker.claim(); claim.outcome == TakeOutcome::taken) {
//       worker.complete(claim, run(worker.contents(claim)));
//     }
//
// Lifetime: the ring outlives it.
// Thread safety: as SharedRing; record() by one thread.
// Design note: docs/protocol.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <muster/base/api.hpp>
#include <muster/queues/shared_ring.hpp>

namespace muster {

// A slot that was taken, as its word was then.
using Claim = Taken;

class MUSTER_API RingWorker {
 public:
  RingWorker(const SharedRing& ring, ParticipantIndex index) noexcept
      : ring_(ring), index_(index) {}
  RingWorker(SharedRing&&, ParticipantIndex) = delete;

  // The oldest task that waits. Its attempt is counted from here on.
  [[nodiscard]] Claim claim() const noexcept;

  // As many as are there and fit; says how many.
  std::uint32_t claim_batch(std::span<Claim> claims) const noexcept;

  // Stays as it is until the task is completed.
  [[nodiscard]] const TaskContents& contents(const Claim& claim) const noexcept;

  // The task's payload, inline or in its extent, in place: it stays until the task is completed.
  // Nothing if no correct run leaves what stands there; see SharedRing::damage().
  [[nodiscard]] std::optional<std::span<const std::byte>> payload(
      const Claim& claim) const noexcept;

  // Whether somebody has called it off, before or since it was claimed.
  [[nodiscard]] bool cancelled(const Claim& claim) const noexcept;

  // Hands the result in and wakes one who waits for results. An extent that this worker holds goes
  // with it. If it is too_large or not_held nothing was changed, and the task is still ours.
  HandOver complete(const Claim& claim, const TaskResult& result) const noexcept;

  // The same for those who wake the receiver by other means; a full fence must come before that.
  HandOver complete_quietly(const Claim& claim, const TaskResult& result) const noexcept;

  // What this worker did, for whoever watches: `busy_ns` on one task after `idle_ns` without.
  struct Spell {
    std::uint64_t busy_ns;
    std::uint64_t idle_ns;
  };
  void record(const Spell& spell) const noexcept;

  // A number of WorkerState (observe/worker_state.hpp, which stands above this layer).
  void set_state(std::uint8_t state) const noexcept;

 private:
  const SharedRing& ring_;
  ParticipantIndex index_;
};

}  // namespace muster
