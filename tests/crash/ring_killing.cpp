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
#include <utility>

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

bool submit_large(const SharedRing& ring, ParticipantIndex by, std::uint64_t id) {
  const TaskContents contents = large_task(ring, by, id);
  if (RingProducer(ring, by).submit(contents).outcome == SubmitOutcome::submitted) return true;
  RingExtents(ring, by).free(contents.extent);
  return false;
}

Steps submits_large(ParticipantIndex by, Ids ids) {
  return [=](const SharedRing& ring) {
    for (std::uint64_t id = ids.first; id <= ids.last; ++id) submit_large(ring, by, id);
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

// Who goes on when the victim is swept. Of a pair it is who sweeps, and the victim's successor.
ParticipantIndex producer_of(const SharedRing& ring) {
  return ring.is_pair() ? kPairSender : kOther;
}
ParticipantIndex worker_of(const SharedRing& ring) {
  return ring.is_pair() ? kPairWorker : kOther;
}

bool full_of(std::optional<std::span<const std::byte>> bytes, std::uint64_t id) {
  return bytes && std::ranges::all_of(
                      *bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(id); });
}

// Each id and how often it was settled.
using Settled = std::map<std::uint64_t, int>;

// False if there is no result.
bool settle_one(const SharedRing& ring, Settled& settled) {
  const RingSupervisor supervisor(ring, kSupervisor);
  const Settling settling = supervisor.collect();
  if (settling.outcome != TakeOutcome::taken) return false;
  const std::uint64_t id = supervisor.contents(settling).id;
  EXPECT_TRUE(full_of(supervisor.payload(settling), id)) << "torn";
  EXPECT_EQ(supervisor.result(settling).status, id);
  EXPECT_TRUE(full_of(supervisor.result_payload(settling), id)) << "torn";
  ++settled[id];
  EXPECT_EQ(supervisor.release(settling), HandOver::done);
  return true;
}

// Everything that is left goes its way. An operation that settles before it dies has settled once.
void drain(const SharedRing& ring, Settled& settled) {
  while (work_one(ring, worker_of(ring))) {
  }
  while (settle_one(ring, settled)) {
  }
}

// What becomes of a task that the worker of a pair had begun.
enum class Begun { given_up, submitted_anew };

// As soon as there is room.
void submit_anew(const SharedRing& ring, std::vector<std::uint64_t>& ids, Settled& settled) {
  bool settles = true;
  while (!ids.empty() && settles) {
    while (!ids.empty() && submit_large(ring, kPairSender, ids.back())) ids.pop_back();
    settles = settle_one(ring, settled);
  }
  while (!ids.empty() && submit_large(ring, kPairSender, ids.back())) ids.pop_back();
}

std::uint64_t release_begun(const SharedRing& ring, const Settling& settling) {
  const RingSupervisor sender(ring, kPairSender);
  const std::uint64_t id = sender.contents(settling).id;
  EXPECT_TRUE(full_of(sender.payload(settling), id)) << "torn";
  EXPECT_EQ(sender.retry(settling), RetryOutcome::exhausted);
  EXPECT_EQ(sender.release(settling), HandOver::done);
  return id;
}

void sweep_pair(const SharedRing& ring, Begun begun, Settled& settled) {
  std::array<Settling, 2> found;
  std::vector<std::uint64_t> anew;
  SweepResult result{.outcome = SweepOutcome::more};
  while (result.outcome == SweepOutcome::more) {
    result = RingSupervisor(ring, kPairSender).sweep(kPairWorker, found);
    for (const Settling& settling : std::span(found).first(result.count)) {
      const std::uint64_t id = release_begun(ring, settling);
      if (begun == Begun::given_up) ++settled[id];
      if (begun == Begun::submitted_anew) anew.push_back(id);
      submit_anew(ring, anew, settled);  // also while the sweep is not complete
    }
  }
  submit_anew(ring, anew, settled);  // behind results that the sweep has published
  EXPECT_TRUE(anew.empty()) << "what was released leaves no room";
}

// What a sender does that has not heard of the death yet. Says how many tasks it submitted, whose
// ids begin with `first`.
std::uint64_t go_on(const SharedRing& ring, std::uint64_t first, Settled& settled) {
  while (settle_one(ring, settled)) {
  }
  std::uint64_t id = first;
  while (submit_large(ring, kPairSender, id)) ++id;
  const Taken taken = RingProducer(ring, kPairSender).take_back();
  if (taken.outcome == TakeOutcome::taken) {
    const RingSupervisor sender(ring, kPairSender);
    const std::uint64_t newest = sender.contents(taken).id;
    EXPECT_EQ(sender.release(taken), HandOver::done);
    EXPECT_TRUE(submit_large(ring, kPairSender, newest)) << "what was taken back leaves no room";
  }
  return id - first;
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
  const RingExtents extents(ring, worker_of(ring));
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

// Of the dead one; before anything is submitted, whose wake would hide it.
void expect_no_sleepers(const SharedRing& ring) {
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    ring.sleepers(awaited).forget(producer_of(ring));
    EXPECT_EQ(ring.sleepers(awaited).asleep_approx(), 0U);
  }
}

void expect_sound(const SharedRing& ring) {
  const std::uint32_t slots = ring.geometry().slots;
  for (SlotIndex slot = 0; slot < slots; ++slot) {
    EXPECT_EQ(ring.word(slot).state, SlotState::free) << "slot " << slot;
  }
  expect_all_extents_free(ring);
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    submits_large(producer_of(ring), {1, slots})(ring);
    EXPECT_EQ(RingProducer(ring, producer_of(ring)).submit(task(9)).outcome,
              SubmitOutcome::no_room);
    Settled settled;
    drain(ring, settled);
    EXPECT_EQ(settled.size(), slots) << "each slot is reached once";
  }
  EXPECT_EQ(ring.damage(), 0U);
}

