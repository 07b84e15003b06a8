// job_isolation_test.cpp: handlers of jobs in processes of their own. This program is their
// program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include <muster/job_pool.hpp>
#include <muster/process_pool.hpp>

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

struct Work {
  std::string kind;
  int number = 0;
};
BOOST_DESCRIBE_STRUCT(Work, (), (kind, number))

void execute(JobContext& context, const Work& work) {
  context.log("attempt " + std::to_string(context.attempt()));
  context.progress(0.5, "half");
  if (work.kind == "crash" && context.attempt() <= 2) (void)std::raise(SIGSEGV);
  if (work.kind == "always crash") std::abort();
  if (work.kind == "throw") throw std::runtime_error("as it likes");
  if (work.kind == "hang") std::this_thread::sleep_for(1h);
  if (work.kind == "bad follow-up") context.enqueue<Work>("work", {.id = "", .event = {}});
  if (work.kind == "wait") {
    while (!context.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
    throw std::runtime_error("asked to stop");
  }
  if (work.kind == "parent") {
    context.enqueue<Work>("work", {.id = context.job_id() + " child",
                                   .event = {"child", work.number + 1},
                                   .partition_key = context.partition_key(),
                                   .delay = 1ms});
  }
  context.result(std::to_string(getpid()));
}

void define_pools(Jobs& jobs) {
  jobs.define<Work>("work", {.concurrency = 2,
                             .retry = {.max_attempts = 3, .delay = fixed(0ns), .jitter = 0},
                             .execute = execute,
                             .timeout = 500ms,
                             .isolation = JobIsolation::process});
  jobs.define<Work>("stubborn", {.concurrency = 1,
                                 .execute = execute,
                                 .isolation = JobIsolation::process,
                                 .kill_after = 50ms});
}

class JobIsolationTest : public ::testing::Test {
 protected:
  JobIsolationTest() { jobs_.start(); }
  [[nodiscard]] std::vector<AttemptError> errors_of(const std::string& id) const {
    for (const JobDeadLetter& letter : client_.dead_letters()) {
      if (letter.id == id) return letter.errors;
    }
    return {};
  }

  // Which does not look whether it is to stop.
  [[nodiscard]] JobClient<Work> running_stubborn_job() const {
    const auto client = jobs_.client<Work>("stubborn");
    client.enqueue({.id = "a", .event = {"hang", 1}});
    while (client.instance_status(0).progress.fraction == 0) std::this_thread::sleep_for(1ms);
    return client;
  }

  Jobs jobs_ = Jobs::open("memory:");
  JobClient<Work> client_ = [this] {
    define_pools(jobs_);
    return jobs_.client<Work>("work");
  }();
};

TEST_F(JobIsolationTest, AHandlerRunsElsewhereAndItsContextComesBack) {
  client_.enqueue({.id = "a", .event = {"parent", 1}, .partition_key = "k"});
  ASSERT_EQ(client_.drain(30s), DrainOutcome::drained);
  EXPECT_NE(client_.result("a"), '"' + std::to_string(getpid()) + '"');
  EXPECT_TRUE(client_.result("a").has_value());
  EXPECT_EQ(client_.log("a"), "attempt 1\n");
  EXPECT_TRUE(client_.result("a child").has_value()) << "what it enqueued was run";
}

TEST_F(JobIsolationTest, ACrashCostsAnAttemptAndNobodyElseAnything) {
  client_.enqueue({.id = "a", .event = {"crash", 1}});
  client_.enqueue({.id = "b", .event = {"always crash", 1}});
  client_.enqueue({.id = "c", .event = {"fine", 1}});
  ASSERT_EQ(client_.drain(30s), DrainOutcome::drained);
  EXPECT_EQ(client_.log("a"), "attempt 3\n");
  EXPECT_TRUE(client_.result("c").has_value());
  const std::vector<AttemptError> errors = errors_of("b");
  ASSERT_EQ(errors.size(), 3U);
  for (const AttemptError& error : errors) EXPECT_EQ(error.kind, FailureKind::crash);
}

TEST_F(JobIsolationTest, WhatIsThrownIsTold) {
  client_.enqueue({.id = "a", .event = {"throw", 1}});
  client_.enqueue({.id = "b", .event = {"bad follow-up", 1}});
  ASSERT_EQ(client_.drain(30s), DrainOutcome::drained);
  ASSERT_EQ(errors_of("a").size(), 3U);
  EXPECT_EQ(errors_of("a")[0].what, "as it likes");
  ASSERT_EQ(errors_of("b").size(), 3U);
  EXPECT_NE(errors_of("b")[0].what.find("id"), std::string::npos) << errors_of("b")[0].what;
}

TEST_F(JobIsolationTest, WhoHangsIsKilled) {
  client_.enqueue({.id = "a", .event = {"hang", 1}});
  ASSERT_EQ(client_.drain(60s), DrainOutcome::drained);
  ASSERT_EQ(errors_of("a").size(), 3U);
  EXPECT_EQ(errors_of("a")[0].kind, FailureKind::timeout);
}

TEST_F(JobIsolationTest, HowFarItIsCanBeAsked) {
  client_.enqueue({.id = "a", .event = {"wait", 1}});
  JobProgress progress;
  while (progress.fraction == 0) {
    for (const InstanceStatus& instance : client_.status().instances) {
      if (instance.state == InstanceState::processing) progress = instance.progress;
    }
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(progress.fraction, 0.5);
  EXPECT_EQ(progress.text, "half");
}

TEST_F(JobIsolationTest, AStopIsPassedOnAndHandsBack) {
  client_.enqueue({.id = "a", .event = {"wait", 1}});
  while (client_.status().instances[0].state != InstanceState::processing &&
         client_.status().instances[1].state != InstanceState::processing) {
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(jobs_.stop({.timeout = 20s}).unfinished, 0U);
  EXPECT_TRUE(client_.dead_letters().empty());
  EXPECT_EQ(client_.status().total_pending, 1U) << "no attempt was counted";
}

TEST_F(JobIsolationTest, WhoIsCancelledAndGoesOnIsKilled) {
  const auto client = running_stubborn_job();
  EXPECT_EQ(client.cancel("a", {.stop_running = true}), JobCancelOutcome::already_processing);
  EXPECT_EQ(client.drain(30s), DrainOutcome::drained);
  EXPECT_EQ(client.cancel("a"), JobCancelOutcome::already_completed);
  EXPECT_EQ(client.status().total_retries, 0U);
  EXPECT_TRUE(client.dead_letters().empty()) << "it is cancelled, not dead";
}

TEST_F(JobIsolationTest, WhoIsCancelledAndEndsIsNotKilled) {
  client_.enqueue({.id = "a", .event = {"wait", 1}});
  const auto has_begun = [&] {
    const std::vector<InstanceStatus> all = client_.status().instances;
    return std::ranges::any_of(
        all, [](const InstanceStatus& instance) { return instance.progress.fraction > 0; });
  };
  while (!has_begun()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(client_.cancel("a", {.stop_running = true}), JobCancelOutcome::already_processing);
  EXPECT_EQ(client_.drain(30s), DrainOutcome::drained);
  EXPECT_EQ(client_.log("a"), "attempt 1\n") << "which comes back with its end";
}

TEST_F(JobIsolationTest, WhoGoesOnBehindTheTimeoutOfAStopIsKilledAndHandedBack) {
  const auto client = running_stubborn_job();
  EXPECT_EQ(jobs_.stop({.timeout = 10ms}).unfinished, 1U);
  EXPECT_EQ(jobs_.stop({.timeout = 30s}).unfinished, 0U);
  EXPECT_EQ(client.status().total_pending, 1U);
  EXPECT_EQ(client.status().total_retries, 0U) << "no attempt was counted";
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::job_worker_main(argc, argv, muster::testing::define_pools);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
