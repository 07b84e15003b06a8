// lane.hpp: the jobs that wait for one instance, and which of them is next.
//
// Jobs of one partition are taken in the order they were added, and the next one not before the
// last has ended, whatever becomes of it: while a head waits for its time, so does its partition,
// and nobody else. Between partitions and jobs without one the priority of what is at the head
// decides, then age.
//
//     lane.add({.seq = 7, .partition = partition_hash("cust-7")});
//     if (const auto job = lane.take(now)) {
//       lane.finish(*job);                          // or lane.retry(*job)
//     } else {
//       sleep_until(lane.next_delayed());
//     }
//
// Holds some 200 bytes a job; what a job is about stays in the store.
//
// Thread safety: none. Pure: no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/jobs/job.hpp>
#include <muster/jobs/job_pool_config.hpp>

#include "jobs/routing.hpp"
#include "jobs/run_heap.hpp"
#include "jobs/seq_index.hpp"

namespace muster {

// A job that waits.
struct WaitingJob {
  JobSeq seq = 0;
  std::optional<PartitionHash> partition = {};
  WallTime run_at{};  // not before that
  WallTime due{};     // when it might have begun first, had somebody been free and no limit
  std::int16_t priority = 0;
  std::uint16_t attempts = 0;  // that have failed
  bool is_put_off = false;     // until run_at by a limit or the store: it is due
  std::uint64_t version = 0;   // as its record says

  bool operator==(const WaitingJob&) const = default;
};

class Lane {
 public:
  explicit Lane(PartitionOrder order = PartitionOrder::enqueued) : order_(order) {}

  // Behind all of its partition; or, by priority, behind those that are not less urgent. Requires:
  // no job of this seq waits here.
  void add(const WaitingJob& job);

  // The next job whose time has come. Its partition waits until finish() or retry().
  [[nodiscard]] std::optional<WaitingJob> take(WallTime now);

  // What was taken has ended for good.
  void finish(const WaitingJob& job);

  // What was taken waits again as it is given here, in front of its partition.
  void retry(const WaitingJob& job);

  // A partition waits, whatever is in it: this job of it, which was taken or never was here, is a
  // dead letter. There may be several.
  void block(PartitionHash partition, JobSeq dead);
  [[nodiscard]] bool is_blocked_by(PartitionHash partition, JobSeq dead) const;
  [[nodiscard]] std::vector<std::pair<PartitionHash, JobSeq>> blocked() const;  // by each

  // This one does not block it any more; when none does, it goes on. `replayed`: that very job, in
  // front, behind others that are replayed and older. If it did not block: that is added.
  void unblock(PartitionHash partition, JobSeq dead, const std::optional<WaitingJob>& replayed);

  // Retries, and what was put off, wait so much longer, or shorter: somebody has set the clock.
  void shift_pauses(Duration by);

  // A partition that has more than half of all jobs here, if one was seen to when a job was added.
  struct Crowd {
    JobSeq head = 0;
    std::size_t jobs = 0;
  };
  [[nodiscard]] std::optional<Crowd> crowd() const;

  // It waits no longer; what it was. Nothing: it does not wait here.
  std::optional<WaitingJob> remove(JobSeq seq);

  // It keeps its place and is not taken, nor is what stands behind it in its partition, until
  // release() or remove(); what it is. Nothing: it does not wait here, or is held already.
  std::optional<WaitingJob> hold(JobSeq seq);
  void release(JobSeq seq);

  // The next job without a partition, for another lane that has nothing to do.
  [[nodiscard]] std::optional<WaitingJob> give_away(WallTime now);
  [[nodiscard]] bool has_to_give(WallTime now);

  // When the next of those may be due whose time had not come when take() or has_to_give() last
  // looked, or that were added since.
  [[nodiscard]] std::optional<WallTime> next_delayed() const;

  // Whether there are jobs that wait for nothing but their turn, or were put off.
  [[nodiscard]] bool has_due(WallTime now);

  // Jobs that wait, for their time or their turn.
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

  // About the next ones, as long as nothing changes.
  [[nodiscard]] std::vector<JobSeq> upcoming(std::size_t most) const;

  [[nodiscard]] bool contains(JobSeq seq) const { return places_.find(seq) != kNowhere; }

  // All that wait, in no order.
  [[nodiscard]] std::vector<WaitingJob> list() const;

 private:
  using Place = SeqIndex::Place;  // in nodes_
  static constexpr Place kNowhere = SeqIndex::kNowhere;

  struct Node {
    WaitingJob job;         // seq 0: unused
    Place next = kNowhere;  // of its partition
    bool is_removed = false;
    bool is_again = false;  // stays in front of its partition
    bool is_held = false;
  };
  struct Partition {
    Place head = kNowhere;
    Place tail = kNowhere;
    bool is_busy = false;  // one of its jobs is being run
    std::uint32_t jobs = 0;
    std::vector<JobSeq> blocked_by;
    std::unique_ptr<std::map<int, Place, std::greater<>>> last;  // of each priority, if it decides
  };

  // What may be next: a job without a partition, or the head of one. Old ones are passed by when
  // they come up: what stands at their place is another job then.
  struct Candidate {
    WallTime run_at{};
    JobSeq seq = 0;
    Place place = kNowhere;
    std::int16_t priority = 0;
  };
  struct IsSooner {
    bool operator()(const Candidate& left, const Candidate& right) const noexcept {
      return left.run_at != right.run_at ? left.run_at < right.run_at : left.seq < right.seq;
    }
  };
  struct IsMoreUrgent {
    bool operator()(const Candidate& left, const Candidate& right) const noexcept {
      return left.priority != right.priority ? left.priority > right.priority
                                             : left.seq < right.seq;
    }
  };
  using Ready = RunHeap<Candidate, IsMoreUrgent>;

  [[nodiscard]] Place put(const WaitingJob& job);
  void let_go(Place place);
  void announce(Place place);
  void announce_head(Partition& partition);
  void wake(WallTime now);
  [[nodiscard]] bool is_current(const Candidate& candidate) const;
  void drop_old(Ready& ready) const;
  [[nodiscard]] WaitingJob take_from(Ready& ready);
  void insert_by_priority(Partition& partition, Place place);
  [[nodiscard]] Place last_in_front(const Partition& partition, JobSeq seq) const;
  void insert_behind(Partition& partition, Place before, Place place);
  void insert_in_front(Partition& partition, Place place);
  void leave_list(Partition& partition, Place place);
  void forget_if_over(PartitionHash key);

  PartitionOrder order_;
  std::size_t put_off_ = 0;
  PartitionHash largest_ = 0;  // or another, if none has more than half
  std::vector<Node> nodes_;
  std::vector<Place> unused_;
  Ready keyless_;                       // whose time has come, without a partition
  Ready heads_;                         // of partitions, whose time has come
  RunHeap<Candidate, IsSooner> later_;  // of both, whose time has not
  std::unordered_map<PartitionHash, Partition> partitions_;  // those that wait or are busy
  SeqIndex places_;
};

}  // namespace muster
