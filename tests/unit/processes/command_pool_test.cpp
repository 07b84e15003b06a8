// command_pool_test.cpp: pools whose workers are programs of other languages.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// A worker that answers each line by what the shell makes of it; $id is the task's.
ProcessPoolOptions shell_worker(const std::string& answer) {
  const std::string script =
      R"(while read -r line; do id=${line#*:}; id=${id%%,*}; )" + answer + "; done";
  return {.workers = 1,
          .program = "sh",
          .arguments = {"-c", script},
          .command = CommandOptions{},
          .retry = at_once(1)};
}

TEST(CommandPool, RunsAProgramOfAFolder) {
  const std::string folder = std::string(SOURCE_FOLDER) + "/examples/commands";
  ProcessPool pool({.workers = 2,
                    .program = "python3",
                    .arguments = {"worker.py"},
                    .command = CommandOptions{},
                    .working_directory = folder});
  EXPECT_EQ(pool.exec("upper", "text").get().text(), "TEXT");
}

TEST(CommandPool, RunsTheExampleInPython) {
  ProcessPool pool({.workers = 2,
                    .program = "python3",
                    .arguments = {std::string(SOURCE_FOLDER) + "/examples/commands/worker.py"},
                    .command = CommandOptions{},
                    .retry = at_once(1)});
  std::vector<Future<Bytes>> upper;
  for (int i = 0; i < 50; ++i) upper.push_back(pool.exec("upper", "text " + std::to_string(i)));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(upper[static_cast<std::size_t>(i)].get().text(), "TEXT " + std::to_string(i));
  }
  EXPECT_NE(thrown_by<RemoteError>(pool.exec("no such task")), "nothing");
  EXPECT_EQ(pool.metrics().crashes, 0U);
}

