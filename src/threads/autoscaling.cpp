// autoscaling.cpp: what the policy is told, and what becomes of its answer.
#include "threads/autoscaling.hpp"

#include <algorithm>
#include <exception>

#include <muster/base/log.hpp>
#include <muster/sync/player.hpp>

#include "threads/crew.hpp"
#include "threads/timers.hpp"

namespace muster {

void Autoscaling::begin() {
  if (!scaler_) return;
  crew_.timers()->watch(scaler_->options().check_every, Closure([this] { look(); }));
}

// What the policy throws changes nothing: it is asked again the next time.
void Autoscaling::look() noexcept {
  try {
    decide();
  } catch (const Stopped&) {
    return;
  } catch (...) {
    MUSTER_LOG(LogLevel::error,
               "scaling failed, and is tried again: " << message_of(std::current_exception()));
  }
  try {
    begin();
  } catch (const Stopped&) {
    return;
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::error, "scaling ends: " << error.what());
  }
}

void Autoscaling::decide() {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): called only if there is one
  Scaler& scaler = *scaler_;
  const ScalingDecision decision = scaler.decide(input());
  if (decision.change == 0) return;
  const ScalingOptions& options = scaler.options();
  crew_.resize(
      {.change = decision.change, .least = options.min_workers, .most = options.max_workers},
      decision.reason);
}

ScalingInput Autoscaling::input() {
  const Staff& staff = crew_.staff();
  const Time now = current_time();
  ScalingInput input{.now = now, .workers = staff.wanted(), .queued = crew_.queued_approx()};
  std::size_t busy = 0;
  Duration::rep times = 0;
  Duration::rep timed = 0;
  staff.for_each([&](const Worker& worker) {
    const bool is_spare = staff.is_spare(worker.index());
    input.completions += count_of(worker.counters().done);
    if (!is_spare && staff.phase(worker.index()) != Staff::Phase::working) return;
    // relaxed: a figure.
    if (const Duration::rep average = worker.times().average.load(relaxed); average != 0) {
      times += average;
      ++timed;
    }
    if (count_of(worker.counters().busy) != 0) {
      ++busy;
    } else if (const std::optional<Time> since = worker.idle_since(); since && !is_spare) {
      ++input.idle;
      input.longest_idle = std::max(input.longest_idle, now - *since);
    }
  });
  // Those that block are stood in for.
  input.active = busy - std::min(busy, crew_.spares().blocked_approx());
  if (timed != 0) input.average_task_time = Duration(times / timed);
  // Racy reads must not look as if tasks had gone back.
  seen_arrivals_ = std::max(seen_arrivals_, crew_.arrivals_approx());
  input.arrivals = seen_arrivals_;
  return input;
}

void Autoscaling::note_change(const Change& change, const std::string& reason) {
  ScalingChange seen{.total = static_cast<unsigned>(change.after), .reason = reason};
  {
    const MutexLock lock(mutex_);
    figures_.count(static_cast<std::ptrdiff_t>(change.after) -
                   static_cast<std::ptrdiff_t>(change.before));
  }
  if (change.after > change.before) {
    seen.added = static_cast<unsigned>(change.after - change.before);
    crew_.notices().tell([&] { return ScaledUp{seen.added, seen.total, reason}; });
  } else {
    seen.removed = static_cast<unsigned>(change.before - change.after);
    crew_.notices().tell([&] { return ScaledDown{seen.removed, seen.total, reason}; });
  }
  if (crew_.options().on_scaling) crew_.options().on_scaling(seen);
}

}  // namespace muster
