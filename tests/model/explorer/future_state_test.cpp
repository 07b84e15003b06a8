// future_state_test.cpp: the shipped state of futures under every small schedule and every allowed
// read.
//
// States are not freed when they are deleted, so that whoever comes too late is found out by the
// explorer: the life of their atomics has ended.
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/future.hpp>
#include <muster/sync/plain.hpp>
#include <muster/when.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr int kGiven = 100;
constexpr int kResult = 200;

// What became of a state, for as long as the run.
struct Fate {
  int runs = 0;
  int drops = 0;
  int deletions = 0;
  Plain<int> result;
};

// A task whose result is a number in plain memory.
class Task final : public FutureStateBase {
 public:
  Task(Fate& fate, std::uint32_t references) : FutureStateBase(0, references), fate_(fate) {}
  ~Task() override { require(++fate_.deletions == 1, "a state is deleted once"); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  static void operator delete(void* /*memory*/) noexcept {}

  // After settling.
  void expect_outcome() {
    if (error() != nullptr) {
      require(fate_.runs == 0 && fate_.drops == 1, "what is cancelled is dropped and never runs");
    } else {
      require(fate_.runs == 1 && fate_.drops == 0, "what runs is not cancelled, and runs once");
      require(fate_.result.get() == kResult, "what the task did is visible");
    }
  }

 private:
  void run() noexcept override {
    require(++fate_.runs == 1, "no task runs twice");
    fate_.result.set(kResult);
    settle();
  }
  void drop_task() noexcept override { require(++fate_.drops == 1, "no task is dropped twice"); }

  Fate& fate_;
};

class Callback final : public FutureCallback {
 public:
  Callback(Task& task, Atomic<int>& called) : task_(task), called_(called) {}

  void add() {
    given_.set(kGiven);
    task_.add_callback(*this);
  }
  void on_settled() noexcept override {
    require(++calls == 1, "no callback is called twice");
    require(given_.get() == kGiven, "what was done before adding a callback is visible to it");
    require(task_.is_settled(), "a callback is called after settling");
    task_.expect_outcome();
    place = called_.fetch_add(1, relaxed);
    given_.set(0);  // it may be gone now: whoever still looks at it races with this
  }

  int calls = 0;
  int place = 0;  // among all that were called

 private:
  Task& task_;
  Atomic<int>& called_;
  Plain<int> given_;
};

class Companion final : public Escort {
 public:
  explicit Companion(Task& task) : task_(task) {}

  bool set() {
    given_.set(kGiven);
    return task_.set_escort(*this);
  }
  // Whoever sets it may use it again if nobody has it.
  void set_and_withdraw() {
    if (!set()) return;
    if (task_.withdraw_escort(*this)) given_.set(0);
  }
  void begin() noexcept override {
    require(++begins == 1 && ends == 0, "a task begins once, before its end");
    require(given_.get() == kGiven, "what was done before an escort was set is visible to it");
  }
  void end(const std::exception_ptr& error) noexcept override {
    require(++ends == 1, "a task ends once");
    require(given_.get() == kGiven, "what was done before an escort was set is visible to it");
    require((error == nullptr) == (begins == 1), "what is cancelled does not begin");
    task_.expect_outcome();
    given_.set(0);  // it is gone now
  }

  int begins = 0;
  int ends = 0;

 private:
  Task& task_;
  Plain<int> given_;
};

// A state and its callbacks.
class Case {
 public:
  explicit Case(std::uint32_t references)
      : task(*new(storage_.data()) Task(fate, references)),
        callbacks{{{task, called}, {task, called}, {task, called}}},
        escort(task) {}

  void wait() {
    require(task.wait(std::nullopt), "without a deadline a wait ends when it is settled");
    task.expect_outcome();
  }

 private:
  alignas(Task) std::array<std::byte, sizeof(Task)> storage_{};

