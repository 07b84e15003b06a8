// verdicts_test.cpp: they come out as they went in, and none is kept or lost.
#include "processes/verdicts.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

// With a reference of the test's own, by which it sees what has become of the other.
ProcessTask* ended(Verdicts& verdicts, std::uint64_t id) {
  auto* const task = new ProcessTask(nullptr, "", Bytes(), ExecOptions());
  task->order.id = id;
  verdicts.push(TaskRef(task));
  return task;
}

std::vector<std::uint64_t> take_all(Verdicts& verdicts) {
  std::vector<std::uint64_t> ids;
  while (!verdicts.empty()) ids.push_back(verdicts.pop()->order.id);
  return ids;
}

TEST(VerdictsTest, TheOldestComesFirst) {
  Verdicts verdicts;
  EXPECT_TRUE(verdicts.empty());
  std::vector<TaskRef> ours;
  for (const std::uint64_t id : {7U, 3U, 5U}) ours.emplace_back(ended(verdicts, id));
  EXPECT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(verdicts.pop()->order.id, 7U);
  ours.emplace_back(ended(verdicts, 9));
  EXPECT_EQ(take_all(verdicts), (std::vector<std::uint64_t>{3, 5, 9}));
  EXPECT_EQ(verdicts.size(), 0U);
}

TEST(VerdictsTest, OneThatHasEndedMayGoIntoAnotherList) {
  Verdicts first;
  Verdicts second;
  const TaskRef ours(ended(first, 1));
  const TaskRef behind(ended(first, 2));
  second.push(first.pop());
  EXPECT_EQ(take_all(second), (std::vector<std::uint64_t>{1})) << "without what was behind it";
  EXPECT_EQ(take_all(first), (std::vector<std::uint64_t>{2}));
}

TEST(VerdictsTest, AMoveLeavesNone) {
  Verdicts from;
  const TaskRef ours(ended(from, 1));
  Verdicts to = std::move(from);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): that is what is promised
  EXPECT_EQ(from.size(), 0U);
  const TaskRef later(ended(from, 2));
  EXPECT_EQ(take_all(from), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(take_all(to), (std::vector<std::uint64_t>{1}));
}

// The sanitizer of addresses tells if one is lost.
TEST(VerdictsTest, WhatIsLeftIsLetGo) {
  Verdicts verdicts;
  const TaskRef one(ended(verdicts, 1));
  const TaskRef other(ended(verdicts, 2));
}

}  // namespace
}  // namespace muster
