// crew.hpp: the workers of one pool and what they share.
//
// A worker is made by its own thread, so that its memory is near the CPU that it runs on. Which
// there are, by what numbers, says the staff.
//
// A task is counted before anybody can take it, and when it is done. The crew is quiescent when
// both counts are equal, read in this order: first what is done, then what has entered.
//
// Thread safety: any member from any thread.
// Lifetime: outlives its workers' threads; stop() joins them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <muster/base/cpu_topology.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/observe/rates.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/policy/admission.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/thread_pool.hpp>
#include <muster/threads/roster.hpp>

#include "threads/affinities.hpp"
#include "threads/autoscaling.hpp"
#include "threads/gate.hpp"
#include "threads/meter.hpp"
#include "threads/placement.hpp"
#include "threads/placer.hpp"
#include "threads/ranked_queue.hpp"
#include "threads/shared_queue.hpp"
#include "threads/spares.hpp"
#include "threads/staff.hpp"
#include "threads/worker.hpp"
#include "threads/worker_threads.hpp"

namespace muster {

class Timers;

class Crew final : public Executor, public Employer {
 public:
  // `options` are valid, name `workers` and `max_workers`, and no CPU that `topology` does not
  // have.
  Crew(const ThreadPoolOptions& options, CpuTopology topology);
  ~Crew() override;

  // Throws Stopped, or QueueFull if that is what the options say; does otherwise what they say.
  void post(Closure&& task);
  void post(const TaskOptions& options, Closure&& task);

  Closure* place_inside();  // where a worker makes a task for its post_from(); null: use post()

  // False: there is no room, and the task is the caller's. Never waits. Throws Stopped.
  [[nodiscard]] bool try_post(const TaskOptions& options, Closure&& task);

  // Is counted, and always finds room. Throws Stopped. What stands in for tasks is not traced.
  void post_always(Closure&& task);
  void post_stand_in(Closure&& task);

  void execute(Closure&& task) override;
  void orphan() noexcept override;

  [[nodiscard]] const std::shared_ptr<Timers>& timers() const noexcept { return timers_; }

  void wait_idle() MUSTER_EXCLUDES(idle_mutex_);
  StopResult stop(const StopOptions& options) MUSTER_EXCLUDES(stop_mutex_, idle_mutex_);
  [[nodiscard]] ThreadPoolStats stats() const MUSTER_EXCLUDES(stats_mutex_);
  [[nodiscard]] PoolSnapshot snapshot();
  void reset_stats() MUSTER_EXCLUDES(stats_mutex_);

  Placer& placer() noexcept { return placer_; }
  Affinities& affinities() noexcept { return affinities_; }
  std::vector<unsigned> workers_for(std::string_view key, std::size_t most);
  void set_strategy(const StrategyChoice& strategy);

  // Throws Stopped, SystemFailure.
  void resize(const Resizing& resizing, const std::string& reason) MUSTER_EXCLUDES(staff_.mutex);
  const Staff& staff() const noexcept { return staff_; }

  // --- for a simulation ---

  // Those that are not in the middle of a task; if there is none, a spare, if there may be one.
  void add_idle_workers(std::vector<Worker*>& idle);

  // --- for its workers ---

  const ThreadPoolOptions& options() const noexcept { return options_; }
  Roster& roster() noexcept { return roster_; }

  Worker* worker(std::size_t index) const noexcept { return staff_.worker(index); }

  // For a drain of a worker's queue, greater than any before. relaxed: a number.
  std::uint64_t next_drain() noexcept { return drains_.fetch_add(1, relaxed) + 1; }

  // Groups of regular workers, nearest first; none if it is all the same.
  StealOrder steal_order_of(std::size_t index) const;

  // A worker on its own thread: warms up, is counted as searching from now on, is one too many
  // (false: is not).
  [[nodiscard]] bool warms_up() const noexcept;
  void warm_up(std::size_t index) MUSTER_EXCLUDES(staff_.mutex);
  void begin_work(std::size_t index) MUSTER_EXCLUDES(staff_.mutex);
  [[nodiscard]] bool leave(std::size_t index) MUSTER_EXCLUDES(staff_.mutex, idle_mutex_);

  // What waits with this worker and those before it who do not serve goes to those who do.
  // Requires: a full fence since something was put there.
  void hand_over(std::size_t index) noexcept;

