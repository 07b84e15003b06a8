// tracing_test.cpp: which trace a task is part of, and what its pool's tracer is told of it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/strand.hpp>
#include <muster/task.hpp>
#include <muster/task_group.hpp>
#include <muster/thread_pool.hpp>

#include "recorder.hpp"
#include "support/hold.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::Hold;
using testing::incoming;
using testing::Recorder;

TEST(Tracing, AChainOfTasksIsOneTrace) {
  Recorder recorder;
  ThreadPool pool({.workers = 2, .tracer = &recorder, .traced_as = "io"});
  const TraceContext request = incoming();
  TraceHeaders outgoing;
  {
    const TraceScope scope(request);
    pool.post({.name = "task"}, [&] {
      pool.post({.name = "child"}, [&] { outgoing = to_headers(current_trace()); });
    });
  }
  pool.wait_idle();
  const TaskTrace task = recorder.only("task");
  const TaskTrace child = recorder.only("child");
  EXPECT_EQ(task.parent, request);
  EXPECT_EQ(task.context.trace_id, request.trace_id);
  EXPECT_EQ(child.parent, task.context);
  EXPECT_EQ(child.context.trace_id, request.trace_id);
  EXPECT_NE(child.context.span_id, task.context.span_id);
  EXPECT_EQ(outgoing.traceparent, to_headers(child.context).traceparent);
  EXPECT_EQ(outgoing.tracestate, "vendor=1");
  EXPECT_EQ(child.pool, "io");
  EXPECT_EQ(child.outcome, TaskOutcome::succeeded);
  EXPECT_LE(task.accepted, *task.started);
  EXPECT_LE(*task.started, child.accepted);
  EXPECT_LE(child.accepted, *child.started);
  EXPECT_LE(*child.started, child.ended);
}

TEST(Tracing, ATaskFromNowhereBeginsATrace) {
  Recorder recorder;
  ThreadPool pool({.workers = 1, .tracer = &recorder});
  pool.post([] {});
  pool.wait_idle();
  EXPECT_FALSE(recorder.only().parent.is_valid());
  EXPECT_TRUE(recorder.only().context.is_valid());
  EXPECT_EQ(recorder.only().pool, "muster");
}

TEST(Tracing, TellsHowLongATaskWaitedAndRan) {
  Recorder recorder;
  Simulation world(1);
  ThreadPool pool(
      {.workers = 1, .tracer = &recorder, .max_spare_workers = 0, .simulation = &world});
  pool.post({.name = "first"}, [&] { world.run_for(5ms); });
  pool.post({.name = "second"}, [&] { world.run_for(3ms); });
  pool.wait_idle();
  EXPECT_EQ(*recorder.only("first").started - recorder.only("first").accepted, 0ms);
  EXPECT_EQ(*recorder.only("second").started - recorder.only("second").accepted, 5ms);
  EXPECT_EQ(recorder.only("second").ended - *recorder.only("second").started, 3ms);
}

TEST(Tracing, TheSendersWaitForRoomIsNotTheTasksWait) {
  Recorder recorder;
  Simulation world(1);
  ThreadPool pool(
      {.workers = 1, .admission = {.max_queued = 1}, .tracer = &recorder, .simulation = &world});
  pool.post({.name = "first"}, [&] { world.run_for(5ms); });
  pool.post({.name = "second"}, [] {});  // has room when the first has begun, and 5 ms are over
  pool.wait_idle();
  EXPECT_EQ(recorder.only("second").accepted, Time(5ms));
  EXPECT_EQ(*recorder.only("second").started, Time(5ms));
}

// A way to have a task of a pool run.
struct Way {
  const char* name;
  std::function<void(ThreadPool&, Simulation&)> post;
};

class TracingOf : public ::testing::TestWithParam<Way> {};

