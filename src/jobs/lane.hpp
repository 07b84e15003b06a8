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
//       sleep_until(lane.next_time());
//     }
//
// Holds some 200 bytes a job; what a job is about stays in the store.
//
// Thread safety: none. Pure: no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/jobs/job.hpp>

#include "jobs/routing.hpp"

namespace muster {

// A job that waits.
struct WaitingJob {
  JobSeq seq = 0;
  std::optional<PartitionHash> partition = {};
  WallTime run_at{};  // not before that
  std::int16_t priority = 0;
  std::uint16_t attempts = 0;  // that have failed

  bool operator==(const WaitingJob&) const = default;
};

class Lane {
 public:
  // Behind all of its partition. Requires: no job of this seq waits here.
  void add(const WaitingJob& job);

  // The next job whose time has come. Its partition waits until finish() or retry().
  [[nodiscard]] std::optional<WaitingJob> take(WallTime now);

  // What was taken has ended for good.
  void finish(const WaitingJob& job);

  // What was taken waits again as it is given here, in front of its partition.
  void retry(const WaitingJob& job);

  // It waits no longer; what it was. Nothing: it does not wait here.
  std::optional<WaitingJob> remove(JobSeq seq);

  // The next job without a partition, for another lane that has nothing to do.
  [[nodiscard]] std::optional<WaitingJob> give_away(WallTime now);

  // When take() may find something, if it finds nothing now and none is added or ends.
  [[nodiscard]] std::optional<WallTime> next_time() const;

  // Jobs that wait, for their time or their turn.
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

  // All that wait, in no order.
  [[nodiscard]] std::vector<WaitingJob> list() const;

 private:
  using Place = std::uint32_t;  // in nodes_
  static constexpr Place kNowhere = UINT32_MAX;

  struct Node {
    WaitingJob job;         // seq 0: unused
    Place next = kNowhere;  // of its partition
    bool is_removed = false;
  };
  struct Partition {
    Place head = kNowhere;
    Place tail = kNowhere;
    bool is_busy = false;  // one of its jobs is being run
  };

  // What may be next: a job without a partition, or the head of one. Old ones are passed by when
  // they come up: what stands at their place is another job then.
  struct Candidate {
    WallTime run_at{};
    JobSeq seq = 0;
    Place place = kNowhere;
    std::int16_t priority = 0;
  };
  using Heap = std::vector<Candidate>;
  static bool is_later(const Candidate& left, const Candidate& right) noexcept;
  static bool is_less_urgent(const Candidate& left, const Candidate& right) noexcept;

  [[nodiscard]] Place put(const WaitingJob& job);
  void let_go(Place place);
  void announce(Place place);
  void announce_head(Partition& partition);
  void wake(WallTime now);
  [[nodiscard]] bool is_current(const Candidate& candidate) const;
  void drop_old(Heap& heap) const;
  [[nodiscard]] WaitingJob take_from(Heap& heap);

  std::vector<Node> nodes_;
  std::vector<Place> unused_;
  Heap keyless_;  // whose time has come, without a partition
  Heap heads_;    // of partitions, whose time has come
  Heap later_;    // of both, whose time has not
  std::unordered_map<PartitionHash, Partition> partitions_;  // those that wait or are busy
  std::unordered_map<JobSeq, Place> places_;
};

}  // namespace muster
