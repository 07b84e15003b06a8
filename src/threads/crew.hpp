// crew.hpp: the workers of one pool and what they share.
//
// A worker is made by its own thread, so that its memory is near the CPU that it runs on. Regular
// workers have the numbers from 0 on, in the order in which they are started; spares follow.
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
#include <thread>
#include <vector>

#include <muster/base/cpu_topology.hpp>
#include <muster/base/log.hpp>
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
#include "threads/gate.hpp"
#include "threads/meter.hpp"
#include "threads/placement.hpp"
#include "threads/placer.hpp"
#include "threads/ranked_queue.hpp"
#include "threads/shared_queue.hpp"
#include "threads/spares.hpp"
#include "threads/worker.hpp"

namespace muster {

class Timers;

class Crew final : public Executor, public Employer {
 public:
  // `options` are valid, name a number of workers and no CPU that `topology` does not have.
  Crew(const ThreadPoolOptions& options, CpuTopology topology);
  ~Crew() override;

  // Throws Stopped, or QueueFull if that is what the options say; does otherwise what they say.
  void post(Closure&& task);
  void post(const TaskOptions& options, Closure&& task);

  // False: there is no room, and the task is the caller's. Never waits. Throws Stopped.
  [[nodiscard]] bool try_post(const TaskOptions& options, Closure&& task);

  // Is counted, and always finds room. Throws Stopped.
  void post_always(Closure&& task);

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

  // --- for a simulation ---

  // Those that are not in the middle of a task; if there is none, a spare, if there may be one.
  void add_idle_workers(std::vector<Worker*>& idle);

  // --- for its workers ---

  const ThreadPoolOptions& options() const noexcept { return options_; }
  Roster& roster() noexcept { return roster_; }

  // Numbers of workers are below this.
  std::size_t worker_span() const noexcept {
    return options_.workers + started_spares_.load(acquire);  // sync(spare-started)
  }
  bool is_spare(std::size_t index) const noexcept { return index >= options_.workers; }

  // Null: not started.
  Worker* worker(std::size_t index) const noexcept {
    return slots_[index].present.load(acquire);  // sync(worker-made): pairs with work_as()
  }

  // A number for a drain of a worker's queue, greater than any before.
  std::uint64_t next_drain() noexcept {
    return drains_.fetch_add(1, relaxed) + 1;  // relaxed: a number
  }

  // Groups of regular workers, nearest first.
  StealOrder steal_order_of(std::size_t index) const;

  // The calling worker waits for something; a spare takes its place.
  Cover begin_blocking() noexcept override;
  void end_blocking() noexcept override { spares_.end_blocking(); }
  ExecutorId executor_id() const noexcept override { return id(); }
  Spares& spares() noexcept { return spares_; }
  Gate& gate() noexcept { return gate_; }
  Meter& meter() noexcept { return meter_; }

  // Tasks whose priority is not 0.
  RankedQueue& ranked() noexcept { return ranked_; }

  // True if a worker that looks would find something.
  bool has_work() noexcept;

  // What has not begun is to be dropped.
  bool is_discarding() const noexcept {
    return discarding_.load(relaxed);  // relaxed: a little later will do
  }

  // Everything that was accepted is done, and no more is accepted.
  bool is_finished() const noexcept;

  // A worker found nothing to do; whoever waits for that may have waited enough.
  void note_idle() MUSTER_EXCLUDES(idle_mutex_);

  NoticeHub& notices() noexcept { return notices_; }

  // After a change that nobody counts: back-pressure may be over.
  void note_fewer_queued() noexcept {
    if (gate_.back_pressure() == BackPressure::on && !gate_.is_counted()) [[unlikely]]
      gate_.note(queued_approx());
  }

  // What a posted task has thrown.
  void report(std::exception_ptr error, std::string_view task_name = {}) noexcept;

  // The posted task that this worker runs has failed, and was or will be reported.
  void note_failure() noexcept;

  // `global` queueing: blocks until there is a task, or the crew has finished (false).
  bool pop_shared(Closure& out);
  bool try_pop_shared(Closure& out);

 private:
  struct Counts {
    std::uint64_t done = 0;
    std::uint64_t entered = 0;
  };
  Counts counts() const noexcept;
  bool is_quiescent() const noexcept;
  bool wait_for_ends(std::optional<Duration> timeout) MUSTER_EXCLUDES(idle_mutex_);
  ThreadPoolStats lifetime_stats() const;
  void add_worker(Worker& worker, PoolSnapshot& snapshot) const;
  std::shared_ptr<Timers> make_timers();
  void time_for_strategy() noexcept;

  // Those that were started.
  template <class Visit>
  void for_each_worker(const Visit& visit) const {
    const std::size_t span = worker_span();
    for (std::size_t i = 0; i < span; ++i) {
      if (Worker* const each = worker(i)) visit(*each);
    }
  }

  std::size_t ensure_all_started() MUSTER_EXCLUDES(start_mutex_);
  void make_all();
  Worker& make_worker(std::size_t index);
  void start_all() MUSTER_EXCLUDES(start_mutex_);
  void recruit() noexcept MUSTER_EXCLUDES(start_mutex_);
  std::size_t start_first() MUSTER_EXCLUDES(start_mutex_);
  void start_next() MUSTER_REQUIRES(start_mutex_);
  bool start_spare() noexcept MUSTER_EXCLUDES(start_mutex_);
  [[nodiscard]] std::future<void> start(std::size_t index) MUSTER_REQUIRES(start_mutex_);
  void finish_start(std::size_t index, std::future<void>& ready);
  void work_as(std::size_t index, std::promise<void>& made) MUSTER_EXCLUDES(idle_mutex_);
  void note_end() MUSTER_EXCLUDES(idle_mutex_);