 public:
  Fate fate;
  Task& task;
  Atomic<int> called = 0;  // callbacks
  std::array<Callback, 3> callbacks;
  Companion escort;
  bool is_escorted = false;
};

using Body = std::function<void(Case&)>;

// Each thread has a reference, and drops it at its end.
Scenario scenario(const std::string& name, const std::vector<Body>& threads,
                  const Body& at_end = {}, const Limits& limits = {}) {
  const auto setup = [=](Program& program) {
    auto it = std::make_shared<Case>(static_cast<std::uint32_t>(threads.size()));
    for (const Body& body : threads) {
      program.thread([=] {
        body(*it);
        it->task.drop_reference();
      });
    }
    program.at_end([=] {
      require(it->fate.deletions == 1, "a state is deleted when nobody holds it any more");
      if (at_end) at_end(*it);
    });
  };
  return {.name = name, .setup = setup, .limits = limits};
}

const Body kRun = [](Case& c) { c.task.run_if_unclaimed(); };
const Body kWait = [](Case& c) { c.wait(); };
const Body kHelp = [](Case& c) { c.task.help(), c.wait(); };
const Body kCancel = [](Case& c) {
  if (c.task.cancel()) c.task.expect_outcome();
};
const Body kCancelAndWait = [](Case& c) { c.task.cancel(), c.wait(); };

// Gives up when the deadline comes, which it may at any time.
const Body kWaitInVain = [](Case& c) {
  if (c.task.wait(Time{})) c.task.expect_outcome();
};
const Body kLook = [](Case& c) {
  if (c.task.is_settled()) c.task.expect_outcome();
};

std::vector<Scenario> waiting() {
  return {
      scenario("a runner and a waiter", {kRun, kWait}, {}, {kUnbounded, 3}),
      scenario("a runner and two waiters", {kRun, kWait, kWait}),
      scenario("two runners and a waiter", {kRun, kHelp, kWait}),
      scenario("a runner, and a waiter in a hurry", {kRun, kWaitInVain, kWait}),
      scenario("a runner, and somebody who looks", {kRun, kLook, kLook}),
  };
}

Body add(std::size_t callback) {
  return [=](Case& c) { c.callbacks[callback].add(); };
}
const Body kAddTwo = [](Case& c) { c.callbacks[0].add(), c.callbacks[1].add(); };

Body expect_called(std::size_t count) {
  return [=](Case& c) {
    for (std::size_t i = 0; i < count; ++i) {
      require(c.callbacks[i].calls == 1, "every callback is called");
    }
  };
}

// Two callbacks are there already.
Scenario in_order() {
  return {.name = "callbacks that wait, and one more", .setup = [](Program& program) {
            auto it = std::make_shared<Case>(2);
            for (const std::size_t i : {0U, 1U}) it->callbacks[i].add();
            for (const Body& body : {kRun, add(2)}) {
              program.thread([=] {
                body(*it);
                it->task.drop_reference();
              });
            }
            program.at_end([=] {
              expect_called(3)(*it);
              const bool ordered = it->callbacks[0].place < it->callbacks[1].place;
              require(ordered, "callbacks that wait are called in their order");
            });
          }};
}

std::vector<Scenario> callbacks() {
  return {
      scenario("one callback", {kRun, add(0)}, expect_called(1), {kUnbounded, 3}),
      scenario("callbacks of two threads", {kRun, add(0), add(1)}, expect_called(2)),
      scenario("two callbacks of one thread", {kRun, kAddTwo}, expect_called(2)),
      scenario("callbacks and a waiter", {kRun, kAddTwo, kWait}, expect_called(2)),
      scenario("callbacks, and somebody who cancels", {kRun, add(0), kCancel}, expect_called(1)),
      scenario("two callbacks and one", {kRun, kAddTwo, add(2)}, expect_called(3)),
      in_order(),
  };
}

// What a queue holds of the task is dropped without having run. Holds a reference of its own.
const Body kDropQueued = [](Case& c) { const QueuedTask queued(&c.task); };

Scenario dropped() {
  return {.name = "dropped by its queue, and cancelled", .setup = [](Program& program) {
            auto it = std::make_shared<Case>(3);
            program.thread([=] { kDropQueued(*it); });
            for (const Body& body : {kCancel, kWait}) {
              program.thread([=] {
                body(*it);
                it->task.drop_reference();
              });
            }
            program.at_end([=] { require(it->fate.deletions == 1, "deleted once"); });
          }};
}

std::vector<Scenario> cancelling() {
  return {
      scenario("run and cancelled", {kRun, kCancelAndWait}, {}, {kUnbounded, 3}),
      scenario("run and cancelled, and a waiter", {kRun, kCancel, kWait}),
      scenario("cancelled twice, and a waiter", {kCancel, kCancel, kWait}),
      dropped(),
  };
}

const Body kEscort = [](Case& c) { c.is_escorted = c.escort.set(); };
const Body kEscortForNothing = [](Case& c) { c.escort.set_and_withdraw(); };
const Body kExpectEscorted = [](Case& c) {
  require(c.escort.ends == (c.is_escorted ? 1 : 0), "an escort is told of the end, if it was set");
  require(c.escort.begins == (c.is_escorted ? c.fate.runs : 0), "and of the beginning");
};

std::vector<Scenario> escorting() {
  return {
      scenario("escorted and run", {kEscort, kRun}, kExpectEscorted, {kUnbounded, 3}),
      scenario("escorted, run or cancelled", {kEscort, kRun, kCancelAndWait}, kExpectEscorted),
      scenario("escorted for nothing, run", {kEscortForNothing, kRun, kWait}),
  };
}

std::vector<Scenario> all() {
  std::vector<Scenario> all = waiting();
  for (const Scenario& more : callbacks()) all.push_back(more);
  for (const Scenario& more : cancelling()) all.push_back(more);
  for (const Scenario& more : escorting()) all.push_back(more);
  return all;
}

TEST(FutureStateModel, WhoeverWaitsSeesTheOutcome) {
  expect_all_hold(waiting());
}

TEST(FutureStateModel, EachCallbackIsCalledOnceAndSeesTheOutcome) {
  expect_all_hold(callbacks());
}

TEST(FutureStateModel, ATaskIsRunOrCancelledAndNotBoth) {
  expect_all_hold(cancelling());
}

TEST(FutureStateModel, AnEscortGoesWithWhoeverClaimsTheTask) {
  expect_all_hold(escorting());
}

TEST(FutureStateModel, EveryOrderIsNeeded) {
  expect_weakenings_caught(all(), "future_state.cpp");
  expect_weakenings_caught(all(), "future_state.hpp");
}

// --- What is built on it: then, when_all, when_any. ---

// A result whose moves are watched.
class Parcel {
 public:
  explicit Parcel(const Plain<int>& content) : content_(&content) { check(); }
  Parcel(Parcel&& other) noexcept : content_(other.content_) { check(); }
  Parcel& operator=(Parcel&& other) noexcept = delete;
  ~Parcel() = default;

