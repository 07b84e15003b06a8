// node.cpp: pools are defined, taken up and stopped.
#include "jobs/node.hpp"

#include <algorithm>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/utf8.hpp>

#include "jobs/node_pool.hpp"

namespace muster {
namespace {

constexpr unsigned kMostInstances = 1024;
constexpr std::size_t kMostName = 100;
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
      interrupted_(set_of(store_->take_interrupted())) {
  GroupCommit::Listener& listener = *this;  // which others may not know
  commits_ = std::make_unique<GroupCommit>(*store_, listener, GroupCommit::Options{});
}

JobNode::~JobNode() {
  (void)stop(Time::max());
}

WallTime JobNode::wall_now() const {
  return clock_.wall_now();
}

JobNode::Pool& JobNode::define(std::string_view name, JobPoolSetup setup) {
  std::vector<BadField> bad = validate(setup);
  for (BadField& problem : problems_of(name)) bad.push_back(std::move(problem));
  if (pools_.contains(name)) bad.push_back({"pool", std::string(name), "is defined already"});
  if (is_started_) bad.push_back({"pool", std::string(name), "must be defined before start()"});
  if (runners_ + setup.concurrency > Store::kMostRunners) {
    bad.push_back({"concurrency", std::to_string(setup.concurrency),
                   "must leave at most 65536 instances in all"});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  auto pool = std::make_unique<Pool>(std::string(name), std::move(setup));
  const PoolRecord record = store_->open_pool(name);
  {
    const MutexLock lock(pool->mutex);
    pool->number = record.number;
    pool->is_paused = record.is_paused;
    pool->turn = static_cast<std::uint32_t>(record.jobs);
    pool->random = Random(static_cast<std::uint64_t>(record.number) + record.jobs);
    for (std::uint32_t index = 0; index < pool->setup.concurrency; ++index) {
      Instance& instance = pool->instances.emplace_back();
      instance.index = index;
      instance.runner = runners_++;
    }
    for (const PoolRecord::Instance& known : record.instances) {
      if (known.index >= pool->instances.size()) continue;  // there were more once
      pool->instances[known.index].processed = known.processed;
      pool->instances[known.index].is_paused = known.is_paused;
    }
  }
  Pool& made = *pool;
  by_number_.emplace(record.number, &made);
  pools_.emplace(name, std::move(pool));
  load(made);
  return made;
}

JobNode::Pool& JobNode::pool(std::string_view name) const {
  const auto found = pools_.find(name);
  if (found != pools_.end()) return *found->second;
  throw InvalidArgument({.field = "pool", .value = to_utf8(name), .rule = "must be defined first"});
}

JobNode::Pool& JobNode::pool_of(PoolNumber number) const {
  return *by_number_.at(number);
}

void JobNode::start() {
  if (is_started_) throw InvalidArgument({"start()", "called twice", "must be called once"});
  is_started_ = true;
  workers_ = std::make_unique<ThreadPool>(
      ThreadPoolOptions{.workers = std::clamp(runners_, 1U, kMostInstances),
                        .start = Start::lazy,
                        .thread_name = "jobs"});
  for (const auto& [name, pool] : pools_) {
    std::vector<DeadNews> untold;
    {
      const MutexLock lock(pool->mutex);
      pool->is_started = true;
      untold.swap(pool->untold);
    }
    for (DeadNews& news : untold) tell_dead(*pool, std::move(news));
    for (std::uint32_t index = 0; index < pool->setup.concurrency; ++index) wake(*pool, index);
  }
  (void)workers_->every(options_.prune_every, [this] { prune(); });
}

void JobNode::load(Pool& pool) {
  std::vector<Taken> crashed;
  {
    const MutexLock lock(pool.mutex);
    const auto instances = static_cast<std::uint32_t>(pool.instances.size());
    store_->load_waiting(pool.number, [&](const JobRecord& record) {
      pool.mutex.is_held();
      WaitingJob job{.seq = record.seq,
                     .run_at = record.at,
                     .priority = record.priority,
                     .attempts = static_cast<std::uint16_t>(record.attempts)};
      if (record.key) job.partition = partition_hash(*record.key);
      const std::uint32_t index = job.partition ? instance_of(*job.partition, instances)
                                                : instance_of_turn(record.turn, instances);
      if (interrupted_.contains(record.seq)) {
        Taken& taken = crashed.emplace_back();
        taken = {.job = job, .index = index, .home = index};
        if (!is_tried_again(pool, taken)) return;
        job = taken.job;
      }
      pool.instances[index].lane.add(job);
    });
  }
  for (Taken& taken : crashed) settle_crash(pool, taken);
}

// A job that was being run when its process died has failed once more. It is not in a lane yet, so
// that it can be settled without having been taken.
bool JobNode::is_tried_again(Pool& pool, Taken& taken) {
  pool.mutex.is_held();
  taken.after = after_attempt(
      retry_of(pool), {.failure = FailureKind::crash},
      {.attempts = taken.job.attempts, .now = wall_now(), .luck = pool.random.real()});
  if (taken.after.state != JobState::available) return false;
  taken.job.attempts = static_cast<std::uint16_t>(taken.after.attempts);
  taken.job.run_at = taken.after.run_at;
  return true;
}

void JobNode::settle_crash(Pool& pool, Taken& taken) {
  const std::vector<JobBody> bodies = store_->read(std::vector{taken.job.seq});
  if (!bodies.empty()) taken.body = bodies.front();
  {
    const MutexLock lock(pool.mutex);
    ++pool.instances[taken.index].unsettled;
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

std::size_t JobNode::stop(Time deadline) {
  stopping_.request_stop();
  std::size_t running = 0;
  for (const auto& [name, pool] : pools_) {
    const MutexLock lock(pool->mutex);
    for (Instance& instance : pool->instances) {
      if (instance.running != 0) instance.cancelling.request_stop();
    }
    pool->changed.notify_all();
    const auto is_running = [](const Instance& instance) { return instance.running != 0; };
    while (std::ranges::any_of(pool->instances, is_running)) {
      if (!wait_changed(*pool, deadline)) break;
    }
    running += static_cast<std::size_t>(std::ranges::count_if(pool->instances, is_running));
  }
  if (running > 0) return running;
  if (workers_ != nullptr) (void)workers_->stop();
  (void)commits_->wait_settled(std::min(deadline, real_clock().now() + kLastSettlements));
  commits_->stop();
  return 0;
}

}  // namespace muster