  // One task, to the worker whose number it gives; that is where it comes from, if that one serves.
  // Once it is counted, notify_heir() and hand_over() with that number must follow.
  [[nodiscard]] std::size_t rehome(Closure&& task, std::size_t from) noexcept;
  [[nodiscard]] std::size_t rehome(AffineTask&& task) noexcept;
  void notify_heir(std::size_t index) noexcept;

  // The calling worker waits for something; a spare takes its place.
  Cover begin_blocking() noexcept override;
  void end_blocking() noexcept override { spares_.end_blocking(); }
  ExecutorId executor_id() const noexcept override { return id(); }
  Spares& spares() noexcept { return spares_; }
  Gate& gate() noexcept { return gate_; }
  Meter& meter() noexcept { return meter_; }

  RankedQueue& ranked() noexcept { return ranked_; }  // tasks whose priority is not 0

  // True if a worker that looks would find something.
  bool has_work() noexcept;

  // What has not begun is to be dropped.
  bool is_discarding() const noexcept {
    return discarding_.load(relaxed);  // relaxed: a little later will do
  }

  // No more is accepted.
  bool is_closed() const noexcept {
    return closed_.load(relaxed);  // relaxed: whoever closes wakes those who have not seen it
  }

  // Everything that was accepted is done, and no more is accepted.
  bool is_finished() const noexcept;

  // A worker found nothing to do; whoever waits for that may have waited enough.
  void note_idle() MUSTER_EXCLUDES(idle_mutex_);

  NoticeHub& notices() noexcept { return notices_; }

  // Tasks that wait now; tasks that ever came.
  [[nodiscard]] std::size_t queued_approx() noexcept;
  [[nodiscard]] std::uint64_t arrivals_approx() const noexcept;

  // After a change that nobody counts: back-pressure may be over.
  void note_fewer_queued() noexcept {
    if (gate_.back_pressure() == BackPressure::on && !gate_.is_counted()) [[unlikely]]
      gate_.note(queued_approx());
  }

  // What a posted task has thrown.
  void report(std::exception_ptr error, std::string_view task_name = {}) noexcept;

  // The posted task that this worker runs has failed, and was or will be reported.
  void note_failure() noexcept;

  // `global` queueing: blocks until there is a task. False: it is to leave, or the crew has
  // finished.
  bool pop_shared(Worker& worker, Closure& out);
  bool try_pop_shared(Closure& out);

 private:
  struct Counts {
    std::uint64_t done = 0;
    std::uint64_t entered = 0;
  };
  Counts counts() const noexcept;
  bool is_quiescent() const noexcept;
  StopResult end(const StopOptions& options) MUSTER_EXCLUDES(stop_mutex_, staff_.mutex);
  void leave_simulation() noexcept;
  bool wait_for_ends(std::optional<Duration> timeout);
  ThreadPoolStats lifetime_stats() const;
  void time_for_strategy() noexcept;

  void make_worker(std::size_t index, std::uint64_t seed);
  void start_all() MUSTER_EXCLUDES(staff_.mutex);
  void recruit() noexcept MUSTER_EXCLUDES(staff_.mutex);
  void recruit_one() MUSTER_EXCLUDES(staff_.mutex);
  std::size_t start_first() MUSTER_EXCLUDES(staff_.mutex);
  void start_regular(std::size_t index) MUSTER_REQUIRES(staff_.mutex);
  void play_as(std::size_t index) MUSTER_EXCLUDES(staff_.mutex);
  bool start_spare() noexcept MUSTER_EXCLUDES(staff_.mutex);
  [[nodiscard]] std::future<void> start(std::size_t index) MUSTER_REQUIRES(staff_.mutex);

  // How many regular workers serve: one at least.
  std::size_t ensure_started() {
    const std::size_t serving = staff_.serving();
    return serving != 0 ? serving : start_first();
  }

  // How many there are to divide keys among.
  std::size_t ensure_all_started() MUSTER_EXCLUDES(staff_.mutex);
  [[nodiscard]] bool can_wait_for_workers() const noexcept;

  void hire() MUSTER_REQUIRES(staff_.mutex);
  void welcome() MUSTER_EXCLUDES(staff_.mutex);
  void see_off() MUSTER_EXCLUDES(staff_.mutex);
  void note_staff() MUSTER_REQUIRES(staff_.mutex);

