// otlp.hpp: metrics and traces for OpenTelemetry, sent as OTLP/HTTP in JSON by a thread of its own.
//
//     OtlpExporter exporter({.endpoint = "http://localhost:4318",
//                            .service_name = "shop",
//                            .pools = {{"io", [&] { return pool.snapshot(); }}}});
//
// Every so often it sends the pools' figures, and what was recorded of tasks: for each a span of
// its wait and one of its run. Whoever records never waits: if the receiver is slow or away and the
// room is used up, tasks are dropped and counted. What the receiver refuses for the moment (429,
// 502, 503, 504), or cannot be reached for, is sent again, later and later, and given up in the
// end.
//
// Thread safety: any member from any thread, except construction and destruction.
// Lifetime: the destructor stops it. It must outlive the pools that record with it, and the pools
// that it takes snapshots of must outlive it, or at least its stop(). The child of a fork() has not
// got the thread, and must leave it alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/export/metrics.hpp>
#include <muster/observe/task_trace.hpp>

namespace muster {

struct OtlpOptions {
  // Where a collector listens, by plain HTTP. Metrics go to /v1/metrics below it, traces to
  // /v1/traces.
  std::string endpoint = "http://localhost:4318";

  // Sent along with each request, for instance {"authorization", "Bearer ..."}.
  std::vector<std::pair<std::string, std::string>> headers = {};

  // What the receiver calls the sender: the attribute service.name, and others beside it.
  std::string service_name = "muster";
  std::vector<std::pair<std::string, std::string>> attributes = {};

  // Whose metrics are sent, how often, and with which buckets. None: no metrics.
  std::vector<PoolSource> pools = {};
  Duration metrics_interval = std::chrono::seconds(60);
  MetricOptions metrics = {};

  // Of the tasks that are not part of a trace already, the share to begin one for, from 0 to 1. A
  // task that is part of one is recorded if that is sampled.
  double trace_share = 1;

  // Tasks that may wait to be sent, a power of two up to 2^20; how many go into one request, at
  // most as many; and how long one that is alone waits for others.
  std::size_t max_queued = 2048;
  std::size_t max_batch = 512;
  Duration batch_interval = std::chrono::seconds(5);

  // How long one request may take.
  Duration request_timeout = std::chrono::seconds(10);

  // How often a request is tried, the first time included, from 1 to 100. The pause is doubled each
  // time, up to the longest, and cut or stretched by up to a fifth at random. A pause that the
  // receiver asks for is kept instead, up to five minutes.
  unsigned max_attempts = 5;
  Duration first_pause = std::chrono::seconds(1);
  Duration longest_pause = std::chrono::seconds(30);

  // How long the destructor's stop may take.
  Duration stop_timeout = std::chrono::seconds(5);
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const OtlpOptions& options);

// Counts since the start.
struct OtlpStats {
  std::uint64_t tasks_sent = 0;
  std::uint64_t tasks_dropped = 0;  // no room, or stopped
  std::uint64_t tasks_lost = 0;     // could not be delivered
  std::uint64_t metrics_sent = 0;   // requests
  std::uint64_t metrics_lost = 0;   // of those, that could not be made or delivered
  std::uint64_t retries = 0;
  std::string last_error = {};  // why something was lost last; empty: nothing was
};

class MUSTER_API OtlpExporter final : public TaskTracer {
 public:
  // Throws InvalidArgument naming every bad field. A receiver that is not there is no error.
  explicit OtlpExporter(OtlpOptions options);
  ~OtlpExporter() override;

  [[nodiscard]] TraceContext begin(const TraceContext& parent) override;
  void record(TaskTrace&& trace) noexcept override;

  [[nodiscard]] OtlpStats stats() const;

  // Sends what there is, the latest figures included, and ends the thread: all of it within
  // `timeout`, after which the rest is lost, and counted. True: nothing was left. Harmless when
  // called again. A name server that does not answer may hold it up longer.
  bool stop(Duration timeout);

 private:
  class Sender;
  const std::unique_ptr<Sender> sender_;
};

}  // namespace muster
