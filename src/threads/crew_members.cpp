// crew_members.cpp: starting workers, and spares for those that block.
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <system_error>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/simulation.hpp>

#include "threads/crew.hpp"

namespace muster {
namespace {

[[noreturn]] void throw_start_failure(std::size_t index, const std::system_error& error) {
  throw SystemFailure("start worker " + std::to_string(index), error.code().value(),
                      "ask for fewer workers, or allow more threads");
}

}  // namespace

// The thread is there when this returns, the worker when what it returns is ready.
std::future<void> Crew::start(std::size_t index) {
  {
    const MutexLock lock(idle_mutex_);
    ++running_workers_;
  }
  std::promise<void> made;
  std::future<void> ready = made.get_future();
  try {
    slots_[index].thread =
        std::thread([this, index, made = std::move(made)]() mutable { work_as(index, made); });
  } catch (const std::system_error& error) {
    note_end();
    throw_start_failure(index, error);
  }
  return ready;
}

void Crew::finish_start(std::size_t index, std::future<void>& ready) {
  try {
    ready.get();
  } catch (...) {
    slots_[index].thread.join();
    throw;
  }
}

// A worker's thread.
void Crew::work_as(std::size_t index, std::promise<void>& made) {
  Slot& slot = slots_[index];
  try {
    const std::string name = options_.thread_name + '-' + std::to_string(index);
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    if (!cpus_.empty()) pin(index);
    slot.worker = std::make_unique<Worker>(*this, index, index + 1);
  } catch (...) {
    note_end();
    made.set_exception(std::current_exception());
    return;
  }
  // Before it can be counted on: whoever recruits must not recruit one more meanwhile.
  roster_.begin_search();
  // sync(worker-made): pairs with worker().
  slot.present.store(slot.worker.get(), release);
  made.set_value();
  slot.worker->main();
  note_end();
}

void Crew::pin(std::size_t index) const {
  const auto set_of = [](unsigned last) {
    const auto free = [](cpu_set_t* set) { CPU_FREE(set); };
    return std::unique_ptr<cpu_set_t, decltype(free)>(CPU_ALLOC(last + 1), free);
  };
  const unsigned last = *std::max_element(cpus_.begin(), cpus_.end());
  const auto set = set_of(last);
  const std::size_t bytes = CPU_ALLOC_SIZE(last + 1);
  CPU_ZERO_S(bytes, set.get());
  if (is_spare(index)) {
    for (const unsigned cpu : cpus_) CPU_SET_S(cpu, bytes, set.get());
  } else {
    CPU_SET_S(cpus_[index], bytes, set.get());
  }
  if (const int error = pthread_setaffinity_np(pthread_self(), bytes, set.get()); error != 0) {
    throw SystemFailure("pin worker " + std::to_string(index), error,
                        "name CPUs that this process may use");
  }
}

// For a simulation: all without threads.
void Crew::make_all() {
  options_.simulation->enter(*this);
  for (std::size_t i = 0; i < options_.workers; ++i) make_worker(i);
  started_regulars_.store(options_.workers, release);  // sync(regulars-started)
}

Worker& Crew::make_worker(std::size_t index) {
  Slot& slot = slots_[index];
  slot.worker = std::make_unique<Worker>(*this, index, options_.simulation->random()());
  slot.present.store(slot.worker.get(), release);  // sync(worker-made)
  return *slot.worker;
}

void Crew::add_idle_workers(std::vector<Worker*>& idle) {
  const std::size_t others = idle.size();
  for_each_worker([&](Worker& worker) {
    if (!worker.is_playing()) idle.push_back(&worker);
  });
  const std::size_t started = started_spares_.load(relaxed);  // relaxed: there is one thread
  if (idle.size() != others || started == options_.max_spare_workers) return;
  started_spares_.store(started + 1, relaxed);  // relaxed: as above
  idle.push_back(&make_worker(options_.workers + started));
}

void Crew::start_all() {
  const MutexLock lock(start_mutex_);
  std::vector<std::future<void>> ready;
  try {
    for (std::size_t i = 0; i < options_.workers; ++i) ready.push_back(start(i));
    for (std::size_t i = 0; i < options_.workers; ++i) finish_start(i, ready[i]);
  } catch (...) {
    closed_.store(true, seq_cst);  // sync(closed): as in stop()
    roster_.wake_all();
    shared_.wake_all();
    for (Slot& slot : slots_) {
      if (slot.thread.joinable()) slot.thread.join();
    }
    throw;
  }
  started_regulars_.store(options_.workers, release);  // sync(regulars-started)
}

// The first of a crew that starts when it is needed. Throws if there is none to count on.
std::size_t Crew::start_first() {
  const MutexLock lock(start_mutex_);
  if (closed_.load(relaxed)) refuse();  // relaxed: stop() takes the mutex after it
  // relaxed: written under the mutex only.
  if (const std::size_t started = started_regulars_.load(relaxed); started != 0) return started;
  start_next();
  return 1;
}

// For tasks that must wait with a certain worker.
std::size_t Crew::ensure_all_started() {
  // sync(regulars-started)
  if (started_regulars_.load(acquire) == options_.workers) return options_.workers;
  const MutexLock lock(start_mutex_);
  if (closed_.load(relaxed)) refuse();  // relaxed: stop() takes the mutex after it
  // relaxed: written under the mutex only.
  while (started_regulars_.load(relaxed) != options_.workers) start_next();
  return options_.workers;
}

void Crew::start_next() {
  const std::size_t next = started_regulars_.load(relaxed);  // relaxed: written under the mutex
  std::future<void> ready = start(next);
  finish_start(next, ready);
  started_regulars_.store(next + 1,
                          release);  // sync(regulars-started): pairs with ensure_started()
  roster_.set_absent(options_.workers - (next + 1));
}

// There is work, and nobody who is free.
void Crew::recruit() noexcept {
  const MutexLock lock(start_mutex_);
  // relaxed: written under the mutex only; stop() takes the mutex after closing.
  if (started_regulars_.load(relaxed) == options_.workers || closed_.load(relaxed)) return;
  if (options_.queueing == Queueing::stealing && !roster_.all_busy_approx()) return;
  try {
    start_next();
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::warning, error.what() << "; those that were started go on");
    roster_.set_absent(0);
  }
}

Employer::Cover Crew::begin_blocking() noexcept {
  switch (spares_.begin_blocking()) {
    case Spares::Need::none:
      return Cover::stood_in;
    case Spares::Need::start:
      return start_spare() ? Cover::stood_in : Cover::nobody;
    case Spares::Need::too_few:
      break;
  }
  return Cover::nobody;
}

bool Crew::start_spare() noexcept {
  const MutexLock lock(start_mutex_);
  const std::size_t started = started_spares_.load(relaxed);  // relaxed: written under the mutex
  try {
    std::future<void> ready = start(options_.workers + started);
    // Before it works: whoever counts looks at all that have run something.
    started_spares_.store(started + 1, release);  // sync(spare-started): pairs with worker_span()
    finish_start(options_.workers + started, ready);
    return true;
  } catch (const std::exception& error) {
    started_spares_.store(started, relaxed);  // relaxed: nobody was made
    MUSTER_LOG(LogLevel::warning, error.what() << "; a blocked worker is not stood in for");
    spares_.not_started();
    return false;
  }
}

StealOrder Crew::steal_order_of(std::size_t index) const {
  return steal_order(topology_, cpus_, options_.workers, index);
}

void Crew::note_end() {
  const MutexLock lock(idle_mutex_);
  if (--running_workers_ == 0) ended_.notify_all();
}

}  // namespace muster
