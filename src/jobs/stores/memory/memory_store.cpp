// memory_store.cpp: the rules of a store, without a database.
#include "jobs/stores/memory/memory_store.hpp"

#include <algorithm>

namespace muster {
namespace {

PoolRecord::Instance& instance_of_record(PoolRecord& pool, std::uint32_t index) {
  const auto found = std::ranges::find(pool.instances, index, &PoolRecord::Instance::index);
  if (found != pool.instances.end()) return *found;
  return pool.instances.emplace_back(PoolRecord::Instance{.index = index});
}

}  // namespace

MemoryStore::~MemoryStore() = default;

PoolRecord MemoryStore::open_pool(std::string_view name, std::uint32_t concurrency) {
  const MutexLock lock(mutex_);
  auto found = pools_.find(name);
  if (found == pools_.end()) {
    const auto number = static_cast<PoolNumber>(pools_.size() + 1);
    found = pools_.emplace(name, PoolRecord{.number = number}).first;
  }
  found->second.concurrency = concurrency;
  return found->second;
}

Inserted MemoryStore::insert(const NewJob& job) {
  const std::pair id(job.pool, job.id);
  if (const auto old = ids_.find(id); old != ids_.end() && job.replaces_before) {
    const JobRecord& record = jobs_.at(old->second).record;
    if (makes_room(record.state) && record.enqueued_at < *job.replaces_before) {
      jobs_.erase(old->second);
      ids_.erase(old);
    }
  }
  const auto [found, created] = ids_.emplace(id, last_ + 1);
  if (!created) return {.seq = found->second, .turn = jobs_.at(found->second).record.turn};
  const JobSeq seq = ++last_;
  jobs_.emplace(seq, Job{.record = {.seq = seq,
                                    .id = job.id,
                                    .key = job.key,
                                    .turn = job.turn,
                                    .priority = job.priority,
                                    .enqueued_at = job.enqueued_at,
                                    .at = job.run_at},
                         .pool = job.pool,
                         .event = job.event});
  for (auto& [name, pool] : pools_) pool.jobs += pool.number == job.pool ? 1 : 0;
  return {.seq = seq, .created = true, .turn = job.turn};
}

StoreBatch::Settled MemoryStore::settle(const Settlement& settlement) {
  const auto found = jobs_.find(settlement.seq);
  if (found == jobs_.end() || found->second.record.state != JobState::available) return {};
  Job& job = found->second;
  job.record.state = settlement.state;
  job.record.attempts = settlement.attempts;
  job.record.at = settlement.at;
  job.remains = {.result = settlement.result, .log = settlement.log};
  if (settlement.error) job.errors.push_back(*settlement.error);
  if (settlement.state != JobState::available) {
    for (auto& [name, pool] : pools_) {
      if (pool.number == settlement.place.pool) {
        ++instance_of_record(pool, settlement.place.index).processed;
      }
    }
  }
  StoreBatch::Settled settled{.is_settled = true};
  for (const NewJob& enqueued : settlement.enqueued) settled.inserted.push_back(insert(enqueued));
  return settled;
}

bool MemoryStore::judge(const Verdict& verdict) {
  const auto found = jobs_.find(verdict.seq);
  if (found == jobs_.end() || found->second.record.state != verdict.from) return false;
  Job& job = found->second;
  job.record.state = verdict.to;
  job.record.at = verdict.at;
  if (verdict.to == JobState::available) {
    job.record.attempts = 0;
    job.errors.clear();
    job.remains = {};
  }
  return true;
}

void MemoryStore::pause(const PauseChange& change) {
  for (auto& [name, pool] : pools_) {
    if (pool.number != change.pool) continue;
    if (!change.index) {
      pool.is_paused = change.is_paused;
      for (PoolRecord::Instance& instance : pool.instances) instance.is_paused = false;
      continue;
    }
    if (pool.is_paused && !change.is_paused) {
      pool.is_paused = false;
      for (std::uint32_t index = 0; index < change.concurrency; ++index) {
        instance_of_record(pool, index).is_paused = true;
      }
    }
    instance_of_record(pool, *change.index).is_paused = change.is_paused;
  }
}

void MemoryStore::commit(StoreBatch& batch, Durability /*durability*/) {
  const MutexLock lock(mutex_);
  for (const Settlement& settlement : batch.settlements)
    batch.settled.push_back(settle(settlement));
  for (const Verdict& verdict : batch.verdicts) batch.judged.push_back(judge(verdict));
  for (const NewJob& job : batch.jobs) batch.inserted.push_back(insert(job));
  for (const PauseChange& change : batch.pauses) pause(change);
}

void MemoryStore::load_waiting(PoolNumber pool, const EachJob& each) {
  const MutexLock lock(mutex_);
  for (const auto& [seq, job] : jobs_) {
    if (job.pool == pool && job.record.state == JobState::available) each(job.record);
  }
}

std::vector<JobBody> MemoryStore::read(std::span<const JobSeq> seqs, std::size_t small) {
  const MutexLock lock(mutex_);
  std::vector<JobBody> bodies;
  for (const JobSeq seq : seqs) {
    const auto found = jobs_.find(seq);
    if (found == jobs_.end()) continue;
    const Job& job = found->second;
    if (job.event && job.event->size() > small && seq != seqs.front()) continue;
    bodies.push_back({.seq = seq,
                      .id = job.record.id,
                      .enqueued_at = job.record.enqueued_at,
                      .event = job.event.value_or(""),
                      .key = job.record.key});
  }
  return bodies;
}

std::optional<JobRecord> MemoryStore::find(PoolNumber pool, std::string_view id) {
  const MutexLock lock(mutex_);
  const auto found = ids_.find(std::pair(pool, std::string(id)));
  if (found == ids_.end()) return std::nullopt;
  return jobs_.at(found->second).record;
}

Store::Remains MemoryStore::remains(JobSeq seq) {
  const MutexLock lock(mutex_);
  const auto found = jobs_.find(seq);
  return found == jobs_.end() ? Remains{} : found->second.remains;
}

std::optional<std::int64_t> MemoryStore::recall(std::string_view name) {
  const MutexLock lock(mutex_);
  const auto found = memos_.find(name);
  return found == memos_.end() ? std::nullopt : std::optional(found->second);
}

void MemoryStore::remember(std::string_view name, std::int64_t number) {
  const MutexLock lock(mutex_);
  const auto [found, is_new] = memos_.emplace(name, number);
  found->second = std::max(found->second, number);
}

void MemoryStore::correct(std::string_view name, std::int64_t number) {
  const MutexLock lock(mutex_);
  memos_[std::string(name)] = number;
}

std::vector<Store::FoundLetter> MemoryStore::dead_letters(PoolNumber pool, const Page& page) {
  const MutexLock lock(mutex_);
  std::vector<FoundLetter> letters;
  for (auto place = jobs_.upper_bound(page.after); place != jobs_.end(); ++place) {
    const auto& [seq, job] = *place;
    if (letters.size() == page.limit) break;
    if (job.pool != pool || job.record.state != JobState::dead) continue;
    letters.push_back({.seq = seq,
                       .letter = {.id = job.record.id,
                                  .partition_key = job.record.key,
                                  .priority = job.record.priority,
                                  .enqueued_at = job.record.enqueued_at,
                                  .failed_at = job.record.at}});
    if (!page.with_contents) continue;
    letters.back().letter.event = job.event.value_or("");
    letters.back().letter.errors = job.errors;
  }
  return letters;
}

Store::Pruned MemoryStore::prune(const Retention& retention, WallTime now, const Page& page) {
  const MutexLock lock(mutex_);
  Pruned pruned;
  std::size_t looked = 0;
  for (auto place = jobs_.upper_bound(page.after); place != jobs_.end();) {
    auto& [seq, job] = *place;
    if (looked++ == page.limit) return pruned;
    pruned.next = seq;
    switch (what_is_over(retention, job.record, now)) {
      case Over::nothing:
        ++place;
        break;
      case Over::contents:
        pruned.removed += job.event ? 1 : 0;
        if (job.record.state == JobState::dead) job.record.state = JobState::cancelled;
        job.event.reset();
        job.remains = {};
        job.errors.clear();
        ++place;
        break;
      case Over::all:
        ++pruned.removed;
        ids_.erase(std::pair(job.pool, job.record.id));
        place = jobs_.erase(place);
        break;
    }
  }
  pruned.next = 0;
  return pruned;
}

}  // namespace muster
