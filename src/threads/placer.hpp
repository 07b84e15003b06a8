// placer.hpp: into whose inbox a task from outside goes.
//
// Whoever posts plans ahead: it looks at the workers, decides by the pool's strategy where its next
// tasks go, and looks again when these are placed. A look takes cache lines away from busy workers,
// so it has to serve many tasks; and since each planned one counts as pending, a plan spreads a
// burst as if it looked each time. Plans begin with one task, and double each time that one is used
// up, to 512. If nobody steals, to 64, and a plan is also given up when it is some microseconds
// old: nobody would make up for what has changed meanwhile.
//
// A strategy of the user's is asked for each task, one at a time. Whatever it does, the task finds
// a worker.
//
// Thread safety: any member from any thread.
// Design note: docs/design/placing.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/policy/choice.hpp>
#include <muster/policy/recent_work.hpp>
#include <muster/policy/weighted_turns.hpp>
#include <muster/strategy.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/thread_pool_options.hpp>

#include "threads/charges.hpp"

namespace muster {

class Crew;
class Worker;

class Placer {
 public:
  // `options` are valid. Makes the strategy if it has a registered name.
  Placer(const Crew& crew, const ThreadPoolOptions& options);

  // One of those who serve, which are `workers` or were a moment ago.
  std::size_t pick(std::size_t workers) {
    Plan& plan = current_plan;
    // relaxed: a little later will do.
    if (plan.version == version_.load(relaxed) && plan.next < plan.size && !plans_age_) [[likely]] {
      const std::size_t worker = plan.workers[plan.next++];
      if (worker < workers) return worker;
    }
    return pick_anew(workers, {});
  }

  // The same for a task of which more is known.
  std::size_t pick(std::size_t workers, const TaskInfo& task) {
    const bool is_special = has_custom() || (task.estimated_duration && weighs_time());
    return is_special ? pick_anew(workers, task) : pick(workers);
  }

  // Where a strategy of the user's wants it, one of those who serve; none: it has no usable answer.
  std::optional<std::size_t> ask(const TaskInfo& task) MUSTER_EXCLUDES(ask_mutex_);

  // Charges the worker that a task is placed with what it is expected to take, if the strategy
  // wants to know.
  void charge(std::size_t worker, std::optional<Duration> estimate, Closure& task) {
    if (!estimate || !weighs_time() || task.must_run()) [[likely]]
      return;
    task = charges_.charge(worker, *estimate, std::move(task));
  }
  [[nodiscard]] const Charges& charges() const noexcept { return charges_; }

  // A strategy of the user's, which wants to know of each task that has ended.
  [[nodiscard]] bool has_custom() const noexcept {
    return has_custom_.load(relaxed);  // relaxed: a little later will do
  }
  void note_done(std::size_t worker, Duration took) noexcept MUSTER_EXCLUDES(ask_mutex_);

  // The calling thread is in the middle of a call to its strategy.
  [[nodiscard]] bool is_asking() const noexcept;

  // Others serve from now on than before: whoever posts plans anew.
  void drop_plans() noexcept;

  // Tells a strategy of the user's of those who have come and gone.
  void meet_workers() noexcept MUSTER_EXCLUDES(ask_mutex_);

  // Returns the name of the one before. Requires: valid. Throws what the factory of a registered
  // one throws, and WouldDeadlock from within a strategy.
  std::string set_strategy(const StrategyChoice& strategy) MUSTER_EXCLUDES(mutex_, ask_mutex_);
  [[nodiscard]] std::string strategy_name() MUSTER_EXCLUDES(mutex_);

  // One for each worker: as given, or as measured.
  [[nodiscard]] std::vector<double> weights(std::size_t workers) MUSTER_EXCLUDES(mutex_);

  // Times that a strategy of the user's had no usable answer.
  [[nodiscard]] std::uint64_t fallbacks() const noexcept {
    return fallbacks_.load(relaxed);  // relaxed: a count
  }

