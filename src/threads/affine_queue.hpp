// affine_queue.hpp: the tasks with a key that wait for one worker, in order.
//
// The highest priority first, first come, first served among equals, whatever their class: so the
// tasks of one key run in order as long as nobody steals. Behind a mutex, since tasks with a key
// have taken one already to find their worker; whether there are any is a relaxed load.
//
// Thread safety: any member from any thread.
// Design note: docs/design/affinity.md
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include <muster/base/clock.hpp>
#include <muster/policy/affinity_options.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

// A task with a key.
struct AffineTask {
  Closure task;
  std::uint64_t key_hash = 0;
  std::size_t home = 0;  // the worker that it was placed with
  AffinityClass affinity_class = AffinityClass::soft;
  int priority = 0;
  Time came = {};
};

constexpr int kLowestPriority = std::numeric_limits<int>::min();

class AffineQueue {
 public:
  void push(AffineTask&& task) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Tasks& tasks = tasks_[static_cast<std::size_t>(task.affinity_class)];
    tasks.emplace(Place{-task.priority, pushed_.load(relaxed)}, std::move(task));  // relaxed: ours
    pushed_.store(pushed_.load(relaxed) + 1, relaxed);  // relaxed: before anybody can pop the task
    show_sizes();
  }

  // For its worker: the first, if its priority is at least this.
  bool pop(int least_priority, AffineTask& out) noexcept MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Tasks* first = nullptr;
    for (Tasks& each : tasks_) {
      if (each.empty()) continue;
      if (first == nullptr || each.begin()->first < first->begin()->first) first = &each;
    }
    if (first == nullptr || first->begin()->second.priority < least_priority) return false;
    take(*first, first->begin(), out);
    return true;
  }

  // For others: the first of this class.
  bool steal(AffinityClass affinity_class, AffineTask& out) noexcept MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Tasks& tasks = tasks_[static_cast<std::size_t>(affinity_class)];
    if (tasks.empty()) return false;
    take(tasks, tasks.begin(), out);
    return true;
  }

  // The same of the soft ones that came by then.
  bool steal_soft(Time came_by, AffineTask& out) noexcept MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Tasks& tasks = tasks_[static_cast<std::size_t>(AffinityClass::soft)];
    for (auto first = tasks.begin(); first != tasks.end(); first = first_below(tasks, first)) {
      if (first->second.came > came_by) continue;
      take(tasks, first, out);
      return true;
    }
    return false;
  }

  // The one that has waited longest of those for which `may_go(task)`.
  template <class MayGo>
  bool take_oldest(const MayGo& may_go, AffineTask& out) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Tasks* among = nullptr;
    Tasks::iterator oldest;
    for (Tasks& tasks : tasks_) {
      for (auto each = tasks.begin(); each != tasks.end(); ++each) {
        if (!may_go(each->second)) continue;
        if (among != nullptr && oldest->first.second < each->first.second) continue;
        among = &tasks;
        oldest = each;
      }
    }
    if (among == nullptr) return false;
    take(*among, oldest, out);
    return true;
  }

  // Racy, all four.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return size_.load(relaxed);  // relaxed: racy by contract
  }
  [[nodiscard]] std::size_t size_approx(AffinityClass affinity_class) const noexcept {
    // relaxed: racy by contract.
    return sizes_[static_cast<std::size_t>(affinity_class)].load(relaxed);
  }
  [[nodiscard]] bool has_urgent_approx() const noexcept {
    return highest_.load(relaxed) > 0;  // relaxed: racy by contract
  }

  // When the soft one came that has waited longest; never: there is none.
  [[nodiscard]] Time soft_since_approx() const noexcept {
    return Time(Duration(soft_since_.load(relaxed)));  // relaxed: racy by contract
  }

  // Tasks ever pushed.
  [[nodiscard]] std::uint64_t pushed_approx() const noexcept {
    return pushed_.load(relaxed);  // relaxed: a count
  }

 private:
  using Place = std::pair<int, std::uint64_t>;  // the negative of its priority, and its number
  using Tasks = std::map<Place, AffineTask>;

  // The first of those with the next lower priority. Of each priority the first came first, so
  // nobody has to look at the others.
  static Tasks::iterator first_below(Tasks& tasks, Tasks::iterator first) noexcept {
    if (first->first.first == tasks.rbegin()->first.first) return tasks.end();
    return tasks.lower_bound(Place{first->first.first + 1, 0});
  }

  void take(Tasks& tasks, Tasks::iterator which, AffineTask& out) noexcept MUSTER_REQUIRES(mutex_) {
    out = std::move(which->second);
    tasks.erase(which);
    show_sizes();
  }

  // relaxed, all: before whoever pushed tells of it.
  void show_sizes() noexcept MUSTER_REQUIRES(mutex_) {
    std::size_t sum = 0;
    int highest = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      sizes_[i].store(tasks_[i].size(), relaxed);  // relaxed: as above
      sum += tasks_[i].size();
      if (!tasks_[i].empty()) highest = std::max(highest, -tasks_[i].begin()->first.first);
    }
    Time since = Time::max();
    Tasks& soft = tasks_[static_cast<std::size_t>(AffinityClass::soft)];
    for (auto first = soft.begin(); first != soft.end(); first = first_below(soft, first)) {
      since = std::min(since, first->second.came);
    }
    soft_since_.store(since.time_since_epoch().count(), relaxed);  // relaxed: as above
    size_.store(sum, relaxed);                                     // relaxed: as above
    highest_.store(highest, relaxed);                              // relaxed: as above
  }

  // Written under the mutex, read by anybody.
  Atomic<std::size_t> size_ = 0;
  Atomic<int> highest_ = 0;  // priority
  Atomic<Duration::rep> soft_since_ = Duration::max().count();
  std::array<Atomic<std::size_t>, 3> sizes_{};
  Atomic<std::uint64_t> pushed_ = 0;

  // Guarded by mutex_.
  Mutex mutex_;
  std::array<Tasks, 3> tasks_ MUSTER_GUARDED_BY(mutex_);  // by class
};

}  // namespace muster
