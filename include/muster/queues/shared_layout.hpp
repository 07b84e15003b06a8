// shared_layout.hpp: where everything stands in the memory of a shared ring.
//
// Position-independent: nothing in it is a pointer, every place follows from the geometry. Whoever
// attaches checks the header, copies the geometry, and never reads it again, so that a wild write
// of another process cannot lead this one astray.
//
//     header | participants | sleepers | cells: ready, done, free, extents | slots | results
//            | extent words | arena
//
// To change it: change kRingVersion, the tables in docs/protocol.md and the assertions below.
// Needs nothing but the compiler: no allocation, no exceptions, no library calls.
// Thread safety: the structs are memory; who may touch what says docs/protocol.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/queues/slot_word.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster {

inline constexpr std::uint32_t kRingMagic = 0x57504F4C;  // "WPOL"
inline constexpr std::uint32_t kRingVersion = 2;
inline constexpr std::uint32_t kMaxParticipants = 4096;

// The layout is that of real atomics; those of a model build are larger.
inline constexpr bool kRealAtomics = sizeof(Atomic<std::uint32_t>) == 4;

// Who takes part.
enum class RingParties : std::uint32_t {
  many,

  // Two: participant 0 submits, cancels, takes back, collects and releases, participant 1 claims
  // and completes, each on one thread at a time. That takes half the time: see pair_lane.hpp. Tasks
  // are not retried in their slot, only 1 is swept, and nobody is ever fenced. There are no
  // extents: what does not fit into a slot the two lend each other (lent_blocks.hpp), and what a
  // task says of it in `extent` and `payload_bytes` is passed on as it is.
  pair,
};

// What is chosen when the memory is formatted.
struct RingGeometry {
  // Tasks that may be under way at once, from writing to settled: 1 to kMaxSlots.
  std::uint32_t slots = 1024;

  // Processes or threads that take part at once: 1 to kMaxParticipants.
  std::uint32_t participants = 64;

  // Blocks for payloads that do not fit into a slot: 0 to kMaxSlots.
  std::uint32_t extents = 0;

  // Bytes of each: a multiple of 64, above 0 if there are any.
  std::uint32_t extent_bytes = 0;

  // A pair has two participants, a power of two of slots, and no extents.
  RingParties parties = RingParties::many;

  bool operator==(const RingGeometry&) const = default;
};

// The next position at one end of a ring, on a line of its own.
struct alignas(kCacheLine) RingHead {
  Atomic<std::uint64_t> position;
};
struct alignas(kCacheLine) RingTail {
  Atomic<std::uint64_t> position;
  Atomic<std::uint64_t> head_seen;  // by who last thought that it was full; never ahead of the head
};

struct RingEnds {
  RingHead head;
  RingTail tail;
};

struct alignas(kCacheLine) RingHeader {
  // Written once, when formatted; the magic last. Offsets as in version 1 where it had the field.
  Atomic<std::uint32_t> magic;
  std::uint32_t version = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t checksum = 0;  // of the geometry
  std::uint32_t capacity = 0;  // cells of each ring of slots, a power of two
  std::uint32_t mask = 0;      // capacity - 1
  std::uint32_t slots = 0;
  std::uint32_t participants = 0;
  std::uint32_t slots_offset = 0;
  std::uint32_t extents = 0;
  std::uint32_t extent_bytes = 0;
  RingParties parties = RingParties::many;

  // Any participant.
  alignas(kCacheLine) Atomic<std::uint64_t> damage;  // what was found that no run can leave
  RingEnds ready;
  RingEnds done;
  RingEnds free;
  RingEnds free_extents;
};

inline constexpr std::size_t kInlinePayload = 24;
inline constexpr std::size_t kInlineResult = 44;
inline constexpr std::uint32_t kLongRun = 0xFFFF'FFFF;

// What a task is; belongs to whoever owns the slot.
struct TaskContents {
  std::int16_t priority = 0;
  std::uint16_t flags = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t timestamp = 0;
  std::uint32_t method = 0;
  Tag extent = 0;  // where a payload that is not inline stands; 0: nowhere
  std::uint64_t id = 0;
  std::array<std::byte, kInlinePayload> payload{};
};

struct alignas(kCacheLine) TaskSlot {
  Atomic<std::uint64_t> word;  // the authority: slot_word.hpp
  TaskContents contents;
};

// What came of it.
struct TaskResult {
  std::uint32_t status = 0;
  std::uint32_t payload_bytes = 0;
  Tag extent = 0;
  std::uint32_t run_ns = 0;  // how long the task ran; kLongRun: that or longer
  std::array<std::byte, kInlineResult> payload{};
};

// Beside the task and not over it: whoever dies while writing a result must leave the payload for
// the next attempt.
struct alignas(kCacheLine) ResultLine {
  TaskResult result;
  Atomic<std::uint32_t> turn;  // of a pair: in which life of the slot it was done
};

// One worker's figures for whoever watches. Written by the participant, read racily by others.
struct alignas(kCacheLine) WorkerFigures {
  std::uint32_t id = 0;
  Atomic<std::uint8_t> state;
  Atomic<std::uint64_t> tasks;
  Atomic<std::uint64_t> busy_ns;
  Atomic<std::uint64_t> idle_ns;
  Atomic<float> utilisation;  // percent
};

