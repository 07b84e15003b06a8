// crew_members.cpp: starting workers, and spares for those that block.
#include <exception>
#include <memory>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/simulation.hpp>

#include "threads/crew.hpp"
#include "threads/timers.hpp"

namespace muster {

// The thread is there when this returns, the worker when what it returns is ready.
std::future<void> Crew::start(std::size_t index) {
  return threads_.start(
      index,
      [this](std::size_t number) {
        if (worker(number) == nullptr) make_worker(number, number + 1);
      },
      [this](std::size_t number) { worker(number)->main(); });
}

void Crew::make_worker(std::size_t index, std::uint64_t seed) {
  staff_.keep(index, std::make_unique<Worker>(*this, index, seed));
}

// As a thread would, in a simulation.
void Crew::play_as(std::size_t index) {
  {
    const MutexLock lock(staff_.mutex);
    staff_.come(index);
  }
  if (worker(index) == nullptr) make_worker(index, options_.simulation->random()());
  worker(index)->begin_idle();
  if (options_.warm_up.prepare) options_.warm_up.prepare(static_cast<unsigned>(index));
  if (options_.warm_up.at_least == Duration::zero()) return begin_work(index);
  timers_->watch(options_.warm_up.at_least, Closure([this, index] {
                   begin_work(index);
                   worker(index)->leave_if_one_too_many();
                 }));
}

bool Crew::warms_up() const noexcept {
  return options_.warm_up.prepare || options_.warm_up.at_least != Duration::zero();
}

void Crew::warm_up(std::size_t index) {
  const Time until = time_after(real_clock().now(), options_.warm_up.at_least);
  if (options_.warm_up.prepare) options_.warm_up.prepare(static_cast<unsigned>(index));
  const MutexLock lock(staff_.mutex);
  staff_.wait_until(until);
}

void Crew::begin_work(std::size_t index) {
  // Before it can be counted on: whoever recruits must not recruit one more meanwhile.
  if (options_.simulation == nullptr) roster_.begin_search();
  if (staff_.is_spare(index)) return;
  bool is_first = false;
  {
    const MutexLock lock(staff_.mutex);
    // Before whoever waits for it goes on.
    notices_.tell([&] { return WorkerAdded{.worker = static_cast<unsigned>(index)}; });
    is_first = staff_.serving() == 0;
    staff_.begin_work(index);
    note_staff();
  }
  if (is_first) see_off();  // those who could not leave before
}

void Crew::add_idle_workers(std::vector<Worker*>& idle) {
  const std::size_t others = idle.size();
  staff_.for_each([&](Worker& each) {
    const std::size_t number = each.index();
    const bool works = staff_.is_spare(number) || staff_.phase(number) == Staff::Phase::working;
    if (works && !each.is_playing()) idle.push_back(&each);
  });
  const std::size_t next = staff_.end_of_spares();
  if (idle.size() != others || next - staff_.first_spare() == options_.max_spare_workers) return;
  const MutexLock lock(staff_.mutex);
  make_worker(next, options_.simulation->random()());
  staff_.set_spares(next + 1 - staff_.first_spare());
  idle.push_back(worker(next));
}

// Those that are to be there when the pool is.
void Crew::start_all() {
  if (options_.simulation != nullptr) {
    options_.simulation->enter(*this);
    for (std::size_t i = 0; i < options_.workers; ++i) play_as(i);
    options_.simulation->play_until([this] { return staff_.serving() == options_.workers; },
                                    Time::max(), "the workers' warm_up");
    return;
  }
  const MutexLock lock(staff_.mutex);
  note_staff();
  if (options_.start == Start::lazy) return;
  std::vector<std::future<void>> made;
  for (std::size_t i = 0; i < options_.workers; ++i) {
    staff_.come(i);
    made.push_back(start(i));
  }
  for (std::size_t i = 0; i < options_.workers; ++i) threads_.finish_start(i, made[i]);
  staff_.wait_until_serving(options_.workers);
}

// The first of a crew that starts when it is needed. Throws if there is none to count on.
std::size_t Crew::start_first() {
  if (origin() == Origin::inside) return 0;  // it is here, and warms up
  const MutexLock lock(staff_.mutex);
  if (closed_.load(relaxed)) refuse();  // relaxed: stop() takes the mutex after it
  if (staff_.serving() == 0 && !staff_.is_somebody_coming()) start_regular(0);
  staff_.wait_until_serving(1);
  return staff_.serving();
}

// Those who come later, or are wanted later, take over their share of the keys then. 0 only for a
// worker that warms up before any serves.
std::size_t Crew::ensure_all_started() {
  if (staff_.serving() == staff_.wanted() || options_.start == Start::eager) {
    return ensure_started();
  }
  {
    const MutexLock lock(staff_.mutex);
    if (!closed_.load(relaxed)) hire();  // relaxed: stop() takes the mutex after it
    if (can_wait_for_workers()) {
      for (std::size_t i = 0; i < staff_.wanted(); ++i) staff_.wait_until_there(i);
    }
  }
  return ensure_started();
}

// If that takes no time; but not on a thread of the pool, which may be the very one that is about
// to end before the next can come.
bool Crew::can_wait_for_workers() const noexcept {
  return !warms_up() && origin() == Origin::outside && !timers_->is_own_thread();
}

void Crew::start_regular(std::size_t index) {
  const Staff::Phase before = staff_.phase(index);
  staff_.come(index);
  try {
    std::future<void> made = start(index);
    threads_.finish_start(index, made);
  } catch (...) {
    staff_.not_come(index, before);
    throw;
  }
  note_staff();
}

// There is work, and nobody who is free.
void Crew::recruit() noexcept {
  try {
    recruit_one();
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::warning, error.what() << "; those that were started go on");
  }
}

void Crew::recruit_one() {
  const MutexLock lock(staff_.mutex);
  if (staff_.missing() == 0) return;
  if (closed_.load(relaxed)) return;  // relaxed: stop() takes the mutex after closing
  if (options_.queueing == Queueing::stealing) {
    // Whoever is coming looks for work, and sees to it that others come for more.
    if (staff_.is_somebody_coming() || !roster_.all_busy_approx()) return;
  }
  std::size_t next = staff_.serving();
  while (staff_.is_there(next)) ++next;
  try {
    const bool is_new = staff_.phase(next) == Staff::Phase::absent;
    start_regular(next);
    // One that warms up, or comes after another who may still be about to end, takes its time.
    if (is_new && !warms_up()) staff_.wait_until_there(next);
  } catch (...) {
    roster_.set_absent(0);
    throw;
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
  try {
    const MutexLock lock(staff_.mutex);
    // The timer thread goes on when all others have been joined. relaxed: as in start_first().
    if (timers_->is_own_thread() && closed_.load(relaxed)) {
      spares_.not_started();
      return false;
    }
    const std::size_t next = staff_.end_of_spares();
    const std::size_t before = next - staff_.first_spare();
    staff_.set_spares(before + 1);
    try {
      std::future<void> made = start(next);
      threads_.finish_start(next, made);
    } catch (...) {
      staff_.set_spares(before);
      throw;
    }
    return true;
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::warning, error.what() << "; a blocked worker is not stood in for");
    spares_.not_started();
    return false;
  }
}

StealOrder Crew::steal_order_of(std::size_t index) const {
  if (cpus_.empty()) return {};
  return steal_order(topology_, cpus_, options_.max_workers, index);
}

}  // namespace muster