const Way kWays[] = {
    {"post", [](ThreadPool& pool, Simulation&) { pool.post([] {}); }},
    {"try_post", [](ThreadPool& pool, Simulation&) { EXPECT_TRUE(pool.try_post([] {})); }},
    {"priority", [](ThreadPool& pool, Simulation&) { pool.post({.priority = 3}, [] {}); }},
    {"affinity", [](ThreadPool& pool, Simulation&) { pool.post({.affinity = "k"}, [] {}); }},
    {"submit", [](ThreadPool& pool, Simulation&) { pool.submit([] { return 1; }).get(); }},
    {"try_submit", [](ThreadPool& pool, Simulation&) { pool.try_submit([] {})->get(); }},
    {"options", [](ThreadPool& pool, Simulation&) { pool.submit({.timeout = 1s}, [] {}).get(); }},
    {"bulk",
     [](ThreadPool& pool, Simulation&) {
       pool.submit_bulk(std::vector<std::function<void()>>{[] {}}).front().get();
     }},
    {"run", [](ThreadPool& pool, Simulation&) { pool.run([] {}); }},
    {"large", [](ThreadPool& pool,
                 Simulation&) { pool.post([large = std::array<char, 99>()] { (void)large; }); }},
    {"after",
     [](ThreadPool& pool, Simulation& world) {
       pool.after(1s, [] {});
       world.run_for(2s);
     }},
    {"group",
     [](ThreadPool& pool, Simulation&) {
       TaskGroup group(pool);
       group.run([] {});
       group.wait();
     }},
    {"strand",
     [](ThreadPool& pool, Simulation&) {
       Strand strand(pool);
       strand.post([] {});
       pool.wait_idle();
     }},
    {"coroutine",
     [](ThreadPool& pool, Simulation&) {
       sync_wait([](ThreadPool& on) -> Task<> { co_await on.schedule(); }(pool));
     }},
};

