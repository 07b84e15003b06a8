// ranked_queue_test.cpp: the shipped ranked queue under every small schedule and every allowed
// read.
#include "threads/ranked_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/sync/futex.hpp>
#include <muster/sync/plain.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr int kGiven = 100;

// The queue, what its tasks see, and those who sleep until there are some.
class Pool {
 public:
  void post(Priority priority) {
    Plain<int>& given = given_[posted_++];
    given.set(kGiven);
    queue_.push(priority, Closure([&given] {
                  require(given.get() == kGiven, "what was done before pushing is visible");
                  given.set(0);
                }));
    // Whoever is told of a task finds it.
    notices_.fetch_add(1, release);
    futex_wake_all(notices_);
  }

  // Takes one task and is never seen again.
  void work_one() {
    Closure task;
    for (;;) {
      const std::uint32_t seen = notices_.load(acquire);
      if (queue_.try_pop_urgent(task) || queue_.try_pop_idle(task)) break;
      futex_wait(notices_, seen, std::nullopt);
    }
    ++ran_;
    std::move(task)();
    require(queue_.pushed_approx() > 0, "what was popped is counted as pushed");
  }

  void expect_done() {
    require(ran_ == posted_, "every task is run once");
    require(queue_.size_approx() == 0, "nothing is left");
    require(queue_.pushed_approx() == posted_, "each is counted once");
  }

 private:
  RankedQueue queue_;
  Atomic<std::uint32_t> notices_ = 0;
  std::array<Plain<int>, 3> given_;
  std::size_t posted_ = 0;
  std::size_t ran_ = 0;
};

Scenario scenario(const std::string& name, const std::vector<std::vector<Priority>>& posters,
                  const Limits& limits = {}) {
  const auto setup = [=](Program& program) {
    auto pool = std::make_shared<Pool>();
    for (const std::vector<Priority>& priorities : posters) {
      program.thread([=] {
        for (const Priority priority : priorities) pool->post(priority);
      });
      for (std::size_t i = 0; i < priorities.size(); ++i) {
        program.thread([=] { pool->work_one(); });
      }
    }
    program.at_end([=] { pool->expect_done(); });
  };
  return {.name = name, .setup = setup, .limits = limits};
}

std::vector<Scenario> scenarios() {
  return {
      scenario("one urgent task", {{1}}),
      scenario("one idle task", {{-1}}),
      scenario("urgent and idle, 1 + 2", {{1, -1}}, {2, 1}),
      scenario("two urgent ones, 2 + 2", {{1}, {2}}, {2, 1}),
  };
}

TEST(RankedQueueModel, NobodySleepsWhileATaskWaitsAndEachIsRunOnce) {
  expect_all_hold(scenarios());
}

// There is no order but the lock's.
TEST(RankedQueueModel, EveryStoreIsNeeded) {
  expect_weakenings_caught(scenarios(), "ranked_queue.hpp");
}

}  // namespace
}  // namespace muster::explore
