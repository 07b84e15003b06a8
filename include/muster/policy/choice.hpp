// choice.hpp: picks a worker by a built-in strategy, in a time that does not grow with the workers.
//
//     Rotation turn;                    // of the thread that places tasks, like `random`
//     const std::size_t worker = choose(BuiltIn::least_busy, workers, turn, random,
//                                       [&](std::size_t i) { return load_of(i); });
//
// Up to 16 workers it looks at all of them and picks as the Strategy objects of strategy.hpp do.
// Among more it looks at 8, random ones; the worst of the loads is then still next to the mean
// (Azar, Broder, Karlin, Upfal 1994: the best of d random ones, and d = 2 is nearly enough).
//
// Who is as good as another comes in turn, so that equal workers share evenly.
//
// Thread safety: pure; `turn` and `random` belong to the thread that calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <muster/base/assert.hpp>
#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/policy/weights.hpp>
#include <muster/strategy.hpp>

namespace muster {

// A worker as choose() sees it. What a strategy does not weigh may be left out.
struct WorkerLoad {
  // Placed with it and not finished: counted when a task is placed, not when it begins. So a burst
  // spreads although nothing of it has ended yet. All strategies but round-robin.
  std::uint32_t pending = 0;

  // Waits for a task. round-robin, fair-share.
  bool idle = true;

  // Tasks done, and time spent on them, of late: see decaying.hpp. least-used; fair-share.
  double used = 0;
  Duration consumed{};

  // What a task takes on average, the same for all workers: see share_average(). fair-share; and
  // least-elu, if there are estimates.
  Duration average{};

  // How many of the pending came with an estimate, and what these are expected to take together.
  // They are charged that, all others `average`. fair-share, least-elu.
  std::uint32_t estimated = 0;
  Duration estimates{};

  // From 0 to 1. least-elu.
  float utilisation = 0;
};

// Where the next look around begins. Threads that share workers should not all begin with 0.
struct Rotation {
  std::size_t next = 0;
};

// Up to so many workers, all are looked at; so many of more than that.
inline constexpr std::size_t kLookAtAll = 16;
inline constexpr std::size_t kLooks = 8;

// What the time-based strategies charge for what is pending, in tasks of average length.
constexpr double pending_work(const WorkerLoad& load) {
  if (load.estimated == 0) return static_cast<double>(load.pending);
  constexpr Duration kLeastAverage{1};
  const std::uint32_t others = load.pending - std::min(load.pending, load.estimated);
  const Duration average = std::max(load.average, kLeastAverage);
  return static_cast<double>(others) +
         static_cast<double>(load.estimates.count()) / static_cast<double>(average.count());
}

// How little a strategy wants this worker: 0 is the best there is. Only for comparing workers at
// one moment by one strategy.
constexpr double cost(BuiltIn strategy, const WorkerLoad& load) {
  // However busy it was, a worker has some time left; this keeps the pending ones apart then.
  constexpr double kLeastFree = 1.0 / 1024;
  constexpr Duration kLeastAverage{1};
  const auto pending = static_cast<double>(load.pending);
  switch (strategy) {
    case BuiltIn::round_robin:
      return load.idle ? 0 : 1;
    case BuiltIn::least_used:
      return load.used + pending;
    case BuiltIn::least_busy:
      return pending;
    case BuiltIn::least_elu: {
      // By utilisation alone, a whole burst would go to one worker, since it changes late. So: how
      // long one more task takes if all that is pending shares the time that is left.
      const double free = 1 - static_cast<double>(load.utilisation);
      return (pending_work(load) + 1) / std::max(free, kLeastFree) - 1;
    }
    case BuiltIn::fair_share: {
      // Charged when placed; and a busy worker pays for one more, since nobody knows how long it
      // will go on.
      const double charged = pending_work(load) + (load.idle ? 0 : 1);
      const Duration average = std::max(load.average, kLeastAverage);
      return static_cast<double>(load.consumed.count()) +
             charged * static_cast<double>(average.count());
    }
    case BuiltIn::weighted_round_robin:
    case BuiltIn::interleaved_weighted:
      break;  // by their turns, not by their loads
  }
  return 0;
}

// What a task without an estimate is expected to take: the mean of what is known of the workers; if
// that is nothing, of the estimates that pending ones came with. 0: nothing is known.
constexpr Duration usual_time(std::span<const WorkerLoad> loads) {
  Duration averages{};
  Duration::rep known = 0;
  Duration estimates{};
  Duration::rep estimated = 0;
  for (const WorkerLoad& load : loads) {
    estimates += load.estimates;
    estimated += load.estimated;
    if (load.average <= Duration::zero()) continue;
    averages += load.average;
    ++known;
  }
  if (known > 0) return averages / known;
  return estimated > 0 ? estimates / estimated : Duration::zero();
}

// From what each worker's own tasks took on average to what is expected of the next one, whoever
// gets it. The last few tasks of a worker were long or short by chance: charged by those, most of a
// burst would go to whoever had short ones. Who is slow has consumed more.
constexpr void share_average(std::span<WorkerLoad> loads) {
  const Duration usual = usual_time(loads);
  for (WorkerLoad& load : loads) load.average = usual;
}

// What a new worker begins with: the least of what the others have behind them, so that it is not
// flooded until it has caught up with their past.
constexpr WorkerLoad starting_load(std::span<const WorkerLoad> others) {
  if (others.empty()) return {};
  WorkerLoad least{
      .used = others[0].used, .consumed = others[0].consumed, .utilisation = others[0].utilisation};
  for (const WorkerLoad& other : others) {
    least.used = std::min(least.used, other.used);
    least.consumed = std::min(least.consumed, other.consumed);
    least.utilisation = std::min(least.utilisation, other.utilisation);
  }
  return least;
}

namespace detail {

// The best of those looked at so far.
template <BuiltIn strategy, class LoadOf>
class BestLook {
 public:
  explicit BestLook(const LoadOf& load_of) : load_of_(load_of) {}

