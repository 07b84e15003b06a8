// memory_moving.cpp: what goes to another store, and comes from one.
#include <algorithm>
#include <utility>

#include "jobs/stores/memory/memory_store.hpp"

namespace muster {

std::vector<WholePool> MemoryStore::all_pools() {
  const MutexLock lock(mutex_);
  std::vector<WholePool> pools;
  pools.reserve(pools_.size());
  for (const auto& [name, record] : pools_) pools.push_back({name, record});
  return pools;
}

std::vector<WholeJob> MemoryStore::all_jobs(const Page& page) {
  const MutexLock lock(mutex_);
  std::map<PoolNumber, std::string> names;
  for (const auto& [name, record] : pools_) names[record.number] = name;
  std::vector<WholeJob> jobs;
  for (auto place = jobs_.upper_bound(page.after); place != jobs_.end(); ++place) {
    if (jobs.size() == page.limit) break;
    const Job& job = place->second;
    jobs.push_back({.pool = names.at(job.pool),
                    .record = job.record,
                    .event = job.event,
                    .result = job.remains.result,
                    .log = job.remains.log,
                    .errors = job.errors});
  }
  return jobs;
}

std::vector<std::pair<std::string, std::int64_t>> MemoryStore::all_memos() {
  const MutexLock lock(mutex_);
  return {memos_.begin(), memos_.end()};
}

std::size_t MemoryStore::take_in(const std::vector<WholeJob>& jobs) {
  const MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const WholeJob& job : jobs) {
    const PoolNumber pool = pools_.find(job.pool)->second.number;
    const bool is_new = ids_.emplace(std::pair(pool, job.record.id), last_ + 1).second;
    if (!is_new) continue;
    ++count;
    Job& made = jobs_[++last_];
    made = {.record = job.record,
            .pool = pool,
            .event = job.event,
            .remains = {.result = job.result, .log = job.log},
            .errors = job.errors};
    made.record.seq = last_;
  }
  return count;
}

void MemoryStore::take_in(const WholePool& pool) {
  const MutexLock lock(mutex_);
  PoolRecord& record = pools_.find(pool.name)->second;
  record.is_paused = pool.record.is_paused;
  for (const PoolRecord::Instance& instance : pool.record.instances) {
    const auto found =
        std::ranges::find(record.instances, instance.index, &PoolRecord::Instance::index);
    PoolRecord::Instance& mine =
        found != record.instances.end()
            ? *found
            : record.instances.emplace_back(PoolRecord::Instance{.index = instance.index});
    mine.is_paused = instance.is_paused;
    mine.processed += instance.processed;
  }
}

}  // namespace muster
