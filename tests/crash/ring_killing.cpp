// ring_killing.cpp: leading a process to its death, and the account of what it left.
#include "crash/ring_killing.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "crash/stepped_process.hpp"

namespace muster::testing {

void nothing(const SharedRing& /*ring*/) {}

TaskContents task(std::uint64_t id) {
  TaskContents contents;
  contents.id = id;
  contents.payload_bytes = sizeof id;
  contents.payload.fill(static_cast<std::byte>(id));
  return contents;
}

namespace {

// An extent full of the id, or 0.
Tag filled_extent(const SharedRing& ring, ParticipantIndex by, std::uint64_t id) {
  const RingExtents extents(ring, by);
  const Allocated extent = extents.allocate();
  if (extent.outcome != TakeOutcome::taken) return 0;
  std::ranges::fill(extents.memory(extent.tag), static_cast<std::byte>(id));
  return extent.tag;
}

}  // namespace

TaskContents large_task(const SharedRing& ring, ParticipantIndex by, std::uint64_t id) {
  TaskContents contents = task(id);
  contents.extent = filled_extent(ring, by, id);
  if (contents.extent != 0) contents.payload_bytes = ring.geometry().extent_bytes;
  return contents;
}

Steps submits(ParticipantIndex by, Ids ids) {
  return [=](const SharedRing& ring) {
    for (std::uint64_t id = ids.first; id <= ids.last; ++id) {
      static_cast<void>(RingProducer(ring, by).submit(task(id)));
    }
  };
}

Steps submits_large(ParticipantIndex by, Ids ids) {
  return [=](const SharedRing& ring) {
    for (std::uint64_t id = ids.first; id <= ids.last; ++id) {
      const TaskContents contents = large_task(ring, by, id);
      if (RingProducer(ring, by).submit(contents).outcome == SubmitOutcome::submitted) continue;
      RingExtents(ring, by).free(contents.extent);
    }
  };
}

bool work_one(const SharedRing& ring, ParticipantIndex by) {
  const RingWorker worker(ring, by);
  const Claim claim = worker.claim();
  if (claim.outcome != TakeOutcome::taken) return false;
  const auto payload = worker.payload(claim);
  const std::uint32_t id = payload ? std::to_integer<std::uint32_t>(payload->front()) : 0;
  TaskResult result{.status = id};
  if (worker.contents(claim).extent != 0) result.extent = filled_extent(ring, by, id);
  if (result.extent != 0) result.payload_bytes = ring.geometry().extent_bytes;
  worker.complete(claim, result);
  return true;
}

// What a supervisor does with what it finds.
void sweep_and_retry(const SharedRing& ring, ParticipantIndex by, ParticipantIndex dead) {
  const RingSupervisor supervisor(ring, by);
  std::array<Settling, 2> found;
  for (;;) {
    const SweepResult result = supervisor.sweep(dead, found);
    for (const Settling& settling : std::span(found).first(result.count)) {
      if (settling.word.state == SlotState::settling) {
        // It has a result; whoever had it in hand may have delivered it.
        supervisor.release(settling);
      } else {
        supervisor.retry(settling);
      }
    }
    if (result.outcome == SweepOutcome::complete) return;
  }
}

namespace {

// A ring in memory that children share, made anew as often as one likes.
class SharedMemory {
 public:
  explicit SharedMemory(const RingGeometry& geometry)
      : geometry_(geometry),
        size_(static_cast<std::size_t>(SharedRing::bytes_for(geometry))),
        bytes_(static_cast<std::byte*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedMemory() { munmap(bytes_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  SharedRing format() const {
    SharedRing ring;
    EXPECT_EQ(ring.format({bytes_, size_}, geometry_), AttachOutcome::attached);
    return ring;
  }
  SharedRing attach() const {
    SharedRing ring;
    EXPECT_EQ(ring.attach({bytes_, size_}), AttachOutcome::attached);
    return ring;
  }

  [[nodiscard]] bool equals(const SharedMemory& other) const {
    return std::memcmp(bytes_, other.bytes_, size_) == 0;
  }
  void copy(const SharedMemory& other) const { std::memcpy(bytes_, other.bytes_, size_); }

 private:
  const RingGeometry geometry_;
  const std::size_t size_;
  std::byte* const bytes_;
};

bool full_of(std::optional<std::span<const std::byte>> bytes, std::uint64_t id) {
  return bytes && std::ranges::all_of(
                      *bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(id); });
}

// Everything that is left goes its way; each id and how often it was settled. An operation that
// settles before it dies has settled once.
std::map<std::uint64_t, int> drain(const SharedRing& ring) {
  std::map<std::uint64_t, int> settled;
  const RingSupervisor supervisor(ring, kSupervisor);
  while (work_one(ring, kOther)) {
  }
  for (;;) {
    const Settling settling = supervisor.collect();
    if (settling.outcome != TakeOutcome::taken) break;
    const std::uint64_t id = supervisor.contents(settling).id;
    EXPECT_TRUE(full_of(supervisor.payload(settling), id)) << "torn";
    EXPECT_EQ(supervisor.result(settling).status, id);
    EXPECT_TRUE(full_of(supervisor.result_payload(settling), id)) << "torn";
    ++settled[id];
    EXPECT_EQ(supervisor.release(settling), HandOver::done);
  }
  return settled;
}

// Duplicates would do no harm but fill the ring, death by death.
void expect_no_duplicates(const TagRing& ring) {
  std::set<Tag> tags;
  for (std::uint32_t cell = 0; cell < ring.capacity(); ++cell) {
    Tag tag = 0;
    if (!ring.pending(cell, tag)) continue;
    EXPECT_TRUE(tags.insert(tag).second) << "slot " << slot_of(tag);
  }
}

// After a sweep every extent is free, and in its ring, or attached to a task that refers to it.
void expect_extents_accounted_for(const SharedRing& ring) {
  const TagRing& extents = ring.free_extents();
  std::map<Tag, int> pending;
  for (std::uint32_t cell = 0; cell < extents.capacity(); ++cell) {
    Tag tag = 0;
    if (extents.pending(cell, tag)) ++pending[tag];
  }
  for (ExtentIndex extent = 0; extent < ring.geometry().extents; ++extent) {
    const SlotWord word = SlotWord::from_bits(extents.words()[extent].load(relaxed));
    int belongs = word.state == SlotState::free ? pending[tag_of(word, extent)] : 0;
    for (SlotIndex slot = 0; slot < ring.geometry().slots; ++slot) {
      const SlotState state = ring.word(slot).state;
      const Tag payload = ring.slot(slot).contents.extent;
      const Tag result = ring.result(slot).extent;
      const bool is_payload = state == SlotState::ready || state == SlotState::done;
      if (is_payload && is_attached(word, {slot, ExtentUse::payload})) {
        belongs += payload == extent_tag(word, extent) ? 1 : 0;
      }
      if (state == SlotState::done && is_attached(word, {slot, ExtentUse::result})) {
        belongs += result == extent_tag(word, extent) ? 1 : 0;
      }
    }
    EXPECT_EQ(belongs, 1) << "extent " << extent << ", state " << static_cast<int>(word.state);
  }
}

// The ring of free extents leads to each once, for more than a lap.
void expect_all_extents_free(const SharedRing& ring) {
  const RingExtents extents(ring, kOther);
  for (int lap = 0; lap < 4; ++lap) {
    std::set<Tag> held;
    for (std::uint32_t i = 0; i < ring.geometry().extents; ++i) {
      const Allocated extent = extents.allocate();
      EXPECT_EQ(extent.outcome, TakeOutcome::taken) << "an extent is lost";
      held.insert(extent.tag);
    }
    EXPECT_EQ(held.size(), ring.geometry().extents);
    EXPECT_EQ(extents.allocate().outcome, TakeOutcome::empty) << "an extent is there twice";
    for (const Tag extent : held) EXPECT_EQ(extents.free(extent), HandOver::done);
  }
}

void expect_sound(const SharedRing& ring) {
  const std::uint32_t slots = ring.geometry().slots;
  for (SlotIndex slot = 0; slot < slots; ++slot) {
    EXPECT_EQ(ring.word(slot).state, SlotState::free) << "slot " << slot;
  }
  expect_all_extents_free(ring);
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    submits_large(kOther, {1, slots})(ring);
    EXPECT_EQ(RingProducer(ring, kOther).submit(task(9)).outcome, SubmitOutcome::no_room);
    EXPECT_EQ(drain(ring).size(), slots) << "each slot is reached once";
  }
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    ring.sleepers(awaited).forget(kOther);
    EXPECT_EQ(ring.sleepers(awaited).asleep_approx(), 0U);
  }
  EXPECT_EQ(ring.damage(), 0U);
  EXPECT_EQ(ring.occupant(kVictim), 0U);
}

std::uint64_t chosen_stride(const KillingOptions& options) {
  const char* const chosen = std::getenv("MUSTER_KILL_STRIDE");
  return chosen == nullptr ? options.stride : std::stoull(chosen);
}

class Killing {
 public:
  Killing(const Operation& operation, const KillingOptions& options)
      : operation_(operation),
        stride_(chosen_stride(options)),
        memory_(options.geometry),
        before_(options.geometry),
        copy_(options.geometry) {}

