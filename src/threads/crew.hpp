// crew.hpp: the workers of one pool and what they share.
//
// A task is counted twice: before anybody can take it, and when it is done. The crew is quiescent
// when both counts are equal, read in this order: first what is done, then what has entered.
//
// Thread safety: any member from any thread.
// Lifetime: outlives its workers' threads; stop() joins them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/thread_pool.hpp>
#include <muster/threads/roster.hpp>

#include "threads/ranked_queue.hpp"
#include "threads/worker.hpp"

namespace muster {

class Crew final : public Executor {
 public:
  // `options` are valid and name a number of workers.
  explicit Crew(const ThreadPoolOptions& options);
  ~Crew() override;

  // Throws Stopped.
  void post(Closure&& task);
  void post_ranked(Priority priority, Closure&& task);
  void execute(Closure&& task) override { post(std::move(task)); }

  void wait_idle() MUSTER_EXCLUDES(idle_mutex_);
  StopResult stop(const StopOptions& options) MUSTER_EXCLUDES(stop_mutex_, idle_mutex_);
  [[nodiscard]] ThreadPoolStats stats() const MUSTER_EXCLUDES(stats_mutex_);
  void reset_stats() MUSTER_EXCLUDES(stats_mutex_);

  // --- for its workers ---

  const ThreadPoolOptions& options() const noexcept { return options_; }
  Roster& roster() noexcept { return roster_; }
  std::size_t size() const noexcept { return workers_.size(); }
  Worker& worker(std::size_t index) noexcept { return *workers_[index]; }

  // Tasks whose priority is not 0.
  RankedQueue& ranked() noexcept { return ranked_; }

  // True if a worker that looks would find something.
  bool has_work() noexcept;

  // What has not begun is to be dropped.
  bool is_discarding() const noexcept {
    return discarding_.load(relaxed);  // relaxed: a little later will do
  }

  // A worker's thread is about to end.
  void note_end() MUSTER_EXCLUDES(idle_mutex_);

  // Everything that was accepted is done, and no more is accepted.
  bool is_finished() const noexcept;

  // A worker found nothing to do; whoever waits for that may have waited enough.
  void note_idle() MUSTER_EXCLUDES(idle_mutex_);

  // What a posted task has thrown.
  void report(std::exception_ptr error) noexcept;

  // `global` queueing: blocks until there is a task, or the crew has finished (false).
  bool pop_shared(Closure& out) MUSTER_EXCLUDES(shared_mutex_);

 private:
  struct Counts {
    std::uint64_t done = 0;
    std::uint64_t entered = 0;
  };
  Counts counts() const noexcept;
  bool is_quiescent() const noexcept;
  bool wait_for_ends(std::optional<Duration> timeout) MUSTER_EXCLUDES(idle_mutex_);
  ThreadPoolStats lifetime_stats() const;
  void place(Closure&& task);
  enum class From { inside, outside };
  void post_shared(Closure&& task, From from) MUSTER_EXCLUDES(shared_mutex_);
  bool take_shared(Closure& out) MUSTER_REQUIRES(shared_mutex_);
  [[noreturn]] static void refuse();
  [[nodiscard]] From from_where() const noexcept;
  void run_leftovers();

  // Fixed at construction.
  const ThreadPoolOptions options_;
  Roster roster_;
  std::vector<std::unique_ptr<Worker>> workers_;

  // Any thread.
  alignas(kCacheLine) Atomic<bool> closed_ = false;
  Atomic<bool> discarding_ = false;
  Atomic<std::uint32_t> idle_waiters_ = 0;
  Atomic<std::uint64_t> leftovers_done_ = 0;
  RankedQueue ranked_;

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

  // Guarded by shared_mutex_. `global` queueing only.
  Mutex shared_mutex_;
  ConditionVariable shared_work_;
  std::deque<Closure> shared_ MUSTER_GUARDED_BY(shared_mutex_);
  Atomic<std::uint64_t> shared_pushed_ = 0;  // also read without the mutex
};

}  // namespace muster
