// notice.hpp: something that happened in a pool, as a value.
//
//     if (const auto* failed = std::get_if<TaskFailed>(&notice.news)) alert(failed->name);
//     log << to_text(notice);     // [12.000345000] #7 scaled up by 2, workers now 6: queue
//     ratio 2.5
//
// Notices come out of a NoticeHub, see notice_hub.hpp.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>

namespace muster {

struct ScaledUp {
  unsigned added = 0;
  unsigned total = 0;  // workers afterwards
  std::string reason;
  bool operator==(const ScaledUp&) const = default;
};

struct ScaledDown {
  unsigned removed = 0;
  unsigned total = 0;  // workers afterwards
  std::string reason;
  bool operator==(const ScaledDown&) const = default;
};

struct TaskDropped {
  std::string name;    // as in its options; may be empty
  std::string policy;  // what was to be done with a full queue: "drop_oldest"
  bool operator==(const TaskDropped&) const = default;
};

// The queue has passed its high watermark ...
struct BackPressureOn {
  std::uint64_t queued = 0;
  std::uint64_t limit = 0;  // tasks that may wait
  bool operator==(const BackPressureOn&) const = default;
};

// ... and is below its low one again.
struct BackPressureOff {
  std::uint64_t queued = 0;
  std::uint64_t limit = 0;
  bool operator==(const BackPressureOff&) const = default;
};

struct WorkerAdded {
  unsigned worker = 0;
  bool operator==(const WorkerAdded&) const = default;
};

struct WorkerRemoved {
  unsigned worker = 0;
  bool operator==(const WorkerRemoved&) const = default;
};

struct StrategyChanged {
  std::string from;
  std::string to;
  bool operator==(const StrategyChanged&) const = default;
};

struct TaskFailed {
  std::string name;  // as in its options; may be empty
  std::string what;  // of the exception
  bool operator==(const TaskFailed&) const = default;
};

// Of worker processes from here on. It gave no sign of life for so long ...
struct HeartbeatMissed {
  unsigned worker = 0;
  Duration silence{};
  bool operator==(const HeartbeatMissed&) const = default;
};

// ... or for longer, and is told to end.
struct ZombieFound {
  unsigned worker = 0;
  Duration silence{};
  bool operator==(const ZombieFound&) const = default;
};

struct WorkerDied {
  unsigned worker = 0;
  std::string how;  // "killed by signal 11 (SIGSEGV)"
  bool operator==(const WorkerDied&) const = default;
};

// Too many have died, so none is started for a while.
struct CrashLoop {
  Duration pause{};
  bool operator==(const CrashLoop&) const = default;
};

// A worker that is well is replaced.
struct WorkerRecycled {
  unsigned worker = 0;
  std::string reason;  // "tasks", "memory", "age"
  bool operator==(const WorkerRecycled&) const = default;
};

// A task has failed for good. Jobs have the ids that they were given, tasks those of replay().
struct DeadLettered {
  std::string name;  // of the task, or of the pool of jobs
  std::string id;
  std::string what;  // that its future says
  unsigned attempts = 0;
  bool operator==(const DeadLettered&) const = default;
};

// One partition key has more than half of the jobs that wait for an instance, which runs them one
// after the other.
struct HotPartition {
  std::string instance;  // "pool:2"
  std::string key;
  std::uint64_t waiting = 0;  // of this key
  bool operator==(const HotPartition&) const = default;
};

using News =
    std::variant<ScaledUp, ScaledDown, TaskDropped, BackPressureOn, BackPressureOff, WorkerAdded,
                 WorkerRemoved, StrategyChanged, TaskFailed, HeartbeatMissed, ZombieFound,
                 WorkerDied, CrashLoop, WorkerRecycled, DeadLettered, HotPartition>;

struct Notice {
  Time time{};

  // Counts the notices of one hub from 1 on, without gaps; later ones have no earlier time.
  std::uint64_t sequence = 0;

  News news;
  bool operator==(const Notice&) const = default;
};

// One line for people: seconds on the clock of Time, sequence, what happened.
MUSTER_API std::string to_text(const Notice& notice);

}  // namespace muster
