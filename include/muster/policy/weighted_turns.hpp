// weighted_turns.hpp: whose turn it is by weight, for a pool whose workers come and go and change
// their speed.
//
//     WeightedTurns turns({2, 1});                             // or {}: by how fast they are
//     turns.next(BuiltIn::interleaved_weighted, workers, recent);
//
// Thread safety: none; its user guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/policy/choice.hpp>
#include <muster/policy/recent_work.hpp>
#include <muster/policy/weights.hpp>
#include <muster/strategy.hpp>

namespace muster {

class MUSTER_API WeightedTurns {
 public:
  // Valid weights, or none.
  explicit WeightedTurns(std::vector<double> given) : given_(std::move(given)) {}

  // None were given: `recent` must be kept up to date.
  [[nodiscard]] bool are_measured() const noexcept { return given_.empty(); }

  // One for each worker: as given, or as measured, in steps of a sixteenth, or each little change
  // would make a long table of turns. Who has none has 1.
  [[nodiscard]] std::vector<double> weights(std::size_t workers, const RecentWork& recent) const;

  // Who has the next turn. The strategy is a weighted one.
  std::size_t next(BuiltIn strategy, std::size_t workers, const RecentWork& recent);

  // Begins with the first turn, by whichever strategy is asked for next.
  void reset() noexcept {
    schedule_.reset();
    turn_ = {};
  }

 private:
  const std::vector<double> given_;

  // And what it was made for.
  std::optional<WeightedSchedule> schedule_;
  std::uint64_t round_ = 0;
  std::size_t workers_ = 0;
  Rotation turn_;
};

}  // namespace muster
