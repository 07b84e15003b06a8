// stealing.hpp: when an idle worker takes tasks from others, from whom, and how many.
//
//     if (may_search(options, now, last_search)) {
//       for (const Victim& victim : order_victims(options, victims, random)) {
//         take(tasks_to_steal(options, victim.queued), victim.worker);
//       }
//     }
//
// With the defaults no worker idles while a task waits, but for `patience` while one with a soft
// key does. With a threshold or a cooldown it may: these trade that promise for less traffic
// between workers.
//
// Thread safety: values and pure functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/error.hpp>

namespace muster {

// How much of a victim's queue is taken at once.
enum class StealSize {
  one,
  half,  // rounded up, so that a task which waits alone can be taken
  all,
};

enum class StealingOrder {
  fifo,  // the task that has waited longest
  lifo,  // the newest, whose memory is more likely to be in a cache
};

// Whom a thief turns to first. Equals come in random order.
enum class VictimChoice {
  nearest,  // those it shares most caches with
  random,
  busiest,  // those with the longest queues; reads the length of every queue
};

struct StealingOptions {
  // False: a task stays with the worker that it was given to.
  bool enabled = true;

  StealSize size = StealSize::half;

  // Tasks taken at once, whatever `size` says; at least 1. More of them are fewer visits, but more
  // wait behind the first one that the thief runs.
  std::size_t most = 4;

  // Queues of this many tasks and fewer are left alone. Above 0, tasks may wait while a worker
  // idles.
  std::size_t threshold = 0;

  // How long a worker waits after a search before it searches again; 0 or more. Above 0, tasks may
  // wait while a worker idles.
  Duration cooldown = Duration::zero();

  // How long a task with a soft key is left to its own worker, which has what it needs in its
  // caches, before somebody else may take it; 0 or more. For so long it may wait while a worker
  // idles. Worth less than what a task costs more elsewhere: 0, if that is nothing.
  Duration patience = std::chrono::milliseconds(1);

  StealingOrder order = StealingOrder::fifo;
  VictimChoice victim = VictimChoice::nearest;

  // Share of the workers that may search at the same time, more than 0 and at most 1; one always
  // may. More of them find work sooner and disturb those who have it.
  double max_searchers = 0.5;

  // Whoever was drained longest ago comes first, before `victim` is asked: nobody is drained twice
  // while another who has tasks all that time is not drained at all.
  bool fair = false;
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const StealingOptions& options);

// How many tasks to take from a queue of this many. 0: leave it alone.
constexpr std::size_t tasks_to_steal(const StealingOptions& options, std::size_t queued) noexcept {
  if (!options.enabled || queued <= options.threshold) return 0;
  switch (options.size) {
    case StealSize::one:
      return 1;
    case StealSize::half:
      return std::min(queued - queued / 2, options.most);
    case StealSize::all:
      return std::min(queued, options.most);
  }
  return 1;
}

// Whether a worker without work may look for some at others. `last_search`: when it did before.
constexpr bool may_search(const StealingOptions& options, Time now,
                          std::optional<Time> last_search) noexcept {
  return options.enabled && (!last_search || now - *last_search >= options.cooldown);
}

// From when on others may take a task with a soft key that came at this time.
constexpr Time stealable_from(const StealingOptions& options, Time came) noexcept {
  return options.patience < Time::max() - came ? came + options.patience : Time::max();
}

// How many workers of a pool may search at the same time, at least 1. Requires: valid options.
MUSTER_API std::size_t max_searchers(const StealingOptions& options, std::size_t workers);

// Somebody to steal from, as a thief sees it.
struct Victim {
  std::size_t worker = 0;

  // Tasks that wait in its queue; may be out of date by the time that it is visited.
  std::size_t queued = 0;

  // How far it is from the thief: 0 is next to it. Only the order counts.
  unsigned distance = 0;

  // The number of its last drain, counting all drains from 1; 0: never.
  std::uint64_t last_drained = 0;
};

// Sorts the victims, the first to be visited first, and returns those that are worth a visit. The
// thief itself must not be among them. Allocates nothing; takes O(n log n).
MUSTER_API std::span<Victim> order_victims(const StealingOptions& options,
                                           std::span<Victim> victims, Random& random);

}  // namespace muster
