// worker_threads.cpp: the life of a worker's thread.
#include "threads/worker_threads.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <utility>

#include <muster/error.hpp>

namespace muster {
namespace {

// What is being handled, in our words if it is the system's.
[[noreturn]] void throw_start_failure(std::size_t number) {
  try {
    throw;
  } catch (const std::system_error& error) {
    throw SystemFailure("start worker " + std::to_string(number), error.code().value(),
                        "ask for fewer workers, or allow more threads");
  }
}

}  // namespace

std::future<void> WorkerThreads::start(std::size_t number, const Step& make, const Step& main) {
  {
    const MutexLock lock(mutex_);
    ++running_;
  }
  Slot& slot = slots_[number];
  slot.ended = std::move(slot.thread);
  std::promise<void> made;
  std::future<void> is_made = made.get_future();
  try {
    slot.thread = std::thread([this, number, make, main, made = std::move(made)]() mutable {
      be(number, made, make, main);
    });
  } catch (...) {
    slot.thread = std::move(slot.ended);
    note_end();
    throw_start_failure(number);
  }
  return is_made;
}

void WorkerThreads::finish_start(std::size_t number, std::future<void>& made) {
  try {
    made.get();
  } catch (...) {
    Slot& slot = slots_[number];
    slot.thread.join();
    slot.thread = std::move(slot.ended);
    throw;
  }
}

// The thread.
void WorkerThreads::be(std::size_t number, std::promise<void>& made, const Step& make,
                       const Step& main) {
  try {
    const std::string name = name_ + '-' + std::to_string(number);
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    if (!cpus_.empty()) pin(number);
    make(number);
  } catch (...) {
    note_end();
    made.set_exception(std::current_exception());
    return;
  }
  made.set_value();
  if (std::thread& ended = slots_[number].ended; ended.joinable()) ended.join();
  main(number);
  note_end();
}

void WorkerThreads::pin(std::size_t number) const {
  const auto set_of = [](unsigned last) {
    const auto free = [](cpu_set_t* set) { CPU_FREE(set); };
    return std::unique_ptr<cpu_set_t, decltype(free)>(CPU_ALLOC(last + 1), free);
  };
  const unsigned last = *std::max_element(cpus_.begin(), cpus_.end());
  const auto set = set_of(last);
  const std::size_t bytes = CPU_ALLOC_SIZE(last + 1);
  CPU_ZERO_S(bytes, set.get());
  if (number < cpus_.size()) {
    CPU_SET_S(cpus_[number], bytes, set.get());
  } else {
    for (const unsigned cpu : cpus_) CPU_SET_S(cpu, bytes, set.get());
  }
  if (const int error = pthread_setaffinity_np(pthread_self(), bytes, set.get()); error != 0) {
    throw SystemFailure("pin worker " + std::to_string(number), error,
                        "name CPUs that this process may use");
  }
}

void WorkerThreads::note_end() {
  const MutexLock lock(mutex_);
  if (--running_ == 0) ended_.notify_all();
}

bool WorkerThreads::wait_for_ends(Time deadline) {
  const MutexLock lock(mutex_);
  while (running_ != 0) {
    if (deadline == Time::max()) {
      ended_.wait(mutex_);
    } else if (!ended_.wait_until(mutex_, deadline)) {
      return running_ == 0;
    }
  }
  return true;
}

void WorkerThreads::join_all() {
  for (Slot& slot : slots_) {
    if (slot.thread.joinable()) slot.thread.join();
  }
}

}  // namespace muster
