// node.hpp: the process's share in a store: which jobs wait, who runs them, and what becomes of
// them.
//
//     client -> GroupCommit -> store -> on_committed -> lane -> run_jobs (a worker) -> post
//                                                         ^                              |
//                                    on_settled <- store <- GroupCommit <----------------+
//
// What waits is in the lanes, in memory; what a job is about is read when it is run. A job gets
// into a lane only when it is in the store, and is counted as ended only when that is. An instance
// goes on with its next job meanwhile.
//
// Thread safety: define() before start(); everything else from any thread.
// Design note: docs/design/job_pool.md
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_pool_config.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/thread_pool.hpp>

#include "jobs/group_commit.hpp"
#include "jobs/lane.hpp"
#include "jobs/store.hpp"
#include "jobs/transition.hpp"

namespace muster {

class JobPoolState;
struct DeadNews;
struct JobInstance;

class JobNode final : private GroupCommit::Listener {
 public:
  struct Options {
    Retention retention = {};
    Duration prune_every = std::chrono::minutes(1);
    Clock* clock = nullptr;  // null: the real one
  };

  // Lives as long as the node.
  using Pool = JobPoolState;

  JobNode(std::unique_ptr<Store> store, const Options& options);
  ~JobNode() override;
  JobNode(const JobNode&) = delete;
  JobNode& operator=(const JobNode&) = delete;

  // Throws InvalidArgument, also if there is one of this name already or the node has started.
  Pool& define(std::string_view name, JobPoolSetup setup);

  // Throws InvalidArgument if it was not defined.
  [[nodiscard]] Pool& pool(std::string_view name) const;

  // Runs what waits. Once.
  void start();

  // Starts no more jobs, asks those that run to stop, and waits for them. Says how many still run
  // at the deadline; they are waited for when the node goes. Safe twice.
  std::size_t stop(Time deadline);

  // Clients: node_clients.cpp
  EnqueueManyResult enqueue(Pool& pool, std::vector<EncodedJob> jobs, Durability durability);
  [[nodiscard]] JobPoolStatus status(const Pool& pool) const;
  [[nodiscard]] InstanceStatus instance_status(const Pool& pool, std::uint32_t index) const;
  void set_paused(Pool& pool, std::optional<std::uint32_t> index, bool is_paused);
  JobCancelOutcome cancel(Pool& pool, std::string_view id);
  DrainOutcome drain(Pool& pool, std::optional<std::uint32_t> index, Time deadline);
  [[nodiscard]] std::vector<DeadLetter> dead_letters(Pool& pool, std::size_t limit) const;
  bool judge_dead(Pool& pool, std::string_view id, JobState to);
  [[nodiscard]] std::optional<std::string> result(Pool& pool, std::string_view id) const;
  [[nodiscard]] std::vector<WaitingJobStatus> waiting(const Pool& pool, std::uint32_t index,
                                                      std::size_t limit) const;

 private:
  class Context;
  struct Taken;
  using Instance = JobInstance;

  // The end of an attempt, before it is settled.
  struct Ended {
    AttemptOutcome outcome = {};
    std::exception_ptr exception = {};
    bool is_handed_back = false;  // because of a stop: no attempt
    std::optional<std::string> result = {};
    std::vector<NewJob> enqueued = {};
  };

  // What there is to do for an instance that has gone to sleep.
  struct Rest {
    bool is_empty = false;  // since just now
    std::uint64_t processed = 0;
    std::optional<Duration> alarm = {};
  };

  // Loading: node.cpp
  void load(Pool& pool);
  bool is_tried_again(Pool& pool, Taken& taken);
  void settle_crash(Pool& pool, Taken& taken);
  void prune();

  // Running: node_running.cpp
  void wake(Pool& pool, std::uint32_t index);
  void run_jobs(Pool& pool, std::uint32_t index);
  std::optional<Taken> take_next(Pool& pool, std::uint32_t index);
  std::pair<std::optional<WaitingJob>, std::uint32_t> take_from_others(Pool& pool,
                                                                       std::uint32_t index,
                                                                       WallTime now);
  static Rest go_to_sleep(Instance& instance, std::optional<WallTime> now);
  void set_alarm(Pool& pool, std::uint32_t index, Duration delay);
  bool read_body(Pool& pool, Taken& taken);
  Ended execute(Pool& pool, const Taken& taken);
  void end_attempt(Pool& pool, Taken& taken, Ended ended);
  void settle(Pool& pool, const Taken& taken, Ended ended);
  [[nodiscard]] static RetryOptions retry_of(const Pool& pool);
  void tell_empty(const Pool& pool, std::uint32_t index, std::uint64_t processed) const;
  void tell_dead(Pool& pool, DeadNews news);
  void call_dead_letter(Pool& pool, const DeadNews& news) const;

  // Of the store: node_running.cpp
  void on_settled(const Settlement& settlement, const StoreBatch::Settled& settled) override;
  void on_committed(const StoreBatch& batch) override;
  void add_jobs(std::span<const NewJob> jobs, std::span<const Inserted> inserted);

  void put_back(Pool& pool, std::uint32_t home, const WaitingJob& job);

  [[nodiscard]] WallTime wall_now() const;
  static bool wait_changed(Pool& pool, Time deadline);  // false: the deadline has passed
  NewJob new_job(Pool& pool, EncodedJob job);
  [[nodiscard]] Pool& pool_of(PoolNumber number) const;

  // Fixed at construction.
  const Options options_;
  Clock& clock_;
  const std::unique_ptr<Store> store_;

  // Written by define() and start(), before anything runs.
  const std::set<JobSeq> interrupted_;  // by the death of the last process
  std::map<std::string, std::unique_ptr<Pool>, std::less<>> pools_;
  std::map<PoolNumber, Pool*> by_number_;
  std::uint32_t runners_ = 0;
  bool is_started_ = false;

  // Any thread.
  std::stop_source stopping_;
  std::unique_ptr<GroupCommit> commits_;
  std::unique_ptr<ThreadPool> workers_;  // goes first, since its tasks use the rest
};

}  // namespace muster
