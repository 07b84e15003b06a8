// timer_queue_test.cpp: what is due when, said with values of time alone.
#include "threads/timer_queue.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time at(Duration since_epoch) {
  return Time(since_epoch);
}

// All that is due, in order.
std::string due_at(TimerQueue<char>& queue, Time now) {
  std::string due;
  while (const auto next = queue.pop_due(now)) due += next->item;
  return due;
}

TEST(TimerQueue, NothingIsDueBeforeItsTime) {
  TimerQueue<char> queue;
  queue.add(at(10ns), 'a');
  EXPECT_EQ(due_at(queue, at(9ns)), "");
  EXPECT_EQ(due_at(queue, at(10ns)), "a");
  EXPECT_EQ(due_at(queue, at(11ns)), "");
}

TEST(TimerQueue, EarlierComesFirstAndEqualsInTheirOrder) {
  TimerQueue<char> queue;
  queue.add(at(20ns), 'c');
  queue.add(at(10ns), 'a');
  queue.add(at(20ns), 'd');
  queue.add(at(30ns), 'x');
  queue.add(at(15ns), 'b');
  EXPECT_EQ(due_at(queue, at(29ns)), "abcd");
  EXPECT_EQ(due_at(queue, at(1h)), "x");
}

TEST(TimerQueue, TellsWhenToWakeNext) {
  TimerQueue<char> queue;
  EXPECT_EQ(queue.next_due(), std::nullopt);
  queue.add(at(20ns), 'b');
  EXPECT_EQ(queue.next_due(), at(20ns));
  queue.add(at(10ns), 'a');
  EXPECT_EQ(queue.next_due(), at(10ns));
  EXPECT_EQ(due_at(queue, at(10ns)), "a");
  EXPECT_EQ(queue.next_due(), at(20ns));
}

TEST(TimerQueue, WhatWasTakenOutIsNotDue) {
  TimerQueue<std::shared_ptr<int>> queue;
  const auto item = std::make_shared<int>(1);
  const TimerKey key = queue.add(at(10ns), item);
  EXPECT_EQ(queue.remove(key), item);
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(queue.remove(key), std::nullopt);
  EXPECT_EQ(queue.next_due(), std::nullopt);
  EXPECT_FALSE(queue.pop_due(at(1h)));
  EXPECT_EQ(queue.remove(TimerKey{}), std::nullopt);
}

TEST(TimerQueue, NeverIsNeverDueButCanBeTakenOut) {
  TimerQueue<char> queue;
  const TimerKey never = queue.add(Time::max(), 'n');
  EXPECT_EQ(queue.next_due(), std::nullopt);
  EXPECT_FALSE(queue.pop_due(Time::max()));
  queue.add(at(5ns), 'a');
  EXPECT_EQ(due_at(queue, Time::max()), "a");
  EXPECT_EQ(queue.remove(never), 'n');
  queue.add(Time::max(), 'm');
  EXPECT_EQ(queue.pop_any(), 'm');
  EXPECT_EQ(queue.pop_any(), std::nullopt);
}

TEST(TimerQueue, EqualsAMultimapUnderRandomOperations) {
  Random random(7);
  TimerQueue<int> queue;
  std::multimap<Time, std::pair<int, TimerKey>> model;
  Time now{};
  for (int step = 0; step < 20'000; ++step) {
    if (random.below(3) != 0) {
      const Time due = now + Duration(random.below(50));
      model.emplace(due, std::pair(step, queue.add(due, step)));
    } else if (!model.empty() && random.below(2) == 0) {
      const auto chosen = std::next(model.begin(), static_cast<long>(random.below(model.size())));
      ASSERT_EQ(queue.remove(chosen->second.second), chosen->second.first);
      model.erase(chosen);
    } else {
      now += Duration(random.below(20));
      while (const auto due = queue.pop_due(now)) {
        ASSERT_FALSE(model.empty());
        ASSERT_EQ(due->item, model.begin()->second.first);
        model.erase(model.begin());
      }
      ASSERT_TRUE(model.empty() || model.begin()->first > now);
    }
    ASSERT_EQ(queue.next_due(), model.empty() ? std::nullopt : std::optional(model.begin()->first));
  }
}

TEST(TimerQueue, AVeryLongDelayIsNever) {
  EXPECT_EQ(time_after(at(5ns), 3ns), at(8ns));
  EXPECT_EQ(time_after(at(5ns), Duration::max()), Time::max());
  EXPECT_EQ(time_after(at(0ns), Duration::max()), Time::max());
  EXPECT_EQ(time_after(Time::max() - 1ns, 1h), Time::max());
}

TEST(TimerQueue, TicksStayOnTheirGridAndMissedOnesAreLeftOut) {
  EXPECT_EQ(next_tick(at(10ns), 10ns, at(10ns)), at(20ns));
  EXPECT_EQ(next_tick(at(10ns), 10ns, at(19ns)), at(20ns));
  EXPECT_EQ(next_tick(at(10ns), 10ns, at(20ns)), at(30ns));
  EXPECT_EQ(next_tick(at(10ns), 10ns, at(99ns)), at(100ns));
  EXPECT_EQ(next_tick(at(3ns), 1ns, at(1h)), at(1h + 1ns));
}

TEST(TimerQueue, ATickBeyondTheEndOfTimeIsNever) {
  EXPECT_EQ(next_tick(at(10ns), Duration::max(), at(10ns)), Time::max());
  EXPECT_EQ(next_tick(Time::max() - 10ns, 7ns, Time::max() - 3ns), Time::max());
  EXPECT_EQ(next_tick(Time::max() - 20ns, 7ns, Time::max() - 15ns), Time::max() - 13ns);
}

}  // namespace
}  // namespace muster
