// tracing_outcome_test.cpp: how tasks of a traced pool end, as its tracer is told.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <muster/simulation.hpp>
#include <muster/strand.hpp>
#include <muster/thread_pool.hpp>

#include "recorder.hpp"
#include "support/hold.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::Hold;
using testing::incoming;
using testing::Recorder;

void expect_never_began(const TaskTrace& trace, TaskOutcome outcome) {
  EXPECT_EQ(trace.outcome, outcome);
  EXPECT_FALSE(trace.started.has_value());
  EXPECT_FALSE(trace.worker.has_value());
}

ThreadPoolOptions traced(Recorder& recorder) {
  return {.workers = 1, .tracer = &recorder, .on_error = [](const auto&) {}};
}

[[noreturn]] void fail() {
  throw std::runtime_error("no paper");
}

TEST(TracingOutcome, ATaskThatThrowsHasFailed) {
  Recorder recorder;
  ThreadPool pool(traced(recorder));
  pool.post([] { fail(); });
  pool.post({.name = "posted"}, [] { fail(); });
  pool.submit({.name = "submitted"}, [] { fail(); }).wait();
  pool.wait_idle();
  for (const char* const name : {"", "posted", "submitted"}) {
    EXPECT_EQ(recorder.only(name).outcome, TaskOutcome::failed);
    EXPECT_EQ(recorder.only(name).error, "no paper");
    EXPECT_TRUE(recorder.only(name).started.has_value());
  }
}

TEST(TracingOutcome, WhatATaskThrowsDoesNotMakeItCancelled) {
  Recorder recorder;
  ThreadPool pool(traced(recorder));
  pool.submit([] { throw Cancelled("somebody else's"); }).wait();
  pool.wait_idle();
  EXPECT_EQ(recorder.only().outcome, TaskOutcome::failed);
  EXPECT_TRUE(recorder.only().started.has_value());
}

TEST(TracingOutcome, ACancelledFutureIsToldOfAtOnce) {
  Recorder recorder;
  ThreadPool pool(traced(recorder));
  const Hold hold(pool);
  Future<void> future = pool.submit({.name = "cancelled"}, [] {});
  ASSERT_TRUE(future.cancel());
  expect_never_began(recorder.only("cancelled"), TaskOutcome::cancelled);
}

TEST(TracingOutcome, ATaskWhoseStopCameFirstIsCancelled) {
  Recorder recorder;
  ThreadPool pool(traced(recorder));
  std::stop_source stop;
  stop.request_stop();
  pool.submit({.stop = stop.get_token()}, [] {}).wait();
  pool.wait_idle();
  expect_never_began(recorder.only(), TaskOutcome::cancelled);
}

TEST(TracingOutcome, ATaskThatIsTooLateHasExpired) {
  Recorder recorder;
  ThreadPool pool(traced(recorder));
  pool.post({.deadline = Time{}}, [] {});
  pool.wait_idle();
  expect_never_began(recorder.only(), TaskOutcome::expired);
}

TEST(TracingOutcome, ATimerThatIsCancelledWhileItsTaskWaitsIsCancelled) {
  Recorder recorder;
  Simulation world(1);
  ThreadPoolOptions options = traced(recorder);
  options.max_spare_workers = 0;
  options.simulation = &world;
  ThreadPool pool(options);
  std::optional<Timer> timer;
  pool.post({.name = "holds"}, [&] {
    timer = pool.after(1ms, [] { FAIL() << "cancelled"; });
    world.run_for(2ms);  // due; and the only worker is here
    EXPECT_TRUE(timer->cancel());
  });
  pool.wait_idle();
  expect_never_began(recorder.only(""), TaskOutcome::cancelled);
  EXPECT_EQ(recorder.only("").parent, recorder.only("holds").context);
}