  // What would be left behind each instruction.
  void walk() {
    const SharedRing ring = prepare();
    before_.copy(memory_);
    SteppedProcess child([&] { operation_.victim(ring); });
    for (;;) {
      const Stepped stepped = child.step();
      refused_ = stepped == Stepped::refused;
      if (stepped != Stepped::on || ::testing::Test::HasFailure()) return;
      ++instructions_;
      if (memory_.equals(before_)) continue;
      changes_.insert(instructions_);
      before_.copy(memory_);
      copy_.copy(memory_);
      expect_repaired(copy_.attach());
    }
  }

  void kill() {
    for (std::uint64_t at = 0; at <= instructions_; ++at) {
      if (at % stride_ != 0 && !changes_.contains(at)) continue;
      const SharedRing ring = prepare();
      {
        SteppedProcess child([&] { operation_.victim(ring); });
        for (std::uint64_t i = 0; i < at; ++i) child.step();
      }
      ++kills_;
      expect_repaired(ring);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "killed after " << at << " instructions";
    }
  }

  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] std::uint64_t kills() const { return kills_; }
  [[nodiscard]] std::uint64_t instructions() const { return instructions_; }
  void report() const {
    std::cout << operation_.name << ": " << instructions_ << " instructions, " << changes_.size()
              << " of them seen by others, " << kills_ << " kills\n";
  }

