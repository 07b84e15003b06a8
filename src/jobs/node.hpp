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
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/job_pool.hpp>
#include <muster/jobs/cron.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_pool_config.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/mutex.hpp>
#include <muster/thread_pool.hpp>

#include "jobs/group_commit.hpp"
#include "jobs/lane.hpp"
#include "jobs/shared_store.hpp"
#include "jobs/store.hpp"
#include "jobs/transition.hpp"

namespace muster {

class IsolatedHandlers;
class JobPoolState;
struct DeadNews;
struct JobInstance;

class JobNode final : private GroupCommit::Listener {
 public:
  struct Options {
    Retention retention = {};
    Duration prune_every = std::chrono::minutes(1);
    Clock* clock = nullptr;  // null: the real one
    JobsMode mode = JobsMode::threads;
  };

  // Lives as long as the node.
  using Pool = JobPoolState;

  JobNode(std::unique_ptr<Store> store, const Options& options);
  ~JobNode() override;
  JobNode(const JobNode&) = delete;
  JobNode& operator=(const JobNode&) = delete;

  // Throws InvalidArgument, also if there is one of this name already or the node has started.
  // Other pools may be in use meanwhile.
  Pool& define(std::string_view name, JobPoolSetup setup);

  // Throws InvalidArgument if it was not defined.
  [[nodiscard]] Pool& pool(std::string_view name) const;
  [[nodiscard]] const JobPoolSetup& setup_of(std::string_view name) const;

  // Throws InvalidArgument, with every problem, or EventError.
  static void check(const Pool& pool, const EncodedJob& job);

  // Bytes that an attempt may log.
  static constexpr std::size_t kMostLog = 65'536;

  // Before start().
  void add_schedule(std::string_view name, Pool& pool, const CronSchedule& schedule,
                    MissedRuns missed_runs, EncodedJob job);

  // Runs what waits. Once.
  void start();

  // What is due, on this thread.
  std::size_t run_due();

  // Starts no more jobs, asks those that run to stop, and waits for them. Says how many still run
  // at the deadline; they are waited for when the node goes. Safe twice, also at once: whoever
  // comes second waits for the first to end it.
  std::size_t stop(Time deadline);

  // Clients: node_enqueue.cpp, node_clients.cpp, node_figures.cpp
  EnqueueManyResult enqueue(Pool& pool, std::vector<EncodedJob> jobs, Durability durability);
  EnqueueManyResult enqueue_with(Pool& pool, pg_conn* connection, std::vector<EncodedJob> jobs);
  [[nodiscard]] JobPoolStatus status(const Pool& pool) const;
  [[nodiscard]] InstanceStatus instance_status(const Pool& pool, std::uint32_t index) const;
  [[nodiscard]] PoolSnapshot snapshot(const Pool& pool) const;
  void set_paused(Pool& pool, std::optional<std::uint32_t> index, bool is_paused);
  JobCancelOutcome cancel(Pool& pool, std::string_view id, const JobCancelOptions& options);
  DrainOutcome drain(Pool& pool, const DrainOptions& options, Time deadline);
  [[nodiscard]] JobDeadLetters dead_letters(const Pool& pool, const DeadLetterPage& page) const;
  bool judge_dead(Pool& pool, std::string_view id, JobState to);
  [[nodiscard]] Store::Remains remains(Pool& pool, std::string_view id) const;
  [[nodiscard]] WaitingJobs waiting(const Pool& pool, std::uint32_t index,
                                    const WaitingPage& page) const;
  [[nodiscard]] NoticeHub& notices() noexcept { return notices_; }

 private:
  class Context;
  struct Taken;
  struct Limit;
  struct Rest;
  using Instance = JobInstance;

  // The end of an attempt, before it is settled.
  struct Ended {
    AttemptOutcome outcome = {};
    std::exception_ptr exception = {};
    bool is_handed_back = false;  // because of a stop: no attempt
    std::optional<std::string> result = {};
    std::optional<std::string> log = {};
    std::vector<NewJob> enqueued = {};
  };

  // Loading: node.cpp
  void load(Pool& pool, const std::set<std::uint32_t>& instances,
            const std::set<JobSeq>& interrupted);
  void block_partitions(Pool& pool, const std::set<std::uint32_t>& instances);
  bool is_tried_again(Pool& pool, Taken& taken);
  void settle_crash(Pool& pool, Taken& taken);
  void prune();

