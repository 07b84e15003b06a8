// shared_blocks.cpp: where blocks stand, and what is behind them.
#include "processes/shared_blocks.hpp"

#include <algorithm>
#include <new>

#include <muster/sync/cache_line.hpp>

namespace muster {
namespace {

constexpr std::size_t kWarmBytes = 2048;  // as many lines as a CPU fetches at once, or so

std::span<LentBlocks::Returns> returns_at(const Segment& segment, const BlockSizes& sizes,
                                          std::size_t offset) {
  auto* const words = reinterpret_cast<LentBlocks::Returns*>(segment.memory().data() + offset);
  return {std::launder(words), sizes.count};
}

}  // namespace

std::uint64_t BlockSizes::returns_bytes() const noexcept {
  const std::uint64_t words = count * sizeof(LentBlocks::Returns);
  return (words + kCacheLine - 1) / kCacheLine * kCacheLine;
}

SharedBlocks::SharedBlocks(const Segment& segment, const BlockSizes& sizes, std::size_t offset,
                           SegmentSide side)
    : segment_(segment),
      sizes_(sizes),
      arena_(offset + sizes.returns_bytes()),
      side_(side),
      returns_(returns_at(segment, sizes, offset)),
      private_returns_(side == SegmentSide::pool ? sizes.count : 0),
      own_returns_(side == SegmentSide::pool ? std::span(private_returns_) : returns_),
      own_(own_returns_),
      reserved_(sizes.count) {}

SharedBlocks::Taken SharedBlocks::take(std::size_t bytes) noexcept {
  const std::optional<Number> block = own_.take();
  if (!block) return {};
  std::size_t& known = reserved_[*block];  // since the kernel takes its time to find out
  if (bytes <= known) return {Outcome::taken, *block};
  const auto offset =
      static_cast<std::size_t>(own_memory(*block).data() - segment_.memory().data());
  if (!segment_.reserve({.offset = offset, .bytes = bytes})) {
    own_.put_back(*block);
    return {.outcome = Outcome::no_memory};
  }
  known = bytes;
  return {Outcome::taken, *block};
}

void SharedBlocks::warm_next(std::size_t bytes) const noexcept {
  const std::optional<Number> block = own_.next();
  if (!block) return;
  const std::byte* const begin = own_memory(*block).data();
  for (std::size_t at = 0; at < std::min(bytes, kWarmBytes); at += kCacheLine) {
    prefetch_for_write(begin + at);
  }
}

std::span<std::byte> SharedBlocks::memory(SegmentSide side, Number block) const noexcept {
  const std::size_t first = side == SegmentSide::pool ? 0 : sizes_.count;
  return segment_.memory().subspan(arena_ + (first + block) * sizes_.bytes, sizes_.bytes);
}

// By value, and never part of its callers: the size that is checked is the size that is used,
// whatever a process that went wild does meanwhile to the memory that it was read from.
[[gnu::noinline]] std::optional<std::span<const std::byte>> SharedBlocks::read(
    Stated stated) const noexcept {
  if (stated.block >= sizes_.count || stated.bytes > sizes_.bytes) return std::nullopt;
  const SegmentSide other = side_ == SegmentSide::pool ? SegmentSide::worker : SegmentSide::pool;
  return memory(other, stated.block).first(stated.bytes);
}

bool SharedBlocks::pin() noexcept {
  if (pins_ - unpins_.load(relaxed) >= sizes_.count / 2) return false;  // relaxed: a count
  ++pins_;
  return true;
}

}  // namespace muster
