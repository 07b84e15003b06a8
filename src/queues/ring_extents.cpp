// ring_extents.cpp: what participants may do with extents.
#include <muster/queues/ring_extents.hpp>

#include "queues/extent_steps.hpp"

namespace muster {

Allocated RingExtents::allocate() const noexcept {
  if (ring_.geometry().extents == 0) return {};
  const Taken taken = ring_.free_extents().take(SlotState::free, index_);
  if (taken.outcome == TakeOutcome::contended) ring_.note_contended(index_);
  if (taken.outcome != TakeOutcome::taken) return {.outcome = taken.outcome};
  return {TakeOutcome::taken, extent_tag(taken.word, taken.slot)};
}

std::span<std::byte> RingExtents::memory(Tag extent) const noexcept {
  if (!ring_.names_extent(extent)) return {};
  return ring_.extent_memory(extent_of(extent));
}

HandOver RingExtents::free(Tag extent) const noexcept {
  const HandOver freed = free_held(ring_, extent, index_);
  if (freed == HandOver::done) ring_.wake_for_room();
  return freed;
}

}  // namespace muster
