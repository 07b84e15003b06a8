// timers_test.cpp: timers and watches with a clock that stands still until it is told to move.
#include "threads/timers.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/timer.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

// Keeps what it is given until told to run it.
class Waiting final : public Executor {
 public:
  void execute(Closure&& task) override { tasks_.push_back(std::move(task)); }
  std::size_t count() const { return tasks_.size(); }
  void drop_all() { tasks_.clear(); }
  void run_all() {
    for (Closure& task : std::exchange(tasks_, {})) std::move(task)();
  }

 private:
  std::vector<Closure> tasks_;
};

class TimersTest : public ::testing::Test {
 protected:
  ~TimersTest() override { timers_->close(); }

  template <class F>
  Timer after(Duration delay, F task) {
    return Timer(timers_->start(TimerRepeat::never, delay, detail::timer_call(std::move(task))));
  }
  template <class F>
  Timer every(Duration period, F task) {
    return Timer(timers_->start(TimerRepeat::always, period, detail::timer_call(std::move(task))));
  }
  void advance(Duration by) {
    clock_.advance(by);
    timers_->act_on_due();
  }
  void advance_and_run(Duration by) {
    advance(by);
    crew_.run_all();
  }

  FakeClock clock_;
  Waiting crew_;
  std::shared_ptr<Timers> timers_ = std::make_shared<Timers>(crew_, nullptr, clock_, std::nullopt);
  int runs_ = 0;
  const std::shared_ptr<int> capture_ = std::make_shared<int>(1);
};

TEST_F(TimersTest, ATaskIsPostedOnceWhenItsTimeHasCome) {
  after(10ns, [&, capture = capture_] { ++runs_; });
  EXPECT_EQ(timers_->next_due(), clock_.now() + 10ns);
  advance_and_run(9ns);
  EXPECT_EQ(runs_, 0);
  advance_and_run(1ns);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(capture_.use_count(), 1);
  advance_and_run(1h);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(timers_->next_due(), std::nullopt);
}

TEST_F(TimersTest, ADelayOfNothingIsDueAtOnce) {
  after(0ns, [&] { ++runs_; });
  advance_and_run(0ns);
  EXPECT_EQ(runs_, 1);
}

TEST_F(TimersTest, TicksKeepToTheRateAtWhichTheyStarted) {
  std::vector<Time> times;
  every(10ns, [&] { times.push_back(clock_.now()); });
  for (int i = 0; i < 50; ++i) advance_and_run(1ns);
  const Time start{};
  EXPECT_EQ(times, (std::vector<Time>{start + 10ns, start + 20ns, start + 30ns, start + 40ns,
                                      start + 50ns}));
}

TEST_F(TimersTest, ALateRunDoesNotShiftTheNextOne) {
  every(10ns, [&] { ++runs_; });
  advance(10ns);
  clock_.advance(9ns);
  crew_.run_all();
  EXPECT_EQ(timers_->next_due(), Time(20ns));
}

TEST_F(TimersTest, ATickIsNotPostedWhileTheOneBeforeWaitsOrRuns) {
  every(10ns, [&] {
    advance(25ns);
    EXPECT_EQ(crew_.count(), 0U);
    ++runs_;
  });
  advance(10ns);
  EXPECT_EQ(crew_.count(), 1U);
  advance(100ns);
  EXPECT_EQ(crew_.count(), 1U);
  crew_.run_all();
  EXPECT_EQ(runs_, 1);
}

TEST_F(TimersTest, MissedTicksAreLeftOutWithoutABurst) {
  every(10ns, [&] {
    if (++runs_ == 1) clock_.advance(35ns);
  });
  advance_and_run(10ns);
  EXPECT_EQ(timers_->next_due(), Time(50ns));
  advance_and_run(4ns);
  EXPECT_EQ(runs_, 1);
  advance_and_run(1ns);
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(timers_->next_due(), Time(60ns));
}

TEST_F(TimersTest, ATickThatThrowsIsFollowedByTheNext) {
  every(10ns, [&] {
    ++runs_;
    throw std::out_of_range("tick");
  });
  EXPECT_THROW(advance_and_run(10ns), std::out_of_range);
  EXPECT_THROW(advance_and_run(10ns), std::out_of_range);
  EXPECT_EQ(runs_, 2);
}

TEST_F(TimersTest, ATimerThatIsCancelledBeforeItIsDueLeavesNothingBehind) {
  for (Timer timer : {after(10ns, [&, capture = capture_] { ++runs_; }),
                      every(10ns, [&, capture = capture_] { ++runs_; }),
                      after(Duration::max(), [capture = capture_] {})}) {
    const long captured = capture_.use_count();
    EXPECT_TRUE(timer.is_active());
    EXPECT_TRUE(timer.cancel());
    EXPECT_EQ(capture_.use_count(), captured - 1);
    EXPECT_FALSE(timer.is_active());
    EXPECT_FALSE(timer.cancel());
  }
  EXPECT_EQ(timers_->next_due(), std::nullopt);
  advance_and_run(1h);
  EXPECT_EQ(runs_, 0);
}

