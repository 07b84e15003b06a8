// affinities.cpp: the ring follows the workers, and the sessions follow the ring.
#include "threads/affinities.hpp"

#include <algorithm>
#include <numeric>

namespace muster {

// With as many workers on the ring as there are.
Affinities::Keys& Affinities::keys_for(std::size_t workers, Time now) {
  if (!keys_) keys_.emplace(options_);
  while (keys_->ring.worker_count() > workers) {
    const std::size_t last = keys_->ring.worker_count() - 1;
    keys_->ring.remove(last);
    keys_->sessions.forget(last, now);
  }
  if (keys_->ring.worker_count() < workers) {
    std::vector<std::size_t> fresh(workers - keys_->ring.worker_count());
    std::iota(fresh.begin(), fresh.end(), keys_->ring.worker_count());
    keys_->ring.add(fresh);
  }
  return *keys_;
}

std::size_t Affinities::worker_of(std::uint64_t key_hash, std::size_t workers, Time now) {
  const MutexLock lock(mutex_);
  Keys& keys = keys_for(workers, now);
  if (const std::optional<std::size_t> known = keys.sessions.find(key_hash, now)) return *known;
  const std::size_t worker = keys.ring.worker_of(key_hash).value_or(0);
  keys.sessions.assign(key_hash, worker, now);
  return worker;
}

std::vector<unsigned> Affinities::preferences(std::uint64_t key_hash, std::size_t workers,
                                              std::size_t most, Time now) {
  const auto first = static_cast<unsigned>(worker_of(key_hash, workers, now));
  std::vector<unsigned> order{first};
  const MutexLock lock(mutex_);
  for (const std::size_t each : keys_for(workers, now).ring.preferences(key_hash, most)) {
    if (each != first) order.push_back(static_cast<unsigned>(each));
  }
  order.resize(std::min(order.size(), most));
  return order;
}

bool Affinities::try_enter(std::uint64_t key_hash) {
  if (!counts_keys()) return true;
  const MutexLock lock(mutex_);
  std::size_t& queued = queued_[key_hash];
  if (queued >= max_queued_) return false;
  ++queued;
  return true;
}

void Affinities::enter(std::uint64_t key_hash) {
  if (!counts_keys()) return;
  const MutexLock lock(mutex_);
  ++queued_[key_hash];
}

void Affinities::leave(std::uint64_t key_hash) noexcept {
  if (!counts_keys()) return;
  const MutexLock lock(mutex_);
  const auto found = queued_.find(key_hash);
  if (found != queued_.end() && --found->second == 0) queued_.erase(found);
}

PoolSnapshot::Affinity Affinities::figures(Time now) {
  const MutexLock lock(mutex_);
  if (!keys_) return {};
  return {.moves = keys_->sessions.counts().moves, .sessions = keys_->sessions.size(now)};
}

}  // namespace muster
