// member.hpp: what the supervisor keeps of one worker: its process, its memory, what it has at
// hand.
//
// A member has a number for life; processes come and go under it. Each of those is a *run*, with
// memory of its own.
//
// Thread safety: guarded by the supervisor's mutex.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <muster/observe/busy_window.hpp>
#include <muster/policy/health.hpp>
#include <muster/policy/recent_work.hpp>
#include <muster/process_pool_options.hpp>
#include <muster/processes/file_descriptor.hpp>
#include <muster/processes/process_handle.hpp>

#include "processes/command_link.hpp"
#include "processes/process_task.hpp"
#include "processes/worker_segment.hpp"

namespace muster {

// Output is told apart by the run and the member.
inline constexpr unsigned kRunShift = 12;

// A method that was asked for, in abilities of this edition.
struct KnownMethod {
  std::uint64_t edition = 0;
  std::string name;
  std::uint32_t method = 0;
};

// The number that a method has in one edition of abilities.
struct FoundMethod {
  std::uint32_t number = 0;
  std::uint64_t edition = 0;
};

// What a worker's program can do, as it said when it was ready.
struct Abilities {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> methods;  // by name
  std::vector<std::string> capabilities;
  bool takes_any = false;  // whatever its name

  // The number of these abilities; others have another. 0: none yet.
  std::uint64_t edition = 0;

  // None: it has no such method.
  [[nodiscard]] std::optional<std::uint32_t> method(std::string_view name) const {
    const auto found = methods.find(name);
    if (found != methods.end()) return found->second;
    return takes_any ? std::optional(0U) : std::nullopt;
  }
  [[nodiscard]] bool is_same_as(const Abilities& other) const {
    return methods == other.methods && capabilities == other.capabilities &&
           takes_any == other.takes_any;
  }
  [[nodiscard]] bool has_capability(const std::string& name) const {
    return std::find(capabilities.begin(), capabilities.end(), name) != capabilities.end();
  }
};

// A task that a worker has, by its slot.
struct Flight {
  TaskRef task;
  std::uint64_t generation = 0;
  std::optional<SharedBlocks::Number> block;  // with its payload
};

struct Member {
  static constexpr std::size_t kHistory = 100;

  Member(unsigned number, Time start) : id(number), recent(std::chrono::seconds(1), start) {}

  // May it be given a task?
  [[nodiscard]] bool takes_tasks() const noexcept {
    return state == WorkerState::ready || state == WorkerState::busy;
  }
  [[nodiscard]] bool has_process() const noexcept {
    return state != WorkerState::cold && state != WorkerState::terminated &&
           state != WorkerState::failed;
  }

  [[nodiscard]] WorkerReading read() const noexcept {
    if (segment != nullptr) return segment->read();
    WorkerReading reading = command_reading;
    if (command != nullptr) reading.task = command->session().oldest().value_or(0);
    return reading;
  }

  // Of all its runs.
  [[nodiscard]] RecentWork::Totals totals() const noexcept {
    return {.done = past_tasks + tasks, .busy = busy};
  }

  // Of the last second, since it was added.
  [[nodiscard]] double utilisation(Time now) const noexcept {
    return recent.steady_utilisation(now, in_flight > 0 ? last_result : now);
  }

  // For life.
  const unsigned id;
  BusyWindow recent;
  std::uint64_t past_tasks = 0;   // of runs that have ended
  std::uint64_t past_failed = 0;  // of those
  Duration busy{};                // by what its results said, which cannot be too much
  std::uint64_t restarts = 0;
  std::optional<ExitStatus> last_exit;
  std::deque<HeartbeatSample> history;
  bool stays_down = false;  // it died, and is not replaced

  // Of this run.
  WorkerState state = WorkerState::cold;
  std::uint64_t run = 0;  // the spawner's number for it; 0: none
  ProcessHandle process;
  FileDescriptor control;                        // until it is ready
  std::shared_ptr<const WorkerSegment> segment;  // of one that runs our registry ...
  std::unique_ptr<CommandLink> command;          // ... or of one that is a command
  WorkerReading command_reading;
  bool tells_memory = false;    // by its heartbeats, which know better than the kernel
  std::string command_failure;  // why it is restarted
  std::shared_ptr<const Abilities> abilities;
  std::vector<Flight> flights;  // by slot
  unsigned in_flight = 0;
  unsigned room = 1;              // tasks that it may have at once
  int lowest_priority = 1 << 16;  // of those it was given since it had none; or lower
  std::uint64_t tasks = 0;
  std::uint64_t failed = 0;  // of those
  Duration average_task{};   // what they took of late
  Duration last_task{};      // the last one
  Duration run_time{};       // of those that were collected since the last look at its pace
  std::uint64_t runs = 0;    // how many these are
  Time last_result{};
  std::uint64_t beats = 0;         // of the last look
  std::uint64_t first_memory = 0;  // what it had at its first heartbeat
  double luck = 0;                 // decides its jitter
  Time launched{};
  Time ready_since{};
  Time idle_since{};
  std::optional<Health> health;
  WorkerPast past;
  std::optional<Time> kill_at;  // if it has not killed itself by then
  bool is_recycled = false;     // it goes because it has done its share
  bool is_removed = false;      // it goes for good

  // Where it stands in the supervisor's lists; kNowhere: not in it.
  static constexpr std::size_t kNowhere = SIZE_MAX;
  std::size_t place_in_roomy = kNowhere;
  std::size_t place_in_idle = kNowhere;
  std::size_t place_in_busy = kNowhere;

  // As it is counted in the supervisor's sums.
  unsigned counted_in_flight = 0;
  bool counted_ready = false;
};

}  // namespace muster
