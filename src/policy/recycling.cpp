// recycling.cpp: a worker's life against its limits.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <muster/policy/recycling.hpp>

#include "option_text.hpp"

namespace muster {

std::vector<BadField> validate(const RecyclingOptions& options) {
  std::vector<BadField> bad;
  const auto check = [&bad](const char* field, const std::optional<std::uint64_t>& limit) {
    if (limit == std::uint64_t{0}) bad.push_back({field, "0", "must be left out, or at least 1"});
  };
  check("max_tasks", options.max_tasks);
  check("max_growth_bytes", options.max_growth_bytes);
  if (options.max_age && *options.max_age <= Duration::zero()) {
    bad.push_back({"max_age", option_text(*options.max_age), "must be left out, or more than 0"});
  }
  if (!(options.jitter >= 0 && options.jitter < 1)) {
    bad.push_back({"jitter", option_text(options.jitter), "must be from 0 to less than 1"});
  }
  return bad;
}

std::string_view to_string(RecycleReason reason) {
  switch (reason) {
    case RecycleReason::none:
      return "none";
    case RecycleReason::tasks:
      return "tasks";
    case RecycleReason::memory:
      return "memory";
    case RecycleReason::age:
      return "age";
  }
  return "unknown";
}

unsigned tasks_at_hand(const RecyclingOptions& options, std::uint64_t tasks, double luck) noexcept {
  if (options.max_growth_bytes) return 1;  // which shows when it has ended
  constexpr double kMost = std::numeric_limits<unsigned>::max();
  if (!options.max_tasks) return std::numeric_limits<unsigned>::max();
  const double limit = static_cast<double>(*options.max_tasks) * (1 - options.jitter * luck);
  return static_cast<unsigned>(
      std::clamp(std::ceil(limit) - static_cast<double>(tasks), 1.0, kMost));
}

RecycleReason reason_to_recycle(const RecyclingOptions& options, const WorkerLife& life,
                                double luck) noexcept {
  const double share = 1 - options.jitter * luck;
  const auto is_reached = [share](auto value, auto limit) {
    return static_cast<double>(value) >= static_cast<double>(limit) * share;
  };
  if (options.max_tasks && is_reached(life.tasks, *options.max_tasks)) return RecycleReason::tasks;
  if (options.max_growth_bytes && is_reached(life.growth_bytes, *options.max_growth_bytes)) {
    return RecycleReason::memory;
  }
  if (options.max_age && is_reached(life.age.count(), options.max_age->count())) {
    return RecycleReason::age;
  }
  return RecycleReason::none;
}

}  // namespace muster
