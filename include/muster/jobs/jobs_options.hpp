// jobs_options.hpp: how a store of jobs is opened, who runs its jobs, and which come by themselves.
//
// Thread safety: values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/jobs/cron.hpp>

namespace muster {

// Who runs jobs. Tests that want to know exactly what happens when take one of the latter two, with
// the store "memory:" and a FakeClock:
//
//     FakeClock clock;
//     auto jobs = Jobs::open("memory:", {.clock = &clock, .mode = JobsMode::by_hand});
//     ...
//     client.enqueue({.id = "a", .event = {}, .delay = 1h});
//     EXPECT_EQ(jobs.run_due(), 0);
//     clock.advance(1h);
//     EXPECT_EQ(jobs.run_due(), 1);
enum class JobsMode {
  threads,
  by_hand,      // whoever calls run_due()
  as_enqueued,  // whoever enqueues, before that returns; what is not due then waits for run_due()
};

// A job that is enqueued again and again, at given times.
template <class Event>
struct JobSchedule {
  std::string pool = {};

  // See CronSchedule for both.
  std::string cron = {};
  std::string time_zone = "UTC";

  Event event = {};
  std::optional<std::string> partition_key = {};
  int priority = 0;

  // What becomes of runs whose time passed while no node ran.
  MissedRuns missed_runs = MissedRuns::run_once;
};

// How to open a store of jobs.
struct JobsOptions {
  // How long completed and cancelled jobs are kept with their events and results, and for how long
  // their ids are known; see `created`. From 0 on.
  Duration keep_completed = std::chrono::hours(24);
  Duration keep_ids = std::chrono::hours(7 * 24);

  // Dead letters; then they are cancelled jobs, of which the id is known as long as of others.
  // Unset: until they are replayed or discarded.
  std::optional<Duration> keep_dead = {};

  // How often what is over is looked for: from 1 ms to a day.
  Duration prune_every = std::chrono::minutes(1);

  // PostgreSQL. A node that is silent for so long has lost what it ran to the others; from 100 ms
  // to an hour. A node that dies is noticed after that, one that stops at once.
  Duration lease = std::chrono::seconds(15);

  // PostgreSQL. How long a call may take; from 10 ms to an hour.
  Duration store_timeout = std::chrono::seconds(10);

  // For tests: where time comes from, and who runs jobs. See JobsMode.
  Clock* clock = nullptr;
  JobsMode mode = JobsMode::threads;
};

[[nodiscard]] MUSTER_API std::vector<BadField> validate(const JobsOptions& options);

}  // namespace muster
