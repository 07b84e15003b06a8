// worker_segment.hpp: the memory that a pool and one of its worker processes share.
//
//     board | ring, with its extents last
//
// Each worker has one of its own, so what a worker that goes mad writes there harms no other, and
// all that a dead worker had is gone with it. The pool is participant 0 of the ring, the worker 1.
//
// Thread safety: the board's atomics are written by the side that is named, read racily by the
// other; the ring sees to itself; reserve() by one thread of a process at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/processes/segment.hpp>
#include <muster/queues/shared_ring.hpp>

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
  double utilisation = 0;  // from 0 to 1
};

struct alignas(kCacheLine) WorkerBoard {
  // Written by the pool, before the worker is started.
  std::uint64_t heartbeat_ns = 0;
  std::uint32_t worker = 0;       // its number in the pool
  std::uint32_t idle_policy = 0;  // a number of IdlePolicy

  // Written by the worker; see WorkerReading.
  alignas(kCacheLine) Atomic<std::uint64_t> task;
  Atomic<std::uint64_t> started_ns;  // on the clock of Time
  Atomic<std::uint64_t> anonymous_bytes;
  Atomic<std::uint64_t> cpu_ns;
  Atomic<float> progress;
};

class WorkerSegment {
 public:
  // Throws SystemFailure if there is no memory.
  [[nodiscard]] static WorkerSegment create(const RingGeometry& geometry);

  // By the descriptor that was handed over. Throws InvalidArgument if it is something else.
  [[nodiscard]] static WorkerSegment attach(FileDescriptor descriptor);

  [[nodiscard]] WorkerBoard& board() const noexcept;
  [[nodiscard]] WorkerReading read() const noexcept;
  [[nodiscard]] const SharedRing& ring() const noexcept { return ring_; }
  [[nodiscard]] int descriptor() const noexcept { return segment_.descriptor(); }

  // Before so many bytes of an extent are touched, where its memory begins. False: there is no
  // memory. Remembers what it has, since the kernel takes its time to find out.
  [[nodiscard]] bool reserve(const std::byte* extent, std::size_t bytes) const noexcept;

 private:
  explicit WorkerSegment(Segment segment) noexcept : segment_(std::move(segment)) {}
  [[nodiscard]] std::span<std::byte> ring_memory() const noexcept;
  void keep_own();

  Segment segment_;
  SharedRing ring_;
  std::unique_ptr<PairPositions> positions_;   // ours; the other side has its own
  mutable std::vector<std::size_t> reserved_;  // bytes of each extent
};

}  // namespace muster
