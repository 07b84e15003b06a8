// ring_module.cpp: the ring for JavaScript: each export is one call of the ring, nothing more.
//
// Every thread instantiates the module on the same shared memory. What is static here would be one
// for all threads, so each has a Participant, in memory that ring_memory.mjs sets apart for it, and
// passes it to each call. Outcomes are the numbers of the ring's enums.
//
// Compiled for WebAssembly only, by CMakeLists.txt in this folder, without any library.
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <muster/queues/ring_extents.hpp>
#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/queues/ring_worker.hpp>

#include "integration/wasm/ring_story.hpp"

#define EXPORT(name) __attribute__((export_name(#name)))

namespace muster::ring_module {

struct Participant {
  SharedRing ring;
  ParticipantIndex index = 0;
  TaskContents task;  // to submit
  TaskResult result;  // to complete with
  Taken taken;        // what was claimed or collected last
  SweepResult swept;  // by the last sweep, all in all

  [[nodiscard]] RingProducer producer() const { return {ring, index}; }
  [[nodiscard]] RingWorker worker() const { return {ring, index}; }
  [[nodiscard]] RingSupervisor supervisor() const { return {ring, index}; }
  [[nodiscard]] RingExtents extents() const { return {ring, index}; }
};
static_assert(sizeof(Participant) <= 4096, "most of a thread's block is for its stack");

namespace {

template <class Outcome>
std::uint32_t number(Outcome outcome) {
  return static_cast<std::uint32_t>(outcome);
}

// The address, above it the size; 0 if there is nothing to read.
std::uint64_t packed(const RingSupervisor::Bytes& bytes) {
  if (!bytes) return 0;
  return std::uint64_t{bytes->size()} << 32 | reinterpret_cast<std::uintptr_t>(bytes->data());
}

// Is what one sleeps for there already?
bool found(const SharedRing& ring, Awaited awaited) {
  if (awaited == Awaited::work) return ring.ready_approx() > 0;
  if (awaited == Awaited::results) return ring.done_approx() > 0;
  return ring.free_approx() > 0 && ring.free_extents_approx() > 0;
}

}  // namespace

// --- beginning ----------------------------------------------------------------------------------

EXPORT(ring_bytes)
std::uint64_t ring_bytes(std::uint32_t slots, std::uint32_t participants, std::uint32_t extents,
                         std::uint32_t extent_bytes) {
  return SharedRing::bytes_for({slots, participants, extents, extent_bytes});
}

EXPORT(format)
std::uint32_t format(std::byte* memory, std::uint32_t bytes, std::uint32_t slots,
                     std::uint32_t participants, std::uint32_t extents,
                     std::uint32_t extent_bytes) {
  SharedRing ring;
  return number(ring.format({memory, bytes}, {slots, participants, extents, extent_bytes}));
}

EXPORT(attach)
std::uint32_t attach(Participant* place, std::byte* memory, std::uint32_t bytes,
                     std::uint32_t index) {
  auto& self = *new (place) Participant;
  self.index = static_cast<ParticipantIndex>(index);
  return number(self.ring.attach({memory, bytes}));
}

EXPORT(occupy) bool occupy(const Participant& self) {
  return self.ring.occupy(self.index, 1000U + self.index);
}

// --- a task's way -------------------------------------------------------------------------------

EXPORT(task_payload) std::byte* task_payload(Participant& self) {
  return self.task.payload.data();
}

EXPORT(submit)
std::uint32_t submit(Participant& self, std::uint64_t id, std::uint32_t bytes, Tag extent) {
  self.task.id = id;
  self.task.payload_bytes = bytes;
  self.task.extent = extent;
  return number(self.producer().submit(self.task).outcome);
}

EXPORT(claim) std::uint32_t claim(Participant& self) {
  self.taken = self.worker().claim();
  return number(self.taken.outcome);
}

EXPORT(result_payload) std::byte* result_payload(Participant& self) {
  return self.result.payload.data();
}

EXPORT(complete)
std::uint32_t complete(Participant& self, std::uint32_t status, std::uint32_t bytes, Tag extent) {
  self.result.status = status;
  self.result.payload_bytes = bytes;
  self.result.extent = extent;
  return number(self.worker().complete(self.taken, self.result));
}

EXPORT(collect) std::uint32_t collect(Participant& self) {
  self.taken = self.supervisor().collect();
  return number(self.taken.outcome);
}

EXPORT(release) std::uint32_t release(Participant& self) {
  return number(self.supervisor().release(self.taken));
}

// --- what was taken -----------------------------------------------------------------------------

EXPORT(taken_id) std::uint64_t taken_id(const Participant& self) {
  return self.supervisor().contents(self.taken).id;
}

EXPORT(taken_attempt) std::uint32_t taken_attempt(const Participant& self) {
  return self.taken.word.attempt;
}

EXPORT(taken_cancelled) bool taken_cancelled(const Participant& self) {
  return self.taken.word.cancelled;
}

EXPORT(taken_status) std::uint32_t taken_status(const Participant& self) {
  return self.supervisor().result(self.taken).status;
}

EXPORT(taken_payload) std::uint64_t taken_payload(const Participant& self) {
  return packed(self.supervisor().payload(self.taken));
}

EXPORT(taken_result) std::uint64_t taken_result(const Participant& self) {
  return packed(self.supervisor().result_payload(self.taken));
}

// --- extents ------------------------------------------------------------------------------------

EXPORT(allocate) Tag allocate(const Participant& self) {
  return self.extents().allocate().tag;
}

EXPORT(extent_memory) std::byte* extent_memory(const Participant& self, Tag extent) {
  return self.extents().memory(extent).data();
}

EXPORT(free_extent) std::uint32_t free_extent(const Participant& self, Tag extent) {
  return number(self.extents().free(extent));
}

// --- sleeping -----------------------------------------------------------------------------------

EXPORT(sleep)
std::uint32_t sleep(const Participant& self, std::uint32_t awaited, std::int64_t timeout_ns) {
  const SharedSleepers sleepers = self.ring.sleepers(static_cast<Awaited>(awaited));
  const SharedSleepers::Ticket ticket = sleepers.announce(self.index);
  if (!found(self.ring, static_cast<Awaited>(awaited))) {
    return number(sleepers.park(ticket, timeout_ns));
  }
  sleepers.withdraw(ticket);
  return number(SleepOutcome::woken);
}

EXPORT(asleep) std::uint32_t asleep(const Participant& self, std::uint32_t awaited) {
  return self.ring.sleepers(static_cast<Awaited>(awaited)).asleep_approx();
}

EXPORT(wake_all) void wake_all(const Participant& self) {
  self.ring.sleepers(Awaited::work).wake_all();
}

// --- deaths -------------------------------------------------------------------------------------

// What was being run is tried again, what was being settled is settled. Says how many were found.
EXPORT(sweep) std::uint32_t sweep(Participant& self, std::uint32_t dead) {
  const RingSupervisor supervisor = self.supervisor();
  self.swept = {};
  std::array<Settling, 16> found;
  SweepResult part;
  do {
    part = supervisor.sweep(static_cast<ParticipantIndex>(dead), found);
    for (const Settling& task : std::span(found).first(part.count)) {
      if (task.word.state == SlotState::settling)
        supervisor.release(task);
      else
        supervisor.retry(task);
    }
    self.swept.count += part.count;
    self.swept.published += part.published;
    self.swept.extents += part.extents;
  } while (part.outcome == SweepOutcome::more);
  return self.swept.count;
}

EXPORT(swept_owed) std::uint32_t swept_owed(const Participant& self) {
  return self.swept.published;
}

EXPORT(swept_extents) std::uint32_t swept_extents(const Participant& self) {
  return self.swept.extents;
}

// Task after task from submit to release, without end and without a return to JavaScript: who is
// ended in here is ended inside the ring.
EXPORT(churn) void churn(Participant& self) {
  for (;;) {
    self.task.extent = self.extents().allocate().tag;
    const SubmitOutcome submitted = self.producer().submit(self.task).outcome;
    if (submitted != SubmitOutcome::submitted) self.extents().free(self.task.extent);
    if (claim(self) == number(TakeOutcome::taken)) {
      complete(self, 0, 0, self.extents().allocate().tag);
    }
    if (collect(self) == number(TakeOutcome::taken)) release(self);
  }
}

// --- figures ------------------------------------------------------------------------------------

EXPORT(free_slots) std::uint32_t free_slots(const Participant& self) {
  std::uint32_t count = 0;
  for (SlotIndex slot = 0; slot < self.ring.geometry().slots; ++slot) {
    if (self.ring.word(slot).state == SlotState::free) ++count;
  }
  return count;
}

EXPORT(damage) std::uint64_t damage(const Participant& self) {
  return self.ring.damage();
}

EXPORT(play_story) bool play_story(const Participant& self) {
  return story::play(self.ring);
}

}  // namespace muster::ring_module
