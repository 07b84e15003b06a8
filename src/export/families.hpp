// families.hpp: all metrics of pools as values, before they take the form of one format or another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <muster/error.hpp>
#include <muster/export/metrics.hpp>

namespace muster {

enum class FamilyKind { counter, gauge, histogram };

struct HistogramFigures {
  std::uint64_t count = 0;
  double sum_seconds = 0;
  std::vector<std::uint64_t> up_to;  // for each bound, how many did not exceed it
};

struct Point {
  std::vector<std::pair<std::string_view, std::string>> labels;
  std::variant<std::uint64_t, double, HistogramFigures> value;
};

// One metric, of all pools.
struct Family {
  std::string_view name;  // as OTLP has it
  std::string_view help;
  std::string_view unit;  // UCUM: "s", "1" for a share, "{task}" for a count of those
  FamilyKind kind;
  std::vector<Point> points;
};

std::vector<Family> families_of(std::span<const NamedSnapshot> pools, const MetricOptions& options);

double in_seconds(Duration duration);

// Every problem; empty: none.
std::vector<BadField> validate(const MetricOptions& options);
std::vector<BadField> validate(std::span<const NamedSnapshot> pools);
std::vector<BadField> validate(std::span<const PoolSource> pools);

std::vector<NamedSnapshot> snapshots_of(std::span<const PoolSource> pools);

}  // namespace muster
