// shared_ring_fuzz.cpp: whatever the memory holds, nobody who attaches to it leaves it, and every
// call returns.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include <muster/base/assert.hpp>
#include <muster/queues/ring_extents.hpp>

#include "fuzz/fuzz_entries.hpp"
#include "support/ring_memory.hpp"

namespace muster::fuzz {
namespace {

using testing::AlignedBytes;

// Where the fields stand: docs/protocol.md.
constexpr std::size_t kTotalBytes = 8;
constexpr std::size_t kChecksum = 16;
constexpr std::size_t kCapacity = 24;
constexpr std::size_t kMask = 28;
constexpr std::size_t kSlots = 32;
constexpr std::size_t kParticipants = 36;
constexpr std::size_t kSlotsOffset = 40;
constexpr std::size_t kExtents = 44;
constexpr std::size_t kExtentBytes = 48;
constexpr std::size_t kParties = 52;

template <class Number>
void put(std::span<std::byte> memory, std::size_t offset, Number number) {
  std::memcpy(memory.data() + offset, &number, sizeof number);
}

std::uint32_t number_at(std::span<const std::byte> memory, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, memory.data() + offset, sizeof number);
  return number;
}

// Reads the input byte by byte; 0 behind its end.
class Bytes {
 public:
  explicit Bytes(std::string_view input) : input_(input) {}

  std::uint8_t next() {
    if (input_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(input_.front());
    input_.remove_prefix(1);
    return byte;
  }
  [[nodiscard]] std::string_view rest() const { return input_; }

 private:
  std::string_view input_;
};

// All of them, for whoever watches what is read.
void read(std::optional<std::span<const std::byte>> bytes) {
  std::byte all{};
  for (const std::byte byte : bytes.value_or(std::span<const std::byte>())) all |= byte;
  MUSTER_ASSERT(std::to_integer<unsigned>(all) < 256U);
}

void visit(const SharedRing& ring, std::size_t size) {
  const RingGeometry geometry = ring.geometry();
  MUSTER_ASSERT(valid(geometry));
  MUSTER_ASSERT(SharedRing::bytes_for(geometry) <= size);
  const auto last = static_cast<ParticipantIndex>(geometry.participants - 1);
  (void)ring.occupy(last, 1);
  (void)(ring.ready_approx() + ring.done_approx() + ring.free_approx() + ring.contended());
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    (void)ring.sleepers(awaited).asleep_approx();
    (void)ring.sleepers(awaited).wake(2);
  }
  const RingWorker worker(ring, last);
  if (const Claim claim = worker.claim(); claim.outcome == TakeOutcome::taken) {
    MUSTER_ASSERT(claim.slot < geometry.slots);
    read(worker.payload(claim));
  }
  const RingSupervisor supervisor(ring, 0);
  if (const Settling settling = supervisor.collect(); settling.outcome == TakeOutcome::taken) {
    MUSTER_ASSERT(settling.slot < geometry.slots);
    read(supervisor.payload(settling));
    read(supervisor.result_payload(settling));
    (void)supervisor.keep_result(settling);
  }
  if (ring.is_pair()) {
    const RingProducer producer(ring, 0);
    if (const Taken taken = producer.take_back(); taken.outcome == TakeOutcome::taken) {
      MUSTER_ASSERT(taken.slot < geometry.slots);
      (void)supervisor.release(taken);
    }
    (void)producer.submit({});
  }
  const RingExtents extents(ring, 0);
  read(extents.memory(ring.slot(0).contents.extent));
  if (const Allocated extent = extents.allocate(); extent.outcome == TakeOutcome::taken) {
    read(extents.memory(extent.tag));
    (void)extents.free(extent.tag);
  }
  std::array<Settling, 4> found;
  const SweepResult swept = supervisor.sweep(last, found);
  MUSTER_ASSERT(swept.count <= found.size());
  for (const Settling& task : std::span(found).first(swept.count)) (void)supervisor.release(task);
  MUSTER_ASSERT(RingProducer(ring, last).cancel({.slot = 0, .generation = 1}) <=
                CancelOutcome::too_late);
}

void attach(std::span<std::byte> memory) {
  SharedRing ring;
  const AttachOutcome outcome = ring.attach(memory);
  if (outcome == AttachOutcome::attached) visit(ring, memory.size());
}

// As whoever meant harm would: the header agrees with itself.
void mend(std::span<std::byte> memory, char how) {
  const RingGeometry geometry{.slots = number_at(memory, kSlots),
                              .participants = number_at(memory, kParticipants),
                              .extents = number_at(memory, kExtents),
                              .extent_bytes = number_at(memory, kExtentBytes),
                              .parties = RingParties{number_at(memory, kParties)}};
  put(memory, kChecksum, checksum_of(geometry));
  if (how != 'l' || geometry.slots > kMaxSlots || geometry.extents > kMaxSlots) return;
  const RingLayout layout = layout_of(geometry);
  put(memory, kTotalBytes, layout.total_bytes);
  put(memory, kCapacity, layout.capacity);
  put(memory, kMask, layout.capacity - 1);
  put(memory, kSlotsOffset, static_cast<std::uint32_t>(layout.slots));
}

constexpr std::uint8_t kFirstPair = 128;

void attach_to_broken(Bytes bytes, char how) {
  RingGeometry geometry{.slots = bytes.next() % 16U + 1};
  const std::uint8_t participants = bytes.next();
  geometry.participants = participants % 70U + 1;
  if (participants >= kFirstPair) {
    geometry.slots = std::bit_floor(geometry.slots);
    geometry.participants = 2;
    geometry.parties = RingParties::pair;
  }
  const std::uint32_t extents = bytes.next() % 4U;
  geometry.extents = geometry.parties == RingParties::pair ? 0 : extents;
  geometry.extent_bytes = geometry.extents == 0 ? 0 : 64;
  const auto size = static_cast<std::size_t>(SharedRing::bytes_for(geometry));
  const AlignedBytes whole(size);
  SharedRing ring;
  MUSTER_ASSERT(ring.format(whole.span(), geometry) == AttachOutcome::attached);
  TaskContents contents;
  contents.extent = RingExtents(ring, 0).allocate().tag;
  contents.payload_bytes = contents.extent == 0 ? 0 : geometry.extent_bytes;
  MUSTER_ASSERT(RingProducer(ring, 0).submit(contents).outcome == SubmitOutcome::submitted);
  const std::size_t missing = bytes.next();
  while (!bytes.rest().empty()) {
    const std::size_t offset = bytes.next() * std::size_t{256} + bytes.next();
    whole.span()[offset % size] ^= static_cast<std::byte>(bytes.next());
  }
  if (how != 'o') mend(whole.span(), how);
  const AlignedBytes cut(size - missing);
  std::memcpy(cut.span().data(), whole.span().data(), size - missing);
  attach(cut.span());
}

}  // namespace

void shared_ring(std::string_view input) {
  Bytes bytes(input);
  const auto how = static_cast<char>(bytes.next());
  if (how == 'o' || how == 'c' || how == 'l') {
    attach_to_broken(bytes, how);
    return;
  }
  const AlignedBytes memory(bytes.rest().size());
  std::memcpy(memory.span().data(), bytes.rest().data(), bytes.rest().size());
  attach(memory.span());
}

}  // namespace muster::fuzz