TEST_F(TimersTest, ATimerWhoseTaskWaitsForAWorkerCanBeCancelled) {
  Timer timer = every(10ns, [&, capture = capture_] { ++runs_; });
  advance(10ns);
  EXPECT_TRUE(timer.is_active());
  EXPECT_TRUE(timer.cancel());
  EXPECT_EQ(capture_.use_count(), 1);
  crew_.run_all();
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(timers_->next_due(), std::nullopt);
}

TEST_F(TimersTest, ATaskMayCancelItsOwnTicks) {
  Timer timer;
  timer = every(10ns, [&, capture = capture_] {
    ++runs_;
    EXPECT_TRUE(timer.is_active());
    EXPECT_TRUE(timer.cancel());
    EXPECT_FALSE(timer.cancel());
    EXPECT_FALSE(timer.is_active());
    EXPECT_EQ(capture_.use_count(), 2);
  });
  advance_and_run(10ns);
  EXPECT_EQ(capture_.use_count(), 1);
  advance_and_run(1h);
  EXPECT_EQ(runs_, 1);
}

TEST_F(TimersTest, ATaskThatRunsOnceIsNotCancelledFromInside) {
  Timer timer;
  timer = after(10ns, [&] {
    ++runs_;
    EXPECT_FALSE(timer.is_active());
    EXPECT_FALSE(timer.cancel());
  });
  advance_and_run(10ns);
  EXPECT_EQ(runs_, 1);
}

TEST_F(TimersTest, ClosingDropsWhatIsNotDueAndKeepsWhatWasPosted) {
  const Timer dropped = every(20ns, [&, capture = capture_] { runs_ += 100; });
  const Timer never = after(Duration::max(), [capture = capture_] {});
  const Timer once = after(10ns, [&] { ++runs_; });
  Timer ticking;
  ticking = every(10ns, [&] {
    ++runs_;
    EXPECT_FALSE(ticking.is_active());
    EXPECT_FALSE(ticking.cancel());
  });
  advance(10ns);
  timers_->close();
  EXPECT_EQ(capture_.use_count(), 1);
  EXPECT_FALSE(dropped.is_active() || never.is_active());
  EXPECT_TRUE(once.is_active());
  crew_.run_all();
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(timers_->next_due(), std::nullopt);
  EXPECT_THROW(after(1ns, [] {}), Stopped);
  EXPECT_THROW(every(1ns, [] {}), Stopped);
}

TEST_F(TimersTest, APostedTaskThatIsDiscardedEndsItsTimer) {
  const Timer timer = every(10ns, [&, capture = capture_] { ++runs_; });
  advance(10ns);
  crew_.drop_all();
  EXPECT_EQ(capture_.use_count(), 1);
  EXPECT_FALSE(timer.is_active());
}

// Under the mutex of the timers it would wait for ever.
TEST_F(TimersTest, WhatIsDroppedMayUseTimersItself) {
  const Timer witness = after(1h, [] {});
  int looks = 0;
  const auto looking = [&] {
    return std::shared_ptr<void>(nullptr, [&](void*) {
      (void)witness.is_active();
      ++looks;
    });
  };
  after(10ns, [own = looking()] {}).cancel();
  EXPECT_EQ(looks, 1);
  after(10ns, [own = looking()] {});
  advance_and_run(10ns);
  EXPECT_EQ(looks, 2);
  after(10ns, [own = looking()] {});
  advance(10ns);
  crew_.drop_all();
  EXPECT_EQ(looks, 3);
  after(2h, [own = looking()] {});
  timers_->close();
  EXPECT_EQ(looks, 4);
}

TEST_F(TimersTest, AWatchRingsOnceWhenItsTimeHasCome) {
  const TimerKey watch = timers_->watch(10ns, Closure([&] { ++runs_; }));
  advance(9ns);
  EXPECT_EQ(runs_, 0);
  advance(1ns);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(crew_.count(), 0U);
  timers_->unwatch(watch);
  advance(1h);
  EXPECT_EQ(runs_, 1);
}

TEST_F(TimersTest, AWatchThatEndedInTimeDoesNotRing) {
  const TimerKey watch = timers_->watch(10ns, Closure([&, capture = capture_] { ++runs_; }));
  timers_->unwatch(watch);
  EXPECT_EQ(capture_.use_count(), 1);
  EXPECT_EQ(timers_->next_due(), std::nullopt);
  advance(1h);
  EXPECT_EQ(runs_, 0);
}

TEST_F(TimersTest, WatchesOutlastTheClosingButNotTheEnd) {
  timers_->watch(10ns, Closure([&] { ++runs_; }));
  const TimerKey late = timers_->watch(20ns, Closure([&, capture = capture_] { ++runs_; }));
  timers_->close();
  advance(10ns);
  EXPECT_EQ(runs_, 1);
  timers_->finish();
  EXPECT_EQ(capture_.use_count(), 1);
  advance(1h);
  timers_->unwatch(late);
  EXPECT_EQ(runs_, 1);
  EXPECT_THROW(timers_->watch(1ns, Closure([] {})), Stopped);
}

}  // namespace
}  // namespace muster
