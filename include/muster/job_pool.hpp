// job_pool.hpp: jobs that are not lost: on disk before they are acknowledged, run at least once,
// settled exactly once, in order where that is asked for.
//
//     struct Mail { std::string to, text; };
//     BOOST_DESCRIBE_STRUCT(Mail, (), (to, text))
//
//     auto jobs = muster::Jobs::open("sqlite:jobs.db");
//     auto mails = jobs.define<Mail>("mails", {
//         .concurrency = 4,
//         .execute = [](muster::JobContext&, const Mail& mail) { deliver(mail); }});
//     jobs.start();
//     mails.enqueue({.id = "welcome-7", .event = {"ada@example.org", "Welcome!"}});
//
// A pool has `concurrency` instances, each of which runs one job at a time. Jobs with the same
// partition key are run by the same instance, one after the other in the order they were enqueued,
// also across retries and restarts; while one waits for its next attempt, only its partition waits.
// The priority chooses between partitions and jobs without a key. Those without one are run by
// whoever is free.
//
// The same id is accepted once, as long as its job is kept: `created` says whether it was. A job
// whose process dies while it runs has used up an attempt. One that has used up all of them is a
// dead letter, which is kept until it is replayed or discarded.
//
// Errors: InvalidArgument names the field and its rule, EventError the path in an event,
// StoreFailure what the store could not do; nothing has happened then. On PostgreSQL an enqueue
// that throws because its connection is lost may have happened: the same id once more tells.
//
// Thread safety: everything from any thread, but the modes for tests are for one. Clients may be
// copied. Lifetime: a client must not outlive its Jobs. Handlers are called on threads of the Jobs,
// whose destructor waits for them. Guide: docs/guides/jobs.md
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/jobs/cron.hpp>
#include <muster/jobs/enqueue_options.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_pool_config.hpp>
#include <muster/jobs/job_worker.hpp>
#include <muster/jobs/jobs_options.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/observe/snapshot.hpp>

extern "C" {
struct pg_conn;  // of libpq, which only those need who use it
}

namespace muster {

class JobNode;
class JobPoolState;

namespace detail {

// What a client needs of a pool, whatever its events are.
class MUSTER_API JobPoolHandle {
 public:
  JobPoolHandle(JobNode& node, JobPoolState& pool) noexcept : node_(&node), pool_(&pool) {}

  EnqueueManyResult enqueue(std::vector<EncodedJob> jobs, Durability durability) const;
  EnqueueManyResult enqueue_with(pg_conn* connection, std::vector<EncodedJob> jobs) const;
  [[nodiscard]] JobPoolStatus status() const;
  [[nodiscard]] InstanceStatus instance_status(std::uint32_t index) const;
  [[nodiscard]] PoolSnapshot snapshot() const;
  [[nodiscard]] WaitingJobs waiting(std::uint32_t index, const WaitingPage& page) const;
  void set_paused(std::optional<std::uint32_t> index, bool is_paused) const;
  JobCancelOutcome cancel(std::string_view id, const JobCancelOptions& options) const;
  DrainOutcome drain(const DrainOptions& options) const;
  [[nodiscard]] JobDeadLetters dead_letters(const DeadLetterPage& page) const;
  bool replay(std::string_view id) const;
  bool discard(std::string_view id) const;
  [[nodiscard]] std::optional<std::string> result(std::string_view id) const;
  [[nodiscard]] std::optional<std::string> log(std::string_view id) const;

 private:
  JobNode* node_;
  JobPoolState* pool_;
};

}  // namespace detail

template <class Event>
class JobClient {
 public:
  explicit JobClient(detail::JobPoolHandle handle) noexcept : handle_(handle) {}

  // Returns when the job is as safe as `durability` says.
  EnqueueResult enqueue(const EnqueueOptions<Event>& job,
                        Durability durability = Durability::synced) const {
    std::vector<EncodedJob> jobs = {};
    jobs.push_back(encoded(job));
    return std::move(handle_.enqueue(std::move(jobs), durability).results.front());
  }

