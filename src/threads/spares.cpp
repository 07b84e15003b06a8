// spares.cpp: who is on duty.
#include "threads/spares.hpp"

namespace muster {

Spares::Need Spares::begin_blocking() {
  const MutexLock lock(mutex_);
  add(blocked_, 1);
  // relaxed: written under the mutex only.
  if (on_duty_.load(relaxed) >= blocked_.load(relaxed)) return Need::none;
  if (sitting_ > 0) {
    --sitting_;
    ++recalls_;
    add(on_duty_, 1);
    recalled_.notify_one();
    return Need::none;
  }
  if (started_ == most_) return Need::too_few;
  ++started_;
  add(on_duty_, 1);
  return Need::start;
}

void Spares::end_blocking() {
  const MutexLock lock(mutex_);
  add(blocked_, -1);
}

void Spares::not_started() {
  const MutexLock lock(mutex_);
  --started_;
  add(on_duty_, -1);
}

bool Spares::leave() {
  if (!one_too_many()) return false;
  const MutexLock lock(mutex_);
  if (closed_ || !one_too_many()) return false;
  add(on_duty_, -1);
  ++sitting_;
  return true;
}

void Spares::sit_out() {
  const MutexLock lock(mutex_);
  while (recalls_ == 0) recalled_.wait(mutex_);
  --recalls_;
}

void Spares::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  add(on_duty_, sitting_);
  recalls_ += sitting_;
  sitting_ = 0;
  recalled_.notify_all();
}

}  // namespace muster