  // A job that is enqueued at given times.
  struct Schedule {
    std::string name;
    Pool* pool = nullptr;
    CronSchedule plan;
    MissedRuns missed_runs = MissedRuns::run_once;
    EncodedJob job = {};
    WallTime last{};  // that was enqueued, or when it was first seen
  };

  // What has to be looked at now and then: node_ticking.cpp
  void take_up_schedules();
  void tick_with_store();
  void run_schedule(Schedule& schedule, WallTime now);
  [[nodiscard]] Duration tick_every() const;
  void tick();
  void end_late_jobs(Pool& pool);
  void look_at_crowds(Pool& pool);
  void follow_clock();

  // Sharing a store with other nodes: node_sharing.cpp
  void watch();
  bool beat();
  void take_arrivals();
  void add_arrivals(std::vector<SharedStore::Arrival> arrivals);
  void grant_wish(const SharedStore::CancelWish& wish);
  [[nodiscard]] SharedStore::Report report() const;
  void take_over(Pool& pool, const SharedStore::Standing& standing, std::uint64_t pauses);
  void release_partitions(Pool& pool);
  static void clear(Pool& pool, Instance& instance);
  void lose(Pool& pool, Instance& instance);
  void call_others() noexcept;

  // Waking: node_waking.cpp
  void wake(Pool& pool, std::uint32_t index);
  void see_to(Pool& pool, Instance& home, WallTime now);
  std::optional<std::uint32_t> look_for_help(Pool& pool, WallTime now);
  void call(Pool& pool, std::optional<std::uint32_t> helper);
  static Rest go_to_sleep(Pool& pool, Instance& instance);
  void set_alarm(Pool& pool, Instance& instance, WallTime next, WallTime now);

  // Running: node_running.cpp
  void run_jobs(Pool& pool, std::uint32_t index);
  bool run(Pool& pool, Taken& taken);
  void run_as_enqueued();
  std::optional<Taken> take_next(Pool& pool, std::uint32_t index);
  std::pair<std::optional<WaitingJob>, std::uint32_t> take_from_others(Pool& pool,
                                                                       std::uint32_t index,
                                                                       WallTime now);
  std::pair<std::optional<WaitingJob>, std::uint32_t> choose(Pool& pool, std::uint32_t index,
                                                             WallTime now);
  Taken begin(Pool& pool, Instance& instance, std::uint32_t home, const WaitingJob& job,
              WallTime now);
  bool get_ready(Pool& pool, Taken& taken);
  bool read_body(Pool& pool, Taken& taken);
  [[nodiscard]] Limit ask_limits(const Pool& pool, const Taken& taken);
  void forget(Pool& pool, const Taken& taken);
  void put_off(Pool& pool, Taken& taken, const Limit& limit);
  Ended execute(Pool& pool, const Taken& taken);
  Ended execute_isolated(Pool& pool, const Taken& taken);

  // Ending: node_settling.cpp
  void end_attempt(Pool& pool, Taken& taken, Ended ended);
  static void return_to_lane(Pool& pool, const Taken& taken, const Ended& ended);
  void settle(Pool& pool, const Taken& taken, Ended ended);
  void tell_empty(const Pool& pool, std::uint32_t index, std::uint64_t processed) const;
  void tell_dead(Pool& pool, DeadNews news);
  bool tell_untold();
  void call_dead_letter(Pool& pool, const DeadNews& news);

