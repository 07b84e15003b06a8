// worker_segment.hpp: the memory that a pool and one of its worker processes share.
//
//     board | ring | blocks
//
// Each worker has one of its own, so what a worker that goes mad writes there harms no other, and
// all that a dead worker had is gone with it. The pool is participant 0 of the ring, the worker 1.
//
// Thread safety: the board's atomics are written by the side that is named, read racily by the
// other; the ring and the blocks see to themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <muster/base/clock.hpp>
#include <muster/processes/segment.hpp>
#include <muster/queues/shared_ring.hpp>

#include "processes/shared_blocks.hpp"

namespace muster {

inline constexpr ParticipantIndex kPoolIndex = 0;
inline constexpr ParticipantIndex kWorkerIndex = 1;

// Tasks that are orders to the worker itself have these numbers instead of a method's.
inline constexpr std::uint32_t kStopOrder = 0xFFFF'FFFF;

// What TaskResult::status says.
enum class ResultStatus : std::uint32_t {
  value,      // the payload is what the task gave
  error,      // the payload is what it threw, in words
  cancelled,  // it was called off before it began
  part,       // the task gave some of its own payload: a PayloadPart says which
};

struct PayloadPart {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

// What a worker says of itself, at one moment or nearly so.
struct WorkerReading {
  std::uint64_t task = 0;  // the id of the one at hand; 0: none
  Time started{};          // when that began
  float progress = 0;      // of that, from 0 to 1
  std::uint64_t beats = 0;
  std::uint64_t anonymous_bytes = 0;  // of the process, at the last heartbeat
  Duration cpu_time{};                // the same
  Duration busy_time{};
};

struct alignas(kCacheLine) WorkerBoard {
  // Written by the pool, before the worker is started.
  std::uint64_t heartbeat_ns = 0;
  std::uint32_t worker = 0;       // its number in the pool
  std::uint32_t idle_policy = 0;  // a number of IdlePolicy
  std::uint64_t block_bytes = 0;
  std::uint32_t blocks = 0;         // of each side
  std::uint64_t counter_speed = 0;  // see quick_clock.hpp
  std::uint32_t beats_by_task = 0;  // 1: behind each task it says how much memory it has

  // Written by the worker; see WorkerReading.
  alignas(kCacheLine) Atomic<std::uint64_t> task;
  Atomic<std::uint64_t> started_ns;  // on the clock of Time
  Atomic<std::uint64_t> anonymous_bytes;
  Atomic<std::uint64_t> cpu_ns;
  Atomic<float> progress;
};

class WorkerSegment {
 public:
  struct Sizes {
    RingGeometry ring;
    BlockSizes blocks;
  };

  // Throws SystemFailure if there is no memory.
  [[nodiscard]] static WorkerSegment create(const Sizes& sizes);

  // By the descriptor that was handed over. Throws InvalidArgument if it is something else.
  [[nodiscard]] static WorkerSegment attach(FileDescriptor descriptor);

  [[nodiscard]] WorkerBoard& board() const noexcept;
  [[nodiscard]] WorkerReading read() const noexcept;
  [[nodiscard]] const SharedRing& ring() const noexcept { return ring_; }
  [[nodiscard]] SharedBlocks& blocks() const noexcept { return *blocks_; }
  [[nodiscard]] int descriptor() const noexcept { return segment_->descriptor(); }

 private:
  explicit WorkerSegment(Segment segment)
      : segment_(std::make_unique<const Segment>(std::move(segment))) {}
  [[nodiscard]] std::span<std::byte> ring_memory() const noexcept;
  void keep_own(const BlockSizes& blocks, SegmentSide side);

  std::unique_ptr<const Segment> segment_;
  SharedRing ring_;
  std::unique_ptr<PairPositions> positions_;  // ours; the other side has its own
  std::unique_ptr<SharedBlocks> blocks_;      // the same
};

}  // namespace muster
