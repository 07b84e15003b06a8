// shared_ring.cpp: formatting, attaching, and the figures.
#include <cstdint>
#include <new>

#include <muster/queues/shared_ring.hpp>

namespace muster {
namespace {

bool aligned(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % kCacheLine == 0;
}

template <class T>
T* at(std::byte* memory, std::uint64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

}  // namespace

const char* describe(AttachOutcome outcome) noexcept {
  switch (outcome) {
    case AttachOutcome::attached:
      return "attached";
    case AttachOutcome::misaligned:
      return "the memory does not begin at a multiple of 64; map it, or align it";
    case AttachOutcome::too_small:
      return "the memory is shorter than the ring; map all of it";
    case AttachOutcome::unformatted:
      return "the memory holds no ring yet; format it, or wait until somebody has";
    case AttachOutcome::not_a_ring:
      return "the memory does not begin with the magic number WPOL; this is something else";
    case AttachOutcome::wrong_version:
      return "the ring is of another version; let both sides use the same release";
    case AttachOutcome::bad_geometry:
      return "the ring's sizes are impossible or contradict each other; format it anew";
  }
  return "unknown";
}

AttachOutcome SharedRing::format(std::span<std::byte> memory,
                                 const RingGeometry& geometry) noexcept {
  if (!aligned(memory.data())) return AttachOutcome::misaligned;
  if (!valid(geometry)) return AttachOutcome::bad_geometry;
  if (memory.size() < bytes_for(geometry)) return AttachOutcome::too_small;
  auto* header = new (memory.data()) RingHeader;
  view(memory.data(), geometry);
  header->version = kRingVersion;
  header->total_bytes = layout_.total_bytes;
  header->checksum = checksum_of(geometry);
  header->capacity = layout_.capacity;
  header->mask = layout_.capacity - 1;
  header->slots = geometry.slots;
  header->participants = geometry.participants;
  header->slots_offset = static_cast<std::uint32_t>(layout_.slots);
  header->extents = geometry.extents;
  header->extent_bytes = geometry.extent_bytes;
  header->parties = geometry.parties;
  make_atomics();
  fill_free();
  // sync(formatted): pairs with attach(); last, so that nobody sees half of it.
  header->magic.store(kRingMagic, release);
  return AttachOutcome::attached;
}

AttachOutcome SharedRing::attach(std::span<std::byte> memory) noexcept {
  if (!aligned(memory.data())) return AttachOutcome::misaligned;
  if (memory.size() < sizeof(RingHeader)) return AttachOutcome::too_small;
  const auto* header = at<const RingHeader>(memory.data(), 0);
  // sync(formatted): pairs with format().
  const std::uint32_t magic = header->magic.load(acquire);
  if (magic == 0) return AttachOutcome::unformatted;
  if (magic != kRingMagic) return AttachOutcome::not_a_ring;
  if (header->version != kRingVersion) return AttachOutcome::wrong_version;
  const RingGeometry geometry{.slots = header->slots,
                              .participants = header->participants,
                              .extents = header->extents,
                              .extent_bytes = header->extent_bytes,
                              .parties = header->parties};
  if (!valid(geometry) || header->checksum != checksum_of(geometry)) {
    return AttachOutcome::bad_geometry;
  }
  const RingLayout layout = layout_of(geometry);
  const bool agrees = header->total_bytes == layout.total_bytes &&
                      header->capacity == layout.capacity && header->mask == layout.capacity - 1 &&
                      header->slots_offset == layout.slots;
  if (!agrees) return AttachOutcome::bad_geometry;
  if (memory.size() < layout.total_bytes) return AttachOutcome::too_small;
  view(memory.data(), geometry);
  return AttachOutcome::attached;
}

void SharedRing::view(std::byte* memory, const RingGeometry& geometry) noexcept {
  geometry_ = geometry;
  layout_ = layout_of(geometry);
  header_ = at<RingHeader>(memory, 0);
  participants_ = at<ParticipantRecord>(memory, layout_.participants);
  sleepers_ = memory + layout_.sleepers;
  slots_ = at<TaskSlot>(memory, layout_.slots);
  results_ = at<ResultLine>(memory, layout_.results);
  const SlotWords words(memory + layout_.slots, sizeof(TaskSlot), geometry.slots);
  const auto ring = [&](RingEnds& ends, std::uint64_t cells) {
    return TagRing({.ends = &ends,
                    .cells = at<Atomic<std::uint64_t>>(memory, cells),
                    .capacity = layout_.capacity,
                    .words = words,
                    .damage = &header_->damage});
  };
  ready_ = ring(header_->ready, layout_.ready_cells);
  done_ = ring(header_->done, layout_.done_cells);
  free_ = ring(header_->free, layout_.free_cells);
  lane_ = PairLane({.submitted = &header_->ready.tail.position,
                    .claimed = &header_->ready.head.position,
                    .collected = &header_->done.head.position,
                    .slots = slots_,
                    .results = results_,
                    .count = geometry.slots,
                    .damage = &header_->damage});
  free_extents_ = TagRing(
      {.ends = &header_->free_extents,
       .cells = at<Atomic<std::uint64_t>>(memory, layout_.extent_cells),
       .capacity = layout_.extent_capacity,
       .words = {memory + layout_.extent_words, sizeof(Atomic<std::uint64_t>), geometry.extents},
       .damage = &header_->damage});
  arena_ = memory + layout_.arena;
}

void SharedRing::make_atomics() const noexcept {
  for (std::uint32_t i = 0; i < geometry_.participants; ++i) {
    new (&participants_[i]) ParticipantRecord;
    participants_[i].figures.id = i;
  }
  for (std::uint64_t offset = 0; offset < layout_.bitmap_bytes * kAwaited; offset += 8) {
    const bool used = kRealAtomics || offset % layout_.bitmap_bytes == 0;  // explored ones are few
    if (used) new (sleepers_ + offset) Atomic<std::uint64_t>(0);
  }
  for (std::uint32_t i = 0; i < geometry_.slots; ++i) {
    new (&slots_[i]) TaskSlot;
    new (&results_[i]) ResultLine;
  }
  for (ExtentIndex i = 0; i < geometry_.extents; ++i) {
    new (&free_extents_.words()[i]) Atomic<std::uint64_t>(0);
  }
  if (!is_pair()) {
    for (const TagRing* ring : {&ready_, &done_, &free_}) ring->format();
  }
  if (geometry_.extents > 0) free_extents_.format();  // else it has no cells
}

void SharedRing::fill_free() const noexcept {
  if (!is_pair()) {
    for (SlotIndex slot = 0; slot < geometry_.slots; ++slot) free_.put(tag_of(word(slot), slot));
  }
  for (ExtentIndex i = 0; i < geometry_.extents; ++i) free_extents_.put(tag_of(SlotWord{}, i));
}

// A pair has few instructions to spare; the others pay for more than a jump anyway.
Taken SharedRing::take_free(ParticipantIndex by) const noexcept {
  if (is_pair()) [[likely]]
    return lane_.take_free();
  return free_.take(SlotState::free, by);
}

Taken SharedRing::take_ready(ParticipantIndex by) const noexcept {
  if (is_pair()) [[likely]]
    return lane_.claim();
  return ready_.take(SlotState::ready, by);
}

Taken SharedRing::take_done(ParticipantIndex by) const noexcept {
  if (is_pair()) [[likely]]
    return lane_.collect();
  return done_.take(SlotState::done, by);
}

PutOutcome SharedRing::put_ready(SlotIndex slot, const SlotWord& word) const noexcept {
  if (!is_pair()) [[unlikely]]
    return ready_.put(tag_of(word, slot));
  lane_.publish_ready();
  return PutOutcome::put;
}

PutOutcome SharedRing::put_done(SlotIndex slot, const SlotWord& word) const noexcept {
  if (!is_pair()) [[unlikely]]
    return done_.put(tag_of(word, slot));
  lane_.publish_done(slot, word);
  return PutOutcome::put;
}

SharedSleepers SharedRing::sleepers(Awaited awaited) const noexcept {
  auto* bitmap = at<Atomic<std::uint64_t>>(
      sleepers_, layout_.bitmap_bytes * static_cast<std::uint64_t>(awaited));
  return SharedSleepers(
      {.bitmap = bitmap, .participants = participants_, .count = geometry_.participants});
}

void SharedRing::wake_for_room() const noexcept {
  // Who waits for a slot and who waits for an extent are not told apart: a wake for one of them
  // might go to the other, so where there are extents all are woken.
  sleepers(Awaited::room).wake(geometry_.extents == 0 ? 1 : geometry_.participants);
}

bool SharedRing::occupy(ParticipantIndex index, std::uint64_t who) const noexcept {
  std::uint64_t nobody = 0;
  // sync(index-free): pairs with vacate(): the sweep of whoever had it before is over.
  // relaxed: on failure nothing is done.
  return participants_[index].occupant.compare_exchange_strong(nobody, who, acquire, relaxed);
}

std::uint64_t SharedRing::occupant(ParticipantIndex index) const noexcept {
  return participants_[index].occupant.load(relaxed);  // relaxed: a look
}

void SharedRing::vacate(ParticipantIndex index) const noexcept {
  participants_[index].occupant.store(0, release);  // sync(index-free): pairs with occupy()
}

std::uint64_t SharedRing::contended() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < geometry_.participants; ++i) {
    sum += participants_[i].contended.load(relaxed);  // relaxed: a count
  }
  return sum;
}

void SharedRing::note_damage() const noexcept {
  header_->damage.fetch_add(1, relaxed);  // relaxed: a count
}

std::uint64_t SharedRing::damage() const noexcept {
  return header_->damage.load(relaxed);  // relaxed: a count
}

}  // namespace muster