  // All in one transaction. If one of them is wrong, none is enqueued.
  EnqueueManyResult enqueue_many(std::span<const EnqueueOptions<Event>> jobs,
                                 Durability durability = Durability::synced) const {
    std::vector<EncodedJob> all = {};
    all.reserve(jobs.size());
    for (const EnqueueOptions<Event>& job : jobs) all.push_back(encoded(job));
    return handle_.enqueue(std::move(all), durability);
  }

  // PostgreSQL: in a transaction of the caller's own, on his connection to the same database. There
  // is a job if and when that commits; `created` says whether its id was free. Throws
  // InvalidArgument if the store is another one, StoreFailure with what PostgreSQL says; then the
  // transaction has failed.
  EnqueueResult enqueue(pg_conn* connection, const EnqueueOptions<Event>& job) const {
    std::vector<EncodedJob> jobs = {};
    jobs.push_back(encoded(job));
    return std::move(handle_.enqueue_with(connection, std::move(jobs)).results.front());
  }
  EnqueueManyResult enqueue_many(pg_conn* connection,
                                 std::span<const EnqueueOptions<Event>> jobs) const {
    std::vector<EncodedJob> all = {};
    all.reserve(jobs.size());
    for (const EnqueueOptions<Event>& job : jobs) all.push_back(encoded(job));
    return handle_.enqueue_with(connection, std::move(all));
  }

  [[nodiscard]] JobPoolStatus status() const { return handle_.status(); }
  [[nodiscard]] InstanceStatus instance_status(std::uint32_t index) const {
    return handle_.instance_status(index);
  }

  // With what waits for it, as of a moment later.
  [[nodiscard]] InstanceStatus instance_status(std::uint32_t index,
                                               const WaitingPage& waiting) const {
    InstanceStatus status = handle_.instance_status(index);
    status.waiting = handle_.waiting(index, waiting);
    return status;
  }

  // Figures as those of other pools, for graphs and alarms (docs/guides/exporting.md). Instances
  // are its workers. All of it is of this process: those that share a store add up.
  [[nodiscard]] PoolSnapshot snapshot() const { return handle_.snapshot(); }

  // What waits for an instance, oldest first, in pages.
  [[nodiscard]] WaitingJobs waiting(std::uint32_t index, const WaitingPage& page = {}) const {
    return handle_.waiting(index, page);
  }

  // Lets the job at hand end, and begins no other. Stays so when the program is started again.
  // Without an index: all instances. To resume all is to resume each; to resume one leaves the
  // others as they are.
  void pause(std::optional<std::uint32_t> index = {}) const { handle_.set_paused(index, true); }
  void resume(std::optional<std::uint32_t> index = {}) const { handle_.set_paused(index, false); }

  // A job that waits, also for its time or its next attempt. Its id stays taken.
  JobCancelOutcome cancel(std::string_view id, const JobCancelOptions& options = {}) const {
    return handle_.cancel(id, options);
  }

  // Waits until nothing waits or runs, and all of it is in the store. What waits for its time or
  // its next attempt counts, unless told otherwise.
  DrainOutcome drain(const DrainOptions& options = {}) const { return handle_.drain(options); }
  DrainOutcome drain(Duration timeout) const { return handle_.drain({.timeout = timeout}); }

  // The oldest of them; or all, in pages.
  [[nodiscard]] std::vector<JobDeadLetter> dead_letters(std::size_t limit = 100) const {
    return handle_.dead_letters({.limit = limit}).letters;
  }
  [[nodiscard]] JobDeadLetters dead_letters(const DeadLetterPage& page) const {
    return handle_.dead_letters(page);
  }

  // A dead letter waits again as if it had never been tried; or it is given up, and its id stays
  // taken. False: it is none.
  bool replay(std::string_view id) const { return handle_.replay(id); }
  bool discard(std::string_view id) const { return handle_.discard(id); }

