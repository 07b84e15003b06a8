// suspension_test.cpp: coroutines that wait, without a pool: resumed, dropped, one after the other.
#include <coroutine>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/log.hpp>
#include <muster/error.hpp>
#include <muster/sync/closure.hpp>
#include <muster/sync/suspension.hpp>

namespace muster {
namespace {

// A coroutine of somebody else's making: begins at once, and lets its exceptions out.
class Foreign {
 public:
  struct promise_type {
    Foreign get_return_object() {
      return Foreign(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    [[noreturn]] static void unhandled_exception() { throw; }
    static void return_void() {}
  };

  explicit Foreign(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Foreign(Foreign&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  ~Foreign() { destroy(); }

  [[nodiscard]] bool is_done() const { return handle_.done(); }
  [[nodiscard]] std::coroutine_handle<> handle() const { return handle_; }
  void destroy() {
    if (handle_) std::exchange(handle_, {}).destroy();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// Waits in a queue of one.
struct Waits {
  Closure& queue;
  Suspension suspension = {};

  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    suspension.begin(coroutine);
    queue = Closure(Resumption(suspension));
  }
  void await_resume() const { suspension.check(); }
};

Foreign note_outcome(Closure& queue, std::string& outcome) {
  try {
    co_await Waits{queue};
    outcome = "resumed";
  } catch (const Stopped& stopped) {
    outcome = stopped.what();
  }
}

TEST(Suspension, GoesOnWhenItsResumptionIsCalled) {
  Closure queue;
  std::string outcome;
  const Foreign coroutine = note_outcome(queue, outcome);
  EXPECT_FALSE(coroutine.is_done());
  std::move(queue)();
  EXPECT_TRUE(coroutine.is_done());
  EXPECT_EQ(outcome, "resumed");
}

TEST(Suspension, GoesOnWithStoppedWhenItsResumptionIsDropped) {
  Closure queue;
  std::string outcome;
  const Foreign coroutine = note_outcome(queue, outcome);
  queue.reset();
  EXPECT_TRUE(coroutine.is_done());
  EXPECT_EQ(outcome, "the coroutine was dropped before it could go on: its pool stopped");
}

TEST(Suspension, GoesOnOnceHoweverOftenItsResumptionMoves) {
  Closure queue;
  std::string outcome;
  const Foreign coroutine = note_outcome(queue, outcome);
  Closure second = std::move(queue);
  queue.reset();
  EXPECT_EQ(outcome, "");
  queue = std::move(second);
  std::move(queue)();
  EXPECT_EQ(outcome, "resumed");
}

TEST(Suspension, OneThatWasWithdrawnIsLeftAlone) {
  std::string outcome;
  Closure queue;
  Foreign coroutine = note_outcome(queue, outcome);
  {
    Suspension suspension;
    suspension.begin(coroutine.handle());
    const Closure dropped{Resumption(suspension)};
    suspension.withdraw();
  }
  EXPECT_EQ(outcome, "");
  std::move(queue)();
}

Foreign throw_when_resumed(Closure& queue) {
  co_await Waits{queue};
  throw std::out_of_range("called");
}

TEST(Suspension, WhatACoroutineLetsOutReachesTheCallerOrTheLog) {
  Closure queue;
  {
    const Foreign coroutine = throw_when_resumed(queue);
    EXPECT_THROW(std::move(queue)(), std::out_of_range);
  }
  std::vector<std::string> logged;
  const LogHook before =
      set_log_hook([&](const LogRecord& record) { logged.emplace_back(record.message); });
  {
    const Foreign coroutine = throw_when_resumed(queue);
    queue.reset();
  }
  set_log_hook(before);
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_EQ(logged[0],
            "a coroutine that was dropped threw: the coroutine was dropped before it could go on: "
            "its pool stopped");
}

TEST(SuspensionDeathTest, ACoroutineMustNotBeDestroyedWhileItWaits) {
  const auto destroy_too_early = [] {
    Closure queue;
    std::string outcome;
    Foreign coroutine = note_outcome(queue, outcome);
    coroutine.destroy();
  };
  EXPECT_DEATH(destroy_too_early(), "a coroutine was destroyed while it waited its turn");
}

// Hands the thread to another coroutine.
struct Yields {
  std::coroutine_handle<> next;

  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) const {
    detail::resume_in_place_of(coroutine, next);
  }
  static void await_resume() noexcept {}
};

// The distance between the stacks of two turns must stay the same, however many there were.
TEST(Resume, CoroutinesThatTakeTurnsDoNotGrowTheStack) {
  std::vector<std::coroutine_handle<>> others;
  const char* highest = nullptr;
  const char* lowest = nullptr;
  const auto play = [&](std::size_t other) -> Foreign {
    co_await std::suspend_always();
    for (int i = 0; i < 10'000; ++i) {
      const char* const here = static_cast<const char*>(__builtin_frame_address(0));
      if (highest == nullptr || here > highest) highest = here;
      if (lowest == nullptr || here < lowest) lowest = here;
      co_await Yields{others[other]};
    }
  };
  const Foreign one = play(1);
  const Foreign two = play(0);
  others = {one.handle(), two.handle()};
  detail::resume(one.handle());
  EXPECT_TRUE(one.is_done());
  EXPECT_LT(highest - lowest, 1000);
}

TEST(Resume, ACoroutineThatSomebodyElseResumedHandsOverAllTheSame) {
  bool went_on = false;
  const auto second = [&]() -> Foreign {
    co_await std::suspend_always();
    went_on = true;
  };
  const auto first = [&](std::coroutine_handle<> next) -> Foreign {
    co_await std::suspend_always();
    co_await Yields{next};
  };
  const Foreign next = second();
  const Foreign coroutine = first(next.handle());
  coroutine.handle().resume();
  EXPECT_TRUE(went_on);
  EXPECT_FALSE(coroutine.is_done());
}

}  // namespace
}  // namespace muster
