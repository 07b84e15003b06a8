// admission.hpp: whether a task may enter a queue, and what happens to it when there is no room.
//
//     const AdmissionDecision decision = admit(options, {.queued = 1000}, Origin::outside);
//     if (decision.action == AdmissionAction::accept) ...
//
// A bound is kept against those outside only. What workers post themselves is counted and always
// accepted: a worker that waited for room would wait for itself, and a task that was dropped or
// refused would leave half done the work of the one that posted it. So a queue may grow beyond its
// bound by what its own tasks post, and whoever is outside then waits until it has shrunk again.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

// What happens to a task from outside that finds no room.
enum class WhenFull {
  block,        // its sender waits until there is room, or `block_timeout` has passed
  reject,       // its sender is told, and keeps it
  drop_oldest,  // the one that has waited longest is dropped in its favour
  drop_newest,  // it is dropped itself
  caller_runs,  // its sender runs it, and so has no time to send more
};

MUSTER_API std::string_view to_string(WhenFull when_full);

struct AdmissionOptions {
  // Tasks that may wait, from 1 to 2^40. Bounded on purpose: an endless backlog hides overload
  // until memory runs out.
  std::size_t max_queued = 1'048'576;

  // Tasks of one affinity key that may wait, at most max_queued. 0: as many as of all keys.
  std::size_t max_queued_per_key = 0;

  WhenFull when_full = WhenFull::block;

  // How long a sender waits for room before it is told that there is none; for WhenFull::block
  // only. Unset: as long as it takes.
  std::optional<Duration> block_timeout = {};

  // Back-pressure is on from the time that this share of max_queued waits, more than 0 and at most
  // 1 ...
  double high_watermark = 0.8;

  // ... until this share is left, at least 0 and less than high_watermark.
  double low_watermark = 0.5;
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const AdmissionOptions& options);

// Who posts: one of the pool's own workers, from inside a task, or anybody else.
enum class Origin { outside, inside };

// What waits already.
struct Backlog {
  std::size_t queued = 0;
  std::size_t queued_of_key = 0;  // of those, with the same affinity key; 0 if the task has none
};

enum class AdmissionAction {
  accept,       // queue it
  wait,         // ask again when there is room
  reject,       // refuse it
  drop_oldest,  // drop the oldest one that `full` counts, then queue it
  drop_newest,  // drop it
  run_here,     // let the sender run it
};

// Which limit leaves no room. If both do, the key's: a task of that key less makes room in both.
enum class FullQueue { none, pool, key };

struct AdmissionDecision {
  AdmissionAction action = AdmissionAction::accept;
  FullQueue full = FullQueue::none;

  bool operator==(const AdmissionDecision&) const = default;
};

constexpr FullQueue full_queue(const AdmissionOptions& options, const Backlog& backlog) noexcept {
  if (options.max_queued_per_key != 0 && backlog.queued_of_key >= options.max_queued_per_key) {
    return FullQueue::key;
  }
  return backlog.queued >= options.max_queued ? FullQueue::pool : FullQueue::none;
}

// What to do with one more task.
constexpr AdmissionDecision admit(const AdmissionOptions& options, const Backlog& backlog,
                                  Origin origin) noexcept {
  const FullQueue full = full_queue(options, backlog);
  if (full == FullQueue::none || origin == Origin::inside) {
    return {.action = AdmissionAction::accept, .full = full};
  }
  switch (options.when_full) {
    case WhenFull::block:
      return {.action = AdmissionAction::wait, .full = full};
    case WhenFull::reject:
      return {.action = AdmissionAction::reject, .full = full};
    case WhenFull::drop_oldest:
      return {.action = AdmissionAction::drop_oldest, .full = full};
    case WhenFull::drop_newest:
      return {.action = AdmissionAction::drop_newest, .full = full};
    case WhenFull::caller_runs:
      return {.action = AdmissionAction::run_here, .full = full};
  }
  return {.action = AdmissionAction::reject, .full = full};
}

enum class BackPressure : std::uint8_t { off, on };

// When back-pressure is switched on and off: at two levels, so that a queue which hovers about one
// of them does not switch it with every task.
//
//     BackPressure after = watermarks.after(before, queued);
//     if (after != before) tell(after);
//
// The state is the caller's, who may keep it in an atomic; of those who change it at the same time,
// whoever succeeds in exchanging it tells.
class Watermarks {
 public:
  // Requires: valid options.
  MUSTER_API explicit Watermarks(const AdmissionOptions& options);

  [[nodiscard]] constexpr BackPressure after(BackPressure before,
                                             std::size_t queued) const noexcept {
    if (queued >= high_) return BackPressure::on;
    if (queued <= low_) return BackPressure::off;
    return before;
  }

  // On at this many and more; off at this many and fewer. high() is more than low().
  [[nodiscard]] constexpr std::size_t high() const noexcept { return high_; }
  [[nodiscard]] constexpr std::size_t low() const noexcept { return low_; }

 private:
  // Fixed at construction.
  std::size_t high_ = 0;
  std::size_t low_ = 0;
};

}  // namespace muster
