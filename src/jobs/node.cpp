// node.cpp: pools are defined, taken up and stopped.
#include "jobs/node.hpp"

#include <algorithm>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/utf8.hpp>

#include "jobs/isolation.hpp"
#include "jobs/node_pool.hpp"

namespace muster {
namespace {

constexpr unsigned kMostInstances = 1024;
constexpr std::size_t kMostName = 100;
constexpr std::chrono::milliseconds kLeastTimeout{1};
constexpr std::chrono::hours kMostTimeout{30 * 24};
constexpr std::size_t kPrunePage = 2000;

std::vector<BadField> problems_of(std::string_view name) {
  if (!name.empty() && name.size() <= kMostName && is_utf8(name)) return {};
  return {{.field = "pool", .value = to_utf8(name), .rule = "must be 1 to 100 bytes of UTF-8"}};
}

std::set<JobSeq> set_of(const std::vector<JobSeq>& seqs) {
  return {seqs.begin(), seqs.end()};
}

// For what has ended to be settled, at the end. If the store cannot, it is run once more.
constexpr std::chrono::seconds kLastSettlements{10};

// For what is due by a schedule, and crowds.
constexpr std::chrono::milliseconds kLookAtStore{100};

}  // namespace

std::vector<BadField> validate(const JobPoolSetup& setup) {
  const RetryOptions retry{.max_attempts = setup.retry.max_attempts,
                           .delay = setup.retry.delay,
                           .jitter = setup.retry.jitter};
  std::vector<BadField> bad = validate(retry);
  if (setup.concurrency < 1 || setup.concurrency > kMostInstances) {
    bad.push_back({"concurrency", std::to_string(setup.concurrency), "must be from 1 to 1024"});
  }
  if (setup.retry.max_attempts > UINT16_MAX) {
    bad.push_back(
        {"retry.max_attempts", std::to_string(setup.retry.max_attempts), "must be at most 65535"});
  }
  if (setup.timeout && (*setup.timeout < kLeastTimeout || *setup.timeout > kMostTimeout)) {
    bad.push_back({"timeout", std::to_string(setup.timeout->count()) + " ns",
                   "must be from 1 ms to 30 days"});
  }
  if (setup.kill_after < Duration::zero() || setup.kill_after > kMostTimeout) {
    bad.push_back({"kill_after", std::to_string(setup.kill_after.count()) + " ns",
                   "must be from 0 to 30 days"});
  }
  const auto check_limit = [&bad](const char* field, const std::optional<RateLimit>& limit) {
    if (!limit) return;
    for (BadField& problem : validate(*limit)) {
      problem.field = field + ("." + problem.field);
      bad.push_back(std::move(problem));
    }
  };
  check_limit("limits.pool", setup.limits.pool);
  check_limit("limits.key", setup.limits.key);
  if (!setup.execute) bad.push_back({"execute", "unset", "must be a function"});
  if (setup.max_event_bytes < 1 || setup.max_event_bytes > kMostEventBytes) {
    bad.push_back(
        {"max_event_bytes", std::to_string(setup.max_event_bytes), "must be from 1 to 67108864"});
  }
  return bad;
}

JobNode::JobNode(std::unique_ptr<Store> store, const Options& options)
    : options_(options),
      clock_(options.clock != nullptr ? *options.clock : real_clock()),
      store_(std::move(store)),
      shared_(store_->shared()),
      interrupted_(set_of(store_->take_interrupted())) {
  GroupCommit::Listener& listener = *this;  // which others may not know
  commits_ = std::make_unique<GroupCommit>(*store_, listener, GroupCommit::Options{});
}

JobNode::~JobNode() {
  (void)stop(Time::max());
}

WallTime JobNode::wall_now() const {
  return clock_.wall_now() + std::chrono::duration_cast<WallTime::duration>(store_->clock_ahead());
}

Duration JobNode::clock_offset() const {
  return std::chrono::duration_cast<Duration>(wall_now().time_since_epoch()) -
         clock_.now().time_since_epoch();
}

// Somebody may set the wall's clock. Lanes go by the steady one, and by how far that is off: both
// change at once, with the times of what waits in them (follow_clock).
WallTime JobNode::lane_now(const Pool& pool) const {
  pool.mutex.is_held();
  return WallTime(std::chrono::duration_cast<WallTime::duration>(clock_.now().time_since_epoch() +
                                                                 pool.clock_offset));
}

// What is due by the wall's clock is due for a lane, also if that is a little behind, or somebody
// sets the clock back.
WaitingJob JobNode::for_lane(WaitingJob job) const {
  if (job.attempts == 0 && job.run_at <= wall_now()) job.run_at = WallTime::min();
  return job;
}

void JobNode::add_schedule(std::string_view name, Pool& pool, const CronSchedule& schedule,
                           MissedRuns missed_runs, EncodedJob job) {
  const MutexLock lock(defining_);
  std::vector<BadField> bad = problems_of(name);
  const auto is_same = [name](const Schedule& other) { return other.name == name; };
  if (std::ranges::any_of(schedules_, is_same)) {
    bad.push_back({"schedule", std::string(name), "is there already"});
  }
  // relaxed: set under the lock.
  if (is_started_.load(relaxed)) {
    bad.push_back({"schedule", std::string(name), "must be made before start()"});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  (void)new_job(pool, job, wall_now());  // whether it can be enqueued
  schedules_.push_back({.name = std::string(name),
                        .pool = &pool,
                        .plan = schedule,
                        .missed_runs = missed_runs,
                        .job = std::move(job)});
}

// As the store knows it.
void JobNode::furnish(Pool& pool, const PoolRecord& record) {
  const MutexLock lock(pool.mutex);
  pool.number = record.number;
  pool.concurrency = record.concurrency;
  pool.is_paused = record.is_paused;
  pool.turn = static_cast<std::uint32_t>(record.jobs);
  const JobRateLimits& limits = pool.setup.limits;
  if (shared_ == nullptr || limits.scope == JobRateLimits::Scope::node) {
    if (limits.pool) pool.bucket.emplace(*limits.pool, clock_.now());
    if (limits.key) pool.key_buckets.emplace(*limits.key);
  }
  pool.clock_offset = clock_offset();
  pool.random = Random(static_cast<std::uint64_t>(record.number) + record.jobs);
  for (std::uint32_t index = 0; index < pool.concurrency; ++index) {
    Instance& instance = pool.instances.emplace_back(clock_.now());
    instance.index = index;
    instance.is_held = shared_ == nullptr;
    instance.lane = Lane(pool.setup.order);
    instance.runner = runners_++;
  }
  for (const PoolRecord::Instance& known : record.instances) {
    if (known.index >= pool.instances.size()) continue;  // there were more once
    pool.instances[known.index].processed = known.processed;
    pool.instances[known.index].is_paused = known.is_paused;
  }
}

JobNode::Pool& JobNode::define(std::string_view name, JobPoolSetup setup) {
  const MutexLock defining(defining_);
  std::vector<BadField> bad = validate(setup);
  for (BadField& problem : problems_of(name)) bad.push_back(std::move(problem));
  const auto is_same = [name](const auto& entry) { return entry.second->name == name; };
  // Nobody else writes it.
  if (std::ranges::any_of(by_number_, is_same)) {
    bad.push_back({"pool", std::string(name), "is defined already"});
  }
  // relaxed: set under the lock.
  if (is_started_.load(relaxed)) {
    bad.push_back({"pool", std::string(name), "must be defined before start()"});
  }
  if (runners_ + setup.concurrency > Store::kMostRunners) {
    bad.push_back({"concurrency", std::to_string(setup.concurrency),
                   "must leave at most 65536 instances in all"});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  auto pool = std::make_unique<Pool>(std::string(name), std::move(setup), clock_.now());
  const PoolRecord record = store_->open_pool(name, pool->setup.concurrency);
  if (record.concurrency != pool->setup.concurrency) {
    MUSTER_LOG(LogLevel::warning, "pool \"" << name << "\" has concurrency " << record.concurrency
                                            << ", not " << pool->setup.concurrency
                                            << ", as long as other nodes run it so");
  }
  furnish(*pool, record);
  Pool& made = *pool;
  {
    const MutexLock lock(defined_);
    by_number_.emplace(record.number, std::move(pool));
  }
  if (shared_ == nullptr) {
    std::set<std::uint32_t> all;
    for (std::uint32_t index = 0; index < made.concurrency; ++index) all.insert(index);
    load(made, all, interrupted_);
  }
  // Who enqueued sooner would come before what was enqueued before.
  const MutexLock lock(defined_);
  pools_.emplace(name, &made);
  return made;
}

JobNode::Pool& JobNode::pool(std::string_view name) const {
  const MutexLock lock(defined_);
  const auto found = pools_.find(name);
  if (found != pools_.end()) return *found->second;
  throw InvalidArgument({.field = "pool", .value = to_utf8(name), .rule = "must be defined first"});
}

const JobPoolSetup& JobNode::setup_of(std::string_view name) const {
  return pool(name).setup;
}

JobNode::Pool& JobNode::pool_of(PoolNumber number) const {
  const MutexLock lock(defined_);
  return *by_number_.at(number);
}

std::vector<JobNode::Pool*> JobNode::defined() const {
  const MutexLock lock(defined_);
  std::vector<Pool*> all;
  all.reserve(pools_.size());
  for (const auto& [name, pool] : pools_) all.push_back(pool);
  return all;
}

void JobNode::start() {
  const MutexLock defining(defining_);
  if (stopping_.stop_requested()) {
    throw InvalidArgument({"start()", "called", "must be called before stop()"});
  }
  // relaxed: who looks without the lock was set in motion behind this, or is this very thread.
  if (is_started_.exchange(true, relaxed)) {
    throw InvalidArgument({"start()", "called twice", "must be called once"});
  }
  take_up_schedules();
  unsigned isolated = 0;
  for (const auto& [name, pool] : pools_) {
    if (pool->setup.isolation == JobIsolation::process) isolated += pool->concurrency;
  }
  if (isolated > 0) isolated_ = std::make_unique<IsolatedHandlers>(isolated);
  const bool has_threads = options_.mode == JobsMode::threads;
  if (has_threads) {
    workers_ = std::make_unique<ThreadPool>(
        ThreadPoolOptions{.workers = std::clamp(runners_, 1U, kMostInstances),
                          .start = Start::lazy,
                          .thread_name = "jobs"});
  }
  for (const auto& [name, pool] : pools_) {
    std::vector<DeadNews> untold;
    {
      const MutexLock lock(pool->mutex);
      pool->is_started = true;
      untold.swap(pool->untold);
    }
    for (DeadNews& news : untold) tell_dead(*pool, std::move(news));
    for (std::uint32_t index = 0; index < pool->concurrency; ++index) wake(*pool, index);
  }
  if (shared_ != nullptr) watcher_ = std::thread([this] { watch(); });
  if (!has_threads) return;
  keepers_ = std::make_unique<ThreadPool>(
      ThreadPoolOptions{.workers = 3, .start = Start::lazy, .thread_name = "keeper"});
  (void)keepers_->every(options_.prune_every, [this] { prune(); });
  (void)keepers_->every(kLookAtStore, [this] { tick_with_store(); });
  (void)keepers_->every(tick_every(), [this] { tick(); });
}

// What waits for these. That may take long, and others use the pool meanwhile.
void JobNode::load(Pool& pool, const std::set<std::uint32_t>& instances,
                   const std::set<JobSeq>& interrupted) {
  std::vector<Taken> crashed;
  store_->load_waiting(pool.number, [&](const JobRecord& record) {
    WaitingJob job = waiting_job(record);
    const std::uint32_t index = home_of(job, record.turn, pool.concurrency);
    if (!instances.contains(index)) return;
    const MutexLock lock(pool.mutex);
    Instance& instance = pool.instances[index];
    if (instance.lane.contains(job.seq) || pool.is_taken(job)) return;
    if (interrupted.contains(record.seq)) {
      Taken& taken = crashed.emplace_back();
      taken = {.job = job,
               .index = index,
               .home = index,
               .term = instance.term,
               .holder = instance.holder};
      if (!is_tried_again(pool, taken)) {
        const bool blocks = job.partition && pool.setup.when_dead == DeadLetterEffect::block;
        if (blocks) instance.lane.block(*job.partition, job.seq);
        return;
      }
      job = taken.job;
    }
    instance.lane.add(for_lane(job));
  });
  if (pool.setup.when_dead == DeadLetterEffect::block) block_partitions(pool, instances);
  if (crashed.empty()) return;
  for (Taken& taken : crashed) settle_crash(pool, taken);
  // Before one of them can kill this process, too, and the attempt would not count.
  (void)commits_->wait_settled(real_clock().now() + kLastSettlements);
}

// Those whose head is a dead letter.
void JobNode::block_partitions(Pool& pool, const std::set<std::uint32_t>& instances) {
  each_dead_letter(*store_, pool.number, [&](const Store::FoundLetter& found) {
    if (!found.letter.partition_key) return;
    const PartitionHash partition = partition_hash(*found.letter.partition_key);
    const std::uint32_t index = instance_of(partition, pool.concurrency);
    const MutexLock lock(pool.mutex);
    if (instances.contains(index)) pool.instances[index].lane.block(partition, found.seq);
  });
}

// A job that was being run when its process died has failed once more. It is not in a lane yet, so
// that it can be settled without having been taken.
bool JobNode::is_tried_again(Pool& pool, Taken& taken) {
  pool.mutex.is_held();
  taken.after = after_attempt(
      retry_of(pool), {.failure = FailureKind::crash},
      {.attempts = taken.job.attempts, .now = lane_now(pool), .luck = pool.random.real()});
  if (taken.after.state != JobState::available) return false;
  taken.job.attempts = static_cast<std::uint16_t>(taken.after.attempts);
  taken.job.run_at = taken.job.due = taken.after.run_at;
  return true;
}

void JobNode::settle_crash(Pool& pool, Taken& taken) {
  const std::vector<JobBody> bodies = store_->read(std::vector{taken.job.seq}, Store::kAnySize);
  if (!bodies.empty()) taken.body = bodies.front();
  {
    const MutexLock lock(pool.mutex);
    ++pool.instances[taken.index].unsettled;
    ++pool.instances[taken.home].owed;
    if (shared_ != nullptr && taken.after.state != JobState::available) {
      pool.taken[taken.job.seq] = {taken.home, taken.term, taken.job.version};
    }
  }
  settle(pool, taken,
         {.outcome = {.failure = FailureKind::crash, .what = "the process that ran it died"}});
}

void JobNode::prune() {
  Store::Page page{.limit = kPrunePage};
  try {
    do {
      page.after = store_->prune(options_.retention, wall_now(), page).next;
    } while (page.after != 0 && !stopping_.stop_requested());
    if (shared_ != nullptr) return;  // else with the next beat
    for (const auto& [name, pool] : pools_) {
      if (pool->setup.when_dead == DeadLetterEffect::block) release_partitions(*pool);
    }
  } catch (const StoreFailure& failure) {
    MUSTER_LOG(LogLevel::error, "what is over is kept for now: " << failure.what());
  }
}

bool JobNode::wait_changed(Pool& pool, Time deadline) {
  pool.mutex.is_held();
  if (deadline != Time::max()) return pool.changed.wait_until(pool.mutex, deadline);
  pool.changed.wait(pool.mutex);
  return true;
}

// What still runs at the deadline, or cannot be settled by then, is waited for by the destructor.
// Those in processes of their own are killed by tick(), after a while.
std::size_t JobNode::stop(Time deadline) {
  stopping_.request_stop();
  const std::vector<Pool*> pools = defined();
  for (Pool* const pool : pools) {
    std::vector<std::stop_source> stops;
    {
      const MutexLock lock(pool->mutex);
      for (const Instance& instance : pool->instances) {
        if (instance.running != 0) stops.push_back(instance.cancelling);
      }
    }
    pool->changed.notify_all();
    request_all(stops);
  }
  std::size_t running = 0;
  for (Pool* const pool : pools) {
    const MutexLock lock(pool->mutex);
    const auto is_running = [](const Instance& instance) { return instance.running != 0; };
    while (std::ranges::any_of(pool->instances, is_running)) {
      if (!wait_changed(*pool, deadline)) break;
    }
    for (Instance& instance : pool->instances) {
      if (!is_running(instance)) continue;
      instance.kill_at = std::min(instance.kill_at, clock_.now() + pool->setup.kill_after);
      ++running;
    }
  }
  if (running == 0) end(deadline);
  return running;
}

// Requires: no job runs, and none will.
void JobNode::end(Time deadline) {
  {
    const MutexLock nobody_starts_now(defining_);
  }  // nor later: it is being stopped
  const MutexLock one_at_a_time(ending_);
  if (is_ended_) return;
  if (keepers_ != nullptr) (void)keepers_->stop();
  if (workers_ != nullptr) (void)workers_->stop();
  const Time last = std::min(deadline, real_clock().now() + kLastSettlements);
  const bool is_settled = commits_->wait_settled(last);
  if (!is_settled && deadline != Time::max()) return;
  (void)tell_untold();
  commits_->stop();
  // The node was alive until here: nobody else was to run what it had.
  watch_stops_.store(true, release);  // sync(watch-stops): pairs with the load in watch()
  if (watcher_.joinable()) {
    shared_->call();
    while (!watch_ended_.load(acquire)) {  // sync(watch-ended): pairs with the store in watch()
      if (real_clock().now() >= deadline) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    watcher_.join();
  }
  if (shared_ != nullptr) shared_->leave();
  is_ended_ = true;
}

}  // namespace muster
