// open_mp.hpp: OpenMP as GCC brings it (libgomp): a parallel region whose single thread makes
// tasks, taskwait to join, and a worksharing loop for parallel_for. The calling thread is one of
// the workers.
//
// A thread outside the region cannot send it a task, so OpenMP takes no part where tasks come from
// outside. libgomp runs a task at once, in its maker, while 64 tasks for each thread wait.
#pragma once

#include <cstddef>
#include <omp.h>
#include <utility>

#include "threads/value_of.hpp"

namespace muster::bench {

class OpenMp {
 public:
  static constexpr const char* kName = "openmp";

  explicit OpenMp(unsigned workers) : workers_(static_cast<int>(workers)) {}
  OpenMp(const OpenMp&) = delete;
  OpenMp& operator=(const OpenMp&) = delete;

  // Else the team would spin for milliseconds into the time of the next contender.
  ~OpenMp() { omp_pause_resource_all(omp_pause_soft); }

  template <class Work>
  auto run(Work work) {
    Value<Work> value{};
#pragma omp parallel num_threads(workers_)
#pragma omp single
    value = value_of(work);
    return value;
  }

  template <class First, class Second>
  static auto both(const First& first, const Second& second) {
    Value<First> one{};
#pragma omp task shared(one, first)
    one = value_of(first);
    auto two = value_of(second);
#pragma omp taskwait
    return std::pair(std::move(one), std::move(two));
  }

  template <class Body>
  static void each_child(std::size_t count, const Body& body) {
    for (std::size_t child = 0; child < count; ++child) {
#pragma omp task shared(body) firstprivate(child)
      body(child);
    }
#pragma omp taskwait
  }

  // `guided` for work that is not even: large parts first, ever smaller ones towards the end.
  template <class Body>
  void for_each_index(std::size_t count, const Body& body) {
#pragma omp parallel for schedule(guided) num_threads(workers_)
    for (std::size_t index = 0; index < count; ++index) body(index);
  }

  template <class Task>
  void spawn(Task task) {
#pragma omp task firstprivate(task)
    task();
  }

  // Runs `root`, which spawns, and returns when all has run: the region ends with a barrier.
  template <class Root>
  void run_to_end(const Root& root) {
    run(root);
  }

 private:
  // Fixed at construction.
  const int workers_;
};

}  // namespace muster::bench
