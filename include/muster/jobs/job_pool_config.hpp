// job_pool_config.hpp: how a pool of jobs is defined.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_context.hpp>
#include <muster/jobs/job_error.hpp>
#include <muster/policy/rate_limit.hpp>
#include <muster/policy/retry.hpp>

namespace muster {

// When a job may be tried again.
struct JobRetry {
  // With the first one, from 1 to 65535.
  unsigned max_attempts = 3;

  RetryDelay delay = exponential(std::chrono::seconds(1), std::chrono::minutes(5));

  // Each delay is longer by a random share of it, at most this one: from 0 to 1.
  double jitter = 0.1;
  RetryOn retry_on = {};

  // False: not worth another attempt. Unset: all are. One that throws counts as false.
  std::function<bool(const JobError&)> is_retryable = {};
};

// In which order the jobs of one partition are run.
enum class PartitionOrder {
  enqueued,  // strictly in the order they were enqueued
  priority,  // by priority, and then in the order they were enqueued
};

// Where handlers run.
enum class JobIsolation {
  none,     // on threads of this process
  process,  // each in a process of its own, which may crash: muster/jobs/job_worker.hpp
};

// What becomes of a partition whose job is a dead letter.
enum class DeadLetterEffect {
  go_on,  // with the next job
  block,  // it waits until each of its dead letters is replayed, and then run first, or discarded
};

// How often jobs may begin.
struct JobRateLimits {
  std::optional<RateLimit> pool = {};  // all jobs of the pool
  std::optional<RateLimit> key = {};   // the jobs of each partition key

  // Whether nodes that share a store count together, at the price of a call to the store for each
  // job, or each for itself.
  enum class Scope { node, store };
  Scope scope = Scope::node;
};

struct DeadLetterInfo {
  std::string job_id = {};
  unsigned attempts = 0;
  WallTime enqueued_at{};
  WallTime failed_at{};
  std::uint32_t instance_index = 0;
};

struct EmptyInfo {
  std::uint32_t instance_index = 0;
  std::uint64_t processed = 0;
};

template <class Event>
struct JobPoolConfig {
  // Instances, each of which runs one job at a time: from 1 to 1024. There is no default.
  unsigned concurrency = 0;

  JobRetry retry = {};

  // Called for each job, on a thread of the pool. What it throws makes the attempt fail.
  std::function<void(JobContext& context, const Event& event)> execute = {};

  // Called when a job has used up its attempts, after that is in the store. What it throws is
  // logged; the dead letter stays.
  std::function<void(const Event& event, const JobError& error, const DeadLetterInfo& info)>
      on_dead_letter = {};

  // Called instead if the event cannot be read any more, with its JSON. Unset: that is logged.
  std::function<void(std::string_view event, const JobError& error, const DeadLetterInfo& info)>
      on_unreadable_dead_letter = {};

  // Called when an instance has run its last job, once until it gets another.
  std::function<void(const EmptyInfo& info)> on_empty = {};

  // How long an attempt may take: from 1 ms to 30 days; unset: as long as it likes. Then it is
  // asked to stop (JobContext::stop_token), and if it fails, that is why. A handler that returns
  // all the same has done its work: a thread cannot be stopped from outside.
  std::optional<Duration> timeout = {};

  JobRateLimits limits = {};
  PartitionOrder order = PartitionOrder::enqueued;
  DeadLetterEffect when_dead = DeadLetterEffect::go_on;
  JobIsolation isolation = JobIsolation::none;

  // How long a handler in a process of its own may go on when cancel() has asked it to stop, or the
  // timeout of stop() has passed: from 0 to 30 days. Then its process is killed.
  Duration kill_after = std::chrono::seconds(5);

  // Bytes of an event as JSON: from 1 to 64 MiB.
  std::size_t max_event_bytes = 1 << 20;
};

// The same for events as stores have them.
struct JobPoolSetup {
  unsigned concurrency = 0;
  JobRetry retry = {};
  std::function<void(JobContext& context, std::string_view event)> execute = {};
  std::function<void(std::string_view event, const JobError& error, const DeadLetterInfo& info)>
      on_dead_letter = {};
  std::function<void(const EmptyInfo& info)> on_empty = {};
  std::optional<Duration> timeout = {};
  JobRateLimits limits = {};
  PartitionOrder order = PartitionOrder::enqueued;
  DeadLetterEffect when_dead = DeadLetterEffect::go_on;
  JobIsolation isolation = JobIsolation::none;
  Duration kill_after{};
  std::size_t max_event_bytes = 0;

  // Events of other types are looked at before they are accepted: throws EventError.
  const std::type_info* event_type = nullptr;
  std::function<void(std::string_view event)> check_event = {};
};

// Every problem; empty: none.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const JobPoolSetup& setup);

// Throws UnreadableEvent: a handler may throw an EventError of its own.
template <class Event>
Event stored_event(std::string_view event, std::size_t most) {
  try {
    return decode_event<Event>(event, {.max_bytes = most});
  } catch (const EventError& error) {
    throw UnreadableEvent(error.what());
  }
}

// Of both, whichever there is.
template <class Event>
auto dead_letter_hook(const JobPoolConfig<Event>& config) {
  return [read = config.on_dead_letter, unread = config.on_unreadable_dead_letter,
          most = config.max_event_bytes](std::string_view event, const JobError& error,
                                         const DeadLetterInfo& info) {
    std::optional<Event> known;
    try {
      known.emplace(stored_event<Event>(event, most));
    } catch (const UnreadableEvent&) {
      if (!unread) throw;
      return unread(event, error, info);
    }
    if (read) read(*known, error, info);
  };
}

template <class Event>
JobPoolSetup setup_of(JobPoolConfig<Event> config) {
  const std::size_t most = config.max_event_bytes;
  JobPoolSetup setup{.concurrency = config.concurrency,
                     .retry = std::move(config.retry),
                     .on_empty = std::move(config.on_empty),
                     .timeout = config.timeout,
                     .limits = config.limits,
                     .order = config.order,
                     .when_dead = config.when_dead,
                     .isolation = config.isolation,
                     .kill_after = config.kill_after,
                     .max_event_bytes = most,
                     .event_type = &typeid(Event),
                     .check_event = [most](std::string_view event) {
                       (void)decode_event<Event>(event, {.max_bytes = most});
                     }};
  if (config.execute) {
    setup.execute = [execute = std::move(config.execute), most](JobContext& context,
                                                                std::string_view event) {
      execute(context, stored_event<Event>(event, most));
    };
  }
  const bool tells = config.on_dead_letter || config.on_unreadable_dead_letter;
  if (tells) setup.on_dead_letter = dead_letter_hook(config);
  return setup;
}

}  // namespace muster
