// thread_pool.cpp: the pool's public face.
#include <muster/base/cpu_topology.hpp>
#include <muster/thread_pool.hpp>

#include "threads/crew.hpp"

namespace muster {
namespace {

constexpr unsigned kMaxWorkers = 1024;
constexpr std::size_t kMaxName = 10;

ThreadPoolOptions completed(ThreadPoolOptions options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  if (options.workers == 0) options.workers = std::min(detect_cpus().worker_count(), kMaxWorkers);
  return options;
}

}  // namespace

std::vector<BadField> validate(const ThreadPoolOptions& options) {
  std::vector<BadField> bad;
  if (options.workers > kMaxWorkers) {
    bad.push_back({.field = "workers",
                   .value = std::to_string(options.workers),
                   .rule = "must be at most " + std::to_string(kMaxWorkers)});
  }
  if (options.thread_name.size() > kMaxName) {
    bad.push_back({.field = "thread_name",
                   .value = '"' + options.thread_name + '"',
                   .rule = "must have at most " + std::to_string(kMaxName) + " characters"});
  }
  return bad;
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : crew_(std::make_shared<Crew>(completed(options))), id_(register_executor(crew_)) {}

ThreadPool::~ThreadPool() {
  crew_->stop({});
  forget_executor(id_);
}

void ThreadPool::post_closure(Closure&& task) {
  crew_->post(std::move(task));
}

void ThreadPool::post_ranked(int priority, Closure&& task) {
  crew_->post_ranked(static_cast<Priority>(priority), std::move(task));
}

void ThreadPool::submit_state(int priority, FutureStateBase* state) {
  Closure task{QueuedTask(state)};
  try {
    crew_->post_ranked(static_cast<Priority>(priority), std::move(task));
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): see below
    // The closure is destroyed unrun, which settles the future with Stopped.
  }
}

void ThreadPool::check(const TaskOptions& options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
}

void ThreadPool::wait_idle() {
  if (is_inside()) {
    throw WouldDeadlock("wait_idle() on a worker of the same pool: its own task never ends");
  }
  crew_->wait_idle();
}

StopResult ThreadPool::stop(const StopOptions& options) {
  if (is_inside()) {
    throw WouldDeadlock("stop() on a worker of the same pool: it would wait for its own task");
  }
  if (options.timeout && *options.timeout < Duration::zero()) {
    throw InvalidArgument({.field = "timeout",
                           .value = std::to_string(options.timeout->count()) + " ns",
                           .rule = "must not be negative"});
  }
  return crew_->stop(options);
}

unsigned ThreadPool::worker_count() const noexcept {
  return static_cast<unsigned>(crew_->size());
}

ThreadPoolStats ThreadPool::stats() const {
  return crew_->stats();
}

void ThreadPool::reset_stats() {
  crew_->reset_stats();
}

bool ThreadPool::is_inside() const noexcept {
  const Worker* const self = Worker::current();
  return self != nullptr && &self->crew() == crew_.get();
}

void ThreadPool::refuse_empty_callable() {
  throw InvalidArgument({.field = "task", .value = "empty", .rule = "must be callable"});
}

}  // namespace muster
