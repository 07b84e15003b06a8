// lane.cpp: partitions are lists of nodes; heaps say which node may be next.
#include "jobs/lane.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <muster/base/assert.hpp>

namespace muster {

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
  put_off_ += job.is_put_off ? 1 : 0;
  const bool is_new = places_.add(job.seq, place);
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
  later_.push({.run_at = job.run_at, .seq = job.seq, .place = place, .priority = job.priority});
}

// The first that was not removed, unless one is being run.
void Lane::announce_head(Partition& partition) {
  while (partition.head != kNowhere && nodes_[partition.head].is_removed) {
    const Place gone = partition.head;
    leave_list(partition, gone);
    let_go(gone);
  }
  if (partition.head == kNowhere) {
    partition.tail = kNowhere;
  } else if (!partition.is_busy && partition.blocked_by.empty()) {
    announce(partition.head);
  }
}

void Lane::add(const WaitingJob& job) {
  const Place place = put(job);
  if (!job.partition) return announce(place);
  Partition& partition = partitions_[*job.partition];
  ++partition.jobs;
  if (2 * std::size_t{partition.jobs} > size()) largest_ = *job.partition;
  if (order_ == PartitionOrder::priority) return insert_by_priority(partition, place);
  if (partition.head == kNowhere) {
    partition.head = partition.tail = place;
    announce_head(partition);
  } else {
    nodes_[partition.tail].next = place;
    partition.tail = place;
  }
}

// Behind the last of those that are not less urgent. A new head is announced; the old one is passed
// by when it comes up, since it is not the head of its partition any more.
void Lane::insert_by_priority(Partition& partition, Place place) {
  if (!partition.last) partition.last = std::make_unique<std::map<int, Place, std::greater<>>>();
  std::map<int, Place, std::greater<>>& last = *partition.last;
  const int priority = nodes_[place].job.priority;
  const auto less_urgent = last.upper_bound(priority);
  Place before = kNowhere;
  if (less_urgent != last.begin()) {
    before = std::prev(less_urgent)->second;
  } else {
    before = last_in_front(partition, std::numeric_limits<JobSeq>::max());
  }
  insert_behind(partition, before, place);
  if (partition.head == place) announce_head(partition);
  last[priority] = place;
}

// kNowhere: in front of all.
void Lane::insert_behind(Partition& partition, Place before, Place place) {
  Place& link = before == kNowhere ? partition.head : nodes_[before].next;
  nodes_[place].next = std::exchange(link, place);
  if (partition.tail == before) partition.tail = place;
}

// The head of the list.
void Lane::leave_list(Partition& partition, Place place) {
  partition.head = nodes_[place].next;
  if (partition.head == kNowhere) partition.tail = kNowhere;
  if (!partition.last) return;
  const auto last = partition.last->find(nodes_[place].job.priority);
  if (last != partition.last->end() && last->second == place) partition.last->erase(last);
}

void Lane::wake(WallTime now) {
  while (!later_.empty() && later_.front().run_at <= now) {
    const Candidate candidate = later_.front();
    later_.pop();
    if (!is_current(candidate)) continue;
    (nodes_[candidate.place].job.partition ? heads_ : keyless_).push(candidate);
  }
}

// A job that was shifted in time stands elsewhere, too.
bool Lane::is_current(const Candidate& candidate) const {
  const Node& node = nodes_[candidate.place];
  if (node.job.seq != candidate.seq || node.is_removed || node.is_held) return false;
  if (node.job.run_at != candidate.run_at) return false;
  if (!node.job.partition) return true;
  const Partition& partition = partitions_.at(*node.job.partition);
  return partition.head == candidate.place && !partition.is_busy && partition.blocked_by.empty();
}

void Lane::drop_old(Ready& ready) const {
  while (!ready.empty() && !is_current(ready.front())) ready.pop();
}

WaitingJob Lane::take_from(Ready& ready) {
  const Place place = ready.front().place;
  ready.pop();
  WaitingJob job = nodes_[place].job;
  if (std::exchange(job.is_put_off, false)) --put_off_;
  if (job.partition) {
    Partition& partition = partitions_.at(*job.partition);
    partition.is_busy = true;
    --partition.jobs;
    leave_list(partition, place);
  }
  (void)places_.remove(job.seq);
  let_go(place);
  return job;
}

std::optional<WaitingJob> Lane::take(WallTime now) {
  wake(now);
  drop_old(keyless_);
  drop_old(heads_);
  if (keyless_.empty() && heads_.empty()) return std::nullopt;
  const bool takes_head =
      keyless_.empty() || (!heads_.empty() && IsMoreUrgent()(heads_.front(), keyless_.front()));
  return take_from(takes_head ? heads_ : keyless_);
}

bool Lane::has_due(WallTime now) {
  wake(now);
  drop_old(keyless_);
  drop_old(heads_);
  return put_off_ > 0 || !keyless_.empty() || !heads_.empty();
}

bool Lane::has_to_give(WallTime now) {
  wake(now);
  drop_old(keyless_);
  return !keyless_.empty();
}

std::optional<WaitingJob> Lane::give_away(WallTime now) {
  if (!has_to_give(now)) return std::nullopt;
  return take_from(keyless_);
}

void Lane::finish(const WaitingJob& job) {
  if (!job.partition) return;
  const auto found = partitions_.find(*job.partition);
  MUSTER_ASSERT(found != partitions_.end() && found->second.is_busy);
  found->second.is_busy = false;
  announce_head(found->second);
  forget_if_over(*job.partition);
}

void Lane::forget_if_over(PartitionHash key) {
  const auto found = partitions_.find(key);
  if (found == partitions_.end()) return;
  const Partition& partition = found->second;
  const bool is_over =
      partition.head == kNowhere && !partition.is_busy && partition.blocked_by.empty();
  if (is_over) partitions_.erase(found);
}

