// strategy_test.cpp: what each built-in strategy picks, and whom none of them picks.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/strategy.hpp>

#include "unit/policy/fake_crew.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::FakeCrew;
using Picks = std::vector<std::size_t>;

constexpr WorkerState kStates[] = {
    WorkerState::cold,       WorkerState::warming,  WorkerState::ready,
    WorkerState::busy,       WorkerState::draining, WorkerState::terminating,
    WorkerState::terminated, WorkerState::failed,   WorkerState::zombie,
};

std::size_t pick(Strategy& strategy, const std::vector<WorkerInfo>& workers) {
  return strategy.select(workers, {}).value().worker;
}

// Picks without placing anything: the workers stay as they are.
Picks picks(Strategy& strategy, const std::vector<WorkerInfo>& workers, std::size_t count) {
  Picks picked;
  for (std::size_t i = 0; i < count; ++i) picked.push_back(pick(strategy, workers));
  return picked;
}

std::vector<WorkerInfo> with_queues(const std::vector<std::uint32_t>& queued) {
  FakeCrew crew(queued.size());
  for (std::size_t i = 0; i < queued.size(); ++i) crew[i].queued = queued[i];
  return crew.workers();
}

class EveryBuiltIn : public ::testing::TestWithParam<BuiltIn> {
 protected:
  std::unique_ptr<Strategy> strategy_ = make_strategy(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Strategies, EveryBuiltIn, ::testing::ValuesIn(kBuiltIns),
                         [](const auto& each) {
                           std::string name(to_string(each.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryBuiltIn, PicksNobodyWhereNobodyIs) {
  EXPECT_FALSE(strategy_->select({}, {}).has_value());
}

TEST_P(EveryBuiltIn, PicksNobodyIfNobodyTakesTasks) {
  FakeCrew crew(2);
  crew[0].state = WorkerState::terminated;
  crew[1].state = WorkerState::warming;
  EXPECT_FALSE(strategy_->select(crew.workers(), {}).has_value());
}

TEST_P(EveryBuiltIn, OnlyPicksReadyAndBusyWorkers) {
  Random random = testing::seeded();
  FakeCrew crew(8);
  for (int i = 0; i < 1000; ++i) {
    for (WorkerInfo& worker : crew.workers()) {
      worker.state = kStates[random.below(std::size(kStates))];
      worker.queued = static_cast<std::uint32_t>(random.below(4));
      worker.weight = 1 + random.real();
    }
    const bool any = std::any_of(crew.workers().begin(), crew.workers().end(),
                                 [](const WorkerInfo& each) { return takes_tasks(each.state); });
    const auto selection = strategy_->select(crew.workers(), {});
    ASSERT_EQ(selection.has_value(), any);
    if (!selection) continue;
    const WorkerState state = crew[selection->worker].state;
    ASSERT_TRUE(state == WorkerState::ready || state == WorkerState::busy) << to_string(state);
    ASSERT_FALSE(selection->reason.empty());
    if (random.chance(0.5)) strategy_->on_task_complete(selection->worker, 1us);
  }
}

TEST_P(EveryBuiltIn, GivesEqualWorkersEqualShares) {
  FakeCrew crew(5);
  std::vector<int> counts(5);
  for (int i = 0; i < 100; ++i) ++counts[pick(*strategy_, crew.workers())];
  EXPECT_EQ(counts, std::vector<int>(5, 20));
}

TEST_P(EveryBuiltIn, SpreadsABurstBeforeAnythingHasEnded) {
  FakeCrew crew(8);
  crew[3].utilisation = 0;
  for (int i = 0; i < 80; ++i) crew.place(*strategy_);
  for (const WorkerInfo& worker : crew.workers()) EXPECT_EQ(FakeCrew::pending(worker), 10U);
}

TEST_P(EveryBuiltIn, SpreadsABurstAlsoAfterAnUnevenPast) {
  FakeCrew crew(4);
  // Worker 0 was the best choice; that must not be so for a whole burst.
  for (std::size_t i = 1; i < 4; ++i) {
    crew[i].utilisation = 0.1;
    crew[i].average_task_time = 1ms;
  }
  crew[0].average_task_time = 1ms;
  for (int i = 0; i < 100; ++i) crew.place(*strategy_);
  for (const WorkerInfo& worker : crew.workers()) EXPECT_LE(FakeCrew::pending(worker), 30U);
}

TEST_P(EveryBuiltIn, AWorkerThatIsGoneIsForgotten) {
  FakeCrew crew(3);
  for (int i = 0; i < 10; ++i) crew.finish(crew.place(*strategy_), 1ms, *strategy_);
  crew.workers().pop_back();
  strategy_->on_worker_removed(2);
  strategy_->on_task_complete(2, 1ms);  // its last one, reported late
  for (int i = 0; i < 10; ++i) ASSERT_LT(pick(*strategy_, crew.workers()), 2U);
}

TEST_P(EveryBuiltIn, ANewWorkerIsNotFlooded) {
  FakeCrew crew(4);
  for (int i = 0; i < 400; ++i) crew.finish(crew.place(*strategy_), 1ms, *strategy_);
  crew.workers().push_back({.id = 4});
  strategy_->on_worker_added(crew[4]);
  int placed_with_new = 0;
  for (int i = 0; i < 50; ++i) placed_with_new += crew.place(*strategy_) == 4 ? 1 : 0;
  EXPECT_GE(placed_with_new, 8);
  EXPECT_LE(placed_with_new, 14);
}

TEST_P(EveryBuiltIn, StartsAnewAfterAReset) {
  FakeCrew crew(4);
  crew[2].weight = 3;
  const Picks first = picks(*strategy_, crew.workers(), 17);
  strategy_->on_task_complete(0, 1s);
  strategy_->on_task_complete(1, 1s);
  strategy_->reset();
  EXPECT_EQ(picks(*strategy_, crew.workers(), 17), first);
}

TEST(RoundRobin, PicksTheNextIdleWorker) {
  const auto strategy = make_strategy(BuiltIn::round_robin);
  EXPECT_EQ(picks(*strategy, with_queues({1, 0, 2, 0}), 4), (Picks{1, 3, 1, 3}));
}

TEST(RoundRobin, GoesRoundIfNobodyIsIdle) {
  const auto strategy = make_strategy(BuiltIn::round_robin);
  EXPECT_EQ(picks(*strategy, with_queues({9, 1, 2}), 5), (Picks{0, 1, 2, 0, 1}));
}

TEST(RoundRobin, SaysWhetherTheWorkerIsIdle) {
  const auto strategy = make_strategy(BuiltIn::round_robin);
  EXPECT_EQ(strategy->select(with_queues({0}), {})->reason, "the next that is idle");
  EXPECT_EQ(strategy->select(with_queues({1}), {})->reason, "the next in turn, since none is idle");
}

TEST(LeastBusy, CountsActiveAndQueuedTasks) {
  const auto strategy = make_strategy(BuiltIn::least_busy);
  FakeCrew crew(3);
  crew[0].active = 3;
  crew[1].queued = 3;
  crew[2].active = 1;
  crew[2].queued = 1;
  const auto selection = strategy->select(crew.workers(), {});
  EXPECT_EQ(selection->worker, 2U);
  EXPECT_EQ(selection->reason, "least busy: 2 active or queued");
}

TEST(LeastBusy, EqualsComeInTurn) {
  const auto strategy = make_strategy(BuiltIn::least_busy);
  EXPECT_EQ(picks(*strategy, with_queues({0, 5, 0, 0}), 5), (Picks{0, 2, 3, 0, 2}));
}

TEST(LeastUsed, PicksWhoHasDoneTheFewest) {
  const auto strategy = make_strategy(BuiltIn::least_used);
  FakeCrew crew(3);
  pick(*strategy, crew.workers());
  for (const std::size_t worker : {0UL, 0UL, 1UL}) strategy->on_task_complete(worker, 1ms);
  EXPECT_EQ(pick(*strategy, crew.workers()), 2U);
  EXPECT_EQ(pick(*strategy, crew.workers()), 2U) << "nothing was placed, it is still the least";
}

TEST(LeastUsed, ForgetsAnEarlyRush) {
  const auto strategy = make_strategy(BuiltIn::least_used);
  FakeCrew crew(2);
  pick(*strategy, crew.workers());
  for (int i = 0; i < 100; ++i) strategy->on_task_complete(0, 1ms);
  EXPECT_EQ(pick(*strategy, crew.workers()), 1U);
  // From here on both are used alike; the rush must not count for ever.
  int placed_with_first = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t worker = crew.place(*strategy);
    placed_with_first += worker == 0 ? 1 : 0;
    crew.finish(worker, 1ms, *strategy);
  }
  EXPECT_GE(placed_with_first, 40);
}

TEST(LeastUsed, TheLastTaskOfAWorkerThatLeftBringsItNotBack) {
  const auto strategy = make_strategy(BuiltIn::least_used);
  FakeCrew crew(2);
  pick(*strategy, crew.workers());
  strategy->on_worker_removed(1);
  strategy->on_task_complete(1, 1ms);
  for (int i = 0; i < 10; ++i) strategy->on_task_complete(0, 1ms);
  strategy->on_worker_added(crew[1]);  // another of that number: begins where worker 0 is
  for (int i = 0; i < 4; ++i) crew.place(*strategy);
  EXPECT_EQ(FakeCrew::pending(crew[1]), 2U);
}

TEST(LeastElu, PicksTheLowestUtilisation) {
  const auto strategy = make_strategy(BuiltIn::least_elu);
  FakeCrew crew(3);
  crew[0].utilisation = 0.5;
  crew[1].utilisation = 0.2;
  crew[2].utilisation = 0.9;
  const auto selection = strategy->select(crew.workers(), {});
  EXPECT_EQ(selection->worker, 1U);
  EXPECT_EQ(selection->reason, "least utilised: busy for 20 % of the time, 0 pending");
}

TEST(LeastElu, AmongFullyUtilisedWorkersPendingTasksDecide) {
  const auto strategy = make_strategy(BuiltIn::least_elu);
  auto workers = with_queues({3, 1, 2});
  for (WorkerInfo& worker : workers) worker.utilisation = 1;
  EXPECT_EQ(pick(*strategy, workers), 1U);
}

TEST(FairShare, PicksWhoRanTheLeast) {
  const auto strategy = make_strategy(BuiltIn::fair_share);
  FakeCrew crew(3);
  pick(*strategy, crew.workers());
  strategy->on_task_complete(0, 5ms);
  strategy->on_task_complete(1, 2ms);
  strategy->on_task_complete(2, 9ms);
  EXPECT_EQ(pick(*strategy, crew.workers()), 1U);
}

TEST(FairShare, ALongTaskOutweighsManyShortOnes) {
  const auto strategy = make_strategy(BuiltIn::fair_share);
  FakeCrew crew(2);
  for (int i = 0; i < 20; ++i) {
    const std::size_t worker = crew.place(*strategy);
    crew.finish(worker, worker == 0 ? 10ms : 1ms, *strategy);
  }
  EXPECT_GT(crew[1].tasks_done, 2 * crew[0].tasks_done);
}

TEST(FairShare, ABusyWorkerPaysForOneTaskMore) {
  const auto strategy = make_strategy(BuiltIn::fair_share);
  FakeCrew crew(2);
  pick(*strategy, crew.workers());
  strategy->on_task_complete(1, 15ms);
  crew[0].average_task_time = 10ms;
  crew[0].active = 1;  // 10 ms for the one it runs, 10 ms more for being busy; 15 ms were consumed
  EXPECT_EQ(pick(*strategy, crew.workers()), 1U);
}

}  // namespace
}  // namespace muster