struct ParticipantRecord {
  WorkerFigures figures;

  // Written by others, or seldom.
  alignas(kCacheLine) Atomic<std::uint32_t> epoch;  // what it sleeps on
  Atomic<std::uint64_t> occupant;                   // who has this index; 0: nobody
  Atomic<std::uint64_t> heartbeat;
  Atomic<std::uint64_t> contended;  // operations given up for contention
};

// Byte offsets from the beginning of the memory.
struct RingLayout {
  std::uint32_t capacity = 0;
  std::uint32_t extent_capacity = 0;
  std::uint64_t participants = 0;
  std::uint64_t sleepers = 0;
  std::uint64_t bitmap_bytes = 0;  // of each of the bitmaps of sleepers
  std::uint64_t ready_cells = 0;
  std::uint64_t done_cells = 0;
  std::uint64_t free_cells = 0;
  std::uint64_t extent_cells = 0;
  std::uint64_t slots = 0;
  std::uint64_t results = 0;
  std::uint64_t extent_words = 0;
  std::uint64_t arena = 0;
  std::uint64_t total_bytes = 0;
};

// What participants sleep for; each has its own bitmap, so that no wake goes to the wrong one.
enum class Awaited : std::uint8_t { work, results, room };
inline constexpr std::size_t kAwaited = 3;

// Does it keep the rules above?
[[nodiscard]] MUSTER_API bool valid(const RingGeometry& geometry) noexcept;

// Requires: valid(geometry).
[[nodiscard]] MUSTER_API RingLayout layout_of(const RingGeometry& geometry) noexcept;

[[nodiscard]] MUSTER_API std::uint64_t checksum_of(const RingGeometry& geometry) noexcept;

// offsetof is fine here: standard layout but for the access that Atomic hides.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(!kRealAtomics ||
                  (offsetof(RingHeader, magic) == 0 && offsetof(RingHeader, version) == 4 &&
                   offsetof(RingHeader, total_bytes) == 8 && offsetof(RingHeader, checksum) == 16 &&
                   offsetof(RingHeader, capacity) == 24 && offsetof(RingHeader, mask) == 28 &&
                   offsetof(RingHeader, slots) == 32 && offsetof(RingHeader, participants) == 36 &&
                   offsetof(RingHeader, slots_offset) == 40 &&
                   offsetof(RingHeader, extents) == 44 &&
                   offsetof(RingHeader, extent_bytes) == 48 && offsetof(RingHeader, parties) == 52),
              "the header's first line is what other languages read");
static_assert(!kRealAtomics ||
                  (offsetof(RingHeader, damage) == 64 && offsetof(RingHeader, ready) == 128 &&
                   offsetof(RingHeader, done) == 256 && offsetof(RingHeader, free) == 384 &&
                   offsetof(RingHeader, free_extents) == 512 && sizeof(RingHeader) == 640),
              "each head and each tail stands on a line of its own");
static_assert(sizeof(TaskSlot) == 64 && offsetof(TaskSlot, word) == 0 &&
                  offsetof(TaskSlot, contents) == 8 && sizeof(TaskContents) == 56,
              "a slot is one cache line, its word first");
static_assert(offsetof(TaskContents, priority) == 8 - 8 &&
                  offsetof(TaskContents, payload_bytes) == 12 - 8 &&
                  offsetof(TaskContents, timestamp) == 16 - 8 &&
                  offsetof(TaskContents, method) == 24 - 8 &&
                  offsetof(TaskContents, extent) == 28 - 8 &&
                  offsetof(TaskContents, id) == 32 - 8 && offsetof(TaskContents, payload) == 40 - 8,
              "fixed offsets in a slot; priority, timestamp and method where version 1 had them");
static_assert(sizeof(TaskResult) == 60 && offsetof(TaskResult, payload) == 16 &&
                  (!kRealAtomics || (sizeof(ResultLine) == 64 && offsetof(ResultLine, turn) == 60)),
              "a result is one cache line, with its turn behind it");
static_assert(!kRealAtomics ||
                  (offsetof(WorkerFigures, state) == 4 && offsetof(WorkerFigures, tasks) == 8 &&
                   offsetof(WorkerFigures, busy_ns) == 16 &&
                   offsetof(WorkerFigures, idle_ns) == 24 &&
                   offsetof(WorkerFigures, utilisation) == 32 && sizeof(WorkerFigures) == 64),
              "a worker's figures are one cache line");
static_assert(!kRealAtomics || (offsetof(ParticipantRecord, epoch) == 64 &&
                                offsetof(ParticipantRecord, occupant) == 72 &&
                                offsetof(ParticipantRecord, heartbeat) == 80 &&
                                offsetof(ParticipantRecord, contended) == 88 &&
                                sizeof(ParticipantRecord) == 128),
              "what others write to stands apart from the figures");
static_assert(sizeof(Atomic<std::uint64_t>) == 8, "cells and words are eight bytes");
#pragma GCC diagnostic pop

}  // namespace muster
