// health.hpp: whether a worker that gives no sign of life is warned about, told to end, or killed.
//
//     Health health(options, beats, now);
//     switch (health.look({.beats = beats, .cpu_time = cpu}, now)) {   // now and then, per worker
//       case HealthAction::warn: ...
//
// What counts is silence that whoever looks has sat through. If that one was stopped itself, for
// instance with the whole machine, its absence is not held against the workers: a gap between two
// looks counts as two heartbeats at most. So look at least once per heartbeat.
//
// This is about life only. Whether a task makes progress or takes too long is another question.
//
// Thread safety: a value; decides by what it is told, and does nothing itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

struct HealthOptions {
  // How often a worker gives a sign of life. More than 0.
  Duration heartbeat = std::chrono::seconds(5);

  // Silence after which somebody is told. At least two heartbeats: one may be late.
  Duration warning = std::chrono::seconds(15);

  // Silence after which it is a zombie, and told to end (SIGTERM). More than `warning`.
  Duration zombie = std::chrono::seconds(30);

  // The same while something speaks for it: it uses CPU time, or its core is being dumped. At least
  // `zombie`.
  Duration busy_zombie = std::chrono::seconds(60);

  // How long it may take to end before it is killed (SIGKILL). At least 0.
  Duration terminate_grace = std::chrono::seconds(5);
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const HealthOptions& options);

// What is known of a worker at one moment.
struct VitalSigns {
  std::uint64_t beats = 0;  // how many it has given; any change is a sign of life
  Duration cpu_time{};      // what its process has used so far
  bool dumps_core = false;
};

enum class HealthAction {
  none,
  warn,       // it has been silent for long
  recovered,  // it was warned about, and gave a sign
  terminate,  // it is a zombie: ask it to end
  kill,       // it did not
};

MUSTER_API std::string_view to_string(HealthAction action);

// Of one worker, from its start to its end.
class MUSTER_API Health {
 public:
  // Requires: valid options.
  Health(const HealthOptions& options, const VitalSigns& signs, Time now) noexcept
      : options_(options), last_(signs), last_look_(now) {}

  // Each action but `none` is given once; after `kill` nothing follows.
  [[nodiscard]] HealthAction look(const VitalSigns& signs, Time now) noexcept;

  // It is to end for another reason. kill follows as for a zombie.
  void expect_end() noexcept;

  // For how long it has been seen to be silent.
  [[nodiscard]] Duration silence() const noexcept { return silence_; }
  [[nodiscard]] bool is_late() const noexcept { return phase_ == Phase::late; }
  [[nodiscard]] bool is_zombie() const noexcept { return is_zombie_; }

 private:
  enum class Phase : std::uint8_t { well, late, ending, killed };

  HealthAction look_at_living(const VitalSigns& signs, const VitalSigns& before) noexcept;
  HealthAction look_at_ending(const VitalSigns& signs, Duration passed) noexcept;

  HealthOptions options_;
  VitalSigns last_;
  Time last_look_;
  Duration silence_{};
  Duration ending_for_{};
  Phase phase_ = Phase::well;
  bool is_zombie_ = false;
};

}  // namespace muster