 private:
  SharedRing prepare() {
    const SharedRing ring = memory_.format();
    EXPECT_TRUE(ring.occupy(kVictim, 1));
    operation_.before(ring);
    return ring;
  }

  void expect_repaired(const SharedRing& ring) const {
    if (!operation_.delivers) expect_results_stay(ring);
    sweep_and_retry(ring, kSupervisor, kVictim);
    sweep_and_retry(ring, kSupervisor, kHeir);  // who was dead before the victim swept it
    for (const TagRing& each : {ring.ready(), ring.done(), ring.free()}) expect_no_duplicates(each);
    if (ring.geometry().extents > 0) expect_extents_accounted_for(ring);
    expect_nothing_lost(drain(ring));
    expect_sound(ring);
  }

  // Else an heir would take for delivered what was to be tried again.
  static void expect_results_stay(const SharedRing& ring) {
    for (SlotIndex slot = 0; slot < ring.geometry().slots; ++slot) {
      const SlotWord word = ring.word(slot);
      if (word.state != SlotState::settling) continue;
      const Settling settling{TakeOutcome::taken, slot, word};
      EXPECT_TRUE(RingSupervisor(ring, kSupervisor).result_payload(settling).has_value());
    }
  }

  void expect_nothing_lost(const std::map<std::uint64_t, int>& settled) const {
    // A supervisor that dies with a result in hand has settled it.
    const std::uint64_t in_hand = operation_.name.starts_with("collect") ? 1 : 0;
    std::uint64_t once = 0;
    for (const auto& [id, times] : settled) {
      EXPECT_EQ(times, 1) << "task " << id;
      EXPECT_LE(id, operation_.most_tasks);
      if (id <= operation_.tasks_before) ++once;
    }
    EXPECT_GE(once + in_hand, operation_.tasks_before) << "accepted tasks are lost";
  }

  const Operation operation_;
  const std::uint64_t stride_;
  SharedMemory memory_;
  SharedMemory before_;
  SharedMemory copy_;
  std::set<std::uint64_t> changes_;
  std::uint64_t instructions_ = 0;
  std::uint64_t kills_ = 0;
  bool refused_ = false;
};

}  // namespace

void kill_everywhere(const std::vector<Operation>& operations, const KillingOptions& options) {
  std::uint64_t instructions = 0;
  std::uint64_t kills = 0;
  for (const Operation& operation : operations) {
    SCOPED_TRACE(operation.name);
    Killing killing(operation, options);
    killing.walk();
    ASSERT_FALSE(killing.refused()) << "this needs ptrace, which the system does not allow";
    ASSERT_FALSE(::testing::Test::HasFailure()) << "after " << killing.instructions();
    killing.kill();
    killing.report();
    ASSERT_FALSE(::testing::Test::HasFailure());
    instructions += killing.instructions();
    kills += killing.kills();
  }
  std::cout << instructions << " instructions, " << kills << " kills\n" << std::flush;
}

}  // namespace muster::testing
