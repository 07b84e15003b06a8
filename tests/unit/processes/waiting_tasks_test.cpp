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
  auto* const task = new ProcessTask(nullptr, "", Bytes(), std::move(options));
  task->order.id = id;
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

TEST(WaitingTasks, AreRemovedFromWhereverTheyWait) {
  Random random(2);
  const auto push = [](WaitingTasks& tasks, std::uint64_t id) {
    TaskRef task =
        waiting(id, {.priority = static_cast<int>(id % 2), .capability = id % 3 == 0 ? "gpu" : ""});
    tasks.push(task.another(), id % 5 == 0 ? std::optional(7U) : std::nullopt);
    return task;
  };
  const std::vector<std::string> gpu{"gpu"};
  for (int round = 0; round < 100; ++round) {
    WaitingTasks all;
    WaitingTasks kept;
    std::vector<TaskRef> refs;
    for (std::uint64_t id = 1; id <= 40; ++id) refs.push_back(push(all, id));
    for (std::uint64_t id = 1; id <= 40; ++id) {
      if (random.below(2) == 0) {
        (void)push(kept, id);
      } else {
        all.remove(*refs[id - 1]);
      }
    }
    EXPECT_EQ(all.size(), kept.size());
    const WaitingTasks::Taker taker{.worker = 7, .capabilities = gpu};
    EXPECT_EQ(all_for(all, taker), all_for(kept, taker));
    EXPECT_TRUE(all.empty());
  }
}

TEST(WaitingTasks, WhatIsRemovedIsNotTheOldest) {
  WaitingTasks tasks;
  const TaskRef first = waiting(1);
  tasks.push(first.another(), std::nullopt);
  tasks.push(waiting(2), 7U);
  tasks.remove(*first);
  EXPECT_EQ(tasks.pop_oldest()->order.id, 2U);
  EXPECT_FALSE(tasks.pop_oldest());
}

TEST(TasksByTime, GivesTheEarliestFirst) {
  TasksByTime queue;
  for (const int due : {3, 1, 2}) {
    queue.push(Time(std::chrono::seconds(due)), waiting(static_cast<std::uint64_t>(due)));
  }
  EXPECT_EQ(queue.next(), Time(1s));
  EXPECT_EQ(queue.pop()->order.id, 1U);
  EXPECT_EQ(queue.pop()->order.id, 2U);
  EXPECT_EQ(queue.pop()->order.id, 3U);
  EXPECT_TRUE(queue.empty());
}

TEST(TasksByTime, OfOneTimeTheFirstComesFirstAndOnesRemovedDoNot) {
  TasksByTime queue;
  std::vector<TaskRef> tasks;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    tasks.push_back(waiting(id));
    queue.push(Time(1s), tasks.back().another());
  }
  queue.remove(*tasks[0]);
  queue.remove(*tasks[0]);  // is not there any more
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.pop()->order.id, 2U);
  queue.push(Time(0s), tasks[1].another());
  EXPECT_EQ(queue.pop()->order.id, 2U);
  EXPECT_EQ(queue.pop()->order.id, 3U);
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
