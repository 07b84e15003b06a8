// worker_segment.cpp: a board, a ring, blocks.
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

WorkerSegment WorkerSegment::create(const Sizes& sizes) {
  MUSTER_ASSERT(valid(sizes.ring));
  const std::uint64_t before = kBoardBytes + SharedRing::bytes_for(sizes.ring);
  WorkerSegment made(
      Segment::create("muster-worker", {.bytes = before + sizes.blocks.total_bytes(),
                                        .reserved_bytes = before + sizes.blocks.returns_bytes()}));
  auto* const board = new (made.segment_->memory().data()) WorkerBoard;
  board->blocks = sizes.blocks.count;
  board->block_bytes = sizes.blocks.bytes;
  const AttachOutcome outcome = made.ring_.format(made.ring_memory(), sizes.ring);
  MUSTER_ASSERT(outcome == AttachOutcome::attached, describe(outcome));
  made.keep_own(sizes.blocks, SegmentSide::pool);
  return made;
}

WorkerSegment WorkerSegment::attach(FileDescriptor descriptor) {
  WorkerSegment made(Segment::attach(std::move(descriptor)));
  const auto refuse = [&](const char* why) {
    throw InvalidArgument({"descriptor", std::to_string(made.descriptor()),
                           std::string("must be a worker's memory: ") + why});
  };
  const std::size_t size = made.segment_->memory().size();
  const AttachOutcome outcome =
      size > kBoardBytes ? made.ring_.attach(made.ring_memory()) : AttachOutcome::too_small;
  if (outcome != AttachOutcome::attached) refuse(describe(outcome));
  const BlockSizes blocks{made.board().blocks, made.board().block_bytes};
  const std::uint64_t rest = size - kBoardBytes - SharedRing::bytes_for(made.ring_.geometry());
  const bool fits = blocks.bytes <= rest && blocks.total_bytes() <= rest;
  if (!fits) refuse("its blocks are larger than it is");
  made.keep_own(blocks, SegmentSide::worker);
  return made;
}

// What the other side cannot spoil.
void WorkerSegment::keep_own(const BlockSizes& blocks, SegmentSide side) {
  positions_ = std::make_unique<PairPositions>();
  ring_.lane().keep_positions_in(*positions_);
  const std::size_t offset = kBoardBytes + SharedRing::bytes_for(ring_.geometry());
  blocks_ = std::make_unique<SharedBlocks>(*segment_, blocks, offset, side);
}

WorkerBoard& WorkerSegment::board() const noexcept {
  return *std::launder(reinterpret_cast<WorkerBoard*>(segment_->memory().data()));
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
          .busy_time = duration(record.figures.busy_ns)};
}

std::span<std::byte> WorkerSegment::ring_memory() const noexcept {
  return segment_->memory().subspan(kBoardBytes);
}

}  // namespace muster