  void check() const { require(content_->get() == kResult, "the result is visible"); }

 private:
  const Plain<int>* content_;
};

// A task of several.
class Source final : public FutureState<Parcel> {
 public:
  explicit Source(Plain<int>& content) : FutureState<Parcel>(0), content_(content) {}
  static void operator delete(void* /*memory*/) noexcept {}

 private:
  void run() noexcept override {
    content_.set(kResult);
    value_.emplace(content_);
    settle();
  }
  void drop_task() noexcept override {}

  Plain<int>& content_;
};

class Sources {
 public:
  // As a queue does it, once.
  void run(std::size_t index) {
    QueuedTask queued(sources_[index]);
    queued();
  }
  Future<Parcel> future(std::size_t index) {
    return Future<Parcel>(FutureRef<FutureState<Parcel>>(sources_[index]));
  }

 private:
  alignas(Source) std::array<std::byte, 2 * sizeof(Source)> storage_{};
  std::array<Plain<int>, 2> contents_;
  std::array<Source*, 2> sources_{new (storage_.data()) Source(contents_[0]),
                                  new (storage_.data() + sizeof(Source)) Source(contents_[1])};
};

// Two sources that are run by two threads, and whoever waits for something made of them.
template <class Make, class Use>
Scenario gathering(const std::string& name, const Make& make, const Use& use,
                   const Limits& limits = {}) {
  const auto setup = [=](Program& program) {
    auto sources = std::make_shared<Sources>();
    auto future = std::make_shared<decltype(make(*sources))>(make(*sources));
    program.thread([=] { sources->run(0); });
    program.thread([=] { sources->run(1); });
    program.thread([=] { use(future->release_state()); });
  };
  return {.name = name, .setup = setup, .limits = limits};
}

std::vector<Scenario> gatherings() {
  const auto all = [](Sources& sources) {
    Future<Parcel> one = sources.future(0);
    Future<Parcel> other = sources.future(1);
    return when_all(one, other);
  };
  const auto first_then_drop = [](Sources& sources) {
    std::vector<Future<Parcel>> futures;
    for (const std::size_t i : {0U, 1U}) futures.push_back(sources.future(i));
    return when_any(std::move(futures)).then([](AnyReady<Parcel> any) {
      any.futures[any.index].get().check();
    });
  };
  const auto wait = [](auto state) {
    state->wait(std::nullopt);
    std::ignore = state->take();
  };
  const auto cancel_and_wait = [](auto state) {
    const bool cancelled = state->cancel();
    state->wait(std::nullopt);
    require(cancelled == (state->error() != nullptr), "cancelled, or gathered");
  };
  const auto help = [](auto state) {
    state->help();
    state->wait(std::nullopt);
    state->take();
  };
  return {
      gathering("both", all, wait),
      gathering("both, cancelled", all, cancel_and_wait),
      gathering("the first, dropped with the others", first_then_drop, help),
  };
}

TEST(FutureStateModel, WhatIsMadeOfSeveralSeesThemAndOutlivesThem) {
  expect_all_hold(gatherings());
}

TEST(FutureStateModel, EveryOrderIsNeededWhereSeveralMeet) {
  expect_weakenings_caught(gatherings(), "when.hpp");
}

}  // namespace
}  // namespace muster::explore
