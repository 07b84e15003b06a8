// chooser.hpp: which of several worker processes gets a task, by the pool's strategy.
//
// By the same policies as for threads. Whatever a strategy of the user's does, the task finds a
// worker: least-busy decides then.
//
// Thread safety: guarded by the supervisor's mutex, which is held while a strategy of the user's is
// asked: it must not call its pool, and is refused if it does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <muster/base/random.hpp>
#include <muster/policy/choice.hpp>
#include <muster/policy/recent_work.hpp>
#include <muster/policy/weighted_turns.hpp>
#include <muster/strategy.hpp>

#include "processes/member.hpp"

namespace muster {

class Chooser {
 public:
  using Members = std::span<const std::unique_ptr<Member>>;  // by their ids
  using Candidates = std::span<Member* const>;

  // Requires: valid. Weights as in ProcessPoolOptions.
  Chooser(const StrategyChoice& strategy, std::vector<double> weights, std::uint64_t seed);

  // One of `among`, of which there is one at least.
  Member& choose(const ProcessTask& task, Candidates among, Members all) {
    return among.size() == 1 ? *among[0] : choose_of_many(task, among, all);
  }

  // Requires: valid. Throws what a registered one's factory throws, and has changed nothing then.
  void set_strategy(const StrategyChoice& strategy, Members all);
  [[nodiscard]] std::string strategy_name() const;

  // What a strategy of the user's is told, if there is one.
  void note_done(const Member& member, Duration took) noexcept {
    if (custom_ != nullptr) tell_done(member, took);
  }
  void note_added(const Member& member) noexcept;
  void note_removed(const Member& member) noexcept;

  // As given, or as measured; one for each.
  [[nodiscard]] std::vector<double> weights(std::size_t members) const;

  // Times that a strategy of the user's had no usable answer.
  [[nodiscard]] std::uint64_t fallbacks() const noexcept { return fallbacks_; }

  // This thread is in the middle of a call to a strategy of this pool, or of another process pool.
  [[nodiscard]] static bool is_asking() noexcept;

 private:
  Member& choose_of_many(const ProcessTask& task, Candidates among, Members all);
  void tell_done(const Member& member, Duration took) noexcept;
  Member& take_turn(Candidates among, Members all);
  Member& next_of(Candidates among, std::size_t members);
  Member& weigh_shares(Candidates among);
  Member* ask(const ProcessTask& task, Candidates among, std::size_t members);
  [[nodiscard]] WorkerLoad load_of(const Member& member) const;
  [[nodiscard]] static WorkerInfo info_of(const Member& member, double weight, Time now);
  void update_recent(Members all);
  template <class Call>
  void tell(const char* what, const Call& call) noexcept;

  BuiltIn built_in_ = BuiltIn::least_busy;  // also what a custom one falls back to
  std::shared_ptr<Strategy> custom_;        // null: the built-in
  RecentWork recent_;
  WeightedTurns turns_;
  Rotation turn_;
  Random random_;
  std::uint64_t fallbacks_ = 0;
};

}  // namespace muster
