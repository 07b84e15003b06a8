// future_test.cpp: a future and its task, without a pool.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/future.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/closure.hpp>
#include <muster/when.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

// A future, and what a queue would hold of its task.
template <class F>
auto make_task(F&& task) {
  using Result = std::invoke_result_t<F&>;
  auto* const state = new SubmittedTask<Result, std::decay_t<F>>(0, std::forward<F>(task));
  return std::pair(Future<Result>(FutureRef<FutureState<Result>>(state)),
                   Closure(QueuedTask(state)));
}

TEST(Future, ADefaultOneIsNotValid) {
  const Future<int> future;
  EXPECT_FALSE(future.valid());
}

TEST(Future, GivesWhatTheTaskGaveOnce) {
  auto [future, task] = make_task([] { return std::make_unique<int>(42); });
  EXPECT_TRUE(future.valid());
  EXPECT_FALSE(future.is_ready());
  std::move(task)();
  EXPECT_TRUE(future.is_ready());
  EXPECT_EQ(*future.get(), 42);
  EXPECT_FALSE(future.valid());
}

TEST(Future, OfVoidSaysOnlyThatItIsDone) {
  bool ran = false;
  auto [future, task] = make_task([&ran] { ran = true; });
  std::move(task)();
  future.get();
  EXPECT_TRUE(ran);
}

TEST(Future, ThrowsWhatTheTaskThrew) {
  auto [future, task] = make_task([]() -> int { throw std::out_of_range("far"); });
  std::move(task)();
  EXPECT_THROW(future.get(), std::out_of_range);
}

TEST(Future, WaitingForATimeMayBeInVain) {
  auto [future, task] = make_task([] { return 1; });
  EXPECT_EQ(future.wait_for(0ns), FutureStatus::pending);
  EXPECT_EQ(future.wait_for(1ms), FutureStatus::pending);
  std::move(task)();
  EXPECT_EQ(future.wait_for(0ns), FutureStatus::ready);
  EXPECT_EQ(future.wait_for(Duration::max()), FutureStatus::ready);
}

TEST(Future, ANegativeWaitIsRefused) {
  auto [future, task] = make_task([] { return 1; });
  EXPECT_THROW(future.wait_for(-1ns), InvalidArgument);
}

TEST(Future, WakesWhoeverWaitsForIt) {
  auto [future, task] = make_task([] { return 7; });
  std::jthread runner([queued = std::move(task)]() mutable { std::move(queued)(); });
  EXPECT_EQ(future.get(), 7);
}

TEST(Future, ACancelledTaskNeverRunsAndItsCapturesEndAtOnce) {
  const auto capture = std::make_shared<int>(1);
  bool ran = false;
  auto [future, task] = make_task([capture, &ran] { ran = true; });
  EXPECT_TRUE(future.cancel());
  EXPECT_EQ(capture.use_count(), 1);
  std::move(task)();
  EXPECT_FALSE(ran);
  EXPECT_THROW(future.get(), Cancelled);
}

TEST(Future, WhatHasBegunCannotBeCancelled) {
  auto [future, task] = make_task([] { return 1; });
  std::move(task)();
  EXPECT_FALSE(future.cancel());
  EXPECT_EQ(future.get(), 1);
}

TEST(Future, ATaskThatIsDroppedUnrunSaysStopped) {
  const auto capture = std::make_shared<int>(1);
  auto [future, task] = make_task([capture] { return *capture; });
  task.reset();
  EXPECT_EQ(capture.use_count(), 1);
  EXPECT_THROW(future.get(), Stopped);
}

TEST(Future, DroppingAFutureDoesNotCancelItsTask) {
  bool ran = false;
  auto [future, task] = make_task([&ran] { ran = true; });
  {
    const Future<void> dropped = std::move(future);
  }
  std::move(task)();
  EXPECT_TRUE(ran);
}

// Makes the test's thread a worker while it lives, and counts how often it is stood in for.
class TestEmployer : public Employer {
 public:
  TestEmployer(ExecutorId id, Cover cover) : id_(id), cover_(cover) { current_employer = this; }
  ~TestEmployer() override { current_employer = nullptr; }

  Cover begin_blocking() noexcept override {
    ++blocked_;
    ++regions_;
    return cover_;
  }
  void end_blocking() noexcept override { --blocked_; }
  ExecutorId executor_id() const noexcept override { return id_; }

  int blocked() const { return blocked_; }
  int regions() const { return regions_; }

 private:
  const ExecutorId id_;
  const Cover cover_;
  int blocked_ = 0;
  int regions_ = 0;
};

