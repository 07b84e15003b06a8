// recent_work.hpp: what the workers of a pool did of late, from totals that only ever grow.
//
//     if (recent.is_due(now, workers)) recent.update(now, totals);
//     recent.load(worker).consumed;
//
// Time goes in rounds of 100 ms; after each, what came before counts 0.7 of what it did, for all
// workers alike (decaying.hpp): so it is about the last third of a second that counts.
//
// Thread safety: none; its user guards it. Reads no clock: the time is passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/policy/choice.hpp>
#include <muster/policy/decaying.hpp>
#include <muster/policy/weights.hpp>

namespace muster {

class RecentWork {
 public:
  static constexpr Duration kRound = std::chrono::milliseconds(100);
  static constexpr Duration kUpdateEvery = std::chrono::milliseconds(10);

  // Of one worker, since its start.
  struct Totals {
    std::uint64_t done = 0;  // tasks
    Duration busy{};         // with what it has spent on the task that it runs now
  };

  // Time for an update: the last one is 10 ms ago, or there are workers that it has not told of.
  // One that has just come begins where the others are, before it is looked at.
  [[nodiscard]] bool is_due(Time now, std::size_t workers) const noexcept {
    return workers > workers_.size() || now - updated_ >= kUpdateEvery;
  }

  // One entry for each worker there is now; they come and go at the end. One that is new begins
  // with the least of what the others have.
  MUSTER_API void update(Time now, std::span<const Totals> totals);

  // `used` and `consumed`. Of a worker that no update has told of: nothing.
  [[nodiscard]] MUSTER_API WorkerLoad load(std::size_t worker) const;

  // The same, with what the worker has used and consumed since the last update.
  [[nodiscard]] MUSTER_API WorkerLoad load(std::size_t worker, const Totals& now) const;

  // How fast each worker is, relative to the others: one for each of the last update.
  [[nodiscard]] MUSTER_API std::vector<double> weights() const { return speeds_.weights(); }

  // Rounds since the first update.
  [[nodiscard]] std::uint64_t round() const noexcept { return round_; }

 private:
  struct Worker {
    Totals seen;      // by the last update
    Totals measured;  // by the last measurement of its speed
    Decaying used;
    Decaying consumed;  // ns
  };

  void set_workers(std::span<const Totals> totals);
  void measure_speeds();

  std::optional<Time> began_;
  Time updated_{};
  std::uint64_t round_ = 0;
  std::vector<Worker> workers_;
  MeasuredWeights speeds_;
};

}  // namespace muster
