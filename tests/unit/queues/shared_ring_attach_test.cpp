// shared_ring_attach_test.cpp: which memory is accepted as a ring, and that no bytes at all lead
// anybody astray.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>

#include "support/ring_memory.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::AlignedBytes;
using testing::RingMemory;

constexpr RingGeometry kSmall{.slots = 3, .participants = 2};

AttachOutcome attach(std::span<std::byte> memory) {
  SharedRing ring;
  return ring.attach(memory);
}

// What attach() says after the 32-bit number at `offset` was overwritten.
AttachOutcome attach_with(std::size_t offset, std::uint32_t value) {
  const RingMemory memory(kSmall);
  std::memcpy(memory.span().data() + offset, &value, sizeof value);
  return attach(memory.span());
}

TEST(SharedRingAttach, ASecondViewSeesTheSameTasks) {
  const RingMemory memory(kSmall);
  SharedRing other;
  ASSERT_EQ(other.attach(memory.span()), AttachOutcome::attached);
  EXPECT_EQ(other.geometry(), kSmall);
  TaskContents contents;
  contents.id = 42;
  ASSERT_EQ(memory.producer().submit(contents).outcome, SubmitOutcome::submitted);
  const RingWorker worker(other, 1);
  const Claim claim = worker.claim();
  ASSERT_EQ(claim.outcome, TakeOutcome::taken);
  EXPECT_EQ(worker.contents(claim).id, 42U);
}

TEST(SharedRingAttach, ASecondViewSeesTheSameExtents) {
  const RingMemory memory({.slots = 1, .participants = 2, .extents = 2, .extent_bytes = 64});
  SharedRing other;
  ASSERT_EQ(other.attach(memory.span()), AttachOutcome::attached);
  const RingExtents theirs(other, 1);
  const Tag extent = theirs.allocate().tag;
  theirs.memory(extent)[63] = std::byte{7};
  EXPECT_EQ(memory.extents(0).memory(extent)[63], std::byte{7});
  EXPECT_EQ(memory.ring().free_extents_approx(), 1U);
}

TEST(SharedRingAttach, TheFirstEightBytesAreMagicAndVersion) {
  const RingMemory memory(kSmall);
  std::array<std::uint32_t, 2> begin{};
  std::memcpy(begin.data(), memory.span().data(), sizeof begin);
  EXPECT_EQ(begin[0], 0x57504F4CU);
  EXPECT_EQ(begin[1], 2U);
}

TEST(SharedRingAttach, AnotherMagicOrVersionIsRefused) {
  EXPECT_EQ(attach_with(0, 0), AttachOutcome::unformatted);
  EXPECT_EQ(attach_with(0, 0x4C4F5057), AttachOutcome::not_a_ring) << "of the other byte order";
  EXPECT_EQ(attach_with(4, 1), AttachOutcome::wrong_version);
  EXPECT_EQ(attach_with(4, 3), AttachOutcome::wrong_version);
}

