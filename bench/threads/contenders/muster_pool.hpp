// muster_pool.hpp: muster::ThreadPool, the contender all others are compared with. The only file of
// the suite that names it.
#pragma once

#include <cstddef>
#include <utility>

#include <muster/thread_pool.hpp>

namespace muster::bench {

template <Queueing kQueueing, IdlePolicy kIdle>
class MusterPoolOf {
 public:
  explicit MusterPoolOf(unsigned workers)
      : pool_({.workers = workers, .queueing = kQueueing, .idle = kIdle}) {}

  // From outside and from inside.
  template <class Task>
  void post(Task task) {
    pool_.post(std::move(task));
  }

  template <class Task>
  auto submit(Task task) {
    return pool_.submit(std::move(task));
  }

  template <class Work>
  auto run(Work work) {
    return pool_.run(std::move(work));
  }

  template <class First, class Second>
  static auto both(const First& first, const Second& second) {
    return muster::join(first, second);
  }

  // By halves: half of the children on one side of a fork, half on the other.
  template <class Body>
  static void each_child(std::size_t count, const Body& body) {
    if (count > 0) children_between(0, count, body);
  }

  template <class Body>
  void for_each_index(std::size_t count, const Body& body) {
    pool_.parallel_for(std::size_t{0}, count, body);
  }

 private:
  template <class Body>
  static void children_between(std::size_t first, std::size_t last, const Body& body) {
    if (last - first == 1) {
      body(first);
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    muster::join([&] { children_between(first, middle, body); },
                 [&] { children_between(middle, last, body); });
  }

  ThreadPool pool_;
};

// As it is unless one asks for something else.
class MusterPool : public MusterPoolOf<Queueing::stealing, IdlePolicy::balanced> {
 public:
  static constexpr const char* kName = "muster";
  using MusterPoolOf::MusterPoolOf;
};

// For round trips one after the other.
class MusterLatencyPool : public MusterPoolOf<Queueing::stealing, IdlePolicy::latency> {
 public:
  static constexpr const char* kName = "muster";
  using MusterPoolOf::MusterPoolOf;
};

// Only against each other.
class MusterStealingPool : public MusterPool {
 public:
  static constexpr const char* kName = "stealing";
  using MusterPool::MusterPool;
};
class MusterGlobalPool : public MusterPoolOf<Queueing::global, IdlePolicy::balanced> {
 public:
  static constexpr const char* kName = "global";
  using MusterPoolOf::MusterPoolOf;
};

}  // namespace muster::bench
