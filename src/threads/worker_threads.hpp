// worker_threads.hpp: the threads of a crew, by their workers' numbers: named, pinned, joined.
//
// A number may be used again once its thread is about to end; the new thread joins the old one
// before it does anything that matters.
//
// Thread safety: one start() at a time; join_all() after that; the rest from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class WorkerThreads {
 public:
  // Numbers are below `most`. Those that `cpus` has a CPU for are pinned to it, and others to all
  // of these; empty: nobody is pinned.
  WorkerThreads(std::size_t most, std::string name, std::span<const unsigned> cpus)
      : name_(std::move(name)), cpus_(cpus), slots_(most) {}

  // A thread that calls `make(number)` and then, unless that throws, `main(number)`. It is there
  // when this returns. Throws SystemFailure.
  using Step = std::function<void(std::size_t number)>;
  [[nodiscard]] std::future<void> start(std::size_t number, const Step& make, const Step& main)
      MUSTER_EXCLUDES(mutex_);

  // Until it is made. Throws what `make` has thrown, and there is no thread then.
  void finish_start(std::size_t number, std::future<void>& made);

  // Until no thread has anything left to do. False: not before `deadline`.
  bool wait_for_ends(Time deadline) MUSTER_EXCLUDES(mutex_);
  void join_all();

 private:
  struct Slot {
    std::thread thread;
    std::thread ended;  // the one before, until `thread` has joined it
  };

  void be(std::size_t number, std::promise<void>& made, const Step& make, const Step& main)
      MUSTER_EXCLUDES(mutex_);
  void pin(std::size_t number) const;
  void note_end() MUSTER_EXCLUDES(mutex_);

  // Fixed at construction.
  const std::string name_;
  const std::span<const unsigned> cpus_;

  // Whoever starts and joins.
  std::vector<Slot> slots_;

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable ended_;
  std::size_t running_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
