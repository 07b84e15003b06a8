// shared_layout.cpp: every place in the memory, as it follows from the geometry.
#include <bit>

#include <muster/queues/shared_layout.hpp>

namespace muster {
namespace {

constexpr std::uint64_t kCell = sizeof(Atomic<std::uint64_t>);

// Twice the slots: each has one live entry, and what deaths leave behind must fit beside them.
std::uint32_t capacity_for(std::uint32_t slots) {
  return std::bit_ceil(slots < 1 ? 2 : 2 * slots);
}

// Hands out places one behind the other, each at a cache line.
class Places {
 public:
  std::uint64_t next(std::uint64_t bytes) {
    const std::uint64_t place = end_;
    end_ += (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    return place;
  }
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_ = 0;
};

}  // namespace

bool valid(const RingGeometry& geometry) noexcept {
  return geometry.slots >= 1 && geometry.slots <= kMaxSlots && geometry.participants >= 1 &&
         geometry.participants <= kMaxParticipants && geometry.extents <= kMaxSlots &&
         geometry.extent_bytes % kCacheLine == 0 &&
         (geometry.extents == 0) == (geometry.extent_bytes == 0) &&
         (geometry.parties == RingParties::many ||
          (geometry.parties == RingParties::pair && geometry.participants == 2 &&
           std::has_single_bit(geometry.slots) && geometry.extents == 0));
}

RingLayout layout_of(const RingGeometry& geometry) noexcept {
  RingLayout layout;
  layout.capacity = capacity_for(geometry.slots);
  layout.extent_capacity = capacity_for(geometry.extents);
  layout.bitmap_bytes =
      (geometry.participants + 64 * kCacheLine / 8 - 1) / (64 * kCacheLine / 8) * kCacheLine;
  Places places;
  places.next(sizeof(RingHeader));
  layout.participants = places.next(sizeof(ParticipantRecord) * geometry.participants);
  layout.sleepers = places.next(layout.bitmap_bytes * kAwaited);
  const std::uint64_t cells = geometry.parties == RingParties::pair ? 0 : layout.capacity;
  layout.ready_cells = places.next(kCell * cells);
  layout.done_cells = places.next(kCell * cells);
  layout.free_cells = places.next(kCell * cells);
  layout.extent_cells = places.next(geometry.extents == 0 ? 0 : kCell * layout.extent_capacity);
  layout.slots = places.next(sizeof(TaskSlot) * geometry.slots);
  layout.results = places.next(sizeof(ResultLine) * geometry.slots);
  layout.extent_words = places.next(kCell * geometry.extents);
  layout.arena = places.next(std::uint64_t{geometry.extents} * geometry.extent_bytes);
  layout.total_bytes = places.end();
  return layout;
}

// FNV-1a over the fields: guards against a header that was written half or by something else.
std::uint64_t checksum_of(const RingGeometry& geometry) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  const std::uint32_t fields[] = {
      kRingVersion,     geometry.slots,        geometry.participants,
      geometry.extents, geometry.extent_bytes, static_cast<std::uint32_t>(geometry.parties)};
  for (const std::uint32_t field : fields) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (field >> shift & 0xff)) * 0x100'0000'01b3;
    }
  }
  return hash;
}

}  // namespace muster
