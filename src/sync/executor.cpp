// executor.cpp: the list of living executors.
#include <unordered_map>
#include <utility>

#include <muster/error.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {
namespace {

struct Registry {
  Mutex mutex;
  ExecutorId last MUSTER_GUARDED_BY(mutex) = 0;
  std::unordered_map<ExecutorId, std::weak_ptr<Executor>> living MUSTER_GUARDED_BY(mutex);
};

// Never destroyed: pools may end after main().
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

std::shared_ptr<Executor> find_executor(ExecutorId id) {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  const auto found = all.living.find(id);
  return found == all.living.end() ? nullptr : found->second.lock();
}

}  // namespace

Executor::~Executor() = default;

ExecutorId register_executor(const std::shared_ptr<Executor>& executor) {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  const ExecutorId id = ++all.last;
  executor->id_ = id;
  all.living.emplace(id, executor);
  return id;
}

void forget_executor(ExecutorId id) noexcept {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  all.living.erase(id);
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
