// node_ticking.cpp: what a node looks at now and then: jobs that take too long, partitions that
// hold up an instance, a clock that was set.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <muster/base/log.hpp>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kShortestTick{5};
constexpr std::chrono::milliseconds kLongestTick{500};

// A share of the shortest timeout.
constexpr int kTicksPerTimeout = 20;

// Fewer jobs are no crowd.
constexpr std::size_t kCrowd = 100;

// What a clock may be off without having been set.
constexpr std::chrono::milliseconds kClockStep{500};

// A schedule waits for no more time to come again. What it enqueues for the second time then, its
// ids tell.
constexpr std::chrono::minutes kMostAhead{1};

// "2026-11-17T03:00:00Z"
std::string text_of(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                      static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                      static_cast<int>(clock.minutes().count()),
                      static_cast<int>(clock.seconds().count()));
  return text.data();
}

std::string memo_of(const std::string& schedule) {
  return "schedule " + schedule;
}

}  // namespace

// A schedule that nobody has seen before begins now.
void JobNode::take_up_schedules() {
  for (Schedule& schedule : schedules_) {
    const std::string memo = memo_of(schedule.name);
    if (!store_->recall(memo)) store_->remember(memo, as_number(wall_now()));
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is there now
    schedule.last = as_time(*store_->recall(memo));
  }
}

// What may have to wait for the store. Timeouts must not wait for that.
void JobNode::tick_with_store() {
  const WallTime now = wall_now();
  for (Schedule& schedule : schedules_) {
    try {
      run_schedule(schedule, now);
    } catch (const StoreFailure& failure) {
      MUSTER_LOG(LogLevel::error,
                 "schedule \"" << schedule.name << "\" has to wait: " << failure.what());
    }
  }
  for (const auto& [name, pool] : pools_) look_at_crowds(*pool);
}

// Another node may have been first: then the id is taken, and nothing happens. If the clock was
// ahead for a while, the last time may be one that is yet to come.
void JobNode::run_schedule(Schedule& schedule, WallTime now) {
  if (schedule.last > now + kMostAhead) {
    store_->correct(memo_of(schedule.name), as_number(now));
    schedule.last = now;
  }
  const std::vector<WallTime> due = due_runs(schedule.plan, {.last = schedule.last, .now = now},
                                             {.missed_runs = schedule.missed_runs});
  for (const WallTime time : due) {
    EncodedJob job = schedule.job;
    job.id = schedule.name + "@" + text_of(time);
    (void)enqueue(*schedule.pool, {std::move(job)}, Durability::synced);
    store_->remember(memo_of(schedule.name), as_number(time));
    schedule.last = time;
  }
  if (due.empty() && schedule.missed_runs == MissedRuns::skip) schedule.last = now;
}

Duration JobNode::tick_every() const {
  Duration shortest = kLongestTick;
  for (const auto& [name, pool] : pools_) {
    const JobPoolSetup& setup = pool->setup;
    if (setup.timeout) shortest = std::min(shortest, *setup.timeout / kTicksPerTimeout);
    if (setup.isolation == JobIsolation::none) continue;
    shortest = std::min(shortest, setup.kill_after / kTicksPerTimeout);
  }
  return std::max<Duration>(shortest, kShortestTick);
}

void JobNode::tick() {
  follow_clock();
  for (const auto& [name, pool] : pools_) end_late_jobs(*pool);
}

void JobNode::end_late_jobs(Pool& pool) {
  const std::optional<Duration>& timeout = pool.setup.timeout;
  if (!timeout && pool.setup.isolation == JobIsolation::none) return;
  std::vector<std::stop_source> stops;
  {
    const MutexLock lock(pool.mutex);
    const Time now = clock_.now();
    for (Instance& instance : pool.instances) {
      if (instance.running == 0) continue;
      if (timeout && !instance.is_timed_out && now - instance.begun >= *timeout) {
        instance.is_timed_out = true;
        stops.push_back(instance.cancelling);
      }
      if (now >= instance.kill_at) stops.push_back(instance.killing);
    }
  }
  request_all(stops);
}

// Told once, and again if it had dispersed meanwhile.
void JobNode::look_at_crowds(Pool& pool) {
  std::vector<std::pair<std::uint32_t, Lane::Crowd>> crowds;
  {
    const MutexLock lock(pool.mutex);
    for (Instance& instance : pool.instances) {
      const std::optional<Lane::Crowd> crowd = instance.lane.crowd();
      const bool is_crowded = crowd && crowd->jobs >= kCrowd;
      if (is_crowded && !instance.is_crowded) crowds.emplace_back(instance.index, *crowd);
      instance.is_crowded = is_crowded;
    }
  }
  for (const auto& [index, crowd] : crowds) {
    try {
      const std::vector<JobBody> bodies = store_->read(std::vector{crowd.head}, Store::kAnySize);
      if (bodies.empty() || !bodies.front().key) continue;  // it has begun meanwhile
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): just looked at
      const std::string& key = *bodies.front().key;
      notices_.tell([&] {
        return HotPartition{.instance = pool.instance_id(index), .key = key, .waiting = crowd.jobs};
      });
      MUSTER_LOG(LogLevel::warning,
                 "partition \"" << key << "\" has " << crowd.jobs << " jobs, more than half of "
                                << "those that wait for " << pool.instance_id(index));
    } catch (const StoreFailure& failure) {
      MUSTER_LOG(LogLevel::error, "cannot name a hot partition: " << failure.what());
    }
  }
}

// Retries wait for as long as was said, whatever the clock on the wall shows meanwhile. Jobs for a
// given time go by that clock.
void JobNode::follow_clock() {
  for (const auto& [name, pool] : pools_) {
    {
      const MutexLock lock(pool->mutex);
      const Duration offset = clock_offset();
      const Duration step = offset - std::exchange(pool->clock_offset, offset);
      if (step < kClockStep && step > -kClockStep) continue;
      for (Instance& instance : pool->instances) {
        instance.lane.shift_pauses(step);
        instance.alarm.reset();
      }
    }
    for (std::uint32_t index = 0; index < pool->concurrency; ++index) wake(*pool, index);
  }
}

}  // namespace muster
