// snapshot.hpp: all figures of a pool at one moment, as plain values.
//
// Counts are since the pool's start and never go back: subtract two snapshots to see what happened
// between them. Figures of a busy pool are read one after the other, so they may differ by what
// happened meanwhile.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/observe/histogram.hpp>
#include <muster/observe/worker_state.hpp>

namespace muster {

struct PoolSnapshot {
  struct Throughput {
    // Tasks ended per second of recent time; since the previous snapshot of this pool, or its
    // start, if that is longer ago.
    double tasks_per_second = 0;
    // Of those tasks, from being accepted to their end; 0 if none was timed.
    Duration average_latency{0};
  };

  // How tasks ended, also those of workers that have left.
  struct Tasks {
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;  // by an exception
  };

  struct Worker {
    unsigned id = 0;
    WorkerState state = WorkerState::cold;
    std::uint64_t active = 0;       // tasks it runs now
    std::uint64_t queued = 0;       // tasks that wait with it
    std::uint64_t completed = 0;    // tasks that ended
    std::uint64_t failed = 0;       // of those, by an exception
    Duration average_task_time{0};  // of recent ones; 0 before the first that was timed
    Duration last_task_time{0};     // 0 before the first that was timed
    double utilisation = 0;         // share of recent time in which it was busy, 0 to 1
    double weight = 1;              // its relative share of work, for weighted strategies
  };

  struct Queue {
    std::uint64_t size = 0;  // tasks that wait now, anywhere in the pool
    std::uint64_t enqueued = 0;
    std::uint64_t dequeued = 0;
    std::uint64_t stolen = 0;  // of those dequeued, by another worker than they waited with
  };

  struct Scaling {
    std::uint64_t ups = 0;    // times that workers were added
    std::uint64_t downs = 0;  // times that workers were removed

    // Of those, how many came last in a row; one of the two is 0.
    std::uint64_t consecutive_ups = 0;
    std::uint64_t consecutive_downs = 0;

    unsigned current = 0;  // workers now

    // So many were added; below 0: removed.
    void count(std::ptrdiff_t change) noexcept {
      if (change > 0) {
        ++ups;
        ++consecutive_ups;
        consecutive_downs = 0;
      } else if (change < 0) {
        ++downs;
        ++consecutive_downs;
        consecutive_ups = 0;
      }
    }
  };

  // Of tasks with an affinity key.
  struct Affinity {
    std::uint64_t hits = 0;      // ran where their key belongs
    std::uint64_t misses = 0;    // ran elsewhere
    std::uint64_t moves = 0;     // keys that went to another worker
    std::uint64_t sessions = 0;  // keys remembered now

    // Share of hits, 0 to 1; none before the first task with a key.
    [[nodiscard]] std::optional<double> hit_rate() const noexcept {
      if (hits + misses == 0) return std::nullopt;
      return static_cast<double>(hits) / static_cast<double>(hits + misses);
    }
  };

  // What became of tasks that met a full queue.
  struct BackPressure {
    std::uint64_t rejected = 0;
    std::uint64_t dropped_oldest = 0;
    std::uint64_t dropped_newest = 0;
    std::uint64_t blocked = 0;         // their callers had to wait
    std::uint64_t block_timeouts = 0;  // of those, in vain
    std::uint64_t caller_ran = 0;
    bool is_on = false;  // above the high watermark, and not below the low one since
  };

  // As far as tasks are timed: all, a sample, or none.
  struct Latency {
    HistogramSnapshot queue_wait;  // from being accepted to the start
    HistogramSnapshot run;         // from the start to the end
  };

  Throughput throughput;
  Tasks tasks;
  std::vector<Worker> workers;  // by id
  Queue queue;
  Scaling scaling;
  Affinity affinity;
  BackPressure back_pressure;
  Latency latency;
};

}  // namespace muster