 private:
  static constexpr std::size_t kLongestPlan = 512;
  static constexpr std::size_t kLongestAgingPlan = 64;
  static constexpr Duration kPlanAge{4000};

  // Of the thread that posts, for the pool that it posted to last.
  struct Plan {
    std::uint64_t version = 0;  // of whose strategy; no two pools ever have the same
    std::uint32_t next = 0;
    std::uint32_t size = 0;
    Time made{};
    Rotation turn{};
    Random random{0};
    std::array<std::uint16_t, kLongestPlan> workers{};
  };
  static constinit thread_local Plan current_plan;

  // Those that a plan chooses from.
  struct Field {
    std::size_t size = 0;
    std::array<std::uint16_t, kLookAtAll> workers{};
    std::array<WorkerLoad, kLookAtAll> loads{};
  };

  // What tasks are expected to take matters: to these built-ins, perhaps to one of the user's.
  [[nodiscard]] bool weighs_time() const noexcept {
    const BuiltIn strategy = built_in_.load(relaxed);  // relaxed: as in set_strategy()
    return strategy == BuiltIn::least_elu || strategy == BuiltIn::fair_share || has_custom();
  }
  std::size_t pick_anew(std::size_t workers, const TaskInfo& task);
  std::size_t pick_one(std::size_t workers, BuiltIn strategy, Plan& plan) MUSTER_EXCLUDES(mutex_);
  std::optional<std::size_t> answer_for(TaskInfo task) MUSTER_EXCLUDES(ask_mutex_);
  void look(std::size_t workers, BuiltIn strategy, Random& random, Field& field)
      MUSTER_EXCLUDES(mutex_);
  void make_plan(std::size_t workers, BuiltIn strategy, std::uint32_t size, Plan& plan)
      MUSTER_EXCLUDES(mutex_);
  void take_turns(std::size_t workers, BuiltIn strategy, Plan& plan) MUSTER_EXCLUDES(mutex_);
  void find_utilisations(Field& field) const;
  void update_recent(std::size_t workers, Time now) MUSTER_REQUIRES(mutex_);
  void look_at_all(std::size_t workers) MUSTER_REQUIRES(ask_mutex_) MUSTER_EXCLUDES(mutex_);
  template <class Call>
  void tell(const Call& call) noexcept MUSTER_EXCLUDES(ask_mutex_);
  void introduce(std::size_t workers) MUSTER_REQUIRES(ask_mutex_);
  void log_failure(const char* of) noexcept MUSTER_REQUIRES(ask_mutex_);

  // Fixed at construction.
  const Crew& crew_;
  const bool plans_age_;

  // Any thread; read by everybody, written when the strategy changes.
  Atomic<std::uint64_t> version_;
  Atomic<BuiltIn> built_in_ = BuiltIn::least_busy;  // also what a custom one falls back to
  Atomic<bool> has_custom_ = false;

  alignas(kCacheLine) Atomic<std::uint64_t> fallbacks_ = 0;
  Charges charges_;

  // Guarded by mutex_, which is never held while users' code runs.
  Mutex mutex_;
  std::string name_ MUSTER_GUARDED_BY(mutex_);
  RecentWork recent_ MUSTER_GUARDED_BY(mutex_);
  WeightedTurns turns_ MUSTER_GUARDED_BY(mutex_);

  // Guarded by ask_mutex_: one call at a time to the user's object. Taken before mutex_.
  Mutex ask_mutex_;
  std::shared_ptr<Strategy> custom_ MUSTER_GUARDED_BY(ask_mutex_);
  std::vector<WorkerInfo> infos_ MUSTER_GUARDED_BY(ask_mutex_);
  std::uint64_t tasks_asked_ MUSTER_GUARDED_BY(ask_mutex_) = 0;
  std::size_t introduced_ MUSTER_GUARDED_BY(ask_mutex_) = 0;  // workers that it was told of
  bool has_failed_ MUSTER_GUARDED_BY(ask_mutex_) = false;
};

}  // namespace muster
