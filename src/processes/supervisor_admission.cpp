// supervisor_admission.cpp: whether one more task may wait, and what happens if not.
#include <string>
#include <utility>

#include "processes/supervisor.hpp"

namespace muster {

// What is said to every task. Requires: is_closed().
std::exception_ptr Supervisor::why_closed() const {
  if (state_ == PoolState::uninitialized) {
    return std::make_exception_ptr(Stopped("the pool was not started: call start() first"));
  }
  if (!is_open()) {
    return std::make_exception_ptr(Stopped("the pool was stopped, and takes no more tasks"));
  }
  return std::make_exception_ptr(Stopped(kNobodyIsLeft));
}

std::size_t Supervisor::backlog() const {
  return waiting_.size() + delayed_.size();
}

bool Supervisor::has_room() const {
  return backlog() < options_.admission.max_queued || is_collecting();
}

// What is to be said to a task for which there is no room; null: there is some. What follows a task
// is always let in: if it waited, nobody might collect what it waits for.
std::exception_ptr Supervisor::find_room(std::string_view name) {
  return has_room() ? nullptr : make_room(name);
}

std::exception_ptr Supervisor::make_room(std::string_view name) {
  const AdmissionOptions& limits = options_.admission;
  std::optional<Time> deadline;
  while (is_open()) {
    const Origin from = is_collecting() ? Origin::inside : Origin::outside;
    switch (admit(limits, {.queued = backlog()}, from).action) {
      case AdmissionAction::accept:
        return nullptr;
      case AdmissionAction::wait:
        if (!deadline) {
          ++pressure_.blocked;
          deadline = limits.block_timeout ? deadline_after(*limits.block_timeout) : Time::max();
        }
        if (wait_for_room(*deadline)) continue;
        ++pressure_.block_timeouts;
        return std::make_exception_ptr(
            QueueFull("there was no room for task \"" + std::string(name) +
                      "\" within block_timeout: as many tasks wait as max_queued allows, " +
                      std::to_string(limits.max_queued)));
      case AdmissionAction::drop_oldest:
        if (drop_oldest()) continue;
        [[fallthrough]];  // nothing that may be dropped waits
      case AdmissionAction::drop_newest:
        ++pressure_.dropped_newest;
        return dropped(name, WhenFull::drop_newest);
      case AdmissionAction::reject:
      case AdmissionAction::run_here:  // refused by validate()
        ++pressure_.rejected;
        return std::make_exception_ptr(QueueFull("as many tasks wait as max_queued allows, " +
                                                 std::to_string(limits.max_queued) +
                                                 "; try again later or allow more"));
    }
  }
  return nullptr;  // accept() says that the pool was stopped
}

// False: the time is over.
bool Supervisor::wait_for_room(Time deadline) {
  ++blocked_;
  bool is_late = false;
  while (is_open() && !has_room() && !is_late) {
    if (deadline == Time::max()) {
      room_.wait(mutex_);
    } else {
      is_late = !room_.wait_until(mutex_, deadline);
    }
  }
  --blocked_;
  return !is_open() || has_room();
}

bool Supervisor::drop_oldest() {
  TaskRef task = waiting_.pop_oldest();
  if (!task) return false;
  ++pressure_.dropped_oldest;
  std::exception_ptr error = dropped(task->order.name, WhenFull::drop_oldest);
  settle_with(std::move(task), std::move(error));
  return true;
}

std::exception_ptr Supervisor::dropped(std::string_view name, WhenFull policy) {
  const std::string task(name);
  notices_.tell(
      [&] { return TaskDropped{.name = task, .policy = std::string(to_string(policy))}; });
  return std::make_exception_ptr(Dropped("task \"" + task +
                                         "\" was dropped before it began, since as many tasks "
                                         "waited as max_queued allows, " +
                                         std::to_string(options_.admission.max_queued)));
}

// Whenever there may be more or less. Tells when many wait, and when it is over.
void Supervisor::note_backlog() {
  const std::size_t queued = backlog();
  if (blocked_ > 0 && queued < options_.admission.max_queued) room_.notify_all();
  const BackPressure after = watermarks_.after(back_pressure_, queued);
  if (after == back_pressure_) return;
  back_pressure_ = after;
  const std::uint64_t limit = options_.admission.max_queued;
  if (after == BackPressure::on) {
    notices_.tell([&] { return BackPressureOn{queued, limit}; });
  } else {
    notices_.tell([&] { return BackPressureOff{queued, limit}; });
  }
}

}  // namespace muster
