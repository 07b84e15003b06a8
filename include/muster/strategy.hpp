// strategy.hpp: which worker gets a task. Seven ways are built in; your own is an object or a
// function.
//
//     auto strategy = muster::make_strategy("least-busy");
//
//     auto evens = muster::strategy_from("evens", [](auto workers, const auto& task) {
//       return std::optional<std::size_t>(task.id * 2 % workers.size());
//     });
//
// A strategy is asked with a view of all workers, picks one of them or none, and is told what
// became of it through the hooks. Where the pool's own workers post, or steal, it is not asked.
//
// The built-ins are objects here, to be read, wrapped and compared with: each looks at all workers.
// A pool that is given one of them by its enum or its name uses policy/choice.hpp instead, which
// picks the same way without looking at all.
//
// It may post to its pool, whose tasks are then placed without it, but must not wait for it: a
// worker that has a task to tell of waits for the strategy.
//
// Thread safety: one call at a time for each object. The registry may be used from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/observe/worker_state.hpp>

namespace muster {

enum class BuiltIn {
  round_robin,           // the next idle worker, or the next in turn if none is
  least_used,            // fewest tasks done of late, and pending
  least_busy,            // fewest tasks active and queued
  least_elu,             // lowest utilisation: the share of time it is busy; pending tasks count
  fair_share,            // least run time of late, with what is pending; busy ones are penalised
  weighted_round_robin,  // turns in proportion to weight, in runs: a a b a a b
  interleaved_weighted,  // the same shares, spread out: a b a a b a
};

inline constexpr std::array kBuiltIns{
    BuiltIn::round_robin,          BuiltIn::least_used,
    BuiltIn::least_busy,           BuiltIn::least_elu,
    BuiltIn::fair_share,           BuiltIn::weighted_round_robin,
    BuiltIn::interleaved_weighted,
};

// "round-robin", "least-used", ...
MUSTER_API std::string_view to_string(BuiltIn strategy);
MUSTER_API std::optional<BuiltIn> built_in_named(std::string_view name);

// Goes by turns, not by loads.
constexpr bool is_weighted(BuiltIn strategy) {
  return strategy == BuiltIn::weighted_round_robin || strategy == BuiltIn::interleaved_weighted;
}

// Goes by what workers did of late.
constexpr bool looks_back(BuiltIn strategy) {
  return strategy == BuiltIn::least_used || strategy == BuiltIn::fair_share;
}

// Whether a worker may be picked. The built-ins never pick another.
constexpr bool takes_tasks(WorkerState state) {
  return state == WorkerState::ready || state == WorkerState::busy;
}

// A worker as a strategy sees it.
struct WorkerInfo {
  // Workers of a pool are numbered from 0 on without gaps.
  std::size_t id = 0;
  WorkerState state = WorkerState::ready;
  std::uint64_t tasks_done = 0;

  // Tasks count as queued from the moment they are placed, so the next pick sees the last one.
  std::uint32_t active = 0;
  std::uint32_t queued = 0;

  // Of both, how many came with an estimate, and what these take together by it. A stolen one
  // counts for its thief from when it begins.
  std::uint32_t estimated = 0;
  Duration estimated_time{};

  Duration average_task_time{};  // of late; 0: nothing is known yet
  Duration last_task_time{};
  Duration idle_time{};  // since its last task

  // Its share of the work, relative to those of the others. More than 0.
  double weight = 1;

  // The share of the last moments in which it was busy, from 0 to 1.
  double utilisation = 0;
};

// A task as a strategy sees it. The texts live as long as the call.
//
// A ThreadPool asks for tasks from outside without priority, and for those with a key whose
// AffinityClass is `none`. The others are not placed by a strategy: those with a priority wait in
// one queue for all workers, those with a key for their worker. A ProcessPool asks
// whenever several workers are free and the key does not decide.
struct TaskInfo {
  std::uint64_t id = 0;
  std::string_view name = {};
  int priority = 0;
  std::optional<std::string_view> affinity = {};
  std::optional<Duration> estimated_duration = {};
};

struct Selection {
  std::size_t worker = 0;   // its id
  std::string reason = {};  // for people
};

// Derive from it to choose by your own rule.
class MUSTER_API Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy();

  [[nodiscard]] virtual std::string_view name() const = 0;

  // None: no opinion; the pool places the task itself. So it does when this throws, or names a
  // worker that is not there or takes no tasks.
  [[nodiscard]] virtual std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                                        const TaskInfo& task) = 0;

  // What happened meanwhile. They do nothing unless overridden. Of the workers there are it is told
  // when it is installed, and of others when they come and go.
  // on_task_complete is called for those who are there, not for spares or one that has left.
  virtual void on_task_complete(std::size_t worker, Duration duration);
  virtual void on_worker_added(const WorkerInfo& worker);
  virtual void on_worker_removed(std::size_t worker);

  // Forget everything. Called first of all when it is installed.
  virtual void reset();
};

using SelectFunction = std::function<std::optional<std::size_t>(std::span<const WorkerInfo> workers,
                                                                const TaskInfo& task)>;
using StrategyFactory = std::function<std::unique_ptr<Strategy>()>;

// A strategy without hooks: the function gives the id of a worker, or none.
// Throws InvalidArgument if the name or the function is empty.
MUSTER_API std::unique_ptr<Strategy> strategy_from(std::string name, SelectFunction function);

MUSTER_API std::unique_ptr<Strategy> make_strategy(BuiltIn strategy);

// A built-in or registered one. Throws InvalidArgument, which lists the names there are, for any
// other; and whatever its factory throws.
MUSTER_API std::unique_ptr<Strategy> make_strategy(std::string_view name);

// What a pool is told: a built-in; any by its name; or an object of your own, which then belongs to
// this one pool.
//
//     pool.set_strategy(BuiltIn::fair_share);
//     pool.set_strategy("fair-share");
//     pool.set_strategy(std::make_shared<MyStrategy>());
using StrategyChoice = std::variant<BuiltIn, std::string, std::shared_ptr<Strategy>>;

// Every problem with it; empty: none.
MUSTER_API std::vector<BadField> validate(const StrategyChoice& strategy);

// The built-in that it is, by whatever name. Requires: valid.
MUSTER_API std::optional<BuiltIn> built_in_of(const StrategyChoice& strategy);

// What it is if not a built-in: yours, or one made by its name. Null: a built-in. Requires: valid.
// Throws what its factory throws.
MUSTER_API std::shared_ptr<Strategy> custom_of(const StrategyChoice& strategy);

// For the whole program, and for good. Throws InvalidArgument if the name is empty or taken, or the
// factory is empty.
MUSTER_API void register_strategy(std::string name, StrategyFactory factory);

// The built-ins, then those registered, in their order.
MUSTER_API std::vector<std::string> strategy_names();

}  // namespace muster