TEST(Future, AWaitingWorkerRunsTheAwaitedTask) {
  auto [future, task] = make_task([] { return std::this_thread::get_id(); });
  {
    const TestEmployer employer(0, Employer::Cover::nobody);
    EXPECT_EQ(future.get(), std::this_thread::get_id());
    EXPECT_EQ(employer.regions(), 0);
  }
  std::move(task)();  // finds nothing left to do
}

TEST(Future, AWaitingWorkerLeavesTheTasksOfOtherPoolsAlone) {
  auto [future, task] = make_task([] { return 1; });
  {
    const TestEmployer employer(99, Employer::Cover::nobody);
    EXPECT_EQ(future.wait_for(0s), FutureStatus::pending);
  }
  std::move(task)();
  EXPECT_EQ(future.get(), 1);
}

// Keeps what it is given and never runs it.
class Hoarder : public Executor {
 public:
  void execute(Closure&& task) override { kept_.push_back(std::move(task)); }
  std::size_t size() const { return kept_.size(); }

 private:
  std::vector<Closure> kept_;
};

// A continuation becomes ready after its waiter has begun to wait, and its executor never runs it.
void wait_for_a_continuation(Employer::Cover cover) {
  const auto hoarder = std::make_shared<Hoarder>();
  const ExecutorId id = register_executor(hoarder);
  std::atomic<bool> begun = false;
  std::atomic<bool> free = false;
  const auto first = [&] {
    begun = true;
    while (!free) std::this_thread::yield();
    return 20;
  };
  auto* const state = new SubmittedTask<int, decltype(first)>(id, first);
  Future<int> before{FutureRef<FutureState<int>>(state)};
  std::jthread other([task = Closure(QueuedTask(state))]() mutable { std::move(task)(); });
  while (!begun) std::this_thread::yield();
  Future<int> after = before.then([](int number) { return number + 1; });
  {
    const TestEmployer employer(id, cover);
    EXPECT_FALSE(after.wait_for(std::chrono::milliseconds(2)) == FutureStatus::ready);
    EXPECT_EQ(employer.regions(), 1);
    EXPECT_EQ(employer.blocked(), 0);
    std::jthread freer([&] { free = true; });
    EXPECT_EQ(after.get(), 21);
    EXPECT_EQ(employer.blocked(), 0);
  }
  other.join();
  EXPECT_EQ(hoarder->size(), 1U);
  forget_executor(id);
}

TEST(Executor, ItsNumberSaysHowAlertItIs) {
  const auto executor = std::make_shared<Hoarder>();
  const ExecutorId usual = register_executor(executor);
  const ExecutorId high = register_executor(executor, Alertness::high);
  EXPECT_EQ(alertness_of(usual), Alertness::usual);
  EXPECT_EQ(alertness_of(high), Alertness::high);
  EXPECT_NE(usual, high);
  forget_executor(usual);
  forget_executor(high);
}

TEST(Future, AWaitingWorkerLooksAgainForWhatItCanDo) {
  wait_for_a_continuation(Employer::Cover::nobody);
}

TEST(Future, AWaitingWorkerLooksAgainAlsoIfItIsStoodInFor) {
  wait_for_a_continuation(Employer::Cover::stood_in);
}

// Whoever waits for what follows helps with a slow task; meanwhile a quick one is done, and what
// follows drops all futures, the slow one's too.
TEST(WhenAny, ATaskThatAWaiterHelpsWithOutlivesItsFuture) {
  const auto token = std::make_shared<int>(1);
  Closure slow;
  Closure quick;
  const auto slow_body = [&, kept = token] {
    std::move(quick)();
    slow.reset();
    EXPECT_EQ(token.use_count(), 3) << "a task that runs is not destroyed";
  };
  auto [slow_future, slow_task] = make_task(slow_body);
  auto [quick_future, quick_task] = make_task([] {});
  slow = std::move(slow_task);
  quick = std::move(quick_task);
  std::vector<Future<void>> both;
  both.push_back(std::move(slow_future));
  both.push_back(std::move(quick_future));
  Future<std::size_t> which = when_any(both).then([](AnyReady<void> any) { return any.index; });
  const FutureRef<FutureState<std::size_t>> state = which.release_state();
  const TestEmployer employer(0, Employer::Cover::nobody);
  state->help();
  ASSERT_TRUE(state->is_settled());
  EXPECT_EQ(state->take(), 1U);
}

TEST(ExecuteOn, RunsRightHereIfThereIsNoSuchExecutor) {
  bool ran = false;
  execute_on(0, Closure([&ran] { ran = true; }));
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace muster
