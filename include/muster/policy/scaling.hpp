// scaling.hpp: how many workers a pool should have.
//
//     Scaler scaler({.policy = ScalingPolicy::predictive, .max_workers = 32});
//     const ScalingDecision decision = scaler.decide(input);    // once every `check_every`
//     if (decision.change > 0) add(decision.change);
//
// Four policies: `ratio` looks at the tasks per worker, `depth` at the length of the queue,
// `predictive` at where the arrivals are heading, and `custom` is a function of the user's. Limits
// and cooldowns are the same for all of them.
//
// Thread safety: none; its user guards it. Reads no clock: the time comes with the figures.
// Design note: docs/design/scaling.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/policy/arrival_trend.hpp>

namespace muster {

// A pool at one moment.
struct ScalingInput {
  Time now{};
  std::size_t workers = 0;
  std::size_t active = 0;         // workers that run a task
  std::size_t queued = 0;         // tasks that wait
  std::size_t idle = 0;           // workers that have nothing to do
  Duration longest_idle{};        // of those, for how long the one that has been idle longest
  std::uint64_t arrivals = 0;     // tasks that have come, since the start
  std::uint64_t completions = 0;  // tasks that have ended, since the start
  Duration average_task_time{};   // of recent tasks, from their begin to their end; 0: not known
};

enum class ScalingPolicy { ratio, depth, predictive, custom };

MUSTER_API std::string_view to_string(ScalingPolicy policy);

struct RatioScaling {
  // Adds when there are this many tasks, waiting or running, for each worker; more than 0.
  double scale_up_threshold = 2.0;

  // Removes when a worker has been idle for this long and no task waits.
  Duration scale_down_idle_timeout = std::chrono::seconds(30);

  // Workers added and removed at a time, at least 1.
  std::size_t scale_up_step = 1;
  std::size_t scale_down_step = 1;
};

struct DepthScaling {
  // Adds when more tasks wait than this.
  std::size_t scale_up_depth = 50;

  // Removes when no task waits and fewer workers than this run one ...
  std::size_t scale_down_busy = 5;

  // ... for as long as this, 0 or more, and then none that was busy meanwhile. With 0 a small load
  // makes it remove workers and add them again for ever.
  Duration scale_down_delay = std::chrono::seconds(30);

  // Workers added and removed at a time, at least 1.
  std::size_t scale_up_step = 10;
  std::size_t scale_down_step = 5;
};

// Adds and removes as many workers as it takes at a time. Decides like `ratio` until a first task
// was timed, and whenever the pool stays overloaded for a horizon although it should not.
struct PredictiveScaling {
  // How far ahead it looks; more than 0. At least as long as it takes to notice a load and to have
  // new workers ready: check_every, scale_up_cooldown and the time that a worker needs to start.
  Duration horizon = std::chrono::seconds(10);

  // Workers beyond those that would be busy all the time, 0 or more: this times the square root of
  // these, since that is how far the number of tasks at work strays by chance. With 1, there are 2
  // workers for 1 that is busy all the time, 12 for 9, and 110 for 100; about one task in five
  // waits.
  double headroom = 1.0;

  // Over how long arrivals are averaged, more than 0; three times that if their rate is steady.
  // Longer: calmer, and later to notice.
  Duration smoothing = std::chrono::seconds(5);

  // Removes when fewer workers were needed for as long as this, and then as many as were never
  // needed in that time.
  Duration scale_down_delay = std::chrono::seconds(60);
};

struct ScalingOptions {
  ScalingPolicy policy = ScalingPolicy::ratio;

  // At least 1, and at most 1024. Fewer and more than these are mended at once, without a cooldown.
  std::size_t min_workers = 1;
  std::size_t max_workers = 8;

  // How often to decide; more than 0.
  Duration check_every = std::chrono::seconds(1);

  // The least time from adding workers to adding more, and from removing to removing more; 0 or
  // more. Adding never waits for the cooldown of removing, nor the other way round.
  Duration scale_up_cooldown = std::chrono::seconds(5);
  Duration scale_down_cooldown = std::chrono::seconds(5);

  // Each for the policy of its name. `ratio` is also what `predictive` falls back to.
  RatioScaling ratio = {};
  DepthScaling depth = {};
  PredictiveScaling predictive = {};

  // How many workers to add, or below 0 to remove; for ScalingPolicy::custom, and needed there.
  // What it throws comes out of decide(), and nothing has changed then.
  std::function<int(const ScalingInput&)> custom = {};
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const ScalingOptions& options);

struct ScalingDecision {
  // Workers to add, or below 0 to remove.
  int change = 0;

  // For people: why, or why not.
  std::string reason;
};

class Scaler {
 public:
  // Throws InvalidArgument if the options are not valid.
  MUSTER_API explicit Scaler(const ScalingOptions& options);

  // What to do now; counts on it being done.
  [[nodiscard]] MUSTER_API ScalingDecision decide(const ScalingInput& input);

  [[nodiscard]] const ScalingOptions& options() const noexcept { return options_; }

 private:
  ScalingDecision wish(const ScalingInput& input);
  ScalingDecision wish_by_ratio(const ScalingInput& input) const;
  ScalingDecision wish_by_depth(const ScalingInput& input);
  ScalingDecision wish_by_prediction(const ScalingInput& input);
  ScalingDecision wish_for_fewer(const ScalingInput& input, double needed, std::size_t enough);
  std::optional<std::size_t> enough_for(Duration delay, Time now, std::size_t enough);
  double workers_for(double rate, const ScalingInput& input) const;
  bool stays_overloaded(const ScalingInput& input);
  const char* hindrance_of(const ScalingInput& input, int change) const;
  ScalingDecision taken(Time now, ScalingDecision decision);

  // Fixed at construction.
  ScalingOptions options_;

  std::optional<Time> last_up_;
  std::optional<Time> last_down_;

  // For `predictive`.
  ArrivalTrend trend_;
  std::optional<Time> overloaded_since_;

  // For `predictive` and `depth`: since when fewer workers than there are were enough.
  struct Surplus {
    Time since;
    std::size_t enough;  // at all times since
  };
  std::optional<Surplus> surplus_;
};

}  // namespace muster
