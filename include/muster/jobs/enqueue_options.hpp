// enqueue_options.hpp: a job to be enqueued.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <typeinfo>

#include <muster/base/clock.hpp>
#include <muster/jobs/event_json.hpp>

namespace muster {

template <class Event>
struct EnqueueOptions {
  // By which it is known in its pool. As long as one of this id is kept, no other is accepted. 1 to
  // 512 bytes of UTF-8.
  std::string id = {};

  Event event = {};

  // Jobs with the same key are run one after the other, in the order they were enqueued. As `id`;
  // unset: in any order, by any instance.
  std::optional<std::string> partition_key = {};

  // Between partitions, and jobs without one: higher first, then older first. -32768 to 32767.
  int priority = 0;

  // Not before. In the past, or unset: at once. Or so long after it is enqueued; not both.
  std::optional<WallTime> run_at = {};
  std::optional<Duration> delay = {};

  // The same id is accepted again so long after it was enqueued, if its job is over by then and is
  // no dead letter. From 0 to the longer of JobsOptions::keep_ids and keep_completed; unset: as
  // long as its record is kept.
  std::optional<Duration> unique_for = {};
};

// Whatever a pool allows.
inline constexpr std::size_t kMostEventBytes = std::size_t{64} << 20;

// The same, as stores have it.
struct EncodedJob {
  std::string id = {};
  std::string event = {};
  std::optional<std::string> partition_key = {};
  int priority = 0;
  std::optional<WallTime> run_at = {};
  std::optional<Duration> delay = {};
  std::optional<Duration> unique_for = {};
  const std::type_info* event_type = nullptr;  // unset: it was looked at already
};

// Throws EventError.
template <class Event>
EncodedJob encoded(const EnqueueOptions<Event>& job) {
  return {.id = job.id,
          .event = encode_event(job.event, {.max_bytes = kMostEventBytes}),
          .partition_key = job.partition_key,
          .priority = job.priority,
          .run_at = job.run_at,
          .delay = job.delay,
          .unique_for = job.unique_for,
          .event_type = &typeid(Event)};
}

}  // namespace muster
