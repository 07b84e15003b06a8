// rounds_test.cpp: the shipped rounds under every small schedule and every allowed read.
#include "sync/rounds.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr std::size_t kMost = 3;

// Answers are relaxed: what makes them seen is is_done alone.
struct Asked {
  Atomic<int> answer = 0;
  Atomic<bool> is_done = false;
};

struct Crew {
  Rounds rounds;
  std::array<Asked, kMost> asked;

  void await(std::size_t who, std::uint32_t round) {
    rounds.await(round, asked[who].is_done);
    require(asked[who].answer.load(relaxed) == 1, "who goes on has its answer");
  }
  void end(std::uint32_t round, const std::vector<std::size_t>& those) {
    for (const std::size_t who : those) {
      asked[who].answer.store(1, relaxed);
      asked[who].is_done.store(true, release);  // sync(round-done): pairs with await()
    }
    rounds.end(round);
  }
};

// Who waits for ever is a deadlock, which the explorer reports.
Scenario scenario(const std::string& name, const std::vector<std::function<void(Crew&)>>& threads) {
  return {.name = name, .setup = [=](Program& program) {
            auto crew = std::make_shared<Crew>();
            for (const auto& body : threads) program.thread([=] { body(*crew); });
          }};
}

std::vector<Scenario> scenarios() {
  const auto waits = [](std::size_t who, std::uint32_t round) {
    return [=](Crew& c) { c.await(who, round); };
  };
  return {
      scenario("two of one round", {[](Crew& c) { c.end(1, {0, 1}); }, waits(0, 1), waits(1, 1)}),
      scenario("one of each of two rounds",
               {[](Crew& c) { c.end(1, {0}), c.end(2, {1}); }, waits(0, 1), waits(1, 2)}),
      scenario("one is left out once",
               {[](Crew& c) { c.end(1, {0}), c.end(2, {1}); }, waits(0, 1), waits(1, 1)}),
      scenario("one is left out twice",
               {[](Crew& c) { c.end(1, {}), c.end(2, {}), c.end(3, {0}); }, waits(0, 1)}),
  };
}

TEST(RoundsModel, NobodySleepsForEver) {
  expect_all_hold(scenarios());
}

TEST(RoundsModel, EveryOrderIsNeeded) {
  expect_weakenings_caught(scenarios(), "rounds.hpp", {});
}

}  // namespace
}  // namespace muster::explore