  // False: none can be better than this one.
  bool look(std::size_t worker) {
    const double found = cost(strategy, load_of_(worker));
    // As two selections, for the compiler to make no branch: nobody could predict it.
    const bool is_better = found < cost_;
    worker_ = is_better ? worker : worker_;
    cost_ = is_better ? found : cost_;
    return cost_ > 0;
  }

  [[nodiscard]] std::size_t worker() const { return worker_; }

 private:
  const LoadOf& load_of_;
  std::size_t worker_ = 0;
  double cost_ = std::numeric_limits<double>::infinity();
};

// The first of the best from `turn` on, of as many as are looked at. Round-robin comes here also
// with many workers, to keep to its turns; the hint is its last resort before a busy one.
template <BuiltIn strategy, class LoadOf>
std::size_t choose_in_turn(std::size_t workers, Rotation& turn, const LoadOf& load_of,
                           std::optional<std::size_t> idle_hint) {
  const std::size_t first = turn.next < workers ? turn.next : 0;
  const std::size_t looks = workers <= kLookAtAll ? workers : kLooks;
  BestLook<strategy, LoadOf> best(load_of);
  std::size_t next = first;
  for (std::size_t i = 0; i < looks; ++i) {
    const bool go_on = best.look(next);
    next = next + 1 < workers ? next + 1 : 0;
    if (!go_on) {
      turn.next = next;
      return best.worker();
    }
  }
  if (looks < workers && idle_hint && *idle_hint < workers && !best.look(*idle_hint)) {
    turn.next = next;  // behind those found busy
  } else {
    turn.next = best.worker() + 1;
  }
  return best.worker();
}

template <BuiltIn strategy, class LoadOf>
std::size_t choose_at_random(std::size_t workers, Random& random, const LoadOf& load_of,
                             std::optional<std::size_t> idle_hint) {
  BestLook<strategy, LoadOf> best(load_of);
  if (idle_hint && *idle_hint < workers && !best.look(*idle_hint)) return best.worker();
  for (std::size_t i = 0; i < kLooks; ++i) {
    if (!best.look(static_cast<std::size_t>(random.below(workers)))) break;
  }
  return best.worker();
}

template <BuiltIn strategy, class LoadOf>
std::size_t choose_least(std::size_t workers, Rotation& turn, Random& random, const LoadOf& load_of,
                         std::optional<std::size_t> idle_hint) {
  if (workers <= kLookAtAll) {
    return choose_in_turn<strategy>(workers, turn, load_of, std::nullopt);
  }
  return choose_at_random<strategy>(workers, random, load_of, idle_hint);
}

}  // namespace detail

// One of 0 .. workers-1, of which there must be one. `load_of(i)` is asked as rarely as possible,
// and need not be consistent between workers. `idle_hint` is a worker believed to be idle, if the
// caller knows one; it may be wrong, or gone. The weighted ones take plain turns here, as if all
// had the same weight; otherwise they take a schedule, below.
template <class LoadOf>
std::size_t choose(BuiltIn strategy, std::size_t workers, Rotation& turn, Random& random,
                   const LoadOf& load_of, std::optional<std::size_t> idle_hint = std::nullopt) {
  MUSTER_DEBUG_ASSERT(workers > 0);
  switch (strategy) {
    case BuiltIn::round_robin:
      return detail::choose_in_turn<BuiltIn::round_robin>(workers, turn, load_of, idle_hint);
    case BuiltIn::least_used:
      return detail::choose_least<BuiltIn::least_used>(workers, turn, random, load_of, idle_hint);
    case BuiltIn::least_busy:
      return detail::choose_least<BuiltIn::least_busy>(workers, turn, random, load_of, idle_hint);
    case BuiltIn::least_elu:
      return detail::choose_least<BuiltIn::least_elu>(workers, turn, random, load_of, idle_hint);
    case BuiltIn::fair_share:
      return detail::choose_least<BuiltIn::fair_share>(workers, turn, random, load_of, idle_hint);
    case BuiltIn::weighted_round_robin:
    case BuiltIn::interleaved_weighted:
      break;
  }
  const std::size_t worker = turn.next < workers ? turn.next : 0;
  turn.next = worker + 1;
  return worker;
}

// For the weighted ones.
inline std::size_t choose(const WeightedSchedule& schedule, Rotation& turn) {
  const std::size_t now = turn.next < schedule.size() ? turn.next : 0;
  turn.next = now + 1;
  return schedule.at(now);
}

}  // namespace muster
