// load_simulation.hpp: a pool under load, in numbers only: what a scaler does to waits and workers.
//
// Tasks arrive at random at a rate that is a function of time, take a random time, and wait in one
// queue. A free task goes to the idle worker with the lowest number, as in a pool that wakes
// whoever fell asleep last; workers leave from the end, after the task that they run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <vector>

#include <muster/base/random.hpp>
#include <muster/policy/scaling.hpp>

namespace muster::testing {

struct Load {
  // Tasks per second at a second; never more than `peak_rate`.
  std::function<double(double second)> rate;
  double peak_rate = 0;
  double seconds = 0;
  double task_seconds = 0.1;

  // Waits and changes before this second are not recorded: a pool has to find its size first.
  double begin = 0;
};

struct SimulatedRun {
  double peak_wait = 0;  // seconds, as all below
  double mean_wait = 0;
  double worker_seconds = 0;
  std::size_t most_workers = 0;
  std::size_t last_workers = 0;
  std::vector<int> changes;  // those that are not 0, in order

  // How often workers were removed after some had been added, or the other way round.
  [[nodiscard]] int reversals() const {
    int count = 0;
    for (std::size_t i = 1; i < changes.size(); ++i) {
      count += (changes[i] > 0) != (changes[i - 1] > 0) ? 1 : 0;
    }
    return count;
  }
};

class LoadSimulation {
 public:
  LoadSimulation(const ScalingOptions& options, Load load, std::uint64_t seed)
      : scaler_(options), load_(std::move(load)), random_(seed), workers_(options.min_workers) {}

  SimulatedRun run() {
    double next_arrival = arrival_after(0);
    const double check_every = std::chrono::duration<double>(scaler_.options().check_every).count();
    double next_check = check_every;
    while (true) {
      const auto first_done = std::min_element(
          workers_.begin(), workers_.end(),
          [](const Worker& a, const Worker& b) { return a.busy_until < b.busy_until; });
      now_ = std::min({next_arrival, next_check, first_done->busy_until});
      if (now_ >= load_.seconds) break;
      if (now_ == next_arrival) {
        ++arrivals_;
        waiting_.push_back(now_);
        next_arrival = arrival_after(now_);
      } else if (now_ == next_check) {
        check();
        next_check += check_every;
      } else {
        ++completions_;
        first_done->busy_until = kNever;
        first_done->idle_since = now_;
      }
      start_what_waits();
      let_go();
    }
    run_.mean_wait = total_wait_ / std::max<double>(1, static_cast<double>(started_));
    run_.last_workers = wanted_;
    return run_;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct Worker {
    double busy_until = kNever;
    double idle_since = 0;

    [[nodiscard]] bool is_idle() const { return busy_until == kNever; }
  };

  double exponential(double mean) { return -mean * std::log(1 - random_.real()); }

  // Thinning: candidates come at the peak rate, and each stays with the share of the rate there.
  double arrival_after(double time) {
    do {
      time += exponential(1 / load_.peak_rate);
    } while (time < load_.seconds && !random_.chance(load_.rate(time) / load_.peak_rate));
    return time;
  }

  void start_what_waits() {
    for (std::size_t i = 0; i < wanted_ && !waiting_.empty(); ++i) {
      if (!workers_[i].is_idle()) continue;
      const double wait = now_ - waiting_.front();
      waiting_.pop_front();
      workers_[i].busy_until = now_ + exponential(load_.task_seconds);
      if (now_ < load_.begin) continue;
      run_.peak_wait = std::max(run_.peak_wait, wait);
      total_wait_ += wait;
      ++started_;
    }
  }

  // Those beyond the wanted number leave as soon as they are idle.
  void let_go() {
    while (workers_.size() > wanted_ && workers_.back().is_idle()) workers_.pop_back();
  }

  void check() {
    ScalingInput input{
        .now = Time(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(now_))),
        .workers = wanted_,
        .queued = waiting_.size(),
        .arrivals = arrivals_,
        .completions = completions_,
        .average_task_time = std::chrono::duration_cast<Duration>(
            std::chrono::duration<double>(load_.task_seconds))};
    double longest_idle = 0;
    for (std::size_t i = 0; i < wanted_; ++i) {
      if (workers_[i].is_idle()) {
        ++input.idle;
        longest_idle = std::max(longest_idle, now_ - workers_[i].idle_since);
      } else {
        ++input.active;
      }
    }
    input.longest_idle =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(longest_idle));
    run_.worker_seconds += static_cast<double>(wanted_);

    const int change = scaler_.decide(input).change;
    if (change == 0) return;
    if (now_ >= load_.begin) run_.changes.push_back(change);
    wanted_ = static_cast<std::size_t>(static_cast<int>(wanted_) + change);
    run_.most_workers = std::max(run_.most_workers, wanted_);
    while (workers_.size() < wanted_) workers_.push_back({.idle_since = now_});
  }

  Scaler scaler_;
  Load load_;
  Random random_;
  double now_ = 0;
  std::deque<double> waiting_;  // since when
  std::vector<Worker> workers_;
  std::size_t wanted_ = workers_.size();
  std::uint64_t arrivals_ = 0;
  std::uint64_t completions_ = 0;
  std::uint64_t started_ = 0;
  double total_wait_ = 0;
  SimulatedRun run_;
};

}  // namespace muster::testing
