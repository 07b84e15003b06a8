// stress_run.hpp: how long a stress test runs, what its choices come from, and when it gives up.
//
//     StressRun run;
//     while (run.next_round()) play(run.random());
//
// A run lasts MUSTER_STRESS_SECONDS, or by default two seconds and at most kMostRounds rounds; it
// has at least one round and ends with the first that fails. Its seed is MUSTER_SEED or a new one,
// and is printed: the same seed makes the same choices, though not the same timing.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/backoff.hpp>

#include "stress/shaken_atomic.hpp"

namespace muster::testing {

class StressRun {
 public:
  static constexpr std::uint64_t kMostRounds = 1'000'000;

  StressRun() : seed_(number_from("MUSTER_SEED").value_or(std::random_device{}())), random_(seed_) {
    const auto seconds = number_from("MUSTER_STRESS_SECONDS");
    deadline_ = real_clock().now() + std::chrono::seconds(seconds.value_or(2));
    if (!seconds) most_rounds_ = kMostRounds;
    std::cout << "seed " << seed_ << " (MUSTER_SEED repeats it)" << std::endl;
  }
  ~StressRun() { std::cout << rounds_ << " rounds" << std::endl; }
  StressRun(const StressRun&) = delete;
  StressRun& operator=(const StressRun&) = delete;

  [[nodiscard]] bool next_round() {
    if (rounds_ > 0) {
      if (::testing::Test::HasFailure() || rounds_ == most_rounds_) return false;
      if (real_clock().now() >= deadline_) return false;
    }
    ++rounds_;
    return true;
  }

  Random& random() { return random_; }

 private:
  static std::optional<std::uint64_t> number_from(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    return std::stoull(text);
  }

  const std::uint64_t seed_;
  Random random_;
  Time deadline_;
  std::optional<std::uint64_t> most_rounds_;
  std::uint64_t rounds_ = 0;
};

// Waiting for another thread, though not for ever: what loses an item must fail and not hang.
class Patience {
 public:
  // Far beyond what anybody waits on a busy machine under a sanitizer.
  static constexpr std::chrono::seconds kLongest{15};

  // Between two tries in vain. False if it is time to give up.
  [[nodiscard]] bool pause() {
    backoff_.pause();
    if (!backoff_.exhausted()) return true;
    const Time now = real_clock().now();
    if (give_up_at_ == Time{}) give_up_at_ = now + kLongest;
    return now < give_up_at_;
  }

  // After a try that was not in vain.
  void reset() {
    backoff_.reset();
    give_up_at_ = Time{};
  }

 private:
  Backoff backoff_;
  Time give_up_at_{};  // the epoch: not decided yet, since asking for the time takes long
};

// The threads of one round; joined at the end of its scope. Either all of them run calmly, or all
// are shaken.
class Threads {
 public:
  explicit Threads(Random& random) : random_(random.split()) {
    constexpr std::array<std::uint32_t, 4> kOneIn = {0, 3, 10, 100};
    shaken_one_in_ = kOneIn.at(random_.below(kOneIn.size()));
  }
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // `body` gets random numbers of its own.
  template <class Body>
  void start(Body body) {
    threads_.emplace_back([body, one_in = shaken_one_in_, random = random_.split()]() mutable {
      this_threads_shaker.start(one_in, static_cast<std::uint32_t>(random()));
      body(random);
    });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Random random_;
  std::uint32_t shaken_one_in_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace muster::testing
