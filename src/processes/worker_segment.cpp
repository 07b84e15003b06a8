// worker_segment.cpp: a board in front of a ring.
#include "processes/worker_segment.hpp"

#include <new>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

constexpr std::size_t kBoardBytes = 4096;
static_assert(sizeof(WorkerBoard) <= kBoardBytes, "the board has a page of its own");

}  // namespace

WorkerSegment WorkerSegment::create(const RingGeometry& geometry) {
  MUSTER_ASSERT(valid(geometry));
  const RingLayout layout = layout_of(geometry);
  WorkerSegment made(Segment::create(
      "muster-worker",
      {.bytes = kBoardBytes + layout.total_bytes, .reserved_bytes = kBoardBytes + layout.arena}));
  new (made.segment_.memory().data()) WorkerBoard;
  const AttachOutcome outcome = made.ring_.format(made.ring_memory(), geometry);
  MUSTER_ASSERT(outcome == AttachOutcome::attached, describe(outcome));
  made.keep_own();
  return made;
}

WorkerSegment WorkerSegment::attach(FileDescriptor descriptor) {
  WorkerSegment made(Segment::attach(std::move(descriptor)));
  const bool has_board = made.segment_.memory().size() > kBoardBytes;
  const AttachOutcome outcome =
      has_board ? made.ring_.attach(made.ring_memory()) : AttachOutcome::too_small;
  if (outcome != AttachOutcome::attached) {
    throw InvalidArgument({"descriptor", std::to_string(made.descriptor()),
                           std::string("must be a worker's memory: ") + describe(outcome)});
  }
  made.keep_own();
  return made;
}

// What the other side cannot spoil.
void WorkerSegment::keep_own() {
  reserved_.resize(ring_.geometry().extents);
  positions_ = std::make_unique<PairPositions>();
  ring_.lane().keep_positions_in(*positions_);
}

WorkerBoard& WorkerSegment::board() const noexcept {
  return *std::launder(reinterpret_cast<WorkerBoard*>(segment_.memory().data()));
}

WorkerReading WorkerSegment::read() const noexcept {
  const WorkerBoard& board = this->board();
  const ParticipantRecord& record = ring_.participant(kWorkerIndex);
  // relaxed: figures, each by itself, racy by contract.
  const auto look = [](const auto& figure) { return figure.load(relaxed); };
  const auto duration = [&look](const Atomic<std::uint64_t>& figure) {
    return Duration(static_cast<Duration::rep>(look(figure)));
  };
  return {.task = look(board.task),
          .started = Time(duration(board.started_ns)),
          .progress = look(board.progress),
          .beats = look(record.heartbeat),
          .anonymous_bytes = look(board.anonymous_bytes),
          .cpu_time = duration(board.cpu_ns),
          .busy_time = duration(record.figures.busy_ns),
          .utilisation = static_cast<double>(look(record.figures.utilisation)) / 100};
}

bool WorkerSegment::reserve(const std::byte* extent, std::size_t bytes) const noexcept {
  const RingGeometry& geometry = ring_.geometry();
  const auto offset = static_cast<std::size_t>(extent - segment_.memory().data());
  const std::size_t arena = kBoardBytes + layout_of(geometry).arena;
  std::size_t& known = reserved_[(offset - arena) / geometry.extent_bytes];
  if (bytes <= known) return true;
  if (!segment_.reserve({.offset = offset, .bytes = bytes})) return false;
  known = bytes;
  return true;
}

std::span<std::byte> WorkerSegment::ring_memory() const noexcept {
  return segment_.memory().subspan(kBoardBytes);
}

}  // namespace muster
