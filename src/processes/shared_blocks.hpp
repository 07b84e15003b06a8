// shared_blocks.hpp: memory for payloads and results that do not fit into a slot.
//
// Half of the blocks are the pool's, for payloads; half the worker's, for results. Either side
// takes its own only and names them in a task or a result. What the pool lends comes back with the
// result, or with the worker's death; what the worker lends is given back when the last who looks
// at it is gone. All are as large as a payload may be, and their memory is reserved when it is
// first needed.
//
// Thread safety: take(), put_back() and pin() by one thread of each side at a time; give_back() and
// unpin() by any of the pool's.
// Lifetime: the segment outlives it.
// Design note: docs/protocol.md, "Lent blocks"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <muster/processes/segment.hpp>
#include <muster/queues/lent_blocks.hpp>

namespace muster {

enum class SegmentSide : std::uint8_t { pool, worker };

// Of each side.
struct BlockSizes {
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  // of one; a multiple of a cache line

  // Words that say how often a worker's block came back, then the blocks: the pool's first.
  [[nodiscard]] std::uint64_t returns_bytes() const noexcept;
  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    return returns_bytes() + std::uint64_t{2} * count * bytes;
  }
};

class SharedBlocks {
 public:
  using Number = std::uint32_t;  // of its side

  // `offset`: where the words begin in the segment; they have been zeroed. At a cache line.
  SharedBlocks(const Segment& segment, const BlockSizes& sizes, std::size_t offset,
               SegmentSide side);

  [[nodiscard]] std::uint64_t bytes_each() const noexcept { return sizes_.bytes; }

  // A block of our own, with memory for so many bytes.
  enum class Outcome { taken, none_free, no_memory };
  struct Taken {
    Outcome outcome = Outcome::none_free;
    Number block = 0;
  };
  [[nodiscard]] Taken take(std::size_t bytes) noexcept;

  // One that was taken and not lent.
  void put_back(Number block) noexcept { own_.put_back(block); }

  // Fetches the beginning of the block that is taken next, to be written without a wait.
  void warm_next(std::size_t bytes) const noexcept;

  [[nodiscard]] std::span<std::byte> own_memory(Number block) const noexcept {
    return memory(side_, block);
  }

  // What the other side says is there; nothing if it cannot be.
  struct Stated {
    Number block = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] std::optional<std::span<const std::byte>> read(Stated stated) const noexcept;

  // By the pool: what it had lent and the worker does not use any more.
  void payload_back(Number block) noexcept { LentBlocks::give_back(own_returns_[block]); }

  // By the pool, for a result that it has read. Whoever waits for a block is to be woken behind it.
  void give_back(Number block) noexcept { LentBlocks::give_back(returns_[block]); }

  // By the pool: may one more result be looked at where it stands? Half of them, so that there are
  // always some for those to come.
  [[nodiscard]] bool pin() noexcept;
  void unpin() noexcept {
    unpins_.fetch_add(1, relaxed);  // relaxed: a count
  }

 private:
  [[nodiscard]] std::span<std::byte> memory(SegmentSide side, Number block) const noexcept;

  // Fixed at construction.
  const Segment& segment_;
  const BlockSizes sizes_;
  const std::size_t arena_;  // where blocks begin in the segment
  const SegmentSide side_;
  const std::span<LentBlocks::Returns> returns_;      // of the worker's blocks, shared
  std::vector<LentBlocks::Returns> private_returns_;  // of the pool's, in its own memory
  const std::span<LentBlocks::Returns> own_returns_;

  // One thread of our side at a time.
  LentBlocks own_;
  std::vector<std::size_t> reserved_;  // bytes of each of ours
  std::uint32_t pins_ = 0;

  // Any thread of the pool.
  Atomic<std::uint32_t> unpins_;
};

}  // namespace muster
