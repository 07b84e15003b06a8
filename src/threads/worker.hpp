// worker.hpp: one thread of a pool: what it runs next, where it looks, when it sleeps.
//
// In order: what its own tasks have posted, the newest first, for that is warm in its caches; its
// inbox; forks and tasks of the other workers, near ones before far ones, the oldest first. Now and
// then the order is turned round, so that nothing is overtaken for ever. Who finds nothing for a
// while sleeps.
//
// Thread safety: inbox() and forks() as those classes say; the counters may be read by any thread;
// the rest belongs to the worker's own thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <muster/base/random.hpp>
#include <muster/policy/stealing.hpp>
#include <muster/queues/spilling_queue.hpp>
#include <muster/queues/work_stealing_deque.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/closure.hpp>
#include <muster/threads/fork_stack.hpp>

#include "threads/affine_queue.hpp"
#include "threads/meter.hpp"
#include "threads/placement.hpp"

namespace muster {

class Crew;

// Of workers with these options.
constexpr Alertness alertness_of(const ThreadPoolOptions& options) noexcept {
  return options.idle == IdlePolicy::latency ? Alertness::high : Alertness::usual;
}

class Worker {
 public:
  // Tasks that wait in an inbox before they cost memory of their own.
  static constexpr std::size_t kRingCapacity = 1024;

  Worker(Crew& crew, std::size_t index, std::uint64_t seed);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // The day of its thread, from the first task to the last. Another thread may have another day.
  void main();

  // For a simulation: what it would do next, as if on a thread of its own. False: nothing.
  bool play_one();

  // From when on it may steal the first of the soft tasks that wait with others; never: none waits.
  [[nodiscard]] Time patience_ends() const noexcept;

  // If fewer are wanted it gives away what waits with it, and leaves: true. Between two tasks, not
  // counted as searching; by its thread, or for a simulation.
  bool leave_if_one_too_many();

  // In the middle of a task, which waits for others.
  [[nodiscard]] bool is_playing() const noexcept { return is_playing_; }

  // The worker that runs on this thread, of whatever pool; or null.
  static Worker* current() noexcept { return current_worker; }

  // This thread is a worker no longer: it is the only one of a forked process.
  static void leave_pool() noexcept;

  Crew& crew() const noexcept { return crew_; }
  std::size_t index() const noexcept { return index_; }
  SpillingQueue<Closure>& inbox() noexcept { return inbox_; }
  const SpillingQueue<Closure>& inbox() const noexcept { return inbox_; }
  AffineQueue& affine() noexcept { return affine_; }
  const AffineQueue& affine() const noexcept { return affine_; }
  ForkStack& forks() noexcept { return forks_; }

  // From a task that this worker is running.
  void post_from_inside(Closure&& task);

  // The same in two steps: where to make the task, and that it was made there.
  Closure* place_inside() { return &spare_posted()->task; }
  void post_from(Closure* place);

  // A task that this worker runs has failed and does not throw.
  void note_failure() noexcept;

  // Racy: whether others would find something here.
  [[nodiscard]] bool has_work_approx() noexcept;

  // Racy.
  [[nodiscard]] std::size_t queued_approx() noexcept;

  // Racy: with the one that it runs.
  [[nodiscard]] std::size_t pending_approx() noexcept {
    return queued_approx() + counters_.busy.load(relaxed);  // relaxed: racy by contract
  }

  // Around its sleep. Since when it has run nothing, while it sleeps.
  void begin_idle() noexcept;
  void end_idle() noexcept {
    idle_since_.store(kAwake, relaxed);  // relaxed: a figure
  }
  [[nodiscard]] std::optional<Time> idle_since() const noexcept {
    const Duration::rep since = idle_since_.load(relaxed);  // relaxed: a figure
    return since == kAwake ? std::nullopt : std::optional(Time(Duration(since)));
  }

  // Written by the worker, read by anybody.
  struct Counters {
    Atomic<std::uint64_t> done = 0;    // tasks
    Atomic<std::uint64_t> posted = 0;  // tasks, from inside
    Atomic<std::uint64_t> moved =
        0;  // tasks that it took from others' inboxes to its own, or gave away
    Atomic<std::uint64_t> steal_attempts = 0;
    Atomic<std::uint64_t> stolen = 0;        // times
    Atomic<std::uint64_t> tasks_stolen = 0;  // often several at once; without forks
    Atomic<std::uint64_t> lost_races = 0;
    Atomic<std::uint64_t> idle_spins = 0;
    Atomic<std::uint64_t> parks = 0;
    Atomic<std::uint64_t> wakes = 0;
    Atomic<std::uint64_t> failed = 0;           // tasks that threw
    Atomic<std::uint64_t> dropped = 0;          // tasks that a stop discarded
    Atomic<std::uint64_t> busy = 0;             // 1 while it runs something
    Atomic<std::uint64_t> affinity_hits = 0;    // tasks with a key that it ran as their own worker
    Atomic<std::uint64_t> affinity_misses = 0;  // as another
  };
  const Counters& counters() const noexcept { return counters_; }
  const WorkerTimes& times() const noexcept { return times_; }

