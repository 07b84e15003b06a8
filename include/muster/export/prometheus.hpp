// prometheus.hpp: the figures of pools for Prometheus, as text or for prometheus-cpp's server.
//
//     const NamedSnapshot seen[] = {{"io", pool.snapshot()}};
//     respond("text/plain; version=0.0.4", prometheus_text(seen));
//
// or, if prometheus-cpp serves /metrics:
//
//     const auto pools = std::make_shared<PoolCollectable>(
//         std::vector<PoolSource>{{"io", [&] { return pool.snapshot(); }}});
//     exposer.RegisterCollectable(pools);
//
// Thread safety: any thread.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <span>
#include <string>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/export/metrics.hpp>

namespace muster {

// In the text format, version 0.0.4. Throws InvalidArgument naming everything that is wrong.
MUSTER_API std::string prometheus_text(std::span<const NamedSnapshot> pools,
                                       const MetricOptions& options = {});

// Takes a snapshot of each pool whenever somebody asks.
class MUSTER_API PoolCollectable : public prometheus::Collectable {
 public:
  // Throws InvalidArgument naming everything that is wrong.
  explicit PoolCollectable(std::vector<PoolSource> pools, MetricOptions options = {});
  ~PoolCollectable() override;

  // Throws what a source throws.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  // Fixed at construction.
  const std::vector<PoolSource> pools_;
  const MetricOptions options_;
};

}  // namespace muster
