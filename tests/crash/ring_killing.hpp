// ring_killing.hpp: kills a participant of the shared ring at every instruction of an operation;
// one sweep must bring everything back.
//
// A process is led through the operation, instruction by instruction. Behind each, what a kill
// would leave is what stands in the shared memory: where that has changed, a copy of it is swept,
// what is left goes its way, and then every task that was accepted must have come out once, every
// slot and every extent must be free, and the ring must work for several laps.
// Then the same with real kills: at each instruction that changed the memory, and besides once in
// so many; MUSTER_KILL_STRIDE=1 kills at every single one, which takes minutes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <muster/queues/ring_extents.hpp>
#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/queues/ring_worker.hpp>

namespace muster::testing {

inline constexpr ParticipantIndex kSupervisor = 0;
inline constexpr ParticipantIndex kVictim = 1;
inline constexpr ParticipantIndex kOther = 2;
inline constexpr ParticipantIndex kHeir = 3;

using Steps = std::function<void(const SharedRing&)>;

struct Operation {
  std::string name;
  Steps before;  // by others, or by the victim while it lived
  Steps victim;
  std::uint64_t tasks_before = 0;  // ids 1 .. so many were accepted
  std::uint64_t most_tasks = 0;    // and those up to here may have been
  bool delivers = true;            // if not, what it leaves settling still has its result
};

// Who is killed, and so what must hold afterwards.
enum class Dies {
  participant,  // kVictim of a ring of many
  pair_worker,  // the sender sweeps, at once or having gone on for a while, and gives up what the
                // worker had begun, or submits it anew
  pair_sender,  // nobody sweeps; the worker must not claim half a task, or one twice
};

struct KillingOptions {
  RingGeometry geometry;
  std::uint64_t stride = 7;  // a real kill at every so many instructions
  Dies dies = Dies::participant;
};

// In the current GoogleTest test: fails where something is not brought back.
void kill_everywhere(const std::vector<Operation>& operations, const KillingOptions& options);

// What operations are made of.

void nothing(const SharedRing& ring);

// A task whose payload is full of its id.
TaskContents task(std::uint64_t id);

// The same with its payload in an extent; without any if none is free.
TaskContents large_task(const SharedRing& ring, ParticipantIndex by, std::uint64_t id);

// One participant submits tasks `first` to `last`.
struct Ids {
  std::uint64_t first;
  std::uint64_t last;
};
Steps submits(ParticipantIndex by, Ids ids);
Steps submits_large(ParticipantIndex by, Ids ids);

// Claims a task and completes it with what it read in its payload; with a result in an extent if
// the payload is in one. False if there is none.
bool work_one(const SharedRing& ring, ParticipantIndex by);

// Takes two extents and gives them back.
inline Steps allocates_two_and_frees(ParticipantIndex by) {
  return [by](const SharedRing& ring) {
    const RingExtents extents(ring, by);
    const Allocated first = extents.allocate();
    const Allocated second = extents.allocate();
    extents.free(first.tag);
    extents.free(second.tag);
  };
}

// What a supervisor does with what it finds.
void sweep_and_retry(const SharedRing& ring, ParticipantIndex by, ParticipantIndex dead);

}  // namespace muster::testing