  // Tasks that it has stolen from the worker with that number.
  [[nodiscard]] std::uint64_t stolen_from(std::size_t victim) const noexcept {
    return stolen_from_[victim].load(relaxed);  // relaxed: a count
  }

 private:
  // A task that was posted from inside, in a line of its own.
  struct alignas(kCacheLine) Posted {
    Closure task;
    Posted* next_spare;
  };
  static_assert(sizeof(Posted) == kCacheLine);
  static_assert(std::is_standard_layout_v<Posted>, "post_from() finds it by its task");

  // What a look has found: a fork, a posted task or one from an inbox.
  struct Found {
    Fork* fork = nullptr;
    Posted* posted = nullptr;
    Closure task;
    bool lost_race = false;  // on the way
  };

  // Whoever has none takes what comes, without a look at the lengths of all queues.
  static bool has_rules(const StealingOptions& options) noexcept;

  void work_until_stopped();
  void serve_shared_queue();
  bool linger_and_run();
  void begin_search() noexcept;
  void end_search() noexcept;
  bool search_and_run();
  bool sleep_or_stop();
  bool step_aside_or_leave();
  void step_aside();
  void give_away();

  bool take_own(Found& found);
  bool take_own_here(Found& found);  // the same, in place, where workers spend their time
  bool look_around(Found& found);
  bool visit_all(Found& found);
  bool visit_regulars(Found& found);
  bool visit_by_rules(Found& found);
  std::span<Victim> find_victims();
  [[nodiscard]] std::optional<Time> next_search() const noexcept;
  bool take_from(std::size_t index, Found& found);
  bool take_from(Worker& victim, Found& found);
  bool take_fork_from(Worker& victim, Found& found);
  bool take_tasks_from(Worker& victim, Found& found);
  unsigned take_more_from(Worker& victim, Found& found);
  bool pop_from(Worker& victim, Closure& task) noexcept {
    const SpillPop popped = victim.inbox_.try_pop(task);
    if (popped == SpillPop::refilled) [[unlikely]]
      note_refill(victim);
    return popped != SpillPop::empty;
  }
  void note_refill(const Worker& victim) noexcept;
  bool pop_affine(int least_priority, Found& found);
  bool steal_affine(Worker& victim, AffinityClass affinity_class, Found& found);
  bool steal_soft(Found& found);
  bool take_from_ended(Found& found);
  void take_affine(AffineTask&& taken, Found& found) noexcept;

  bool take_own_and_settle(Found& found);
  void run(Found& found);
  void run_unsettled(Found& found);
  void settle() noexcept;
  void run_task(Closure& task);
  void call(Closure& task);
  void run_timed(Closure& task);
  void push_posted(Closure&& task);
  void push_posted_here(Posted* posted);  // in place, as above
  Posted* posted_of(Closure&& task);
  Posted* spare_posted();
  void keep_spare(Posted* posted) noexcept;

  static constinit thread_local Worker* current_worker;

  // Fixed at construction.
  Crew& crew_;
  const std::size_t index_;
  const StealOrder order_;  // the regular workers, nearest first; none: by number
  const bool is_spare_;
  const bool is_counted_;       // its tasks, by the gate
  const bool steals_by_rules_;  // not just from whom it finds first

  // Worker's thread only.
  Random random_;
  unsigned tick_ = 0;  // looks at its own tasks
  Meter::Turn turn_;   // of the tasks that it posts
  Posted* spares_ = nullptr;
  unsigned spare_count_ = 0;
  bool is_unsettled_ = false;   // has run a task that is not counted as done
  bool is_last_timed_ = false;  // that one
  Meter::Timed last_timed_;
  std::optional<Time> last_end_;    // of a timed task, as long as it goes on at once
  std::uint64_t done_by_then_ = 0;  // without it
  bool is_playing_ = false;
  bool is_crowded_ = false;        // enough others searched when it began
  std::size_t crew_size_ = 0;      // when max_searchers_ was found
  std::size_t max_searchers_ = 0;  // how many are enough
  Time idle_began_{};              // and what it had done by then
  std::uint64_t done_before_idle_ = ~std::uint64_t{0};
  std::optional<Time> last_search_;
  std::vector<Victim> victims_;  // room to sort them in

  // Any thread.
  alignas(kCacheLine) Counters counters_;
  WorkerTimes times_;
  SpillingQueue<Closure> inbox_;
  WorkStealingDeque<Posted*> posted_;
  AffineQueue affine_;
  ForkStack forks_;
  static constexpr Duration::rep kAwake = -1;
  Atomic<Duration::rep> idle_since_ = kAwake;       // ns
  Atomic<bool> has_ended_ = false;                  // looks at its queues no more: the crew stops
  Atomic<std::uint64_t> last_drained_ = 0;          // see Victim
  std::vector<Atomic<std::uint64_t>> stolen_from_;  // tasks, by whom; the worker writes
};

inline std::uint64_t count_of(const Atomic<std::uint64_t>& counter) noexcept {
  return counter.load(relaxed);  // relaxed: a count
}

}  // namespace muster
