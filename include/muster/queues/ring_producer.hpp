// ring_producer.hpp: putting tasks into a shared ring, and calling them off.
//
//     const Submitted submitted = RingProducer(ring, me).submit(contents);
//     if (submitted.outcome == SubmitOutcome::no_room) /* as many are under way as there are slots
//     */;
//
// Lifetime: the ring outlives it.
// Thread safety: as SharedRing.
// Design note: docs/protocol.md
#pragma once

#include <cstdint>
#include <span>

#include <muster/base/api.hpp>
#include <muster/queues/shared_ring.hpp>

namespace muster {

enum class SubmitOutcome {
  submitted,
  no_room,    // every slot is in use; sleep for Awaited::room, or come again
  contended,  // others were faster too many times in a row; nothing was changed
  too_large,  // the payload does not fit into a slot, or not into its extent
  not_held,   // the extent is not, or no longer, this participant's
  fenced,     // this participant was declared dead; it must end
  damaged,    // see SharedRing::damage()
};

struct Submitted {
  SubmitOutcome outcome = SubmitOutcome::no_room;
  TaskPlace place = {};  // if submitted
};

struct BatchSubmitted {
  SubmitOutcome outcome = SubmitOutcome::submitted;  // why not more
  std::uint32_t count = 0;                           // the first so many were submitted
};

enum class CancelOutcome {
  cancelled,  // whoever claims it, or has it, sees so
  too_late,   // it is done, or gone
};

class MUSTER_API RingProducer {
 public:
  RingProducer(const SharedRing& ring, ParticipantIndex index) noexcept
      : ring_(ring), index_(index) {}
  RingProducer(SharedRing&&, ParticipantIndex) = delete;

  // Puts one task in and wakes one who waits for work. An extent that this producer holds goes with
  // it; if there is no room, or the task is refused, it is still held.
  [[nodiscard, gnu::hot]] Submitted submit(const TaskContents& contents) const noexcept;

  // The same for several, in order, waking as many. `places` is as long as `tasks`, or empty.
  [[nodiscard]] BatchSubmitted submit_batch(std::span<const TaskContents> tasks,
                                            std::span<TaskPlace> places = {}) const noexcept;

  // Of a pair: takes back the newest task that nobody has claimed, as if it had not been submitted;
  // to be released (RingSupervisor) before the next is. Empty if all are claimed.
  [[nodiscard]] Taken take_back() const noexcept { return ring_.lane().take_back(); }

  // Marks a task that is not done yet. It still goes its way, so that no list has to be searched.
  CancelOutcome cancel(const TaskPlace& place) const noexcept;

 private:
  [[nodiscard, gnu::hot]] Submitted submit_quietly(const TaskContents& contents) const noexcept;

  const SharedRing& ring_;
  ParticipantIndex index_;
};

}  // namespace muster
