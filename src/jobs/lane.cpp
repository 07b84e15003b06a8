// lane.cpp: partitions are lists of nodes; heaps say which node may be next.
#include "jobs/lane.hpp"

#include <algorithm>

#include <muster/base/assert.hpp>

namespace muster {

bool Lane::is_later(const Candidate& left, const Candidate& right) noexcept {
  return left.run_at != right.run_at ? left.run_at > right.run_at : left.seq > right.seq;
}

bool Lane::is_less_urgent(const Candidate& left, const Candidate& right) noexcept {
  return left.priority != right.priority ? left.priority < right.priority : left.seq > right.seq;
}

Lane::Place Lane::put(const WaitingJob& job) {
  Place place = 0;
  if (unused_.empty()) {
    place = static_cast<Place>(nodes_.size());
    nodes_.push_back({.job = job});
  } else {
    place = unused_.back();
    unused_.pop_back();
    nodes_[place] = {.job = job};
  }
  const bool is_new = places_.emplace(job.seq, place).second;
  MUSTER_ASSERT(is_new, job.seq);
  return place;
}

void Lane::let_go(Place place) {
  nodes_[place] = {};
  unused_.push_back(place);
}

// It is kept among those to come even if its time has come already: take() knows what time it is.
void Lane::announce(Place place) {
  const WaitingJob& job = nodes_[place].job;
  later_.push_back(
      {.run_at = job.run_at, .seq = job.seq, .place = place, .priority = job.priority});
  std::ranges::push_heap(later_, is_later);
}

// The first that was not removed, unless one is being run.
void Lane::announce_head(Partition& partition) {
  while (partition.head != kNowhere && nodes_[partition.head].is_removed) {
    const Place next = nodes_[partition.head].next;
    let_go(partition.head);
    partition.head = next;
  }
  if (partition.head == kNowhere) {
    partition.tail = kNowhere;
  } else if (!partition.is_busy) {
    announce(partition.head);
  }
}

void Lane::add(const WaitingJob& job) {
  const Place place = put(job);
  if (!job.partition) return announce(place);
  Partition& partition = partitions_[*job.partition];
  if (partition.head == kNowhere) {
    partition.head = partition.tail = place;
    announce_head(partition);
  } else {
    nodes_[partition.tail].next = place;
    partition.tail = place;
  }
}

void Lane::wake(WallTime now) {
  while (!later_.empty() && later_.front().run_at <= now) {
    std::ranges::pop_heap(later_, is_later);
    const Candidate candidate = later_.back();
    later_.pop_back();
    if (!is_current(candidate)) continue;
    Heap& ready = nodes_[candidate.place].job.partition ? heads_ : keyless_;
    ready.push_back(candidate);
    std::ranges::push_heap(ready, is_less_urgent);
  }
}

bool Lane::is_current(const Candidate& candidate) const {
  const Node& node = nodes_[candidate.place];
  return node.job.seq == candidate.seq && !node.is_removed;
}

void Lane::drop_old(Heap& heap) const {
  while (!heap.empty() && !is_current(heap.front())) {
    std::ranges::pop_heap(heap, is_less_urgent);
    heap.pop_back();
  }
}

WaitingJob Lane::take_from(Heap& heap) {
  std::ranges::pop_heap(heap, is_less_urgent);
  const Place place = heap.back().place;
  heap.pop_back();
  const WaitingJob job = nodes_[place].job;
  if (job.partition) {
    Partition& partition = partitions_.at(*job.partition);
    partition.is_busy = true;
    partition.head = nodes_[place].next;
    if (partition.head == kNowhere) partition.tail = kNowhere;
  }
  places_.erase(job.seq);
  let_go(place);
  return job;
}

std::optional<WaitingJob> Lane::take(WallTime now) {
  wake(now);
  drop_old(keyless_);
  drop_old(heads_);
  if (keyless_.empty() && heads_.empty()) return std::nullopt;
  const bool takes_head =
      keyless_.empty() || (!heads_.empty() && is_less_urgent(keyless_.front(), heads_.front()));
  return take_from(takes_head ? heads_ : keyless_);
}

std::optional<WaitingJob> Lane::give_away(WallTime now) {
  wake(now);
  drop_old(keyless_);
  if (keyless_.empty()) return std::nullopt;
  return take_from(keyless_);
}

void Lane::finish(const WaitingJob& job) {
  if (!job.partition) return;
  const auto found = partitions_.find(*job.partition);
  MUSTER_ASSERT(found != partitions_.end() && found->second.is_busy);
  found->second.is_busy = false;
  announce_head(found->second);
  if (found->second.head == kNowhere) partitions_.erase(found);
}

void Lane::retry(const WaitingJob& job) {
  const Place place = put(job);
  if (!job.partition) return announce(place);
  Partition& partition = partitions_.at(*job.partition);
  MUSTER_ASSERT(partition.is_busy);
  partition.is_busy = false;
  nodes_[place].next = partition.head;
  partition.head = place;
  if (partition.tail == kNowhere) partition.tail = place;
  announce_head(partition);
}

std::optional<WaitingJob> Lane::remove(JobSeq seq) {
  const auto found = places_.find(seq);
  if (found == places_.end()) return std::nullopt;
  const Place place = found->second;
  places_.erase(found);
  const WaitingJob job = nodes_[place].job;
  if (!job.partition) {
    let_go(place);
    return job;
  }
  Partition& partition = partitions_.at(*job.partition);
  nodes_[place].is_removed = true;  // and out of its list when it would be next
  if (partition.head == place) announce_head(partition);
  if (partition.head == kNowhere && !partition.is_busy) partitions_.erase(*job.partition);
  return job;
}

std::optional<WallTime> Lane::next_time() const {
  if (!keyless_.empty() || !heads_.empty()) return WallTime::min();
  if (later_.empty()) return std::nullopt;
  return later_.front().run_at;
}

std::vector<WaitingJob> Lane::list() const {
  std::vector<WaitingJob> jobs;
  jobs.reserve(places_.size());
  for (const auto& [seq, place] : places_) jobs.push_back(nodes_[place].job);
  return jobs;
}

}  // namespace muster
