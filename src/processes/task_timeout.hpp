// task_timeout.hpp: when the time of a task is over that a worker has. Pure.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <optional>

#include <muster/base/clock.hpp>

namespace muster {

// The last time that nobody looked when somebody should have: this process was stopped, or all of
// the machine.
struct Stall {
  Time end{};
  Duration length{};
};

// When to look again; not after `now`: its time is over. `began`: none if the worker has not begun
// it, or has ended it. Whoever began it before a stall may have been stopped, too, so it has as
// much time again, but not more than it is allowed.
inline Time time_is_over_at(std::optional<Time> began, Duration allowed, const Stall& stall,
                            Time now) {
  const Time due = later(began.value_or(now), allowed);
  if (!began || *began >= stall.end) return due;
  return std::max(due, later(stall.end, std::min(stall.length, allowed)));
}

}  // namespace muster
