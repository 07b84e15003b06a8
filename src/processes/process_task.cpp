// process_task.cpp: what the holder of a future can do for its task, or against it.
#include "processes/process_task.hpp"

#include <new>
#include <utility>

#include <muster/base/assert.hpp>

#include "processes/supervisor.hpp"

namespace muster {
namespace {

// Whoever sends a task and waits for it has its memory in the caches, and nothing of malloc().
constinit thread_local void* spare = nullptr;

// Tasks may still be let go of by what is destroyed behind the spare memory.
constinit thread_local bool thread_ends = false;

struct SpareMemoryEnd {
  ~SpareMemoryEnd() {
    thread_ends = true;
    ::operator delete(std::exchange(spare, nullptr));
  }
};

}  // namespace

void* ProcessTask::operator new(std::size_t bytes) {
  void* const kept = std::exchange(spare, nullptr);
  return kept != nullptr ? kept : ::operator new(bytes);
}

void ProcessTask::operator delete(void* memory) noexcept {
  if (spare != nullptr || thread_ends) {
    ::operator delete(memory);
    return;
  }
  static thread_local const SpareMemoryEnd end_of_this_thread;
  spare = memory;
}

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

std::exception_ptr ProcessTask::called_off() const {
  return std::make_exception_ptr(Cancelled(describe() + " was cancelled before it began"));
}

}  // namespace muster
