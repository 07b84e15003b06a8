// otlp_json.hpp: what OTLP/HTTP sends, in JSON.
//
// As protobuf's JSON mapping has it, but with ids in hexadecimal: 64-bit numbers are strings, enums
// are numbers. https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <muster/base/clock.hpp>
#include <muster/export/otlp.hpp>
#include <muster/observe/task_trace.hpp>

namespace muster {

struct MetricsTime {
  WallTime start{};  // when all counts were 0
  WallTime now{};
};

std::string metrics_json(std::span<const NamedSnapshot> pools, const OtlpOptions& options,
                         const MetricsTime& time);

// `wall_offset`: what turns a Time into a WallTime.
std::string traces_json(std::span<const TaskTrace> tasks, const OtlpOptions& options,
                        Duration wall_offset);

// What a receiver that accepted a request has left out, and why; nothing: it took all.
struct PartialSuccess {
  std::uint64_t rejected = 0;  // spans, or points of metrics
  std::string error = {};
};
PartialSuccess parse_answer(std::string_view body);

}  // namespace muster