  // What the job gave as its result, as JSON; nothing if it has not completed, or gave none.
  [[nodiscard]] std::optional<std::string> result(std::string_view id) const {
    return handle_.result(id);
  }

  // The lines that its last attempt logged, each with a newline.
  [[nodiscard]] std::optional<std::string> log(std::string_view id) const {
    return handle_.log(id);
  }

 private:
  detail::JobPoolHandle handle_;
};

struct JobsStopOptions {
  Duration timeout = std::chrono::seconds(30);
};
struct JobsStopReport {
  // Jobs that still run. A handler on a thread cannot be ended from outside: one that does not look
  // at its stop_token() goes on. One in a process of its own is killed JobPoolConfig::kill_after
  // later, and its job handed back.
  std::size_t unfinished = 0;
};

class MUSTER_API Jobs {
 public:
  // "sqlite:PATH", a file that one process has at a time; "postgresql://USER@HOST/DATABASE", for
  // any number of processes, which share its jobs out among them; or "memory:", which is gone with
  // the process. Throws InvalidArgument or StoreFailure.
  [[nodiscard]] static Jobs open(const std::string& url, const JobsOptions& options = {});

  Jobs(Jobs&& other) noexcept;
  Jobs& operator=(Jobs&& other) noexcept;
  ~Jobs();

  // Before start(). Throws InvalidArgument, with every problem.
  template <class Event>
  JobClient<Event> define(std::string_view name, JobPoolConfig<Event> config) {
    return JobClient<Event>(define_pool(name, setup_of(std::move(config))));
  }

  // Of a pool that was defined. If it was with another type, enqueueing throws EventError for an
  // event that its handler could not read.
  template <class Event>
  [[nodiscard]] JobClient<Event> client(std::string_view name) const {
    return JobClient<Event>(handle_of(name));
  }

  // Enqueues a job whenever it is due, once however many nodes have this schedule, with the id
  // "NAME@2026-11-17T03:00:00Z". Before start(), and behind define() of its pool. Throws
  // InvalidArgument: of the schedule, or as enqueue() would.
  template <class Event>
  void schedule(std::string_view name, const JobSchedule<Event>& plan) {
    const EnqueueOptions<Event> job{.id = std::string(name),
                                    .event = plan.event,
                                    .partition_key = plan.partition_key,
                                    .priority = plan.priority};
    add_schedule(name, plan.pool, CronSchedule::parse(plan.cron, plan.time_zone), plan.missed_runs,
                 encoded(job));
  }

  // Takes up what waits in the store, and runs it. Jobs may be enqueued before. Throws
  // InvalidArgument if it was started or stopped before.
  void start();

  // Runs on this thread all that is due, one after the other, and what comes of it. How many
  // attempts that were. Only in the modes for tests; not from within a handler.
  std::size_t run_due();

  // What happens from now on: dead letters, hot partitions.
  [[nodiscard]] NoticeStream subscribe(std::size_t capacity = 1024);

  // Begins no more jobs, asks those that run to stop, and waits for them. What is still running
  // after the timeout is counted, and waited for by the destructor. Safe twice, also at once, and
  // unstarted.
  JobsStopReport stop(const JobsStopOptions& options = {});

 private:
  friend void job_worker_main(int argc, char** argv, const std::function<void(Jobs&)>& define);

  struct State;
  explicit Jobs(std::unique_ptr<State> state) noexcept;
  [[nodiscard]] const JobNode& node() const noexcept;
  detail::JobPoolHandle define_pool(std::string_view name, JobPoolSetup setup);
  [[nodiscard]] detail::JobPoolHandle handle_of(std::string_view name) const;
  void add_schedule(std::string_view name, std::string_view pool, const CronSchedule& schedule,
                    MissedRuns missed_runs, EncodedJob job);

  std::unique_ptr<State> state_;
};

}  // namespace muster
