// node_waking.cpp: who sleeps, and who wakes whom: no instance sleeps while a job waits that it may
// run.
#include <algorithm>
#include <utility>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"

namespace muster {

// There may be something to do for it.
void JobNode::wake(Pool& pool, std::uint32_t index) {
  if (stopping_.stop_requested()) return;
  std::optional<std::uint32_t> called;
  bool is_free = false;
  {
    const MutexLock lock(pool.mutex);
    if (!pool.is_started || workers_ == nullptr) return;  // not yet, or run by hand
    Instance& instance = pool.instances[index];
    is_free = instance.is_held && instance.is_leaving && instance.owed == 0;
    if (!instance.is_awake && pool.may_start(instance)) {
      pool.set_awake(instance, true);
      called = index;
    } else {
      const WallTime now = lane_now(pool);
      see_to(pool, instance, now);
      called = look_for_help(pool, now);
    }
  }
  if (is_free) call_others();
  call(pool, called);
}

// A lane that has changed, or whose instance has looked at it: what is left there that others may
// do is made known, and what waits for its time is seen to then, by whoever is free.
void JobNode::see_to(Pool& pool, Instance& home, WallTime now) {
  pool.mutex.is_held();
  if (!home.may_run()) return;
  if (home.lane.has_to_give(now)) pool.has_to_give = true;
  if (const auto next = home.lane.next_delayed()) set_alarm(pool, home, *next, now);
}

// Somebody who is asleep, if anybody's lane has something for him. Whoever is called does this in
// turn when he has looked, whatever he has found: so no call is lost.
std::optional<std::uint32_t> JobNode::look_for_help(Pool& pool, WallTime now) {
  pool.mutex.is_held();
  if (workers_ == nullptr || stopping_.stop_requested()) return std::nullopt;
  if (!pool.has_sleepers || !pool.has_to_give) return std::nullopt;
  pool.has_to_give = std::ranges::any_of(pool.instances, [now](Instance& home) {
    return home.may_run() && home.lane.has_to_give(now);
  });
  if (!pool.has_to_give) return std::nullopt;
  const auto sleeper = std::ranges::find_if(pool.instances, [&pool](const Instance& other) {
    return !other.is_awake && pool.may_start(other);
  });
  pool.has_sleepers = sleeper != pool.instances.end();
  if (!pool.has_sleepers) return std::nullopt;
  pool.set_awake(*sleeper, true);
  return sleeper->index;
}

// Who is awake by now.
void JobNode::call(Pool& pool, std::optional<std::uint32_t> helper) {
  if (!helper) return;
  try {
    workers_->post([this, &pool, index = *helper] { run_jobs(pool, index); });
  } catch (const Stopped&) {
    const MutexLock lock(pool.mutex);
    pool.set_awake(pool.instances[*helper], false);
  }
}

JobNode::Rest JobNode::go_to_sleep(Pool& pool, Instance& instance) {
  pool.set_awake(instance, false);
  const Rest rest{.is_empty = instance.was_busy && instance.lane.size() == 0,
                  .processed = instance.processed + instance.unsettled};
  if (rest.is_empty) instance.was_busy = false;
  return rest;
}

// Unless it is woken sooner anyhow. There is one timer for each instance, however often what comes
// first changes.
void JobNode::set_alarm(Pool& pool, Instance& instance, WallTime next, WallTime now) {
  pool.mutex.is_held();
  if (workers_ == nullptr || (instance.alarm && *instance.alarm <= next)) return;
  (void)instance.timer.cancel();
  const auto ring = [this, &pool, index = instance.index, next] {
    {
      const MutexLock lock(pool.mutex);
      std::optional<WallTime>& alarm = pool.instances[index].alarm;
      if (alarm == next) alarm.reset();  // else it was too late to cancel this one
    }
    wake(pool, index);
  };
  const Duration delay =
      next <= now ? Duration::zero() : std::chrono::duration_cast<Duration>(next - now);
  try {
    instance.timer = workers_->after(delay, ring);
    instance.alarm = next;
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): nobody is to be woken any more
  }
}

}  // namespace muster