INSTANTIATE_TEST_SUITE_P(All, TracingOf, ::testing::ValuesIn(kWays),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(TracingOf, EachTaskOnceAsPartOfTheSendersTrace) {
  Recorder recorder;
  Simulation world(1);
  ThreadPool pool({.workers = 2, .tracer = &recorder, .simulation = &world});
  const TraceContext request = incoming();
  {
    const TraceScope scope(request);
    GetParam().post(pool, world);
  }
  pool.wait_idle();
  const TaskTrace trace = recorder.only();
  EXPECT_EQ(trace.parent, request);
  EXPECT_EQ(trace.outcome, TaskOutcome::succeeded);
  EXPECT_TRUE(trace.started.has_value());
  EXPECT_TRUE(trace.worker.has_value());
}

TEST(Tracing, WhatATaskPostsWithoutOptionsIsItsChild) {
  Recorder recorder;
  ThreadPool pool({.workers = 1, .tracer = &recorder});
  pool.post({.name = "task"}, [&] { pool.post([] {}); });
  pool.wait_idle();
  EXPECT_EQ(recorder.only("").parent, recorder.only("task").context);
}

TEST(Tracing, ATaskRunByWhoeverWaitsForItHasItsOwnSpan) {
  Recorder recorder;
  ThreadPool pool({.workers = 1, .tracer = &recorder});
  TraceContext outside;
  TraceContext inside;
  pool.post({.name = "waits"}, [&] {
    pool.submit({.name = "awaited"}, [&] { inside = current_trace(); }).get();
    outside = current_trace();
  });
  pool.wait_idle();
  EXPECT_EQ(recorder.only("waits").context, outside);
  EXPECT_EQ(recorder.only("awaited").context, inside);
  EXPECT_EQ(recorder.only("awaited").parent, outside);
  EXPECT_EQ(recorder.only("awaited").worker, 0U);
  EXPECT_TRUE(recorder.only("awaited").started.has_value());
}

TEST(Tracing, AStolenTaskNamesItsThief) {
  Recorder recorder;
  ThreadPool pool({.workers = 2, .tracer = &recorder});
  std::atomic<bool> has_run = false;
  pool.post({.name = "robbed"}, [&] {
    pool.post({.name = "stolen"}, [&] { has_run = true; });
    while (!has_run) std::this_thread::yield();
  });
  pool.wait_idle();
  EXPECT_EQ(recorder.only("stolen").parent, recorder.only("robbed").context);
  EXPECT_NE(recorder.only("stolen").worker, recorder.only("robbed").worker);
}

TEST(Tracing, WhatFollowsATaskIsItsChild) {
  Recorder recorder;
  ThreadPool pool({.workers = 1, .tracer = &recorder});
  Hold hold(pool);
  Future<int> after =
      pool.submit({.name = "before"}, [] { return 1; }).then([](int n) { return n; });
  hold.release();
  EXPECT_EQ(after.get(), 1);
  pool.wait_idle();
  std::vector<TaskTrace> traces = recorder.traces();
  const TaskTrace before = recorder.only("before");
  EXPECT_EQ(std::ranges::count(traces, before.context, &TaskTrace::parent), 1);
}

TEST(Tracing, ACoroutineThatWaitedForATaskGoesOnInItsTrace) {
  Recorder recorder;
  ThreadPool pool({.workers = 1, .tracer = &recorder});
  TraceContext goes_on;
  const auto coroutine = [](ThreadPool& on, TraceContext& seen) -> Task<> {
    co_await on.submit([] {});
    seen = current_trace();
  };
  {
    Hold hold(pool);
    const TraceContext request = incoming();
    const TraceScope scope(request);
    Future<void> done = spawn(pool, coroutine(pool, goes_on));
    hold.release();
    done.get();
  }
  pool.wait_idle();
  EXPECT_EQ(goes_on.trace_id, incoming().trace_id);
}

TEST(Tracing, EachRunOfAPeriodicTimerBeginsATrace) {
  Recorder recorder;
  Simulation world(1);
  ThreadPool pool(
      {.workers = 1, .tracer = &recorder, .max_spare_workers = 0, .simulation = &world});
  const TraceContext request = incoming();
  const TraceScope scope(request);
  pool.every(1s, [] {});
  world.run_for(3500ms);
  std::set<std::array<std::uint8_t, 16>> ids;
  for (const TaskTrace& trace : recorder.traces()) {
    EXPECT_FALSE(trace.parent.is_valid());
    ids.insert(trace.context.trace_id);
  }
  EXPECT_EQ(ids.size(), 3U);
}

TEST(Tracing, ATaskThatItsSenderRunsHasNoWorker) {
  Recorder recorder;
  ThreadPool pool({.workers = 1,
                   .admission = {.max_queued = 1, .when_full = WhenFull::caller_runs},
                   .tracer = &recorder});
  Hold hold(pool);
  pool.post({.name = "waits"}, [] {});
  pool.post({.name = "run here"}, [] {});
  EXPECT_TRUE(recorder.only("run here").started.has_value());
  EXPECT_FALSE(recorder.only("run here").worker.has_value());
}

TEST(Tracing, ATracerThatThrowsCostsNoTask) {
  struct Broken final : TaskTracer {
    TraceContext begin(const TraceContext&) override { throw std::runtime_error("no ids left"); }
    void record(TaskTrace&&) noexcept override { ++records; }
    std::atomic<int> records = 0;
  } broken;
  ThreadPool pool({.workers = 1, .tracer = &broken});
  const TraceContext request = incoming();
  const TraceScope scope(request);
  EXPECT_EQ(pool.submit([] { return current_trace(); }).get(), request);
  pool.wait_idle();
  EXPECT_EQ(broken.records, 0);
}

TEST(Tracing, APoolWithoutATracerIsInNoTrace) {
  Recorder recorder;
  Simulation world(1);
  ThreadPool traced(
      {.workers = 1, .tracer = &recorder, .max_spare_workers = 0, .simulation = &world});
  ThreadPool plain({.workers = 1, .simulation = &world});
  TraceContext seen = incoming();
  traced.post({.name = "waits"}, [&] {
    plain.submit({.deadline = world.now()}, [] {}).wait();  // expires, which is not our task's fate
    plain.submit([&] { seen = current_trace(); }).get();
  });
  traced.wait_idle();
  EXPECT_FALSE(seen.is_valid());
  EXPECT_EQ(recorder.only("waits").outcome, TaskOutcome::succeeded);
}

}  // namespace
}  // namespace muster