TEST(TracingOutcome, WhatIsDroppedIsToldOf) {
  for (const WhenFull when_full : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
    Recorder recorder;
    ThreadPoolOptions options = traced(recorder);
    options.admission = {.max_queued = 1, .when_full = when_full};
    ThreadPool pool(options);
    const Hold hold(pool);
    const bool drops_newest = when_full == WhenFull::drop_newest;
    pool.post({.name = "older"}, [] {});
    pool.post({.name = "newer"}, [] {});
    const TaskTrace dropped = recorder.only(drops_newest ? "newer" : "older");
    expect_never_began(dropped, TaskOutcome::dropped);
    EXPECT_NE(dropped.error.find("too many tasks wait"), std::string::npos) << dropped.error;
  }
}

TEST(TracingOutcome, APlainTaskThatIsDroppedIsToldOf) {
  Recorder recorder;
  ThreadPoolOptions options = traced(recorder);
  options.admission = {.max_queued = 1, .when_full = WhenFull::drop_newest};
  ThreadPool pool(options);
  const Hold hold(pool);
  for (int i = 0; i < 2; ++i) pool.post([] {});
  expect_never_began(recorder.only(), TaskOutcome::dropped);
  EXPECT_NE(recorder.only().error.find("too many tasks wait"), std::string::npos);
}

TEST(TracingOutcome, WhatAStopDiscardsIsDropped) {
  Recorder recorder;
  ThreadPool pool(traced(recorder));
  Hold hold(pool);
  Strand strand(pool);
  pool.post([] {});
  strand.post([] {});
  Future<void> future = pool.submit([] {});
  EXPECT_FALSE(pool.stop({.mode = Stop::discard, .timeout = 0ms}));
  hold.release();
  pool.stop({.mode = Stop::discard});
  int dropped = 0;
  for (const TaskTrace& trace : recorder.traces()) {
    if (trace.outcome != TaskOutcome::dropped) continue;
    expect_never_began(trace, TaskOutcome::dropped);
    EXPECT_NE(trace.error.find("its pool stopped"), std::string::npos) << trace.error;
    ++dropped;
  }
  EXPECT_EQ(dropped, 3);
}

TEST(TracingOutcome, WhatIsRefusedIsNotToldOf) {
  Recorder recorder;
  ThreadPoolOptions options = traced(recorder);
  options.admission = {.max_queued = 1, .when_full = WhenFull::reject};
  ThreadPool pool(options);
  {
    const Hold hold(pool);
    pool.post({.name = "accepted"}, [] {});
    EXPECT_THROW(pool.post([] {}), QueueFull);
    EXPECT_THROW(pool.submit([] {}).get(), QueueFull);
    EXPECT_FALSE(pool.try_post([] {}));
    EXPECT_FALSE(pool.try_submit([] {}).has_value());
  }
  pool.stop();
  EXPECT_THROW(pool.post([] {}), Stopped);
  EXPECT_THROW(pool.submit([] {}).get(), Stopped);
  EXPECT_EQ(recorder.traces().size(), 2U);  // with the one that held the worker
}

TEST(TracingOutcome, ATaskThatTimesOutIsToldOfWhenItHasEnded) {
  Recorder recorder;
  Simulation world(1);
  ThreadPoolOptions options = traced(recorder);
  options.workers = 2;
  options.max_spare_workers = 0;
  options.simulation = &world;
  ThreadPool pool(options);
  TraceContext after_timeout;
  pool.submit({.timeout = 2ms, .name = "slow"},
              [&](const std::stop_token& stop) {
                const std::stop_callback on_stop(stop, [&] { after_timeout = current_trace(); });
                world.run_for(5ms);
              })
      .wait();
  pool.wait_idle();
  const TaskTrace slow = recorder.only("slow");
  EXPECT_EQ(slow.outcome, TaskOutcome::timed_out);
  EXPECT_EQ(slow.ended - *slow.started, 5ms);
  EXPECT_EQ(after_timeout, slow.context);  // whatever thread the timeout is told on
}

}  // namespace
}  // namespace muster
