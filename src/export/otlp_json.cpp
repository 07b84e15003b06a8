// otlp_json.cpp: metrics and spans as JSON values.
#include "export/otlp_json.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include <boost/json.hpp>

#include <muster/base/utf8.hpp>
#include <muster/version.hpp>

#include "export/families.hpp"

namespace muster {
namespace {

namespace json = boost::json;

// Numbers of enums in opentelemetry-proto.
constexpr int kCumulative = 2;
constexpr int kInternal = 1;
constexpr int kError = 2;

json::string nanoseconds(WallTime time) {
  return json::string(std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count()));
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    for (const int digit : {byte / 16, byte % 16}) text += "0123456789abcdef"[digit];
  }
  return text;
}

json::object attribute(std::string_view key, std::string_view value) {
  return {{"key", to_utf8(key)}, {"value", {{"stringValue", to_utf8(value)}}}};
}

json::object resource(const OtlpOptions& options) {
  json::array attributes = {attribute("service.name", options.service_name)};
  for (const auto& [key, value] : options.attributes) attributes.push_back(attribute(key, value));
  return {{"attributes", std::move(attributes)}};
}

// The request around a list of metrics or spans.
std::string request(const OtlpOptions& options, std::string_view signal, std::string_view list,
                    json::array items) {
  const std::string name(signal);
  json::object scope_items = {{"scope", {{"name", "muster"}, {"version", MUSTER_VERSION}}}};
  scope_items[list] = std::move(items);
  json::object resource_items = {{"resource", resource(options)}};
  resource_items["scope" + name] = json::array{std::move(scope_items)};
  json::object whole;
  whole["resource" + name] = json::array{std::move(resource_items)};
  return json::serialize(whole);
}

void put_histogram(const HistogramFigures& figures, const MetricOptions& options,
                   json::object& point) {
  json::array counts;
  json::array bounds;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < figures.up_to.size(); ++i) {
    counts.push_back(json::string(std::to_string(figures.up_to[i] - before)));
    bounds.push_back(in_seconds(options.buckets[i]));
    before = figures.up_to[i];
  }
  counts.push_back(json::string(std::to_string(figures.count - before)));
  point["count"] = std::to_string(figures.count);
  point["sum"] = figures.sum_seconds;
  point["bucketCounts"] = std::move(counts);
  point["explicitBounds"] = std::move(bounds);
}

json::object point_json(const Point& point, FamilyKind kind, const MetricOptions& options,
                        const MetricsTime& time) {
  json::array attributes;
  for (const auto& [name, value] : point.labels) attributes.push_back(attribute(name, value));
  json::object out = {{"attributes", std::move(attributes)},
                      {"timeUnixNano", nanoseconds(time.now)}};
  if (kind != FamilyKind::gauge) out["startTimeUnixNano"] = nanoseconds(time.start);
  if (const auto* count = std::get_if<std::uint64_t>(&point.value)) {
    out["asInt"] = std::to_string(*count);
  } else if (const auto* real = std::get_if<double>(&point.value)) {
    out["asDouble"] = *real;
  } else {
    put_histogram(std::get<HistogramFigures>(point.value), options, out);
  }
  return out;
}

json::object metric_json(const Family& family, const MetricOptions& options,
                         const MetricsTime& time) {
  json::array points;
  for (const Point& point : family.points) {
    points.push_back(point_json(point, family.kind, options, time));
  }
  json::object data = {{"dataPoints", std::move(points)}};
  std::string_view kind = "gauge";
  if (family.kind != FamilyKind::gauge) data["aggregationTemporality"] = kCumulative;
  if (family.kind == FamilyKind::histogram) kind = "histogram";
  if (family.kind == FamilyKind::counter) {
    kind = "sum";
    data["isMonotonic"] = true;
  }
  json::object metric = {
      {"name", family.name}, {"description", family.help}, {"unit", family.unit}};
  metric[kind] = std::move(data);
  return metric;
}

// One of the two spans of a task.
struct Span {
  std::string name;
  std::array<std::uint8_t, 8> id{};
  std::array<std::uint8_t, 8> parent{};  // all 0: none
  Time start{};
  Time end{};
};

class TaskSpans {
 public:
  TaskSpans(const TaskTrace& task, Duration wall_offset) : task_(task), wall_offset_(wall_offset) {}

