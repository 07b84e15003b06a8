// executor.cpp: the list of living executors.
#include <pthread.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <muster/error.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {
namespace {

struct Registry {
  Mutex mutex;
  ExecutorId last MUSTER_GUARDED_BY(mutex) = 0;
  std::unordered_map<ExecutorId, std::weak_ptr<Executor>> living MUSTER_GUARDED_BY(mutex);

  // Those of the parent process: what their threads held cannot be freed.
  std::vector<std::shared_ptr<Executor>> orphans MUSTER_GUARDED_BY(mutex);
};

// The last executor of the parent process; 0 in a process that was not forked. Written while the
// process has one thread.
ExecutorId last_orphaned = 0;

// Never destroyed: pools may end after main().
union Immortal {
  Registry registry;
  Immortal() noexcept : registry() {}
  ~Immortal() {}  // NOLINT(modernize-use-equals-default): would destroy it
};

Registry& registry() noexcept {
  static Immortal immortal;
  return immortal.registry;
}

// Nobody holds the mutex while the process is copied.
void before_fork() MUSTER_THREAD_ANNOTATION(no_thread_safety_analysis) {
  registry().mutex.lock();
}
void after_fork_in_parent() MUSTER_THREAD_ANNOTATION(no_thread_safety_analysis) {
  registry().mutex.unlock();
}
void after_fork_in_child() MUSTER_THREAD_ANNOTATION(no_thread_safety_analysis) {
  Registry& all = registry();
  last_orphaned = all.last + 1;
  for (const auto& [id, executor] : all.living) {
    if (std::shared_ptr<Executor> orphaned = executor.lock()) {
      orphaned->orphan();
      all.orphans.push_back(std::move(orphaned));
    }
  }
  all.living.clear();
  all.mutex.unlock();
}

int watch_for_forks() {
  const int error = pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  if (error != 0) throw SystemFailure("watch for fork()", error, "free memory and retry");
  return error;
}

std::shared_ptr<Executor> find_executor(ExecutorId id) {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  const auto found = all.living.find(id);
  return found == all.living.end() ? nullptr : found->second.lock();
}

}  // namespace

Executor::~Executor() = default;

ExecutorId register_executor(const std::shared_ptr<Executor>& executor, Alertness alertness) {
  [[maybe_unused]] static const int watching = watch_for_forks();
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  all.last += 2;  // even, so that an alert one's number is the next
  const ExecutorId id = all.last + (alertness == Alertness::high ? 1 : 0);
  executor->id_ = id;
  all.living.emplace(id, executor);
  return id;
}

void forget_executor(ExecutorId id) noexcept {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  all.living.erase(id);
}

bool is_orphaned(ExecutorId id) noexcept {
  return id != 0 && id <= last_orphaned;
}

void execute_on(ExecutorId id, Closure&& task) noexcept {
  if (const std::shared_ptr<Executor> executor = find_executor(id)) {
    try {
      return executor->execute(std::move(task));
    } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): as if it were gone
    }
  }
  if (task) std::move(task)();
}

}  // namespace muster
