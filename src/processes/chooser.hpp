// chooser.hpp: which of several worker processes gets a task, by the pool's strategy.
//
// The built-ins that weigh loads are asked by choice.hpp, as for threads; the weighted ones, and
// those of the user's, are objects. Whatever such an object does, the task finds a worker.
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
#include <muster/strategy.hpp>

#include "processes/member.hpp"

namespace muster {

class Chooser {
 public:
  using Members = std::span<const std::unique_ptr<Member>>;

  // Requires: valid. Weights as in ProcessPoolOptions.
  Chooser(const StrategyChoice& strategy, std::vector<double> weights, std::uint64_t seed);

  // One of `among`, of which there is one at least.
  Member& choose(const ProcessTask& task, std::span<Member* const> among, Members all, Time now);

  // Requires: valid. Throws what a registered one's factory throws, and has changed nothing then.
  void set_strategy(const StrategyChoice& strategy, Members all);
  [[nodiscard]] std::string strategy_name() const;

  // What a strategy that is an object is told, if there is one.
  void note_done(const Member& member, Duration took) noexcept;
  void note_added(const Member& member) noexcept;
  void note_removed(const Member& member) noexcept;

  // As given, or as measured; one for each.
  [[nodiscard]] std::vector<double> weights(std::size_t members) const;

  // Times that a strategy of the user's had no usable answer.
  [[nodiscard]] std::uint64_t fallbacks() const noexcept { return fallbacks_; }

  // This thread is in the middle of a call to a strategy of this pool, or of another process pool.
  [[nodiscard]] static bool is_asking() noexcept;

 private:
  Member& ask(const ProcessTask& task, std::span<Member* const> among, Time now);
  [[nodiscard]] WorkerInfo info_of(const Member& member, Time now) const;
  void update_recent(Members all, Time now);
  template <class Call>
  void tell(const char* what, const Call& call) noexcept;

  const std::vector<double> given_weights_;
  BuiltIn built_in_ = BuiltIn::least_busy;
  std::shared_ptr<Strategy> object_;  // null: the built-in
  Rotation turn_;
  Random random_;
  RecentWork recent_;
  Time recent_time_{};
  std::vector<WorkerLoad> loads_;  // of one choice
  std::uint64_t fallbacks_ = 0;
};

}  // namespace muster
