// node_pool.hpp: what a node knows of a pool and its instances.
//
// Thread safety: as the members are grouped.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/node.hpp"

namespace muster {

// One of a pool's lanes, and who runs it. Guarded by its pool's mutex.
struct JobInstance {
  std::uint32_t index = 0;
  std::uint32_t runner = 0;  // its number for the store
  Lane lane;
  bool is_paused = false;
  bool is_awake = false;  // a task of the workers sees to it
  bool was_busy = false;  // since it was last empty
  std::uint64_t processed = 0;
  std::size_t unsettled = 0;           // have ended, and the store does not know yet
  std::optional<WallTime> alarm = {};  // when it will be woken

  // The job at hand.
  JobSeq running = 0;  // 0: none
  std::string running_id = {};
  WallTime started_at{};
  std::stop_source cancelling;
  JobProgress progress = {};
};

// What on_dead_letter will be told when the store has it.
struct DeadNews {
  std::string event;
  JobError error;
  DeadLetterInfo info;
};

class JobPoolState {
 public:
  JobPoolState(std::string pool_name, JobPoolSetup pool_setup)
      : name(std::move(pool_name)), setup(std::move(pool_setup)) {}

  // Fixed when it was defined.
  const std::string name;
  const JobPoolSetup setup;

  // Written once, when it was opened.
  PoolNumber number = 0;

  // Guarded by mutex.
  mutable Mutex mutex;
  ConditionVariable changed;  // something has ended, or was settled, paused, resumed
  std::deque<JobInstance> instances MUSTER_GUARDED_BY(mutex);
  bool is_started MUSTER_GUARDED_BY(mutex) = false;
  bool is_paused MUSTER_GUARDED_BY(mutex) = false;
  std::uint32_t turn MUSTER_GUARDED_BY(mutex) = 0;           // whose is the next job without a key
  std::map<JobSeq, DeadNews> news MUSTER_GUARDED_BY(mutex);  // not in the store yet
  std::vector<DeadNews> untold MUSTER_GUARDED_BY(mutex);     // before start()
  std::uint64_t dead MUSTER_GUARDED_BY(mutex) = 0;
  std::uint64_t retries MUSTER_GUARDED_BY(mutex) = 0;
  Random random MUSTER_GUARDED_BY(mutex){0};

  [[nodiscard]] std::string instance_id(std::uint32_t index) const {
    return name + ":" + std::to_string(index);
  }
};

// A job that an instance has begun.
struct JobNode::Taken {
  WaitingJob job = {};
  std::uint32_t index = 0;
  std::uint32_t home = 0;  // whose lane it came from
  std::uint32_t runner = 0;
  std::stop_token stop = {};
  WallTime started_at{};
  JobBody body = {};
  Transition after = {};  // when it has ended
};

}  // namespace muster
