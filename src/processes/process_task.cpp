// process_task.cpp: what the holder of a future can do for its task, or against it.
#include "processes/process_task.hpp"

#include <muster/base/assert.hpp>

#include "processes/supervisor.hpp"

namespace muster {

ProcessTask::~ProcessTask() = default;

void ProcessTask::attend(const FutureStateBase& goal, Time deadline) {
  supervisor_->attend({*this, goal}, deadline);
}

void ProcessTask::stir() noexcept {
  supervisor_->stir();
}

bool ProcessTask::cancel() {
  return supervisor_->cancel(*this);
}

void ProcessTask::run() noexcept {
  MUSTER_ASSERT(false, "a task of a process pool is run by its workers only");
}

}  // namespace muster
