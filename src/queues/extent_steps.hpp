// extent_steps.hpp: the steps by which an extent changes hands, for the roles.
//
// Each is one exchange of the extent's word, and all but free_held() are done by whoever holds the
// slot. The reference in the slot is written before the extent is attached, and the extent is freed
// before the slot is: so whatever is attached is always referred to, and a death between any two
// steps leaves nothing that cannot be found.
#pragma once

#include <optional>
#include <span>

#include <muster/queues/extent_word.hpp>
#include <muster/queues/shared_ring.hpp>

namespace muster {

// What a task or a result says about its bytes.
struct StatedBytes {
  std::span<const std::byte> inline_place;
  std::uint32_t count = 0;
  Tag extent = 0;  // 0: they are inline
};
constexpr StatedBytes stated_by(const TaskContents& contents) noexcept {
  return {contents.payload, contents.payload_bytes, contents.extent};
}
constexpr StatedBytes stated_by(const TaskResult& result) noexcept {
  return {result.payload, result.payload_bytes, result.extent};
}

// Is there room for so many where they are said to be?
[[nodiscard]] bool fits(const SharedRing& ring, const StatedBytes& stated) noexcept;

[[nodiscard]] bool holds_extent(const SharedRing& ring, Tag extent, ParticipantIndex by) noexcept;

// False if `by` does not hold it (any more).
[[nodiscard]] bool attach_extent(const SharedRing& ring, Tag extent, ParticipantIndex by,
                                 const ExtentPlace& place) noexcept;

// From attached there to held by `by`; false if it was not attached there.
[[nodiscard]] bool keep_extent(const SharedRing& ring, Tag extent, ParticipantIndex by,
                               const ExtentPlace& place) noexcept;

// Nothing happens if it is not attached there. True if it was.
bool free_attached(const SharedRing& ring, Tag extent, ParticipantIndex by,
                   const ExtentPlace& place) noexcept;

HandOver free_held(const SharedRing& ring, Tag extent, ParticipantIndex by) noexcept;

// For a sweep: frees what the dead one held, and says how many that were.
std::uint32_t free_all_held(const SharedRing& ring, ParticipantIndex dead,
                            ParticipantIndex by) noexcept;

// The bytes of the slot's task or of its result, wherever they are. Nothing, and damage, if there
// cannot be so many there; nothing if the extent is not attached there.
using Bytes = std::optional<std::span<const std::byte>>;
[[nodiscard]] Bytes payload_in(const SharedRing& ring, SlotIndex slot) noexcept;
[[nodiscard]] Bytes result_in(const SharedRing& ring, SlotIndex slot) noexcept;

}  // namespace muster