  // Of the store: node_settling.cpp
  void on_settled(std::span<const Settlement> settlements,
                  std::span<const StoreBatch::Settled> settled) override;
  void note_settled(Pool& pool, const Settlement& settlement, bool is_settled);
  static void note_caught_up(Pool& pool, Instance& instance, std::vector<std::uint32_t>& caught_up);
  void on_committed(const StoreBatch& batch) override;
  void on_lost(const StoreBatch& batch, const std::exception_ptr& why) override;
  void add_jobs(std::span<const NewJob> jobs, std::span<const Inserted> inserted);
  void put_back(Pool& pool, std::uint32_t home, const WaitingJob& job);
  void let_wait(Pool& pool, std::uint32_t home, std::uint64_t term, JobSeq seq);
  std::optional<JobCancelOutcome> cancel_here(Pool& pool, JobSeq seq);
  void stop_running(Pool& pool, JobSeq seq) const;
  static void request_all(const std::vector<std::stop_source>& stops);
  JobCancelOutcome cancel_elsewhere(Pool& pool, const JobRecord& job,
                                    const JobCancelOptions& options);
  void unblock(Pool& pool, const JobRecord& record, bool is_replayed);
  DrainOutcome drain_here(Pool& pool, const DrainOptions& options, Time deadline);
  [[nodiscard]] InstanceStatus status_of(const Pool& pool, std::uint32_t index,
                                         const std::vector<SharedStore::Seen>& seen) const;
  [[nodiscard]] bool has_work_elsewhere(const Pool& pool, const DrainOptions& options);
  [[nodiscard]] DrainOutcome drained_elsewhere(const Pool& pool, const DrainOptions& options);

  [[nodiscard]] WallTime wall_now() const;
  [[nodiscard]] Duration clock_offset() const;
  [[nodiscard]] WallTime lane_now(const Pool& pool) const;
  [[nodiscard]] WaitingJob for_lane(WaitingJob job) const;
  static bool wait_changed(Pool& pool, Time deadline);  // false: the deadline has passed
  NewJob new_job(Pool& pool, EncodedJob job, WallTime now);
  [[nodiscard]] NewJob make_job(const Pool& pool, EncodedJob job, WallTime now) const;
  static void take_turns(Pool& pool, std::span<NewJob> jobs);  // has its lock
  bool enqueue_soon(Pool& pool, std::vector<NewJob>& jobs, std::vector<Inserted>& inserted);
  bool note_pending(Pool& pool, std::span<const NewJob> jobs);  // has its lock
  void forget_pending(Pool& pool, std::span<const NewJob> jobs, bool was_noted);
  void note_handed(std::span<const NewJob> jobs);
  void forget_handed(std::span<const NewJob> jobs);
  [[nodiscard]] static std::vector<std::size_t> ahead_of_new(const Pool& pool);  // has its lock
  static void fill_in(const Pool& pool, std::span<NewJob> jobs, std::span<const Inserted> inserted,
                      std::vector<std::size_t> ahead, EnqueueManyResult& answer);
  [[nodiscard]] Pool& pool_of(PoolNumber number) const;
  void furnish(Pool& pool, const PoolRecord& record) MUSTER_REQUIRES(defining_);
  [[nodiscard]] std::vector<Pool*> defined() const;
  void end(Time deadline);

  // Fixed at construction.
  const Options options_;
  Clock& clock_;
  const std::unique_ptr<Store> store_;
  SharedStore* const shared_;  // null: it is all ours

  const std::set<JobSeq> interrupted_;  // by the death of the last process

  // Held by whoever defines or starts. Taken before any other.
  Mutex defining_;
  std::uint32_t runners_ MUSTER_GUARDED_BY(defining_) = 0;

  // Written by define() under this lock, and constant from start() on: whatever that sets in motion
  // looks at them without it. Others may enqueue before.
  mutable Mutex defined_;
  std::map<std::string, Pool*, std::less<>> pools_;  // those that are loaded
  std::map<PoolNumber, std::unique_ptr<Pool>> by_number_;

  // Held by whoever ends it.
  Mutex ending_;
  bool is_ended_ MUSTER_GUARDED_BY(ending_) = false;

  // Who runs by hand, only.
  bool is_running_due_ = false;

  // The thread that watches, only.
  NodeNumber held_as_ = 0;

  // Whoever ticks, one at a time.
  std::vector<Schedule> schedules_;

  // Any thread.
  Atomic<bool> is_started_ = false;
  std::stop_source stopping_;
  Atomic<bool> beats_soon_;
  Atomic<bool> watch_stops_;
  Atomic<bool> watch_ended_;
  NoticeHub notices_;
  std::unique_ptr<GroupCommit> commits_;
  std::thread watcher_;  // of a shared store
  std::unique_ptr<IsolatedHandlers> isolated_;
  std::unique_ptr<ThreadPool> keepers_;  // prune and tick, however busy the workers are
  std::unique_ptr<ThreadPool> workers_;  // goes first, since its tasks use the rest
};

}  // namespace muster
