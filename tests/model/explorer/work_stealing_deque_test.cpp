// work_stealing_deque_test.cpp: the shipped deque under every small schedule and every allowed
// read.
#include <array>
#include <memory>

#include <gtest/gtest.h>

#include <muster/queues/work_stealing_deque.hpp>
#include <muster/sync/plain.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

// A deque of task numbers, what each task carries, and who has taken it.
struct Ledger {
  static constexpr int kTasks = 8;

  WorkStealingDeque<int> deque{2};
  std::array<Plain<int>, kTasks> payload;
  std::array<int, kTasks> taken{};
  int pushed = 0;

  void push(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const auto task = static_cast<std::size_t>(pushed);
      payload[task].set(100 + pushed);
      deque.owner().push(pushed++);
    }
  }
  void take(int task) {
    require(task >= 0 && task < pushed, "a task that was pushed");
    const auto index = static_cast<std::size_t>(task);
    require(payload[index].get() == 100 + task, "what was done before the push is visible");
    require(++taken[index] == 1, "no task is taken twice");
  }
  void pop(int count = 1) {
    for (int i = 0; i < count; ++i) {
      if (const auto task = deque.owner().pop()) take(*task);
    }
  }
  void steal(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const Steal<int> loot = deque.thief().steal();
      if (loot.outcome == StealOutcome::taken) take(loot.item);
    }
  }
  void steal_half() {
    std::array<int, 4> out{};
    const StealBatch batch = deque.thief().steal_half(out);
    for (std::size_t i = 0; i < batch.count; ++i) take(out[i]);
  }
  void expect_exact() {
    steal(pushed);  // what is left can be stolen
    for (int i = 0; i < pushed; ++i) {
      require(taken[static_cast<std::size_t>(i)] == 1, "every task is taken exactly once");
    }
    require(deque.thief().steal().outcome == StealOutcome::empty, "nothing is left");
    require(!deque.owner().pop(), "nothing is left for the owner");
  }
};

using Body = void (*)(Ledger&);

// The deque starts with `filled` tasks; owner and thieves run; then the rest is stolen and all is
// accounted for.
Scenario scenario(const std::string& name, int filled, Body owner,
                  const std::vector<Body>& thieves) {
  return {.name = name, .setup = [=](Program& program) {
            auto ledger = std::make_shared<Ledger>();
            ledger->push(filled);
            program.thread([=] { owner(*ledger); });
            for (const Body thief : thieves) program.thread([=] { thief(*ledger); });
            program.at_end([=] { ledger->expect_exact(); });
          }};
}

const Body kSteal = [](Ledger& l) { l.steal(); };
const Body kStealTwice = [](Ledger& l) { l.steal(2); };
const Body kStealHalf = [](Ledger& l) { l.steal_half(); };

std::vector<Scenario> scenarios() {
  return {
      scenario("last task, 1 + 3", 1, [](Ledger& l) { l.pop(); }, {kSteal, kSteal, kSteal}),
      scenario("two tasks, 1 + 3", 2, [](Ledger& l) { l.pop(2); }, {kSteal, kSteal, kSteal}),
      scenario("three tasks, 1 + 2", 3, [](Ledger& l) { l.pop(3); }, {kSteal, kSteal}),
      scenario("push and pop, 1 + 2", 0, [](Ledger& l) { l.push(2), l.pop(); },
               {kSteal, kStealTwice}),
      scenario("pop of nothing, 1 + 2", 0, [](Ledger& l) { l.pop(), l.push(), l.pop(2), l.push(); },
               {kSteal, kSteal}),
      scenario("growth, 1 + 2", 2, [](Ledger& l) { l.push(), l.pop(); }, {kSteal, kStealTwice}),
      scenario("two laps, 1 + 2", 2, [](Ledger& l) { l.pop(), l.push(3); }, {kSteal, kStealTwice}),
      scenario("half, 1 + 2", 2, [](Ledger& l) { l.push(), l.pop(2); }, {kStealHalf, kSteal}),
  };
}

// Two deques, each with its owner, and two thieves that try both.
Scenario two_owners() {
  return {.name = "two deques, 2 + 2", .setup = [](Program& program) {
            auto a = std::make_shared<Ledger>();
            auto b = std::make_shared<Ledger>();
            a->push(1), b->push(1);
            program.thread([=] { a->pop(); });
            program.thread([=] { b->push(), b->pop(); });
            program.thread([=] { a->steal(), b->steal(); });
            program.thread([=] { b->steal(), a->steal(); });
            program.at_end([=] { a->expect_exact(), b->expect_exact(); });
          }};
}

// From task 2 on the owner has changed its mind. Task 2 takes the place that task 1 had.
Scenario asked_first() {
  return {.name = "a thief that asks, 1 + 2", .setup = [](Program& program) {
            auto ledger = std::make_shared<Ledger>();
            auto forbidden = std::make_shared<Atomic<int>>(0);
            ledger->push(2);
            program.thread([=] {
              ledger->pop();
              forbidden->store(1, relaxed);  // whoever sees task 2 sees this
              ledger->push();
            });
            program.thread([=] { ledger->steal(); });
            program.thread([=] {
              const Steal<int> loot =
                  ledger->deque.thief().steal_if([&] { return forbidden->load(relaxed) == 0; });
              if (loot.outcome != StealOutcome::taken) return;
              require(loot.item < 2, "what was pushed after the answer changed is not taken");
              ledger->take(loot.item);
            });
            program.at_end([=] { ledger->expect_exact(); });
          }};
}

TEST(WorkStealingDequeModel, EveryTaskIsTakenExactlyOnce) {
  expect_all_hold(scenarios());
}

TEST(WorkStealingDequeModel, OwnersAndThievesOfTwoDequesDoNotDisturbEachOther) {
  expect_all_hold({two_owners()});
}

TEST(WorkStealingDequeModel, AThiefThatAsksKnowsWhatTheOwnerDidBeforeThePush) {
  expect_all_hold({asked_first()});
}

TEST(WorkStealingDequeModel, EveryOrderIsNeeded) {
  expect_weakenings_caught(scenarios(), "work_stealing_deque.hpp");
}

}  // namespace
}  // namespace muster::explore
