// process_pool.cpp: the door to a supervisor.
#include <algorithm>
#include <utility>

#include <muster/base/cpu_topology.hpp>
#include <muster/process_pool.hpp>

#include "processes/supervisor.hpp"

namespace muster {
namespace {

ProcessPoolOptions checked(ProcessPoolOptions options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  if (options.workers == 0) options.workers = detect_cpus().worker_count();
  return options;
}

}  // namespace

ProcessPool::ProcessPool(ProcessPoolOptions options)
    : supervisor_(std::make_shared<Supervisor>(checked(std::move(options)))) {
  supervisor_->start();
}

ProcessPool::~ProcessPool() {
  supervisor_->stop({});
}

Future<Bytes> ProcessPool::exec(std::string_view name, Bytes payload, ExecOptions options) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): only if_room gives none
  return *supervisor_->exec(name, std::move(payload), std::move(options),
                            Supervisor::Entry::by_policy);
}

std::optional<Future<Bytes>> ProcessPool::try_exec(std::string_view name, Bytes payload,
                                                   ExecOptions options) {
  return supervisor_->exec(name, std::move(payload), std::move(options),
                           Supervisor::Entry::if_room);
}

std::vector<Future<Bytes>> ProcessPool::exec_many(std::string_view name,
                                                  std::span<const Bytes> payloads,
                                                  const ExecOptions& options) {
  return supervisor_->exec_many(name, payloads, options);
}

void ProcessPool::scale_up(unsigned count) {
  supervisor_->change_workers(std::int64_t{count});
}

void ProcessPool::scale_down(unsigned count) {
  supervisor_->change_workers(-std::int64_t{count});
}

StopResult ProcessPool::stop(const StopOptions& options) {
  return supervisor_->stop(options);
}

ProcessPoolMetrics ProcessPool::metrics() const {
  return supervisor_->metrics();
}

PoolSnapshot ProcessPool::snapshot() const {
  return supervisor_->snapshot();
}

void ProcessPool::set_strategy(const StrategyChoice& strategy) {
  supervisor_->set_strategy(strategy);
}

std::string ProcessPool::strategy() const {
  return supervisor_->strategy();
}

std::optional<WorkerStatus> ProcessPool::worker_status(unsigned id) const {
  return supervisor_->worker_status(id);
}

std::vector<TaskStatus> ProcessPool::tasks(std::size_t limit) const {
  return supervisor_->tasks(limit);
}

std::vector<DeadLetter> ProcessPool::dead_letters() const {
  return supervisor_->dead_letters();
}

std::optional<Future<Bytes>> ProcessPool::replay(std::uint64_t id) {
  return supervisor_->replay(id);
}

bool ProcessPool::discard(std::uint64_t id) {
  return supervisor_->discard(id);
}

NoticeStream ProcessPool::subscribe(std::size_t capacity) {
  return supervisor_->notices().subscribe(capacity);
}

}  // namespace muster