void Lane::block(PartitionHash partition, JobSeq dead) {
  Partition& blocked = partitions_[partition];
  blocked.is_busy = false;
  if (!is_blocked_by(partition, dead)) blocked.blocked_by.push_back(dead);
}

bool Lane::is_blocked_by(PartitionHash partition, JobSeq dead) const {
  const auto found = partitions_.find(partition);
  return found != partitions_.end() &&
         std::ranges::find(found->second.blocked_by, dead) != found->second.blocked_by.end();
}

std::vector<std::pair<PartitionHash, JobSeq>> Lane::blocked() const {
  std::vector<std::pair<PartitionHash, JobSeq>> all;
  for (const auto& [key, partition] : partitions_) {
    for (const JobSeq dead : partition.blocked_by) all.emplace_back(key, dead);
  }
  return all;
}

void Lane::unblock(PartitionHash partition, JobSeq dead,
                   const std::optional<WaitingJob>& replayed) {
  Partition& blocked = partitions_[partition];
  if (std::erase(blocked.blocked_by, dead) == 0) {
    forget_if_over(partition);
    if (replayed) add(*replayed);
    return;
  }
  if (replayed) insert_in_front(blocked, put(*replayed));
  announce_head(blocked);
  forget_if_over(partition);
}

void Lane::shift_pauses(Duration by) {
  places_.for_each([&](Place place) {
    WaitingJob& job = nodes_[place].job;
    if (job.attempts == 0 && !job.is_put_off) return;
    job.run_at += std::chrono::duration_cast<WallTime::duration>(by);
    job.due += std::chrono::duration_cast<WallTime::duration>(by);
    if (!job.partition) {
      announce(place);
    } else if (partitions_.at(*job.partition).head == place) {
      announce_head(partitions_.at(*job.partition));
    }
  });
}

std::optional<Lane::Crowd> Lane::crowd() const {
  const auto found = partitions_.find(largest_);
  if (found == partitions_.end() || found->second.head == kNowhere) return std::nullopt;
  const Partition& partition = found->second;
  if (2 * std::size_t{partition.jobs} <= size()) return std::nullopt;
  return Crowd{.head = nodes_[partition.head].job.seq, .jobs = partition.jobs};
}

void Lane::retry(const WaitingJob& job) {
  const Place place = put(job);
  if (!job.partition) return announce(place);
  Partition& partition = partitions_.at(*job.partition);
  MUSTER_ASSERT(partition.is_busy);
  partition.is_busy = false;
  insert_in_front(partition, place);
  announce_head(partition);
}

// Of those that stay in front, the last that is older; kNowhere: there is none.
Lane::Place Lane::last_in_front(const Partition& partition, JobSeq seq) const {
  Place last = kNowhere;
  for (Place place = partition.head; place != kNowhere; place = nodes_[place].next) {
    if (!nodes_[place].is_again || nodes_[place].job.seq > seq) break;
    last = place;
  }
  return last;
}

void Lane::insert_in_front(Partition& partition, Place place) {
  ++partition.jobs;
  nodes_[place].is_again = true;
  insert_behind(partition, last_in_front(partition, nodes_[place].job.seq), place);
}

std::optional<WaitingJob> Lane::remove(JobSeq seq) {
  const Place place = places_.remove(seq);
  if (place == kNowhere) return std::nullopt;
  WaitingJob job = nodes_[place].job;
  if (std::exchange(job.is_put_off, false)) --put_off_;
  if (!job.partition) {
    let_go(place);
    return job;
  }
  Partition& partition = partitions_.at(*job.partition);
  --partition.jobs;
  nodes_[place].is_removed = true;  // and out of its list when it would be next
  if (partition.head == place) announce_head(partition);
  forget_if_over(*job.partition);
  return job;
}

std::optional<WaitingJob> Lane::hold(JobSeq seq) {
  const Place place = places_.find(seq);
  if (place == kNowhere || std::exchange(nodes_[place].is_held, true)) return std::nullopt;
  return nodes_[place].job;
}

// It may have been passed by meanwhile, or become the head.
void Lane::release(JobSeq seq) {
  Node& node = nodes_[places_.find(seq)];
  MUSTER_ASSERT(node.is_held, seq);
  node.is_held = false;
  if (node.job.partition) {
    announce_head(partitions_.at(*node.job.partition));
  } else {
    announce(places_.find(seq));
  }
}

std::optional<WallTime> Lane::next_delayed() const {
  if (later_.empty()) return std::nullopt;
  return later_.front().run_at;
}

// Heads come before what stands behind them.
std::vector<JobSeq> Lane::upcoming(std::size_t most) const {
  std::vector<JobSeq> seqs;
  const auto add = [&](const Candidate& candidate) {
    if (is_current(candidate)) seqs.push_back(candidate.seq);
    return seqs.size() < most;
  };
  const auto add_followers = [&](const Candidate& head) {
    if (!is_current(head)) return true;
    Place place = nodes_[head.place].next;
    for (; place != kNowhere && seqs.size() < most; place = nodes_[place].next) {
      if (!nodes_[place].is_removed) seqs.push_back(nodes_[place].job.seq);
    }
    return seqs.size() < most;
  };
  heads_.for_each(add);
  keyless_.for_each(add);
  if (seqs.size() < most) heads_.for_each(add_followers);
  if (seqs.size() < most) later_.for_each(add);
  return seqs;
}

std::vector<WaitingJob> Lane::list() const {
  std::vector<WaitingJob> jobs;
  jobs.reserve(places_.size());
  places_.for_each([&](Place place) { jobs.push_back(nodes_[place].job); });
  return jobs;
}

}  // namespace muster