  // Both are children of what the sender was part of. If that was nothing, the wait is the root,
  // and the run its child, so that the trace has one root.
  void add_to(json::array& spans) const {
    const std::string name = task_.name.empty() ? "task" : to_utf8(task_.name);
    Span wait{.name = name + " wait",
              .id = child_of(task_.context).span_id,
              .parent = task_.parent.span_id,
              .start = task_.accepted,
              .end = task_.started.value_or(task_.ended)};
    if (!task_.started) {
      wait.id = task_.context.span_id;
      spans.push_back(ended(to_json(wait)));
      return;
    }
    spans.push_back(to_json(wait));
    spans.push_back(
        ended(to_json({.name = name,
                       .id = task_.context.span_id,
                       .parent = task_.parent.is_valid() ? task_.parent.span_id : wait.id,
                       .start = *task_.started,
                       .end = task_.ended})));
  }

 private:
  [[nodiscard]] WallTime wall(Time time) const {
    return WallTime(
        std::chrono::duration_cast<WallTime::duration>(time.time_since_epoch() + wall_offset_));
  }

  [[nodiscard]] json::object to_json(const Span& span) const {
    json::object out = {{"traceId", hex(task_.context.trace_id)}, {"spanId", hex(span.id)}};
    if (!task_.context.trace_state.empty()) out["traceState"] = to_utf8(task_.context.trace_state);
    if (span.parent != decltype(span.parent){}) out["parentSpanId"] = hex(span.parent);
    out["flags"] = 1;  // sampled
    out["name"] = span.name;
    out["kind"] = kInternal;
    out["startTimeUnixNano"] = nanoseconds(wall(span.start));
    out["endTimeUnixNano"] = nanoseconds(wall(span.end));
    out["attributes"] = json::array{attribute("pool", task_.pool)};
    return out;
  }

  // The span with which the task ends says how.
  [[nodiscard]] json::object ended(json::object span) const {
    json::array& attributes = span["attributes"].as_array();
    attributes.push_back(attribute("outcome", to_string(task_.outcome)));
    if (task_.worker) {
      attributes.push_back(
          {{"key", "worker"}, {"value", {{"intValue", std::to_string(*task_.worker)}}}});
    }
    if (task_.outcome != TaskOutcome::succeeded && task_.outcome != TaskOutcome::cancelled) {
      span["status"] = {{"code", kError}, {"message", to_utf8(task_.error)}};
    }
    return span;
  }

  const TaskTrace& task_;
  const Duration wall_offset_;
};

std::uint64_t number_in(const json::value* value) {
  if (value == nullptr) return 0;
  if (const auto* number = value->if_int64()) return static_cast<std::uint64_t>(*number);
  std::uint64_t number = 0;
  if (const auto* text = value->if_string()) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  return number;
}

}  // namespace

std::string metrics_json(std::span<const NamedSnapshot> pools, const OtlpOptions& options,
                         const MetricsTime& time) {
  json::array metrics;
  for (const Family& family : families_of(pools, options.metrics)) {
    metrics.push_back(metric_json(family, options.metrics, time));
  }
  return request(options, "Metrics", "metrics", std::move(metrics));
}

std::string traces_json(std::span<const TaskTrace> tasks, const OtlpOptions& options,
                        Duration wall_offset) {
  json::array spans;
  for (const TaskTrace& task : tasks) TaskSpans(task, wall_offset).add_to(spans);
  return request(options, "Spans", "spans", std::move(spans));
}

PartialSuccess parse_answer(std::string_view body) {
  boost::system::error_code error;
  const json::value answer = json::parse(json::string_view(body.data(), body.size()), error);
  const json::object* const whole = error ? nullptr : answer.if_object();
  const json::value* const part = whole == nullptr ? nullptr : whole->if_contains("partialSuccess");
  const json::object* const partial = part == nullptr ? nullptr : part->if_object();
  PartialSuccess result;
  if (partial == nullptr) return result;
  result.rejected = number_in(partial->if_contains("rejectedSpans")) +
                    number_in(partial->if_contains("rejectedDataPoints"));
  if (const json::value* message = partial->if_contains("errorMessage")) {
    if (const auto* text = message->if_string()) result.error.assign(text->data(), text->size());
  }
  return result;
}

}  // namespace muster