  // How a task gets in when there is no room. From inside, and what follows from tasks that were
  // accepted, always.
  enum class Entry { by_policy, if_room, always };

  bool post_special(const TaskOptions& options, Closure& task, Entry entry);
  bool post_traced(const TaskOptions& options, Closure& task, Entry entry);
  enum class Room { found, pool_is_full, key_is_full };
  [[nodiscard]] bool find_room(const TaskOptions& options, Closure& task, Entry entry);
  [[nodiscard]] Room look_for_room(const TaskOptions& options);
  [[nodiscard]] bool wait_for_room(const TaskOptions& options);
  [[noreturn]] void reject(Room room);
  bool drop_oldest(Room room, const TaskOptions& options);
  bool take_oldest(Closure& task);
  bool take_oldest_of(std::optional<std::uint64_t> key_hash, Closure& task);
  bool take_oldest_from(Worker& worker, Closure& task);
  void drop(Closure&& task, WhenFull when_full);
  void run_here(Closure&& task);
  void on_back_pressure(BackPressure state, std::size_t queued) noexcept;

  // Into whose inbox it went. Not an optional: to return that from so deep inside is a store of one
  // byte and a load of eight, which waits for the task to leave for the other CPU's cache.
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  [[nodiscard]] std::size_t try_place(std::size_t first, Closure& task);
  [[nodiscard]] std::size_t spill(std::size_t index, Closure& task, Entry entry);
  void notify_of_task_with(std::size_t index) noexcept;
  [[nodiscard]] bool spread(std::size_t first, Closure& task, Entry entry);
  [[nodiscard]] std::size_t place_of(const TaskOptions& options, Closure& task);
  void enqueue_entered(const TaskOptions& options, Closure&& task, Origin origin);
  void enqueue(const TaskOptions& options, Closure&& task, Origin origin);
  void enqueue_affine(const TaskOptions& options, Closure&& task);
  void notify_of_affine(std::size_t home, AffinityClass affinity_class) noexcept;
  void enqueue_shared(Closure&& task, Origin origin);
  [[noreturn]] void refuse() const;
  [[nodiscard]] Origin origin() const noexcept;
  void stop_and_run_leftovers();
  void run_leftovers();

  // Fixed at construction.
  const ThreadPoolOptions options_;
  const CpuTopology topology_;
  const std::vector<unsigned> cpus_;  // of the regular workers; empty: not pinned
  NoticeHub notices_;
  Gate gate_;
  Meter meter_;
  Rates rates_;
  Staff staff_;
  Placer placer_;
  Affinities affinities_;
  const bool has_inboxes_;  // where ordinary tasks go
  const bool is_plain_;     // and nobody counts them
  const bool is_shortest_;  // and nobody traces them
  const bool steals_;       // workers take tasks from each other
  Roster roster_;
  WorkerThreads threads_;
  const std::shared_ptr<Timers> timers_;

  // Any thread.
  alignas(kCacheLine) Atomic<bool> closed_ = false;
  Atomic<bool> discarding_ = false;
  Atomic<std::uint32_t> idle_waiters_ = 0;
  Atomic<std::uint64_t> drains_ = 0;
  Atomic<std::uint64_t> leftovers_done_ = 0;  // tasks that were run when no worker was left
  Atomic<std::uint64_t> unqueued_ = 0;        // that were dropped from a queue, put back, moved
  Atomic<std::uint64_t> put_back_ = 0;        // of those, the latter two, which entered again
  RankedQueue ranked_;
  SharedQueue shared_;  // `global` queueing only
  Spares spares_;
  Autoscaling autoscaling_;

  // Guarded by stop_mutex_.
  Mutex stop_mutex_;
  bool joined_ MUSTER_GUARDED_BY(stop_mutex_) = false;

  // Those who wait for idleness sleep on idle_; what they wait for is atomic.
  Mutex idle_mutex_;
  ConditionVariable idle_;

  // Guarded by stats_mutex_: what the counts were at the last reset.
  mutable Mutex stats_mutex_;
  ThreadPoolStats reset_ MUSTER_GUARDED_BY(stats_mutex_);
};

}  // namespace muster