  // How many regular workers there are: one at least.
  std::size_t ensure_started() {
    const std::size_t started = started_regulars_.load(acquire);  // sync(regulars-started)
    return started != 0 ? started : start_first();
  }
  void pin(std::size_t index) const;

  // How a task gets in when there is no room. From inside, and what follows from tasks that were
  // accepted, always.
  enum class Entry { by_policy, if_room, always };

  [[nodiscard]] bool post_special(const TaskOptions& options, Closure& task, Entry entry);
  enum class Room { found, pool_is_full, key_is_full };
  [[nodiscard]] bool find_room(const TaskOptions& options, Closure& task, Entry entry);
  [[nodiscard]] Room look_for_room(const TaskOptions& options);
  [[nodiscard]] std::optional<std::uint64_t> counted_key(const TaskOptions& options) const;
  [[nodiscard]] bool wait_for_room(const TaskOptions& options);
  [[noreturn]] void reject(Room room);
  bool drop_oldest(Room room, const TaskOptions& options);
  bool take_oldest(Closure& task);
  bool take_oldest_of(std::optional<std::uint64_t> key_hash, Closure& task);
  bool take_oldest_from(Worker& worker, Closure& task);
  void drop(Closure&& task, WhenFull when_full);
  void run_here(Closure&& task);
  std::size_t queued_approx() noexcept;
  void on_back_pressure(BackPressure state, std::size_t queued) noexcept;

  // Tells subscribers what `make` gives, if there are any.
  template <class Make>
  void tell(const Make& make) noexcept {
    try {
      notices_.publish(make);
    } catch (const std::exception& error) {
      MUSTER_LOG(LogLevel::warning, "subscribers could not be told: " << error.what());
    }
  }

  // Into whose inbox it went. Not an optional: to return that from so deep inside is a store of one
  // byte and a load of eight, which waits for the task to leave for the other CPU's cache.
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  [[nodiscard]] std::size_t try_place(std::size_t first, Closure& task);
  [[nodiscard]] std::size_t spill(std::size_t index, Closure& task, Entry entry);
  void notify_of_task_with(std::size_t index) noexcept;
  [[nodiscard]] bool spread(std::size_t first, Closure& task, Entry entry);
  [[nodiscard]] std::size_t place_of(const TaskOptions& options);
  void enqueue_entered(const TaskOptions& options, Closure&& task, Origin origin);
  void enqueue(const TaskOptions& options, Closure&& task, Origin origin);
  void enqueue_affine(const TaskOptions& options, Closure&& task);
  void enqueue_shared(Closure&& task, Origin origin);
  [[noreturn]] void refuse() const;
  [[nodiscard]] Origin origin() const noexcept;
  void stop_and_run_leftovers();
  void run_leftovers();

  struct Slot {
    Atomic<Worker*> present = nullptr;
    std::unique_ptr<Worker> worker;  // written by its thread
    std::thread thread;              // written by who starts it
  };

  // Fixed at construction.
  const ThreadPoolOptions options_;
  const CpuTopology topology_;
  const std::vector<unsigned> cpus_;  // of the regular workers; empty: not pinned
  NoticeHub notices_;
  Gate gate_;
  Meter meter_;
  Rates rates_;
  Placer placer_;
  Affinities affinities_;
  const bool has_inboxes_;  // where ordinary tasks go
  const bool is_plain_;     // and nobody counts them
  const bool steals_;       // workers take tasks from each other
  Roster roster_;
  std::vector<Slot> slots_;
  const std::shared_ptr<Timers> timers_;

  // Any thread.
  alignas(kCacheLine) Atomic<bool> closed_ = false;
  Atomic<bool> discarding_ = false;
  Atomic<std::uint32_t> idle_waiters_ = 0;
  Atomic<std::uint64_t> drains_ = 0;
  Atomic<std::uint64_t> leftovers_done_ = 0;  // tasks that were run when no worker was left
  Atomic<std::uint64_t> unqueued_ = 0;        // that were dropped from a queue, or put back
  Atomic<std::uint64_t> put_back_ = 0;        // of those, the latter, which entered again
  RankedQueue ranked_;
  SharedQueue shared_;  // `global` queueing only
  Spares spares_;

  // Written under start_mutex_.
  Mutex start_mutex_;
  Atomic<std::size_t> started_regulars_ = 0;
  Atomic<std::size_t> started_spares_ = 0;

  // Guarded by stop_mutex_.
  Mutex stop_mutex_;
  bool joined_ MUSTER_GUARDED_BY(stop_mutex_) = false;

  // Those who wait for idleness sleep on idle_; what they wait for is atomic.
  Mutex idle_mutex_;
  ConditionVariable idle_;
  ConditionVariable ended_;
  std::size_t running_workers_ MUSTER_GUARDED_BY(idle_mutex_) = 0;

  // Guarded by stats_mutex_: what the counts were at the last reset.
  mutable Mutex stats_mutex_;
  ThreadPoolStats reset_ MUSTER_GUARDED_BY(stats_mutex_);
};

}  // namespace muster
