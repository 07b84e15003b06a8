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
// StoreFailure what the store could not do; nothing has happened then.
//
// Thread safety: define() and start() by one thread; everything else from any. Clients may be
// copied. Lifetime: a client must not outlive its Jobs. Handlers are called on threads of the Jobs,
// whose destructor waits for them. Guide: docs/guides/jobs.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/jobs/enqueue_options.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_pool_config.hpp>

namespace muster {

// How to open a store of jobs.
struct JobsOptions {
  // How long completed and cancelled jobs are kept with their events and results, and for how long
  // their ids are known; see `created`. From 0 on.
  Duration keep_completed = std::chrono::hours(24);
  Duration keep_ids = std::chrono::hours(7 * 24);

  // Unset: until they are replayed or discarded.
  std::optional<Duration> keep_dead = {};

  // How often what is over is looked for: from 1 ms to a day.
  Duration prune_every = std::chrono::minutes(1);

  // For tests.
  Clock* clock = nullptr;
};

[[nodiscard]] MUSTER_API std::vector<BadField> validate(const JobsOptions& options);

class JobNode;
class JobPoolState;

namespace detail {

// What a client needs of a pool, whatever its events are.
class MUSTER_API JobPoolHandle {
 public:
  JobPoolHandle(JobNode& node, JobPoolState& pool) noexcept : node_(&node), pool_(&pool) {}

  EnqueueManyResult enqueue(std::vector<EncodedJob> jobs, Durability durability) const;
  [[nodiscard]] JobPoolStatus status() const;
  [[nodiscard]] InstanceStatus instance_status(std::uint32_t index) const;
  [[nodiscard]] std::vector<WaitingJobStatus> waiting(std::uint32_t index, std::size_t limit) const;
  void set_paused(std::optional<std::uint32_t> index, bool is_paused) const;
  JobCancelOutcome cancel(std::string_view id) const;
  DrainOutcome drain(std::optional<std::uint32_t> index, Duration timeout) const;
  [[nodiscard]] std::vector<DeadLetter> dead_letters(std::size_t limit) const;
  bool replay(std::string_view id) const;
  bool discard(std::string_view id) const;
  [[nodiscard]] std::optional<std::string> result(std::string_view id) const;

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

  [[nodiscard]] JobPoolStatus status() const { return handle_.status(); }
  [[nodiscard]] InstanceStatus instance_status(std::uint32_t index) const {
    return handle_.instance_status(index);
  }

  // What waits for an instance, oldest first.
  [[nodiscard]] std::vector<WaitingJobStatus> waiting(std::uint32_t index,
                                                      std::size_t limit = 100) const {
    return handle_.waiting(index, limit);
  }

  // Lets the job at hand end, and begins no other. Stays so when the program is started again.
  // Without an index: all instances. To resume all is to resume each.
  void pause(std::optional<std::uint32_t> index = {}) const { handle_.set_paused(index, true); }
  void resume(std::optional<std::uint32_t> index = {}) const { handle_.set_paused(index, false); }

  // A job that waits, also for its time or its next attempt. Its id stays taken.
  JobCancelOutcome cancel(std::string_view id) const { return handle_.cancel(id); }

  // Waits until nothing waits or runs, and all of it is in the store.
  DrainOutcome drain(Duration timeout = Duration::max()) const {
    return handle_.drain(std::nullopt, timeout);
  }
  DrainOutcome drain_instance(std::uint32_t index, Duration timeout = Duration::max()) const {
    return handle_.drain(index, timeout);
  }

  // The oldest of them.
  [[nodiscard]] std::vector<DeadLetter> dead_letters(std::size_t limit = 100) const {
    return handle_.dead_letters(limit);
  }

  // A dead letter waits again as if it had never been tried; or it is given up, and its id stays
  // taken. False: it is none.
  bool replay(std::string_view id) const { return handle_.replay(id); }
  bool discard(std::string_view id) const { return handle_.discard(id); }

  // What the job gave as its result, as JSON; nothing if it has not completed, or gave none.
  [[nodiscard]] std::optional<std::string> result(std::string_view id) const {
    return handle_.result(id);
  }

 private:
  detail::JobPoolHandle handle_;
};

struct JobsStopOptions {
  Duration timeout = std::chrono::seconds(30);
};
struct JobsStopReport {
  std::size_t unfinished = 0;  // jobs that still run
};

class MUSTER_API Jobs {
 public:
  // "sqlite:PATH", a file that one process has at a time, or "memory:", which is gone with the
  // process. Throws InvalidArgument or StoreFailure.
  [[nodiscard]] static Jobs open(const std::string& url, const JobsOptions& options = {});

  Jobs(Jobs&& other) noexcept;
  Jobs& operator=(Jobs&& other) noexcept;
  ~Jobs();

  // Before start(). Throws InvalidArgument, with every problem.
  template <class Event>
  JobClient<Event> define(std::string_view name, JobPoolConfig<Event> config) {
    return JobClient<Event>(define_pool(name, setup_of(std::move(config))));
  }

  // Of a pool that was defined.
  template <class Event>
  [[nodiscard]] JobClient<Event> client(std::string_view name) const {
    return JobClient<Event>(handle_of(name));
  }

  // Takes up what waits in the store, and runs it. Jobs may be enqueued before.
  void start();

  // Begins no more jobs, asks those that run to stop, and waits for them. What is still running
  // after the timeout is counted, and waited for by the destructor. Safe twice, and unstarted.
  JobsStopReport stop(const JobsStopOptions& options = {});

 private:
  struct State;
  explicit Jobs(std::unique_ptr<State> state) noexcept;
  detail::JobPoolHandle define_pool(std::string_view name, JobPoolSetup setup);
  [[nodiscard]] detail::JobPoolHandle handle_of(std::string_view name) const;

  std::unique_ptr<State> state_;
};

}  // namespace muster
