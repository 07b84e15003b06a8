// waiting.cpp: what makes a thread of the program wait: pauses, futexes and mutexes.
#include <vector>

#include <muster/base/assert.hpp>

#include "support/explorer/execution.hpp"

namespace muster::explore {

bool Execution::runnable(const Thread& thread) const {
  switch (thread.status) {
    case Status::ready:
      return true;
    case Status::paused:
      return writes_ > thread.paused_at;
    case Status::asleep:
      return thread.woken || thread.may_time_out;
    case Status::locked_out:
      return memory_.value_at(thread.waits_for, memory_.newest(thread.waits_for)) == 0;
    case Status::done:
      return false;
  }
  return false;
}

// Nobody can go on: is that the end, or is somebody left who should?
void Execution::note_deadlock() {
  for (const Thread& thread : threads_) {
    if (thread.status == Status::asleep) fail("deadlock: asleep for ever");
    if (thread.status == Status::locked_out) {
      fail("deadlock: locked out for ever");
      given_up_ = true;  // there is no end to come to, even if nobody is interested
    }
  }
}

void Execution::pause() {
  if (current_ == 0) return;
  threads_[current_].status = Status::paused;
  threads_[current_].paused_at = writes_;
  before_step();
}

// True if it slept; then `timed_out` says why it woke.
bool Execution::futex_wait(std::size_t id, std::uint32_t expected, bool may_time_out,
                           bool& timed_out, const SourceLocation& at) {
  before_step();
  if (memory_.has_ended(id)) fail("sleep on an atomic whose life has ended");
  const std::size_t newest = memory_.newest(id);
  const std::uint64_t value = memory_.value_at(id, newest);
  finish(true, {current_, "futex_wait", id, value, 0, at.file_name(), at.line()}, newest);
  if (value != expected) return false;
  Thread& self = threads_[current_];
  self.status = Status::asleep;
  self.waits_for = id;
  self.may_time_out = may_time_out;
  self.woken = false;
  before_step();
  timed_out = !self.woken;
  remember(timed_out ? 1 : 2);
  return true;
}

// The word's life may have ended: nobody sleeps there then.
void Execution::futex_wake(std::size_t id, Wake how_many, const SourceLocation& at) {
  if (current_ == 0) return;
  before_step();
  note_site(std::memory_order_relaxed, "wake", at);
  if (mutated(at) && mutation_.weakening == Weakening::drop_wake) return;
  std::vector<std::size_t> sleepers;
  for (std::size_t i = 1; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    const bool here = thread.status == Status::asleep && thread.waits_for == id && !thread.woken;
    if (here) sleepers.push_back(i);
  }
  finish(true, {current_, "futex_wake", id, sleepers.size(), 0, at.file_name(), at.line()}, 0);
  if (sleepers.empty()) return;
  if (how_many == Wake::one) sleepers = {sleepers[choose(sleepers.size())]};
  for (const std::size_t sleeper : sleepers) threads_[sleeper].woken = true;
}

void Execution::lock(std::size_t id, const SourceLocation& at) {
  const Access access = begin(id, std::memory_order_acquire, "update", at);
  while (memory_.value_at(id, memory_.newest(id)) != 0) {
    MUSTER_ASSERT(current_ != 0, "the setup and the final check run alone: nobody can unlock");
    threads_[current_].status = Status::locked_out;
    threads_[current_].waits_for = id;
    before_step();
  }
  const bool exists = memory_.update(access, 1);
  ++writes_;
  finish(exists, {current_, "lock", id, 1, 0, at.file_name(), at.line()}, memory_.newest(id));
}

}  // namespace muster::explore