TEST(SharedRingAttach, AChangedHeaderIsRefused) {
  for (std::size_t offset = 8; offset < 52; offset += 4) {
    for (const std::uint32_t value : {0x7fff'ffffU, 0U, 1U, 5U}) {
      const RingMemory memory(kSmall);
      std::uint32_t before = 0;
      std::memcpy(&before, memory.span().data() + offset, sizeof before);
      if (before == value) continue;
      EXPECT_EQ(attach_with(offset, value), AttachOutcome::bad_geometry) << offset << ' ' << value;
    }
  }
}

TEST(SharedRingAttach, MemoryThatIsTooShortOrMisalignedIsRefused) {
  const RingMemory memory(kSmall);
  const std::span<std::byte> all = memory.span();
  EXPECT_EQ(attach(all.first(all.size() - 1)), AttachOutcome::too_small);
  EXPECT_EQ(attach(all.first(sizeof(RingHeader) - 1)), AttachOutcome::too_small);
  EXPECT_EQ(attach(all.first(0)), AttachOutcome::too_small);
  EXPECT_EQ(attach(all.subspan(8)), AttachOutcome::misaligned);
  SharedRing ring;
  EXPECT_EQ(ring.format(all.first(all.size() - 1), kSmall), AttachOutcome::too_small);
  EXPECT_EQ(ring.format(all.subspan(8), kSmall), AttachOutcome::misaligned);
}

TEST(SharedRingAttach, AGeometryThatNoRingCanHaveIsRefused) {
  const AlignedBytes bytes(65'536);
  SharedRing ring;
  for (const RingGeometry& geometry :
       {RingGeometry{.slots = 0, .participants = 1}, RingGeometry{.slots = kMaxSlots + 1},
        RingGeometry{.slots = 1, .participants = 0},
        RingGeometry{.slots = 1, .participants = kMaxParticipants + 1},
        RingGeometry{.slots = 1, .participants = 1, .extents = 1, .extent_bytes = 0},
        RingGeometry{.slots = 1, .participants = 1, .extents = 1, .extent_bytes = 100},
        RingGeometry{.slots = 1, .participants = 1, .extents = 0, .extent_bytes = 64}}) {
    EXPECT_FALSE(valid(geometry));
    EXPECT_EQ(ring.format(bytes.span(), geometry), AttachOutcome::bad_geometry);
  }
}

TEST(SharedRingAttach, TheLargestGeometryHasALayoutWithoutOverlap) {
  const RingLayout layout = layout_of({.slots = kMaxSlots,
                                       .participants = kMaxParticipants,
                                       .extents = kMaxSlots,
                                       .extent_bytes = 1U << 20});
  EXPECT_EQ(layout.capacity, 2 * kMaxSlots);
  EXPECT_EQ(layout.bitmap_bytes, kMaxParticipants / 8);
  const std::uint64_t places[] = {layout.participants, layout.sleepers,   layout.ready_cells,
                                  layout.done_cells,   layout.free_cells, layout.extent_cells,
                                  layout.slots,        layout.results,    layout.extent_words,
                                  layout.arena,        layout.total_bytes};
  for (std::size_t i = 1; i < std::size(places); ++i) EXPECT_LT(places[i - 1], places[i]);
  EXPECT_LT(layout.slots, std::uint64_t{1} << 32) << "the header says where in 32 bits";
  EXPECT_EQ(layout.total_bytes - layout.arena, std::uint64_t{kMaxSlots} << 20);
}

TEST(SharedRingAttach, EveryOutcomeIsExplained) {
  for (int i = 0; i <= static_cast<int>(AttachOutcome::bad_geometry); ++i) {
    EXPECT_STRNE(describe(static_cast<AttachOutcome>(i)), "unknown");
  }
}

TEST(SharedRingAttach, RandomBytesAreNotARing) {
  Random random = testing::seeded();
  const AlignedBytes bytes(8192);
  for (int round = 0; round < 100; ++round) {
    for (std::byte& byte : bytes.span()) byte = static_cast<std::byte>(random());
    // Let some get past the first checks.
    if (random.below(2) == 0) std::memcpy(bytes.span().data(), &kRingMagic, 4);
    if (random.below(2) == 0) std::memcpy(bytes.span().data() + 4, &kRingVersion, 4);
    EXPECT_NE(attach(bytes.span().first(random.below(8193))), AttachOutcome::attached);
  }
}

// Reads them all, for whoever watches what is read.
unsigned sum_of(std::optional<std::span<const std::byte>> bytes) {
  unsigned sum = 0;
  if (!bytes) return sum;
  for (const std::byte byte : *bytes) sum += std::to_integer<unsigned>(byte);
  return sum;
}

// Overwrites some of it, as a process does that went wild.
void scribble(Random& random, std::span<std::byte> bytes) {
  const std::uint64_t one_in = 1 + random.below(40);
  for (std::byte& byte : bytes) {
    if (random.below(one_in) == 0) byte = static_cast<std::byte>(random());
  }
}

// Takes what there is to take, and reads all of it.
void read_everything(const RingMemory& memory, Tag wild) {
  unsigned sum = 0;
  const Claim claim = memory.worker().claim();
  if (claim.outcome == TakeOutcome::taken) sum += sum_of(memory.worker().payload(claim));
  const Settling settling = memory.supervisor().collect();
  if (settling.outcome == TakeOutcome::taken) {
    sum += sum_of(memory.supervisor().payload(settling));
    sum += sum_of(memory.supervisor().result_payload(settling));
    static_cast<void>(memory.supervisor().keep_result(settling));
  }
  sum += sum_of(memory.extents(0).memory(wild));
  static_cast<void>(memory.extents(0).allocate());
  ::testing::Test::RecordProperty("sum", static_cast<int>(sum));
}

RingGeometry random_geometry(Random& random) {
  return {.slots = static_cast<std::uint32_t>(1 + random.below(9)),
          .participants = static_cast<std::uint32_t>(2 + random.below(70)),
          .extents = static_cast<std::uint32_t>(1 + random.below(9)),
          .extent_bytes = 64};
}

// Behind a sound header anything may stand: a process that went wild wrote there. Then no promise
// holds but these: nobody leaves the memory (the address sanitizer watches), everything returns.
TEST(SharedRingAttach, NoBytesBehindASoundHeaderLeadAnybodyAstray) {
  Random random = testing::seeded();
  for (int round = 0; round < 30; ++round) {
    const RingMemory memory(random_geometry(random));
    scribble(random, memory.span().subspan(64));
    SharedRing ring;
    ASSERT_EQ(ring.attach(memory.span()), AttachOutcome::attached);
    std::array<Settling, 4> found;
    for (int step = 0; step < 6; ++step) {
      read_everything(memory, static_cast<Tag>(random()));
      static_cast<void>(memory.supervisor().sweep(1, found));
      memory.ring().sleepers(Awaited::work).wake(70);
    }
  }
}

// The same where the rings themselves are sound, so that everything finds a place in them: what
// slots, results and words of extents say is not believed.
TEST(SharedRingAttach, NoSlotAndNoExtentLeadsAnybodyAstray) {
  Random random = testing::seeded();
  for (int round = 0; round < 100; ++round) {
    const RingGeometry geometry = random_geometry(random);
    const RingMemory memory(geometry);
    for (std::uint32_t i = 0; i < geometry.slots; ++i) {
      static_cast<void>(memory.producer().submit({}));
      const Claim claim = memory.worker().claim();
      if (i % 2 == 0) memory.worker().complete(claim, {});
    }
    const RingLayout layout = layout_of(geometry);
    scribble(random, memory.span().subspan(layout.slots));
    for (SlotIndex slot = 0; slot < geometry.slots; ++slot) {
      const Settling settling{TakeOutcome::taken, slot, memory.ring().word(slot)};
      read_everything(memory, memory.ring().slot(slot).contents.extent);
      memory.extents(1).free(memory.ring().result(slot).extent);
      if (random.below(2) == 0) memory.supervisor(1).retry(settling);
      memory.supervisor().release(settling);
    }
    std::array<Settling, 4> found;
    for (int step = 0; step < 6; ++step) {
      const SweepResult swept = memory.supervisor().sweep(1, found);
      for (const Settling& task : std::span(found).first(swept.count)) {
        memory.supervisor().release(task);
      }
    }
  }
}

// A sweep puts back all that a dead participant held, one by one: if each took a second or two, a
// wild write would stop the pool for as long as one that hangs.
TEST(SharedRingAttach, ARingWithoutAPlaceToPutThingsSaysSoSoon) {
  const RingMemory memory(kSmall);
  ASSERT_EQ(memory.producer().submit({}).outcome, SubmitOutcome::submitted);
  ASSERT_EQ(memory.worker().complete(memory.worker().claim(), {}), HandOver::done);
  const Settling settling = memory.supervisor().collect();
  const std::uint64_t wild = 0x0123'4567'89ab'cdef;
  std::memcpy(memory.span().data() + offsetof(RingHeader, free) + sizeof(RingHead), &wild, 8);
  const Time begin = real_clock().now();
  EXPECT_EQ(memory.supervisor().release(settling), HandOver::damaged);
  EXPECT_EQ(memory.ring().damage(), 1U);
  EXPECT_LT(real_clock().now() - begin, std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace muster
