// node_sharing.cpp: a node among others: what it holds, and what comes for that from elsewhere.
//
// One thread watches. It says at regular times that the node lives, takes up the instances that it
// got, lets go of those that others are to have, and asks the store for new jobs whenever there may
// be some. All jobs come in this way, also those that this node has enqueued: only the store knows
// what others have put in front of them.
#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/random.hpp>
#include <muster/policy/retry.hpp>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"

namespace muster {
namespace {

// Without a hint; hints can be lost, and some poolers swallow all of them.
constexpr std::chrono::milliseconds kPollEvery{200};

// After the store could not be reached, for the first time and at most; and by how much longer, at
// random: many nodes lose it at the same moment.
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr double kPauseJitter = 0.5;

// Jobs that a node may have begun before it died, and not settled: as many are begun with care by
// who takes them over.
constexpr std::size_t kCarefulJobs = 1025;

}  // namespace

void JobNode::watch() {
  Time next_beat{};
  unsigned failures = 0;  // in a row
  const RetryDelay delay = exponential(kFirstPause, kLongestPause);
  Random random(static_cast<std::uint64_t>(real_clock().now().time_since_epoch().count()));
  // sync(watch-stops): pairs with the store in stop().
  while (!watch_stops_.load(acquire)) {
    Duration pause = kPollEvery;
    try {
      const Time now = real_clock().now();
      if (now >= next_beat || beats_soon_.exchange(false, relaxed)) {  // relaxed: a hint
        next_beat = now + shared_->beat_every();
        if (!beat()) next_beat = std::min(next_beat, now + kLongestPause);
      }
      const Time before = real_clock().now();
      take_arrivals();
      // If that takes long, there is an old transaction that makes us look at much again and again.
      const Duration took = real_clock().now() - before;
      pause = std::max<Duration>(kPollEvery, 2 * took);
      failures = 0;
      // relaxed: a hint.
      if (shared_->await(std::min(pause, next_beat - real_clock().now()))) {
        beats_soon_.store(true, relaxed);  // relaxed: a hint
      }
    } catch (const StoreFailure& failure) {
      if (failures++ == 0) {
        MUSTER_LOG(LogLevel::error, "cannot ask for new jobs: " << failure.what());
      }
      next_beat = {};
      std::this_thread::sleep_for(delay.after(failures) * (1 + kPauseJitter * random.real()));
    }
  }
  watch_ended_.store(true, release);  // sync(watch-ended): pairs with the load in stop()
}

// Others may have what we let go of.
void JobNode::call_others() noexcept {
  beats_soon_.store(true, relaxed);  // relaxed: a hint
  shared_->call();
}

SharedStore::Report JobNode::report() const {
  SharedStore::Report report{.is_stopping = stopping_.stop_requested()};
  for (const auto& [name, pool] : pools_) {
    report.pools.push_back({pool->number, pool->concurrency});
    const MutexLock lock(pool->mutex);
    for (const Instance& instance : pool->instances) {
      const InstancePlace place{pool->number, instance.index};
      if (instance.is_leaving && instance.owed == 0) {
        report.released.push_back({place, instance.careful > 0});
        continue;
      }
      if (!instance.is_held) continue;
      SharedStore::Figures& figures = report.figures.emplace_back();
      figures.place = place;
      figures.pending = instance.lane.size();
      if (instance.running == 0) continue;
      figures.current_job = instance.running_id;
      figures.started_at = instance.started_at;
    }
  }
  return report;
}

// False: it is to be done again soon, since a pool has to wait for the store, or for others that
// are at an instance that nobody has. Other pools need not wait for that.
bool JobNode::beat() {
  SharedStore::Report said = report();
  std::erase_if(said.released, [this](const SharedStore::Released& each) {
    Pool& pool = pool_of(each.place.pool);
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[each.place.index];
    const bool is_busy_again = instance.owed > 0;  // somebody cancels a job there
    if (!is_busy_again) lose(pool, instance);
    return is_busy_again;
  });
  std::map<PoolNumber, std::uint64_t> pauses;
  for (const auto& [name, pool] : pools_) {
    const MutexLock lock(pool->mutex);
    pauses[pool->number] = pool->pauses;
  }
  const SharedStore::Standing standing = shared_->beat(said);
  if (std::exchange(held_as_, standing.node) != standing.node) {
    for (const auto& [name, pool] : pools_) {
      const MutexLock lock(pool->mutex);
      for (Instance& instance : pool->instances) lose(*pool, instance);
    }
  }
  bool is_well = !standing.is_short;
  for (const auto& [name, pool] : pools_) {
    try {
      take_over(*pool, standing, pauses[pool->number]);
      if (pool->setup.when_dead == DeadLetterEffect::block) release_partitions(*pool);
    } catch (const StoreFailure& failure) {
      is_well = false;
      MUSTER_LOG(LogLevel::error, "pool \"" << name << "\" has to wait: " << failure.what());
    }
    std::vector<std::stop_source> lost;
    {
      const MutexLock lock(pool->mutex);
      lost.swap(pool->lost);
    }
    request_all(lost);
  }
  return is_well;
}

// Whose dead letters others have discarded, or are not kept any longer. Not as long as the store
// does not know yet of all that have died.
void JobNode::release_partitions(Pool& pool) {
  std::set<JobSeq> blocking;
  {
    const MutexLock lock(pool.mutex);
    for (const Instance& instance : pool.instances) {
      if (shared_ == nullptr && instance.unsettled > 0) return;
      for (const auto& [partition, seq] : instance.lane.blocked()) blocking.insert(seq);
    }
  }
  if (blocking.empty()) return;
  std::set<JobSeq> dead;
  each_dead_letter(*store_, pool.number,
                   [&dead](const Store::FoundLetter& found) { dead.insert(found.seq); });
  {
    const MutexLock lock(pool.mutex);
    for (Instance& instance : pool.instances) {
      for (const auto& [partition, seq] : instance.lane.blocked()) {
        const bool is_over =
            blocking.contains(seq) && !dead.contains(seq) && !pool.taken.contains(seq);
        if (is_over) instance.lane.unblock(partition, seq, std::nullopt);
      }
    }
  }
  for (std::uint32_t index = 0; index < pool.concurrency; ++index) wake(pool, index);
}

// What it holds now, and did not before, or no longer. `pauses`: how many there had been when the
// store was asked; if there were more since, what it said of them is old.
void JobNode::take_over(Pool& pool, const SharedStore::Standing& standing, std::uint64_t pauses) {
  std::set<std::uint32_t> gained;
  {
    const MutexLock lock(pool.mutex);
    const bool knows_pauses = pool.pauses == pauses;
    const bool is_paused = std::ranges::find(standing.paused, pool.number) != standing.paused.end();
    if (knows_pauses) pool.is_paused = is_paused;
    std::set<std::uint32_t> ours;
    for (const SharedStore::Held& each : standing.held) {
      if (each.place.pool != pool.number) continue;
      if (each.place.index >= pool.instances.size()) continue;  // there were more once
      ours.insert(each.place.index);
      Instance& instance = pool.instances[each.place.index];
      if (!knows_pauses && !instance.is_held) {  // it is gained when it is known if it is paused
        beats_soon_.store(true, relaxed);        // relaxed: a hint
        continue;
      }
      if (knows_pauses) instance.is_paused = each.is_paused;
      instance.is_leaving = each.is_unwanted;
      if (instance.is_leaving && instance.owed == 0) {
        beats_soon_.store(true, relaxed);  // relaxed: a hint
      }
      if (instance.is_held) continue;
      instance.holder = standing.node;
      instance.careful = each.is_suspect ? kCarefulJobs : 0;
      if (instance.is_leaving) continue;  // others are to have it: it need not be loaded for that
      gained.insert(each.place.index);
      instance.processed = each.processed;
      ++instance.term;
    }
    for (Instance& instance : pool.instances) {
      if (!ours.contains(instance.index)) lose(pool, instance);
    }
  }
  std::exception_ptr failure;
  if (!gained.empty()) {
    try {
      load(pool, gained, {standing.interrupted.begin(), standing.interrupted.end()});
    } catch (...) {  // the next beat tells whose they are then
      failure = std::current_exception();
    }
    const MutexLock lock(pool.mutex);
    for (const std::uint32_t index : gained) {
      if (failure) {
        lose(pool, pool.instances[index]);
      } else {
        pool.instances[index].is_held = true;
      }
    }
  }
  pool.changed.notify_all();
  for (std::uint32_t index = 0; index < pool.concurrency; ++index) wake(pool, index);
  if (failure) std::rethrow_exception(failure);
}

void JobNode::clear(Pool& pool, Instance& instance) {
  pool.mutex.is_held();
  instance.lane = Lane(pool.setup.order);
  instance.bodies.clear();
  std::erase_if(pool.taken,
                [&instance](const auto& entry) { return entry.second.home == instance.index; });
}

// Its jobs are others'. What is being run of them, by whomever, is asked to stop, and will not be
// settled. So with what a load that has failed has left behind.
void JobNode::lose(Pool& pool, Instance& instance) {
  pool.mutex.is_held();
  if (instance.holder == 0) return;
  instance.is_held = false;
  instance.is_leaving = false;
  instance.holder = 0;
  ++instance.term;
  instance.owed = 0;
  clear(pool, instance);
  for (const Instance& other : pool.instances) {
    const bool is_ours = other.running != 0 && other.running_home == instance.index;
    if (is_ours) pool.lost.push_back(other.cancelling);
  }
}

// A poll may tell of jobs that have been taken since it began, and even of some that have been
// settled since: what was taken is remembered until a poll that begins later. If that tells of it
// again, it is available again.
void JobNode::take_arrivals() {
  std::vector<PoolNumber> numbers;
  for (const auto& [name, pool] : pools_) {
    numbers.push_back(pool->number);
    const MutexLock lock(pool->mutex);
    for (const auto& [seq, term] : pool->forgotten_next) {
      const auto found = pool->taken.find(seq);
      if (found != pool->taken.end() && found->second.term == term) pool->taken.erase(found);
    }
    pool->forgotten_next.clear();
  }
  const std::vector<SharedStore::CancelWish> wishes = shared_->poll(
      numbers, [this](std::vector<SharedStore::Arrival> some) { add_arrivals(std::move(some)); });
  for (const SharedStore::CancelWish& wish : wishes) grant_wish(wish);
}

// Somebody at another node wants this job cancelled. If it is not one of ours, another node sees to
// it; if it is being run it is asked to stop, if that is what is wanted.
void JobNode::grant_wish(const SharedStore::CancelWish& wish) {
  const JobSeq seq = wish.seq;
  for (const auto& [name, pool] : pools_) {
    bool is_ours = false;
    {
      const MutexLock lock(pool->mutex);
      is_ours = pool->taken.contains(seq) ||
                std::ranges::any_of(pool->instances, [seq](const Instance& instance) {
                  return instance.lane.contains(seq);
                });
    }
    if (!is_ours) continue;
    if (!cancel_here(*pool, seq) && wish.stops) stop_running(*pool, seq);
    return shared_->drop_wish(seq);
  }
}

void JobNode::add_arrivals(std::vector<SharedStore::Arrival> arrivals) {
  std::set<std::pair<Pool*, std::uint32_t>> touched;
  for (SharedStore::Arrival& arrival : arrivals) {
    Pool& pool = pool_of(arrival.pool);
    const WaitingJob job = waiting_job(arrival.job);
    const MutexLock lock(pool.mutex);
    const std::uint32_t index = home_of(job, arrival.job.turn, pool.concurrency);
    Instance& instance = pool.instances[index];
    if (!instance.is_held || instance.lane.contains(job.seq)) continue;
    if (pool.is_taken(job)) continue;
    if (job.partition && instance.lane.is_blocked_by(*job.partition, job.seq)) {
      instance.lane.unblock(*job.partition, job.seq, for_lane(job));  // it was replayed
    } else {
      instance.lane.add(for_lane(job));
    }
    if (arrival.event) {
      keep_body(instance, {.seq = job.seq,
                           .id = std::move(arrival.job.id),
                           .enqueued_at = arrival.job.enqueued_at,
                           .event = *std::move(arrival.event),
                           .key = arrival.job.key});
    }
    touched.emplace(&pool, index);
  }
  for (const auto& [pool, index] : touched) wake(*pool, index);
}

}  // namespace muster