TEST(CommandPool, TheSameCommandAnswersManyTasks) {
  ProcessPool pool(shell_worker(R"(echo "{\"id\":$id,\"ok\":$$}")"));
  const std::string pid = pool.exec("x").get().to_string();
  EXPECT_EQ(pool.exec("y").get().text(), pid);
  EXPECT_EQ(pid, std::to_string(pool.worker_status(0)->pid));
  EXPECT_EQ(pool.worker_status(0)->tasks, 2U);
}

TEST(CommandPool, AnErrorFailsItsTaskAndTheWorkerGoesOn) {
  ProcessPool pool(shell_worker(R"(echo "{\"id\":$id,\"error\":\"no luck\"}")"));
  EXPECT_NE(thrown_by<RemoteError>(pool.exec("x")).find("no luck"), std::string::npos);
  EXPECT_EQ(pool.metrics().starts, 1U);
}

TEST(CommandPool, OneThatDiesIsReplacedAndItsTaskTriedAgain) {
  ProcessPoolOptions options = shell_worker("kill -9 $$");
  options.retry = at_once(2);
  ProcessPool pool(options);
  EXPECT_NE(thrown_by<WorkerCrashed>(pool.exec("x")).find("attempt 2"), std::string::npos);
  EXPECT_GE(pool.metrics().starts, 2U);
  EXPECT_EQ(pool.metrics().retries, 1U);
}

// Its end is often known before its answer is read.
TEST(CommandPool, WhatOneHasAnsweredBeforeItsEndCounts) {
  constexpr int kTasks = 30;
  const std::string path = testing::TempDir() + "muster_answers_" + std::to_string(getpid());
  std::remove(path.c_str());
  {
    ProcessPoolOptions options =
        shell_worker("echo >>" + path + R"(; echo "{\"id\":$id,\"ok\":1}"; exit)");
    options.retry = at_once(5);  // the next may be given to one that is about to end
    options.respawn = {.deaths_after_ready = 1000};
    ProcessPool pool(options);
    for (int i = 0; i < kTasks; ++i) EXPECT_EQ(pool.exec("x").get().text(), "1");
  }
  EXPECT_EQ(read_all(path), std::string(kTasks, '\n')) << "none was run again";
  std::remove(path.c_str());
}

// Told by one read: that its task failed, which is tried again at once, and that it is over.
TEST(CommandPool, OneThatFailsATaskAndEndsIsNotGivenItAgain) {
  ProcessPoolOptions options =
      shell_worker(R"(echo "{\"id\":$id,\"error\":\"no luck\"}"; exec >&-; exec sleep 100)");
  options.retry = at_once(20);
  options.respawn = {.deaths_after_ready = 1000};
  ProcessPool pool(options);
  EXPECT_NE(thrown_by<Error>(pool.exec("x")), "nothing");
  EXPECT_EQ(pool.dead_letters().at(0).attempts, 20U);
}

TEST(CommandPool, WhatWaitsBehindALongTaskHasItsWholeTimeout) {
  ProcessPoolOptions options = shell_worker(R"(sleep 0.2; echo "{\"id\":$id,\"ok\":1}")");
  options.prefetch = 2;
  ProcessPool pool(options);
  auto first = pool.exec("x");
  auto second = pool.exec("x", {}, {.timeout = 350ms});
  EXPECT_EQ(second.get().text(), "1");
}

TEST(CommandPool, WhatWasCancelledIsNotRunIfItComesBack) {
  ProcessPoolOptions options = shell_worker("sleep 1000");
  options.prefetch = 2;
  ProcessPool pool(options);
  auto first = pool.exec("x", {}, {.retry = at_once(1), .killable = true});
  auto behind = pool.exec("x", {}, {.killable = true});
  EXPECT_TRUE(behind.cancel());
  EXPECT_THROW((void)behind.get(), Cancelled);
  EXPECT_THROW((void)first.get(), WorkerCrashed);
}

TEST(CommandPool, TellsHowLongTasksWaited) {
  ProcessPool pool(shell_worker(R"(sleep 0.1; echo "{\"id\":$id,\"ok\":1}")"));
  auto first = pool.exec("x");
  auto second = pool.exec("x");
  (void)first.get();
  (void)second.get();
  const HistogramSnapshot waits = pool.snapshot().latency.queue_wait;
  EXPECT_LT(waits.min().value(), 90ms);
  EXPECT_GE(waits.max().value(), 90ms);
  EXPECT_LT(waits.max().value(), 60s);
}

TEST(CommandPool, OneWithTasksAheadIsReplacedWhenItIsTime) {
  ProcessPoolOptions options = shell_worker(R"(sleep 0.2; echo "{\"id\":$id,\"ok\":$$}")");
  options.prefetch = 2;
  options.health.heartbeat = 20ms;
  options.recycling.max_age = 300ms;
  ProcessPool pool(options);
  std::set<std::string> processes;
  std::vector<Future<Bytes>> tasks;
  for (int i = 0; i < 6; ++i) tasks.push_back(pool.exec("x"));
  for (auto& task : tasks) processes.insert(task.get().to_string());
  EXPECT_GE(processes.size(), 2U);
  EXPECT_EQ(pool.metrics().crashes, 0U);
}

TEST(CommandPool, OutputIsHandedOverWholeHoweverSlowly) {
  constexpr int kLines = 20'000;
  constexpr int kWidth = 400;
  std::vector<std::string> lines;
  std::atomic<bool> is_open = false;
  std::atomic<ProcessPool*> its_pool = nullptr;
  ProcessPoolOptions options =
      shell_worker("seq -f %0" + std::to_string(kWidth) + "g " + std::to_string(kLines) +
                   R"(; echo "{\"id\":$id,\"ok\":1}")");
  options.command->max_other_lines = kLines;
  options.on_output = [&](const OutputLine& line) {
    is_open.wait(false);
    (void)its_pool.load()->metrics();  // which must not wait for us
    lines.emplace_back(line.text);
  };
  ProcessPool pool(options);
  its_pool = &pool;
  auto task = pool.exec("x");
  EXPECT_FALSE(task.wait_for(200ms) == FutureStatus::ready) << "nobody reads on for ever";
  is_open = true;
  is_open.notify_all();
  EXPECT_EQ(task.get().text(), "1");
  EXPECT_TRUE(pool.stop());
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kLines));
  for (int i = 0; i < kLines; ++i) {
    const std::string& line = lines[static_cast<std::size_t>(i)];
    ASSERT_EQ(line.size(), static_cast<std::size_t>(kWidth));
    ASSERT_EQ(std::stoi(line), i + 1);
  }
}

TEST(CommandPool, OneThatTalksNonsenseIsRestartedAndTheErrorShowsIt) {
  for (const char* const answer :
       {R"(echo "{nonsense")", R"(echo "{\"id\":99,\"ok\":1}")", R"(exec >&-; sleep 100)"}) {
    ProcessPool pool(shell_worker(answer));
    EXPECT_NE(thrown_by<WorkerCrashed>(pool.exec("x")), "nothing") << answer;
    EXPECT_EQ(pool.metrics().crashes, 1U) << answer;
  }
}

TEST(CommandPool, OneThatSaysNothingIsRestarted) {
  ProcessPoolOptions options = shell_worker("sleep 100");
  options.command->max_silence = 50ms;
  ProcessPool pool(options);
  EXPECT_NE(thrown_by<WorkerCrashed>(pool.exec("x")), "nothing");
}

TEST(CommandPool, OneThatNeverSaysAnythingIsNotStartedForEver) {
  ProcessPoolOptions options = shell_worker("exit");
  options.retry = at_once(3);
  options.respawn = {.deaths_before_ready = 2, .deaths_after_ready = 1000, .pause = fixed(10ms)};
  ProcessPool pool(options);
  NoticeStream news = pool.subscribe();
  EXPECT_NE(thrown_by<WorkerCrashed>(pool.exec("x")), "nothing");
  EXPECT_GT(await_news<CrashLoop>(news).pause, 0ms);
}

TEST(CommandPool, StatusTellsWhatItIsAtAndWhatItUses) {
  ProcessPoolOptions options = shell_worker(
      R"(echo "{\"id\":$id,\"progress\":0.5}"; sleep 0.3; echo "{\"id\":$id,\"ok\":1}")");
  options.health.heartbeat = 20ms;
  ProcessPool pool(options);
  auto task = pool.exec("x");
  wait_until([&] { return pool.worker_status(0)->progress == 0.5F; });
  EXPECT_NE(pool.worker_status(0)->task, 0U);
  EXPECT_EQ(task.get().text(), "1");
  EXPECT_EQ(pool.worker_status(0)->task, 0U);
  EXPECT_EQ(pool.worker_status(0)->progress, 0);
  wait_until([&] {
    const WorkerStatus status = *pool.worker_status(0);
    return !status.history.empty() && status.history.back().anonymous_bytes > 10'000;
  });
}

TEST(CommandPool, ATimeoutKillsIt) {
  ProcessPool pool(shell_worker("sleep 100"));
  EXPECT_THROW((void)pool.exec("x", {}, {.timeout = 50ms}).get(), TimedOut);
}

TEST(CommandPool, WhatIsNoAnswerIsOutput) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ProcessPoolOptions options =
      shell_worker(R"(echo out; echo err >&2; echo "{\"id\":$id,\"ok\":1}")");
  options.on_output = [&](const OutputLine& line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line.text);
  };
  {
    ProcessPool pool(options);
    EXPECT_EQ(pool.exec("x").get().text(), "1");
  }
  const std::lock_guard lock(mutex);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"err", "out"}));
}

TEST(CommandPool, LargePayloadsGoThroughWithoutWaitingForEachOther) {
  ProcessPool pool({.workers = 1,
                    .program = "python3",
                    .arguments = {std::string(SOURCE_FOLDER) + "/examples/commands/worker.py"},
                    .command = CommandOptions{.max_line_bytes = 8 << 20},
                    .prefetch = 4});
  std::vector<Future<Bytes>> all;
  for (int i = 0; i < 8; ++i) all.push_back(pool.exec("upper", std::string(1 << 20, 'x')));
  for (auto& one : all) EXPECT_EQ(one.get().size(), std::size_t{1} << 20);
}

TEST(CommandPool, WhatCannotBeALineForItIsRefusedAtOnce) {
  ProcessPoolOptions options = shell_worker(R"(echo "{\"id\":$id,\"ok\":${#line}}")");
  options.command = CommandOptions{.max_request_bytes = 1000};
  ProcessPool pool(options);
  const auto fields = [](ProcessPool& of, std::string_view name, Bytes payload) {
    std::vector<std::string> names;
    try {
      (void)of.exec(name, std::move(payload));
    } catch (const InvalidArgument& error) {
      for (const BadField& bad : error.bad_fields()) names.push_back(bad.field);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(pool.exec("x", std::string(900, 'a')).get().text(), "932");
  EXPECT_EQ(fields(pool, "x", std::string(1000, 'a')), Names{"payload"});
  EXPECT_EQ(fields(pool, "x", std::string(600, '\n')), Names{"payload"}) << "each is two bytes";
  EXPECT_EQ(fields(pool, "x", std::string(800, '\xff')), Names{"payload"}) << "it is base64";
  EXPECT_EQ(fields(pool, std::string(1000, 'x'), {}), Names{"payload"});
  EXPECT_EQ(fields(pool, "\xff", {}), Names{"name"});
  const std::vector<Bytes> payloads = {"a", std::string(1000, 'a')};
  EXPECT_THROW((void)pool.exec_many("x", payloads), InvalidArgument);
  EXPECT_EQ(pool.metrics().submitted, 1U);

  options.command = CommandOptions{.payload_form = PayloadForm::json};
  ProcessPool of_json(options);
  EXPECT_EQ(fields(of_json, "x", "{no"), Names{"payload"});
  EXPECT_EQ(of_json.exec("x", "[1]").get().text(), "33");
}

TEST(CommandPool, TasksThatItDoesNotKnowAreRefused) {
  ProcessPoolOptions options = shell_worker(R"(echo "{\"id\":$id,\"ok\":1}")");
  options.command->tasks = {"x"};
  options.command->capabilities = {"shell"};
  ProcessPool pool(options);
  EXPECT_EQ(pool.exec("x", {}, {.capability = "shell"}).get().text(), "1");
  EXPECT_THROW((void)pool.exec("y"), InvalidArgument);
  EXPECT_THROW((void)pool.exec("x", {}, {.capability = "gpu"}), InvalidArgument);
  options.program.clear();
  options.command = CommandOptions{.max_request_bytes = 0, .max_line_bytes = 0};
  EXPECT_THROW(ProcessPool bad(options), InvalidArgument);
}

}  // namespace
}  // namespace muster
