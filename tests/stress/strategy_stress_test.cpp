// strategy_stress_test.cpp: the strategy is exchanged again and again while tasks come from several
// threads: each runs once, wherever it was placed.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/strategy.hpp>
#include <muster/thread_pool.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

// Names workers that are there, or not, or throws.
class Unreliable : public Strategy {
 public:
  explicit Unreliable(std::uint64_t seed) : random_(seed) {}
  std::string_view name() const override { return "unreliable"; }
  std::optional<Selection> select(std::span<const WorkerInfo> workers, const TaskInfo&) override {
    const std::uint64_t chosen = random_.below(workers.size() + 3);
    if (chosen == workers.size()) throw std::runtime_error("no idea");
    if (chosen == workers.size() + 1) return std::nullopt;
    return Selection{.worker = static_cast<std::size_t>(chosen)};
  }
  void on_task_complete(std::size_t, Duration) override { ++ended_; }
  void reset() override { ended_ = 0; }

 private:
  Random random_;
  std::uint64_t ended_ = 0;  // written as often as it can be, for races to be seen
};

TEST(StrategyStress, EachTaskRunsOnceWhicheverStrategiesItMeets) {
  StressRun run;
  while (run.next_round()) {
    Random& random = run.random();
    constexpr std::uint64_t kEach = 300;
    const std::uint64_t producers = 1 + random.below(3);
    ThreadPoolOptions options{.workers = static_cast<unsigned>(1 + random.below(4))};
    options.stealing.enabled = random.below(2) == 0;
    options.timing = random.below(2) == 0 ? Timing::sampled : Timing::full;
    ThreadPool pool(options);
    std::vector<std::atomic<int>> runs(producers * kEach);
    std::atomic<bool> done = false;
    std::thread changer([&, seed = random()] {
      Random own(seed);
      while (!done) {
        const std::uint64_t next = own.below(kBuiltIns.size() + 2);
        if (next < kBuiltIns.size()) {
          pool.set_strategy(kBuiltIns[next]);
        } else {
          pool.set_strategy(std::make_shared<Unreliable>(own()));
        }
      }
    });
    std::vector<std::thread> threads;
    for (std::uint64_t p = 0; p < producers; ++p) {
      threads.emplace_back([&, p] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          pool.post([&runs, &pool, n = p * kEach + i] {
            if (n % 5 == 0) pool.post([&runs, n] { ++runs[n]; });
            ++runs[n];
          });
        }
      });
    }
    for (std::thread& each : threads) each.join();
    done = true;
    changer.join();
    pool.wait_idle();
    for (std::size_t n = 0; n < runs.size(); ++n) {
      ASSERT_EQ(runs[n], n % 5 == 0 ? 2 : 1) << n;
    }
  }
}

}  // namespace
}  // namespace muster::testing
