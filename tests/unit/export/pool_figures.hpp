// pool_figures.hpp: a snapshot in which every figure is another number, so that none is mistaken
// for another.
#pragma once

#include <chrono>
#include <memory>

#include <muster/observe/histogram.hpp>
#include <muster/observe/snapshot.hpp>

namespace muster {

inline PoolSnapshot pool_figures() {
  using namespace std::chrono_literals;
  const auto waits = std::make_unique<Histogram>();
  const auto runs = std::make_unique<Histogram>();
  waits->record(100ns, 3);
  waits->record(2s);
  runs->record(700us, 2);
  runs->record(20ms, 5);
  runs->record(10s);
  PoolSnapshot snapshot;
  snapshot.tasks = {.succeeded = 1001, .failed = 1002};
  snapshot.workers = {
      {.id = 0,
       .state = WorkerState::busy,
       .active = 1,
       .queued = 11,
       .completed = 12,
       .failed = 13,
       .utilisation = 0.25,
       .weight = 1.5},
      {.id = 4, .state = WorkerState::ready, .queued = 21, .completed = 22, .utilisation = 0.75}};
  snapshot.queue = {.size = 31, .enqueued = 32, .dequeued = 33, .stolen = 34};
  snapshot.scaling = {.ups = 41, .downs = 42, .current = 2};
  snapshot.affinity = {.hits = 51, .misses = 52, .moves = 53, .sessions = 54};
  snapshot.back_pressure = {.rejected = 61,
                            .dropped_oldest = 62,
                            .dropped_newest = 63,
                            .blocked = 64,
                            .block_timeouts = 65,
                            .caller_ran = 66,
                            .is_on = true};
  snapshot.latency = {.queue_wait = waits->snapshot(), .run = runs->snapshot()};
  return snapshot;
}

}  // namespace muster
