// weights.hpp: turns in proportion to weights, and weights from how fast workers are.
//
//     const WeightedSchedule schedule(TurnOrder::in_runs, std::vector{2.0, 1.0});
//     schedule.at(0), schedule.at(1), schedule.at(2), schedule.at(3) ...   // 0, 0, 1, 0 ...
//
// Weights are relative: {2, 1} and {0.5, 0.25} mean the same.
//
// Thread safety: a schedule never changes, so any thread may read it; MeasuredWeights is for one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

enum class TurnOrder {
  in_runs,      // a a b a a b; the worker with the least weight has one turn at a time
  interleaved,  // a b a a b a; each worker's turns are as evenly spaced as they can be
};

// Every weight that is not more than 0 and finite; empty: none, and there is one at least.
MUSTER_API std::vector<BadField> validate_weights(std::span<const double> weights);

// Who has which turn, worked out beforehand. The turns repeat from the beginning after size().
class MUSTER_API WeightedSchedule {
 public:
  // Also the largest number of workers.
  static constexpr std::size_t kMostTurns = 4096;

  // One weight for each worker. The fewest turns that give everyone exactly their share, or
  // kMostTurns; then no share is off by a whole turn, and who deserves less than a turn may have
  // none. Throws InvalidArgument for what validate_weights() reports.
  WeightedSchedule(TurnOrder order, std::span<const double> weights);

  [[nodiscard]] std::size_t size() const noexcept { return turns_.size(); }

  // The worker whose turn it is.
  [[nodiscard]] std::size_t at(std::size_t turn) const noexcept {
    return turns_[turn < turns_.size() ? turn : turn % turns_.size()];
  }

 private:
  // Two bytes each, to be small in the cache: 8 KiB at most.
  std::vector<std::uint16_t> turns_;
};

// Weights in proportion to how many tasks each worker does in the time that it is busy. Right if
// the tasks of all workers are alike on average; what is old counts less.
class MUSTER_API MeasuredWeights {
 public:
  // What one worker did in one period.
  struct Work {
    std::uint64_t tasks = 0;
    Duration busy{};
  };

  // No worker is taken for so many times faster, or slower, than the mean: one that seems slow must
  // go on to get tasks, or it could never show that it is fast again.
  static constexpr double kMostDeviation = 16;

  // Ends a period; one entry for each worker there is now. Workers come and go at the end.
  void record(std::span<const Work> work);

  // One for each worker of the last period; their mean is about 1. Of whom too little is known has
  // exactly 1.
  [[nodiscard]] std::vector<double> weights() const;

 private:
  struct Recent {
    double tasks = 0;
    double busy_ns = 0;
  };

  std::vector<Recent> workers_;
};

}  // namespace muster
