// ring_kill_test.cpp: a participant of the shared ring is killed at every instruction of every
// operation; one sweep must bring everything back.
//
// For each operation a process is led through it, instruction by instruction. Behind each, what a
// kill would leave is what stands in the shared memory: where that has changed, a copy of it is
// swept, what is left goes its way, and then every task that was accepted must have come out once,
// every slot must be free, and the ring must work for several laps.
// Then the same with real kills: at each instruction that changed the memory, and at every
// kStride-th besides; MUSTER_KILL_STRIDE=1 kills at every single one, which takes minutes.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/queues/ring_worker.hpp>

#include "crash/stepped_process.hpp"

namespace muster::testing {
namespace {

constexpr RingGeometry kGeometry{.slots = 3, .participants = 4};
constexpr ParticipantIndex kSupervisor = 0;
constexpr ParticipantIndex kVictim = 1;
constexpr ParticipantIndex kOther = 2;
constexpr ParticipantIndex kHeir = 3;

TaskContents task(std::uint64_t id) {
  TaskContents contents;
  contents.id = id;
  contents.payload_bytes = sizeof id;
  contents.payload.fill(static_cast<std::byte>(id));
  return contents;
}

// A ring in memory that children share, made anew as often as one likes.
class SharedMemory {
 public:
  SharedMemory()
      : size_(static_cast<std::size_t>(SharedRing::bytes_for(kGeometry))),
        bytes_(static_cast<std::byte*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedMemory() { munmap(bytes_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  SharedRing format() const {
    SharedRing ring;
    EXPECT_EQ(ring.format({bytes_, size_}, kGeometry), AttachOutcome::attached);
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
  const std::size_t size_;
  std::byte* const bytes_;
};

bool work_one(const SharedRing& ring, ParticipantIndex by) {
  const RingWorker worker(ring, by);
  const Claim claim = worker.claim();
  if (claim.outcome != TakeOutcome::taken) return false;
  const auto id = static_cast<std::uint32_t>(worker.contents(claim).id);
  worker.complete(claim, {.status = id});
  return true;
}

struct Operation {
  std::string name;
  std::function<void(const SharedRing&)> before;  // by others, or by the victim while it lived
  std::function<void(const SharedRing&)> victim;
  std::uint64_t tasks_before = 0;  // ids 1 .. so many were accepted
  std::uint64_t most_tasks = 0;    // and those up to here may have been
};

void nothing(const SharedRing& /*ring*/) {}

std::function<void(const SharedRing&)> submits(ParticipantIndex by, std::uint64_t first,
                                               std::uint64_t last) {
  return [=](const SharedRing& ring) {
    for (std::uint64_t id = first; id <= last; ++id) {
      static_cast<void>(RingProducer(ring, by).submit(task(id)));
    }
  };
}

// Moves every ring half a lap on, so that what follows meets their ends.
void turn(const SharedRing& ring) {
  for (int i = 0; i < 5; ++i) {
    submits(kOther, 1, 1)(ring);
    work_one(ring, kOther);
    RingSupervisor(ring, kSupervisor).release(RingSupervisor(ring, kSupervisor).collect());
  }
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

std::vector<Operation> producers() {
  const auto submit_three = [](const SharedRing& ring) {
    std::array<TaskContents, 3> tasks{task(1), task(2), task(3)};
    static_cast<void>(RingProducer(ring, kVictim).submit_batch(tasks));
  };
  return {
      {"submit", nothing, submits(kVictim, 1, 1), 0, 1},
      {"submit behind others", submits(kOther, 1, 2), submits(kVictim, 3, 3), 2, 3},
      {"submit at the ends of the rings", turn, submits(kVictim, 1, 2), 0, 2},
      {"submit without room", submits(kOther, 1, 3), submits(kVictim, 4, 4), 3, 3},
      {"submit to a sleeper",
       [](const SharedRing& ring) {
         static_cast<void>(ring.sleepers(Awaited::work).announce(kOther));
       },
       submits(kVictim, 1, 1), 0, 1},
      {"submit a batch", nothing, submit_three, 0, 3},
      {"cancel", submits(kOther, 1, 1),
       [](const SharedRing& ring) { RingProducer(ring, kVictim).cancel({0, 1}); }, 1, 1},
  };
}

std::vector<Operation> workers() {
  const auto claim = [](const SharedRing& ring) {
    static_cast<void>(RingWorker(ring, kVictim).claim());
  };
  const auto claim_three = [](const SharedRing& ring) {
    std::array<Claim, 3> claims;
    RingWorker(ring, kVictim).claim_batch(claims);
  };
  const auto work = [](const SharedRing& ring) { work_one(ring, kVictim); };
  const auto sleep = [](const SharedRing& ring) {
    const SharedSleepers sleepers = ring.sleepers(Awaited::work);
    const auto ticket = sleepers.announce(kVictim);
    const Claim last_look = RingWorker(ring, kVictim).claim();
    if (last_look.outcome == TakeOutcome::taken) return sleepers.withdraw(ticket);
    sleepers.park(ticket, 1);
  };
  return {
      {"claim", submits(kOther, 1, 2), claim, 2, 2},
      {"claim at the ends of the rings",
       [](const SharedRing& ring) { turn(ring), submits(kOther, 1, 3)(ring); }, claim, 3, 3},
      {"claim nothing", nothing, claim, 0, 0},
      {"claim a batch", submits(kOther, 1, 3), claim_three, 3, 3},
      {"claim and complete", submits(kOther, 1, 2), work, 2, 2},
      {"complete for one who sleeps",
       [](const SharedRing& ring) {
         submits(kOther, 1, 1)(ring);
         static_cast<void>(ring.sleepers(Awaited::results).announce(kOther));
       },
       work, 1, 1},
      {"announce, look again and sleep", nothing, sleep, 0, 0},
      {"announce, look again and find", submits(kOther, 1, 1), sleep, 1, 1},
  };
}

std::vector<Operation> supervisors() {
  const auto done = [](std::uint64_t count) {
    return [=](const SharedRing& ring) {
      submits(kOther, 1, count)(ring);
      for (std::uint64_t i = 0; i < count; ++i) work_one(ring, kOther);
    };
  };
  const auto collect = [](const SharedRing& ring) {
    const RingSupervisor victim(ring, kVictim);
    return victim.collect();
  };
  const auto dead_claimer = [](const SharedRing& ring) {
    submits(kOther, 1, 2)(ring);
    static_cast<void>(RingWorker(ring, kHeir).claim());
    static_cast<void>(ring.free().take(SlotState::free, kHeir));
  };
  return {
      {"collect and release", done(2),
       [=](const SharedRing& ring) { RingSupervisor(ring, kVictim).release(collect(ring)); }, 2, 2},
      {"collect and retry", done(2),
       [=](const SharedRing& ring) { RingSupervisor(ring, kVictim).retry(collect(ring)); }, 2, 2},
      {"collect and delay", done(1),
       [=](const SharedRing& ring) {
         Settling settling = collect(ring);
         RingSupervisor(ring, kVictim).delay(settling);
       },
       1, 1},
      {"sweep", dead_claimer, [](const SharedRing& ring) { sweep_and_retry(ring, kVictim, kHeir); },
       2, 2},
  };
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
    const TaskContents& contents = supervisor.contents(settling);
    EXPECT_EQ(contents.payload, task(contents.id).payload) << "torn";
    EXPECT_EQ(supervisor.result(settling).status, contents.id);
    ++settled[contents.id];
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

void expect_sound(const SharedRing& ring) {
  for (SlotIndex slot = 0; slot < kGeometry.slots; ++slot) {
    EXPECT_EQ(ring.word(slot).state, SlotState::free) << "slot " << slot;
  }
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    submits(kOther, 1, kGeometry.slots)(ring);
    EXPECT_EQ(RingProducer(ring, kOther).submit(task(9)).outcome, SubmitOutcome::no_room);
    EXPECT_EQ(drain(ring).size(), kGeometry.slots) << "each slot is reached once";
  }
  for (const Awaited awaited : {Awaited::work, Awaited::results, Awaited::room}) {
    ring.sleepers(awaited).forget(kOther);
    EXPECT_EQ(ring.sleepers(awaited).asleep_approx(), 0U);
  }
  EXPECT_EQ(ring.damage(), 0U);
  EXPECT_EQ(ring.occupant(kVictim), 0U);
}

constexpr std::uint64_t kStride = 7;

std::uint64_t stride() {
  const char* const chosen = std::getenv("MUSTER_KILL_STRIDE");
  return chosen == nullptr ? kStride : std::stoull(chosen);
}

class Killing {
 public:
  explicit Killing(const Operation& operation) : operation_(operation) {}

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
      if (at % stride() != 0 && !changes_.contains(at)) continue;
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
    sweep_and_retry(ring, kSupervisor, kVictim);
    sweep_and_retry(ring, kSupervisor, kHeir);  // who was dead before the victim swept it
    for (const TagRing& each : {ring.ready(), ring.done(), ring.free()}) expect_no_duplicates(each);
    expect_nothing_lost(drain(ring));
    expect_sound(ring);
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
  SharedMemory memory_;
  SharedMemory before_;
  SharedMemory copy_;
  std::set<std::uint64_t> changes_;
  std::uint64_t instructions_ = 0;
  std::uint64_t kills_ = 0;
  bool refused_ = false;
};

void kill_everywhere(const std::vector<Operation>& operations) {
  std::uint64_t instructions = 0;
  std::uint64_t kills = 0;
  for (const Operation& operation : operations) {
    SCOPED_TRACE(operation.name);
    Killing killing(operation);
    killing.walk();
    ASSERT_FALSE(killing.refused()) << "this needs ptrace, which the system does not allow";
    ASSERT_FALSE(::testing::Test::HasFailure()) << "after " << killing.instructions();
    killing.kill();
    killing.report();
    ASSERT_FALSE(::testing::Test::HasFailure());
    instructions += killing.instructions();
    kills += killing.kills();
  }
  std::cout << instructions << " instructions, " << kills << " kills" << std::endl;
}

TEST(RingKill, AProducerMayDieAtAnyInstruction) {
  kill_everywhere(producers());
}

TEST(RingKill, AWorkerMayDieAtAnyInstruction) {
  kill_everywhere(workers());
}

TEST(RingKill, ASupervisorMayDieAtAnyInstruction) {
  kill_everywhere(supervisors());
}

}  // namespace
}  // namespace muster::testing
