// posting.hpp: empty tasks through a pool, from outside and from inside; how many run per second?
//
// A contender is a class made from a number of workers, with post(task), or submit(task) that
// returns something with get(). For tasks that make tasks it may have spawn(task) and
// run_to_end(root) if it wants to be used in another way from the inside.
//
// A task is 8 or 16 bytes of plain data and does nothing but count itself (tally.hpp). Pools are
// made, and their threads awake, before the clock starts.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/rounds.hpp"
#include "support/together.hpp"
#include "support/usage.hpp"
#include "threads/tally.hpp"

namespace muster::bench {

struct Crew {
  unsigned workers = 1;
  unsigned producers = 1;
};

// Tasks that ran, and what they took. The wall time is from the first post to the last task's end.
struct Work {
  std::uint64_t tasks = 0;
  Usage used;
};

inline Sample speed_of(const Work& work) {
  return {.items = work.tasks, .seconds = work.used.wall_seconds};
}

// Until every worker has probably had a task. Returns how many there were.
template <class Pool>
std::uint64_t wake_up(Pool& pool, Tally& tally, unsigned workers) {
  constexpr std::uint64_t kEach = 64;
  const std::uint64_t tasks = kEach * workers;
  for (std::uint64_t i = 0; i < tasks; ++i) pool.post([&tally] { tally.add_one(); });
  tally.wait_for(tasks);
  return tasks;
}

// Each producer posts its share; the first then waits for the end.
template <class Pool>
Work post_tasks(const Crew& crew, std::uint64_t items) {
  const std::uint64_t share = (items + crew.producers - 1) / crew.producers;
  const std::uint64_t all = share * crew.producers;
  Tally tally;
  Pool pool(crew.workers);
  const std::uint64_t before = wake_up(pool, tally, crew.workers);

  std::vector<Role> roles;
  roles.reserve(crew.producers);
  for (unsigned producer = 0; producer < crew.producers; ++producer) {
    roles.emplace_back([&pool, &tally, share, producer, end = before + all](StartLine& start) {
      start.wait();
      for (std::uint64_t i = 0; i < share; ++i) pool.post([&tally] { tally.add_one(); });
      if (producer == 0) tally.wait_for(end);
    });
  }
  const Usage start = usage_now();
  const double seconds = run_together(roles);
  Usage used = usage_now() - start;
  used.wall_seconds = seconds;
  return {all, used};
}

// One producer submits all tasks, then asks for all results.
template <class Pool>
Work submit_tasks(unsigned workers, std::uint64_t items) {
  const auto next = [](std::uint64_t number) { return [number] { return number + 1; }; };
  using Future = decltype(std::declval<Pool&>().submit(next(0)));
  Tally tally;
  Pool pool(workers);
  wake_up(pool, tally, workers);
  std::vector<Future> futures;
  futures.reserve(items);

  const Usage start = usage_now();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < items; ++i) futures.push_back(pool.submit(next(i)));
  for (Future& future : futures) sum += future.get();
  const Usage used = usage_now() - start;
  if (sum != items * (items + 1) / 2) throw std::runtime_error("futures gave wrong results");
  return {items, used};
}

// Trees of tasks: each posts two children, down to `depth` below the root.
template <class Pool>
struct Forest {
  Pool& pool;
  Tally& tally;
  unsigned depth;

  [[nodiscard]] std::uint64_t tasks_of_tree() const { return (std::uint64_t{2} << depth) - 1; }
};

template <class Pool>
struct Branch {
  const Forest<Pool>* forest;
  unsigned depth;

  void operator()() const {
    if (depth < forest->depth) {
      spawn({forest, depth + 1});
      spawn({forest, depth + 1});
    }
    forest->tally.add_one();
  }

 private:
  void spawn(const Branch& child) const {
    if constexpr (requires { forest->pool.spawn(child); }) {
      forest->pool.spawn(child);
    } else {
      forest->pool.post(child);
    }
  }
};

// Plants all trees and waits for the last task.
template <class Pool>
void grow(const Forest<Pool>& forest, std::uint64_t trees, std::uint64_t tasks_at_end) {
  const Branch<Pool> root{&forest, 0};
  if constexpr (requires { forest.pool.run_to_end(root); }) {
    forest.pool.run_to_end([&] {
      for (std::uint64_t tree = 0; tree < trees; ++tree) forest.pool.spawn(root);
    });
  } else {
    for (std::uint64_t tree = 0; tree < trees; ++tree) forest.pool.post(root);
  }
  forest.tally.wait_for(tasks_at_end);
}

struct Wood {
  unsigned workers = 1;
  unsigned depth = 1;
};

template <class Pool>
Work spawn_trees(const Wood& wood, std::uint64_t items) {
  Tally tally;
  Pool pool(wood.workers);
  Forest<Pool> forest{pool, tally, 10};
  grow(forest, 1, forest.tasks_of_tree());  // every worker awake
  const std::uint64_t before = forest.tasks_of_tree();

  forest.depth = wood.depth;
  const std::uint64_t trees = 1 + (items - 1) / forest.tasks_of_tree();
  const std::uint64_t tasks = trees * forest.tasks_of_tree();
  const Usage start = usage_now();
  grow(forest, trees, before + tasks);
  return {tasks, usage_now() - start};
}

}  // namespace muster::bench
