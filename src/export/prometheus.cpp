// prometheus.cpp: metrics in the form that prometheus-cpp writes down.
#include <cstddef>
#include <prometheus/text_serializer.h>
#include <utility>

#include <muster/export/prometheus.hpp>

#include "export/families.hpp"

namespace muster {
namespace {

// OpenTelemetry's rule: dots become underscores, then comes the unit, then `total` if it counts.
std::string prometheus_name(const Family& family) {
  std::string name(family.name);
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  if (family.unit == "s") name += "_seconds";
  if (family.unit == "1") name += "_ratio";
  if (family.kind == FamilyKind::counter) name += "_total";
  return name;
}

prometheus::ClientMetric::Histogram to_prometheus(const HistogramFigures& figures,
                                                  const MetricOptions& options) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_count = figures.count;
  histogram.sample_sum = figures.sum_seconds;
  for (std::size_t i = 0; i < figures.up_to.size(); ++i) {
    histogram.bucket.push_back(
        {.cumulative_count = figures.up_to[i], .upper_bound = in_seconds(options.buckets[i])});
  }
  return histogram;
}

prometheus::ClientMetric to_prometheus(const Point& point, FamilyKind kind,
                                       const MetricOptions& options) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : point.labels) metric.label.push_back({std::string(name), value});
  if (const auto* figures = std::get_if<HistogramFigures>(&point.value)) {
    metric.histogram = to_prometheus(*figures, options);
    return metric;
  }
  const auto* count = std::get_if<std::uint64_t>(&point.value);
  const double value =
      count != nullptr ? static_cast<double>(*count) : std::get<double>(point.value);
  if (kind == FamilyKind::counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return metric;
}

prometheus::MetricType type_of(FamilyKind kind) {
  switch (kind) {
    case FamilyKind::counter:
      return prometheus::MetricType::Counter;
    case FamilyKind::gauge:
      return prometheus::MetricType::Gauge;
    case FamilyKind::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

std::vector<prometheus::MetricFamily> collect(std::span<const NamedSnapshot> pools,
                                              const MetricOptions& options) {
  std::vector<prometheus::MetricFamily> collected;
  for (const Family& family : families_of(pools, options)) {
    prometheus::MetricFamily& out = collected.emplace_back();
    out.name = prometheus_name(family);
    out.help = family.help;
    out.type = type_of(family.kind);
    for (const Point& point : family.points) {
      out.metric.push_back(to_prometheus(point, family.kind, options));
    }
  }
  return collected;
}

template <class Pools>
void check(const Pools& pools, const MetricOptions& options) {
  std::vector<BadField> bad = validate(pools);
  for (BadField& each : validate(options)) bad.push_back(std::move(each));
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
}

}  // namespace

std::string prometheus_text(std::span<const NamedSnapshot> pools, const MetricOptions& options) {
  check(pools, options);
  return prometheus::TextSerializer().Serialize(collect(pools, options));
}

PoolCollectable::PoolCollectable(std::vector<PoolSource> pools, MetricOptions options)
    : pools_(std::move(pools)), options_(std::move(options)) {
  check(std::span(pools_), options_);
}

PoolCollectable::~PoolCollectable() = default;

std::vector<prometheus::MetricFamily> PoolCollectable::Collect() const {
  return collect(snapshots_of(pools_), options_);
}

}  // namespace muster
