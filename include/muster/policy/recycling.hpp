// recycling.hpp: when a worker that is well is replaced all the same, because it has done enough,
// grown too large or become too old.
//
// Limits are off unless given. Each worker's own are lower by a random share, or workers that were
// started together would be replaced together.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

struct RecyclingOptions {
  // Tasks after which a worker is replaced. At least 1.
  std::optional<std::uint64_t> max_tasks = {};

  // Bytes by which its memory may grow beyond what it had when it was ready. At least 1. Looked at
  // behind each task, which takes some 20 us, and before the next; so none is given ahead.
  std::optional<std::uint64_t> max_growth_bytes = {};

  // Time after which it is replaced. More than 0.
  std::optional<Duration> max_age = {};

  // A worker's limits are lower by a random share, at most this one: from 0 to less than 1.
  double jitter = 0.1;
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const RecyclingOptions& options);

// A worker's life so far.
struct WorkerLife {
  std::uint64_t tasks = 0;
  std::uint64_t growth_bytes = 0;
  Duration age{};
};

enum class RecycleReason { none, tasks, memory, age };

MUSTER_API std::string_view to_string(RecycleReason reason);

// `luck`, from 0 to 1, is the worker's own, and decides its jitter.
// Tasks that it may have at hand, so that it is never given one that its successor should have. At
// least 1: it goes on while it cannot be replaced.
[[nodiscard]] MUSTER_API unsigned tasks_at_hand(const RecyclingOptions& options,
                                                std::uint64_t tasks, double luck) noexcept;

[[nodiscard]] MUSTER_API RecycleReason reason_to_recycle(const RecyclingOptions& options,
                                                         const WorkerLife& life,
                                                         double luck) noexcept;

}  // namespace muster
