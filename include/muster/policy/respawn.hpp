// respawn.hpp: when a worker that died is replaced, so that one which dies at once is not replaced
// for ever at full speed.
//
//     respawn.note_death(Stage::before_ready, now);
//     if (respawn.next_spawn(now) > now) ...          // a crash loop: wait, and tell somebody
//
// Deaths are counted over a sliding time, those of workers that never became ready apart from the
// others: the former say that the program or its surroundings are broken, the latter often only
// that some tasks are. A death within the budget is replaced at once. Beyond it the pool pauses,
// every time longer, until none was needed for a period.
//
// Thread safety: a value; decides by what it is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/policy/retry.hpp>

namespace muster {

struct RespawnOptions {
  // Deaths of workers that never became ready which `period` may see before the pool pauses. At
  // least 1.
  std::size_t deaths_before_ready = 3;

  // The same for workers that were ready.
  std::size_t deaths_after_ready = 10;

  // More than 0.
  Duration period = std::chrono::seconds(60);

  // How long the first, the second, ... pause lasts.
  RetryDelay pause = exponential(std::chrono::seconds(1), std::chrono::seconds(60));
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const RespawnOptions& options);

// How far a worker had come when it died.
enum class Stage { before_ready, after_ready };

class MUSTER_API Respawn {
 public:
  // Requires: valid options.
  explicit Respawn(const RespawnOptions& options) : options_(options) {}

  // A worker has died that was not told to. True: one too many, and a pause has begun.
  bool note_death(Stage stage, Time now);

  // A worker has become ready: whatever was broken is whole again.
  void note_ready() { before_ready_.clear(); }

  // When the next worker may be started; not after `now` unless in a pause.
  [[nodiscard]] Time next_spawn(Time now) const noexcept;

  // Pauses with less than a period between each other, up to now or the last death.
  [[nodiscard]] unsigned pauses() const noexcept { return pauses_; }

 private:
  std::deque<Time>& deaths(Stage stage) noexcept {
    return stage == Stage::before_ready ? before_ready_ : after_ready_;
  }

  RespawnOptions options_;
  std::deque<Time> before_ready_;  // deaths within the period, oldest first
  std::deque<Time> after_ready_;
  Time pause_ends_ = Time::min();
  unsigned pauses_ = 0;
};

}  // namespace muster
