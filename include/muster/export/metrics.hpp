// metrics.hpp: which pools are exported, and in what detail. For Prometheus and OTLP alike.
//
// Every metric carries the label `pool`. A name like muster.task.duration, in seconds, is what OTLP
// says; Prometheus says muster_task_duration_seconds, by the rules of OpenTelemetry, so one
// dashboard serves both ways. docs/guides/exporting.md lists all of them.
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/observe/snapshot.hpp>

namespace muster {

// The figures of one pool; the name is not empty, is UTF-8, and no other pool's.
struct NamedSnapshot {
  std::string pool = {};
  PoolSnapshot snapshot = {};
};

// Where to get them, again and again: {"io", [&] { return pool.snapshot(); }}. Called on threads of
// the exporter; the pool must live as long as that.
struct PoolSource {
  std::string pool = {};
  std::function<PoolSnapshot()> snapshot = {};
};

struct MetricOptions {
  // Upper bounds of the buckets of muster_task_duration_seconds and muster_queue_wait_seconds: from
  // 1 to 200, more than 0, each above the one before. What is longer than the last is counted too.
  std::vector<Duration> buckets = default_buckets();

  // 1, 5, 10, 25, 50, 100, 250, 500 and 1000 ms.
  static std::vector<Duration> default_buckets() {
    using std::chrono::milliseconds;
    return {milliseconds(1),   milliseconds(5),   milliseconds(10),
            milliseconds(25),  milliseconds(50),  milliseconds(100),
            milliseconds(250), milliseconds(500), milliseconds(1000)};
  }
};

}  // namespace muster
