// tbb_fork_join.hpp: oneTBB from the inside: task groups and parallel_for in an arena that the
// calling thread enters. As its manual says, the caller is one of the workers.
//
// TbbInvoke differs in how it forks in two: by parallel_invoke, for which a group need not be made.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "threads/value_of.hpp"

namespace muster::bench {

class TbbForkJoin {
 public:
  static constexpr const char* kName = "tbb";

  explicit TbbForkJoin(unsigned workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers),
        arena_(static_cast<int>(workers)) {}

  template <class Work>
  auto run(Work work) {
    return arena_.execute(work);
  }

  template <class First, class Second>
  static auto both(const First& first, const Second& second) {
    Value<First> one{};
    tbb::task_group group;
    group.run([&] { one = value_of(first); });
    auto two = value_of(second);
    group.wait();
    return std::pair(std::move(one), std::move(two));
  }

  template <class Body>
  static void each_child(std::size_t count, const Body& body) {
    tbb::task_group group;
    for (std::size_t child = 0; child < count; ++child) {
      group.run([&body, child] { body(child); });
    }
    group.wait();
  }

  template <class Body>
  void for_each_index(std::size_t count, const Body& body) {
    arena_.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
  }

  template <class Task>
  void spawn(Task task) {
    group_.run(std::move(task));
  }

  // Runs `root`, which spawns, and returns when all has run.
  template <class Root>
  void run_to_end(const Root& root) {
    arena_.execute([&] { group_.run_and_wait(root); });
  }

 private:
  tbb::global_control threads_;
  tbb::task_arena arena_;
  tbb::task_group group_;
};

class TbbInvoke : public TbbForkJoin {
 public:
  static constexpr const char* kName = "tbb invoke";

  using TbbForkJoin::TbbForkJoin;

  template <class First, class Second>
  static auto both(const First& first, const Second& second) {
    Value<First> one{};
    Value<Second> two{};
    tbb::parallel_invoke([&] { one = value_of(first); }, [&] { two = value_of(second); });
    return std::pair(std::move(one), std::move(two));
  }
};

// A round trip by a group that lives as long as the pool: the caller sends a task, goes, comes back
// to wait, and if nobody has taken the task by then it runs it itself.
class TbbGroup : public TbbForkJoin {
 public:
  static constexpr const char* kName = "tbb group";

  using TbbForkJoin::TbbForkJoin;

  template <class Task>
  void post(Task task) {
    run([&] { spawn(std::move(task)); });
  }

  template <class Task>
  auto round_trip(const Task& task) {
    Value<Task> value{};
    post([&] { value = value_of(task); });
    run_to_end([] {});
    return value;
  }
};

}  // namespace muster::bench
