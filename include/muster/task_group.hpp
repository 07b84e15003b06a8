// task_group.hpp: tasks that are waited for together.
//
//     muster::TaskGroup group(pool);
//     for (const File& file : files) group.run([&file] { index(file); });
//     group.wait();                              // throws the first exception, if any
//
// Tasks may add tasks to their own group. A worker of the pool that waits runs tasks of this group
// meanwhile, and nothing else, so a group may be waited for anywhere, also with one worker.
//
// Thread safety: run() from any thread; wait() from one at a time.
// Lifetime: the destructor waits, and drops what was thrown. The pool must live as long.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/sync/closure.hpp>
#include <muster/thread_pool.hpp>

namespace muster {

class MUSTER_API TaskGroup {
 public:
  explicit TaskGroup(ThreadPool& pool);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Throws Stopped after the pool's stop(), except on its workers; so does wait() then.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  void run(F&& task) {
    run_closure(Closure(std::forward<F>(task)));
  }

  // Until all its tasks are done, also those that are added meanwhile. Then throws the first
  // exception that a task has thrown since the last wait.
  void wait();

 private:
  class State;
  class Ticket;

  void run_closure(Closure&& task);

  ThreadPool& pool_;
  const std::shared_ptr<State> state_;
};

}  // namespace muster
