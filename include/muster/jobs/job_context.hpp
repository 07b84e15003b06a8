// job_context.hpp: what a handler may ask and say about the job that it runs.
//
// Thread safety: the handler's thread, and those that it has started and waits for.
// Lifetime: that of the handler's call.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <muster/base/api.hpp>
#include <muster/jobs/enqueue_options.hpp>
#include <muster/jobs/event_json.hpp>

namespace muster {

class MUSTER_API JobContext {
 public:
  JobContext(const JobContext&) = delete;
  JobContext& operator=(const JobContext&) = delete;

  [[nodiscard]] virtual const std::string& job_id() const noexcept = 0;

  // From 1.
  [[nodiscard]] virtual unsigned attempt() const noexcept = 0;

  [[nodiscard]] virtual WallTime enqueued_at() const noexcept = 0;
  [[nodiscard]] virtual WallTime processing_started_at() const noexcept = 0;

  // That runs it; a job without a partition key may have been assigned to another.
  [[nodiscard]] virtual std::uint32_t instance_index() const noexcept = 0;

  // Jobs that this instance has ended since there is the store.
  [[nodiscard]] virtual std::uint64_t processed_count() const = 0;

  // Jobs that wait for this instance.
  [[nodiscard]] virtual std::uint64_t pending_count() const = 0;

  // Is asked to stop when the pool is, or the job is cancelled. A handler that throws because of a
  // stop of the pool has its job handed back: no attempt is counted.
  [[nodiscard]] virtual std::stop_token stop_token() const noexcept = 0;

  // As it was enqueued.
  [[nodiscard]] virtual const std::optional<std::string>& partition_key() const noexcept = 0;

  // A line that is kept with the job; see JobClient::log(). Of each attempt the first 64 KiB, of
  // each job the last attempt's.
  virtual void log(std::string_view line) = 0;

  // How far it is, from 0 to 1, for whoever asks the pool for its status.
  virtual void progress(double fraction, std::string_view text) = 0;

  // What is kept with the job when it has completed; the last one counts.
  template <class Value>
  void result(const Value& value) {
    keep_result(encode_event(value));
  }

  // Another job, of this or another pool of the same store. It is there when this one is settled
  // as completed, and not at all if this attempt fails. Throws InvalidArgument and EventError as a
  // client does.
  template <class Event>
  void enqueue(std::string_view pool, const EnqueueOptions<Event>& job) {
    enqueue_encoded(pool, encoded(job));
  }

 protected:
  JobContext() = default;
  virtual ~JobContext() = default;

 private:
  virtual void keep_result(std::string json) = 0;
  virtual void enqueue_encoded(std::string_view pool, EncodedJob job) = 0;
};

}  // namespace muster