std::uint64_t chosen_stride(const KillingOptions& options) {
  const char* const chosen = std::getenv("MUSTER_KILL_STRIDE");
  return chosen == nullptr ? options.stride : std::stoull(chosen);
}

class Killing {
 public:
  Killing(const Operation& operation, const KillingOptions& options)
      : operation_(operation),
        dies_(options.dies),
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
      expect_others_go_on();
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
      expect_others_go_on();
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

  // Without the victim, in a copy of what it left.
  void expect_others_go_on() const {
    const auto copied = [this] { return copy_.copy(memory_), copy_.attach(); };
    switch (dies_) {
      case Dies::participant:
        return expect_repaired(copied());
      case Dies::pair_worker:
        for (const Begun begun : {Begun::given_up, Begun::submitted_anew}) {
          expect_pair_repaired(copied(), begun, Heard::at_once);
          expect_pair_repaired(copied(), begun, Heard::late);
        }
        return;
      case Dies::pair_sender:
        return expect_worker_goes_on(copied());
    }
  }

  void expect_repaired(const SharedRing& ring) const {
    if (!operation_.delivers) expect_results_stay(ring);
    sweep_and_retry(ring, kSupervisor, kVictim);
    sweep_and_retry(ring, kSupervisor, kHeir);  // who was dead before the victim swept it
    for (const TagRing& each : {ring.ready(), ring.done(), ring.free()}) expect_no_duplicates(each);
    expect_all_settled(ring, {}, 0);
  }

  enum class Heard { at_once, late };
  void expect_pair_repaired(const SharedRing& ring, Begun begun, Heard heard) const {
    SCOPED_TRACE(begun == Begun::given_up ? "given up" : "submitted anew");
    SCOPED_TRACE(heard == Heard::at_once ? "heard at once" : "heard late");
    Settled settled;
    const std::uint64_t more =
        heard == Heard::late ? go_on(ring, operation_.most_tasks + 1, settled) : 0;
    sweep_pair(ring, begun, settled);
    expect_all_settled(ring, std::move(settled), more);
  }

  void expect_all_settled(const SharedRing& ring, Settled settled, std::uint64_t more) const {
    EXPECT_TRUE(ring.occupy(kVictim, 2)) << "its index is not vacated";
    expect_no_sleepers(ring);
    if (ring.geometry().extents > 0) expect_extents_accounted_for(ring);
    drain(ring, settled);
    expect_nothing_lost(settled, more);
    expect_sound(ring);
  }

  // Each task that it had not claimed before comes whole, and once. Nobody collects any more.
  void expect_worker_goes_on(const SharedRing& ring) const {
    const RingWorker worker(ring, kPairWorker);
    Settled claimed;
    for (SlotIndex slot = 0; slot < ring.geometry().slots; ++slot) {
      const SlotState state = ring.word(slot).state;
      const bool was_claimed = state == SlotState::done || state == SlotState::settling;
      if (was_claimed) ++claimed[ring.slot(slot).contents.id];
    }
    Claim claim = worker.claim();
    for (SlotIndex i = 0; i < ring.geometry().slots && claim.outcome == TakeOutcome::taken; ++i) {
      const std::uint64_t id = worker.contents(claim).id;
      const auto payload = worker.payload(claim);
      EXPECT_TRUE(full_of(payload, id) && !payload->empty()) << "torn";
      ++claimed[id];
      TaskResult result{.extent = filled_extent(ring, kPairWorker, id)};
      EXPECT_EQ(worker.complete(claim, result), HandOver::done);
      claim = worker.claim();
    }
    EXPECT_EQ(claim.outcome, TakeOutcome::empty);
    expect_nothing_lost(claimed, 0);
    EXPECT_EQ(ring.damage(), 0U);
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

  // Of what was accepted before, and of so many more that the others submitted since.
  void expect_nothing_lost(const Settled& settled, std::uint64_t more) const {
    // A supervisor that dies with a result in hand has settled it.
    const std::uint64_t in_hand = operation_.name.starts_with("collect") ? 1 : 0;
    std::uint64_t once = 0;
    for (const auto& [id, times] : settled) {
      EXPECT_EQ(times, 1) << "task " << id;
      EXPECT_LE(id, operation_.most_tasks + more);
      if (id <= operation_.tasks_before + more) ++once;
    }
    EXPECT_GE(once + in_hand, operation_.tasks_before + more) << "accepted tasks are lost";
  }

  const Operation operation_;
  const Dies dies_;
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
  EXPECT_GT(instructions, 0U);
  EXPECT_GE(kills, instructions / options.stride);
  std::cout << instructions << " instructions, " << kills << " kills\n" << std::flush;
}

}  // namespace muster::testing
