// job_figures.hpp: what this process counts and times of a pool's jobs, for its snapshots.
//
// Several processes that share a store count what each of them does, so that their figures add up.
//
// Thread safety: guarded by the pool's mutex.
#pragma once

#include <chrono>
#include <cstdint>

#include <muster/base/clock.hpp>
#include <muster/observe/busy_window.hpp>
#include <muster/observe/histogram.hpp>
#include <muster/observe/rates.hpp>

namespace muster {

// What counts as recent.
inline constexpr std::chrono::seconds kRecently{1};

// Of one instance.
struct InstanceFigures {
  explicit InstanceFigures(Time start) : busy(kRecently, start) {}

  void note_attempt(Time begin, Time end) noexcept {
    last = end - begin;
    average = average == Duration::zero() ? last : average + (last - average) / 8;
    busy.add({.begin = begin, .end = end});
  }

  std::uint64_t ended = 0;  // jobs: completed, cancelled or given up
  std::uint64_t dead = 0;   // of those, given up
  std::uint64_t retries = 0;
  Duration average{};  // of recent attempts
  Duration last{};
  BusyWindow busy;
};

// Of a pool.
struct JobFigures {
  explicit JobFigures(Time start) : rates(kRecently, start) {}

  struct Attempt {
    Duration waited{};  // by the wall: below 0 if the clock was set back
    Duration ran{};
    bool is_helped = false;
  };
  void note_attempt(const Attempt& attempt) noexcept {
    ++ended;
    if (attempt.is_helped) ++helped;
    waits.record(attempt.waited);
    runs.record(attempt.ran);
  }

  std::uint64_t enqueued = 0;   // jobs, but for those of a transaction of the caller's own
  std::uint64_t ended = 0;      // attempts
  std::uint64_t helped = 0;     // of those, by another instance than they waited for
  std::uint64_t completed = 0;  // jobs
  Histogram waits;              // from when an attempt was due until it began
  Histogram runs;
  mutable Rates rates;
};

}  // namespace muster
