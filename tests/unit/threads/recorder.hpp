// recorder.hpp: a tracer that remembers all it is told.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/observe/task_trace.hpp>
#include <muster/sync/mutex.hpp>

namespace muster::testing {

class Recorder final : public TaskTracer {
 public:
  [[nodiscard]] TraceContext begin(const TraceContext& parent) override { return child_of(parent); }

  void record(TaskTrace&& trace) noexcept override {
    const MutexLock lock(mutex_);
    traces_.push_back(std::move(trace));
  }

  std::vector<TaskTrace> traces() {
    const MutexLock lock(mutex_);
    return traces_;
  }

  // The only one, or the only one of that name.
  TaskTrace only(const std::optional<std::string>& name = {}) {
    std::vector<TaskTrace> found = traces();
    if (name) std::erase_if(found, [&](const TaskTrace& each) { return each.name != *name; });
    EXPECT_EQ(found.size(), 1U) << name.value_or("any name");
    return found.empty() ? TaskTrace() : found.front();
  }

 private:
  Mutex mutex_;
  std::vector<TaskTrace> traces_ MUSTER_GUARDED_BY(mutex_);
};

// What came in with a request.
inline TraceContext incoming() {
  return parse({.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                .tracestate = "vendor=1"})
      .value();
}

}  // namespace muster::testing
