// waiting_tasks_test.cpp: who gets which task next.
#include "processes/waiting_tasks.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

#include "processes/look_ahead.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

TaskRef waiting(std::uint64_t id, ExecOptions options = {}) {
  auto* const task = new ProcessTask({}, {.id = id, .name = "", .payload = {}, .options = options});
  task->progress.state = TaskState::queued;
  task->drop_reference();  // that of a future: there is none
  return TaskRef(task);
}

std::vector<std::uint64_t> all_for(WaitingTasks& tasks, const WaitingTasks::Taker& taker) {
  std::vector<std::uint64_t> ids;
  while (const TaskRef task = tasks.pop_for(taker)) ids.push_back(task->order.id);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

TEST(WaitingTasks, ComeByPriorityAndThenByAgeInWhateverOrderTheyWerePushed) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 1; id <= 30; ++id) ids.push_back(id);
    for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
    WaitingTasks tasks;
    for (const std::uint64_t id : ids) {
      tasks.push(waiting(id, {.priority = static_cast<int>(id % 3)}), std::nullopt);
    }
    const Ids order = all_for(tasks, {});
    ASSERT_EQ(order.size(), 30U);
    for (std::size_t i = 1; i < order.size(); ++i) {
      const auto rank = [](std::uint64_t id) { return std::pair(2 - id % 3, id); };
      ASSERT_LT(rank(order[i - 1]), rank(order[i]));
    }
    EXPECT_TRUE(tasks.empty());
  }
}

TEST(WaitingTasks, AWorkerHasItsOwnAndThoseOfItsCapabilitiesAndEverybodys) {
  WaitingTasks tasks;
  tasks.push(waiting(1, {.capability = "gpu"}), std::nullopt);
  tasks.push(waiting(2), std::nullopt);
  tasks.push(waiting(3), 7U);
  tasks.push(waiting(4, {.priority = 1}), 8U);
  const std::vector<std::string> gpu{"gpu"};
  EXPECT_EQ(all_for(tasks, {.worker = 7, .capabilities = gpu}), (Ids{1, 2, 3}));
  EXPECT_EQ(tasks.size(), 1U);
  EXPECT_EQ(all_for(tasks, {.worker = 8}), Ids{4});
}

TEST(WaitingTasks, SoftOnesOfOthersAreThereForWhoHasNothingElse) {
  WaitingTasks tasks;
  tasks.push(waiting(1, {.affinity = "a", .affinity_class = AffinityClass::hard}), 7U);
  tasks.push(waiting(2, {.affinity = "b"}), 8U);
  tasks.push(waiting(3, {.affinity = "c", .capability = "gpu"}), 9U);
  const WaitingTasks::Taker taker{.worker = 1};
  EXPECT_EQ(tasks.pop_soft_for(taker)->order.id, 2U);
  EXPECT_FALSE(tasks.pop_soft_for(taker)) << "hard, or for others only";
  EXPECT_EQ(tasks.take_all_of(7).size(), 1U);
  EXPECT_EQ(tasks.take_all().size(), 1U);
}

TEST(WaitingTasks, ThoseThatWereCancelledArePassedBy) {
  WaitingTasks tasks;
  const TaskRef cancelled = waiting(1);
  tasks.push(cancelled.another(), std::nullopt);
  tasks.push(waiting(2), std::nullopt);
  cancelled->progress.state = TaskState::failed;
  EXPECT_EQ(all_for(tasks, {}), Ids{2});
  EXPECT_EQ(tasks.size(), 0U);
}

TEST(TimeQueue, GivesTheEarliestFirst) {
  TimeQueue<int> queue;
  queue.push(Time(3s), 3);
  queue.push(Time(1s), 1);
  queue.push(Time(2s), 2);
  EXPECT_EQ(queue.next(), Time(1s));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 3);
  EXPECT_TRUE(queue.empty());
}

TEST(LookAhead, IsForShortTasksOnly) {
  EXPECT_EQ(tasks_at_once(0ns), 1U) << "nothing is known";
  EXPECT_EQ(tasks_at_once(1ns), 32U);
  EXPECT_EQ(tasks_at_once(5us), 10U);
  EXPECT_EQ(tasks_at_once(50us), 1U);
  EXPECT_EQ(tasks_at_once(1h), 1U);
}

}  // namespace
}  // namespace muster
