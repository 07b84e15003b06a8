// notice_test.cpp: every notice in words.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/observe/notice.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

std::string text_of(const News& news) {
  return to_text({.time = Time(12s + 345us), .sequence = 7, .news = news});
}

TEST(Notice, ATextBeginsWithTimeAndNumber) {
  EXPECT_EQ(text_of(WorkerAdded{.worker = 3}), "[12.000345000] #7 worker 3 added");
}

TEST(Notice, EveryKindHasItsWords) {
  struct Case {
    News news;
    std::string words;
  };
  const std::vector<Case> cases = {
      {ScaledUp{.added = 2, .total = 6, .reason = "ratio 2.5"},
       "scaled up by 2, workers now 6: ratio 2.5"},
      {ScaledDown{.removed = 1, .total = 5, .reason = "idle"},
       "scaled down by 1, workers now 5: idle"},
      {TaskDropped{.name = "resize", .policy = "drop_oldest"},
       "task \"resize\" was dropped: queue full, drop_oldest"},
      {TaskDropped{.name = "", .policy = "drop_newest"},
       "a task was dropped: queue full, drop_newest"},
      {BackPressureOn{.queued = 80, .limit = 100}, "back-pressure on: 80 queued, limit 100"},
      {BackPressureOff{.queued = 50, .limit = 100}, "back-pressure off: 50 queued, limit 100"},
      {WorkerAdded{.worker = 0}, "worker 0 added"},
      {WorkerRemoved{.worker = 1}, "worker 1 removed"},
      {StrategyChanged{.from = "least-busy", .to = "round-robin"},
       "strategy changed from least-busy to round-robin"},
      {TaskFailed{.name = "resize", .what = "no such file"},
       "task \"resize\" failed: no such file"},
  };
  for (const Case& one : cases) EXPECT_EQ(text_of(one.news), "[12.000345000] #7 " + one.words);
}

}  // namespace
}  // namespace muster
