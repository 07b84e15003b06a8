// process_pool_test.cpp: tasks on worker processes, and what becomes of them.
#include <chrono>
#include <csignal>
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(ProcessPool, RunsATaskInAnotherProcess) {
  ProcessPool pool({.workers = 1});
  EXPECT_EQ(pool.exec("echo", "hello").get().text(), "hello");
  EXPECT_NE(pool.call<int>("pid").get(), getpid());
}

TEST(ProcessPool, CallsTakeAndGiveValues) {
  ProcessPool pool({.workers = 2});
  EXPECT_EQ(pool.call<int>("sum", 2, 40).get(), 42);
  EXPECT_EQ(pool.call<std::string>("echo", std::string("text")).get(), "text");
  EXPECT_EQ(pool.call_with<std::uint32_t>({.priority = 3}, "attempt").get(), 1U);
}

TEST(ProcessPool, PayloadsAndResultsOfAllSizesComeThroughWhole) {
  ProcessPool pool({.workers = 2, .max_payload_bytes = 4 << 20});
  for (const std::size_t size :
       std::initializer_list<std::size_t>{0, 1, 24, 25, 48, 49, 64, 4095, 4096, 100'000, 4 << 20}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; i += 97) text[i] = static_cast<char>('b' + i % 20);
    EXPECT_EQ(pool.exec("echo", text).get().text(), text) << size;
    const std::string backwards(text.rbegin(), text.rend());
    EXPECT_EQ(pool.exec("reverse", text).get().text(), backwards) << size;
    if (size < 20) continue;
    EXPECT_EQ(pool.exec("part", text).get().text(), text.substr(10, size - 20)) << size;
  }
}

// What a task gives back of its payload is not moved again.
TEST(ProcessPool, AnEchoIsWhatWasSentInTheVerySameMemory) {
  ProcessPool pool({.workers = 1});
  const Bytes payload(std::string(10'000, 'x'));
  const Bytes whole = pool.exec("echo", payload).get();
  EXPECT_EQ(whole.span().data(), payload.span().data());
  const Bytes part = pool.exec("part", payload).get();
  EXPECT_EQ(part.span().data(), payload.span().data() + 10);
  EXPECT_EQ(part.size(), payload.size() - 20);
  EXPECT_NE(pool.exec("reverse", payload).get().span().data(), payload.span().data());
}

TEST(ProcessPool, ManyLargeTasksInFlightAllComeBack) {
  for (const unsigned prefetch : {1U, 8U}) {
    ProcessPool pool({.workers = 2, .prefetch = prefetch});
    std::vector<Future<Bytes>> futures;
    const auto text = [](int i) { return std::string(1000, 'a') + std::to_string(i); };
    for (int i = 0; i < 1000; ++i) futures.push_back(pool.exec("reverse", text(i)));
    for (int i = 0; i < 1000; ++i) {
      const std::string sent = text(i);
      EXPECT_EQ(futures[static_cast<std::size_t>(i)].get().text(),
                std::string(sent.rbegin(), sent.rend()));
    }
  }
}

// The worker may write to it only when the last who looks at it has let go.
TEST(ProcessPool, AResultStaysAsItIsUntilItIsLetGo) {
  ProcessPool pool({.workers = 1});
  std::vector<Bytes> kept;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string letters(500, static_cast<char>('a' + i % 26));
    kept.push_back(pool.exec("reverse", letters).get());
    expected.push_back(letters);
    if (kept.size() > 7) {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i % 7));
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(i % 7));
    }
    for (std::size_t k = 0; k < kept.size(); ++k) ASSERT_EQ(kept[k].text(), expected[k]);
  }
}

TEST(ProcessPool, ManyTasksInFlightAllComeBack) {
  for (const unsigned prefetch : {1U, 8U}) {
    ProcessPool pool({.workers = 3, .prefetch = prefetch});
    std::vector<Future<int>> sums;
    for (int i = 0; i < 2000; ++i) sums.push_back(pool.call<int>("sum", i, 1));
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)].get(), i + 1);
    const ProcessPoolMetrics metrics = pool.metrics();
    EXPECT_EQ(metrics.submitted, 2000U);
    EXPECT_EQ(metrics.completed, 2000U);
    EXPECT_EQ(metrics.queued + metrics.in_flight, 0U);
    EXPECT_GT(metrics.reuse_rate, 0.99);
  }
}

TEST(ProcessPool, ManyAtOnceAnswerInTheirOrder) {
  ProcessPool pool({.workers = 2});
  std::vector<Bytes> payloads;
  for (std::size_t i = 0; i < 200; ++i) {
    payloads.emplace_back(std::string(i * 10, 'x') + std::to_string(i));
  }
  std::vector<Future<Bytes>> futures = pool.exec_many("echo", payloads);
  ASSERT_EQ(futures.size(), payloads.size());
  for (std::size_t i = 0; i < futures.size(); ++i) EXPECT_EQ(futures[i].get(), payloads[i]);
  EXPECT_TRUE(pool.exec_many("echo", {}).empty());
}

TEST(ProcessPool, LargeResultsOutliveTheirPool) {
  std::vector<Bytes> results;
  {
    ProcessPool pool({.workers = 1, .max_payload_bytes = 1 << 20});
    for (int i = 0; i < 20; ++i) {  // more than can be pinned
      results.push_back(
          pool.exec("reverse", std::string(200'000, static_cast<char>('a' + i))).get());
    }
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(results[static_cast<std::size_t>(i)].text(),
              std::string(200'000, static_cast<char>('a' + i)));
  }
}

TEST(ProcessPool, WhatFollowsATaskMayWaitForOthersButNotStopThePool) {
  ProcessPool pool({.workers = 2});
  std::vector<Future<int>> sums;
  for (int i = 0; i < 100; ++i) {
    sums.push_back(pool.call<int>("sum", i, 1).then([&pool](int sum) {
      return pool.call<int>("sum", sum, 1).then([&](int next) { return next + 1; }).get();
    }));
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)].get(), i + 3);
  auto stops = pool.call<Bytes>("sleep_ms", 20).then([&pool](const Bytes&) { (void)pool.stop(); });
  EXPECT_THROW(stops.get(), WouldDeadlock);
  EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
}

TEST(ProcessPool, DiscardingAlsoEndsWhatAWorkerWasGivenAndHasNotBegun) {
  ProcessPool pool({.workers = 1, .prefetch = 2});
  const Future<Bytes> running = pool.exec("hang");
  Future<Bytes> given = pool.exec("echo");
  EXPECT_EQ(pool.stop({.mode = Stop::discard, .timeout = 10s}).unfinished, 0U);
  EXPECT_EQ(thrown_by<Stopped>(std::move(given)), "the pool was stopped before the task began");
}

TEST(ProcessPool, WhatATaskThrowsIsToldByItsFuture) {
  ProcessPool pool({.workers = 1, .retry = at_once(2)});
  EXPECT_EQ(thrown_by<RemoteError>(pool.exec("throw", "no luck")),
            "task \"throw\" failed in its worker (attempt 2, the last): no luck");
  EXPECT_NE(thrown_by<RemoteError>(pool.exec("throw_number")).find("no std::exception"),
            std::string::npos);
  EXPECT_EQ(pool.exec("echo", "still there").get().text(), "still there");
  EXPECT_EQ(pool.metrics().crashes, 0U);
}

TEST(ProcessPool, ACrashCostsOneAttemptAndNothingElse) {
  ProcessPool pool({.workers = 2, .retry = at_once(3)});
  std::vector<Future<int>> others;
  for (int i = 0; i < 100; ++i) others.push_back(pool.call<int>("sum", i, i));
  EXPECT_EQ(pool.call<int>("die_until", 3U).get(), 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(others[static_cast<std::size_t>(i)].get(), 2 * i);
  EXPECT_EQ(pool.metrics().crashes, 2U);
  EXPECT_EQ(pool.metrics().retries, 2U);
}

TEST(ProcessPool, APoisonedTaskEndsAsADeadLetterThatSaysWhy) {
  ProcessPool pool({.workers = 1, .retry = at_once(2)});
  EXPECT_EQ(thrown_by<WorkerCrashed>(pool.call<Bytes>("signal", SIGUSR1)),
            "the worker that ran task \"signal\" died (attempt 2, the last): "
            "killed by signal 10 (SIGUSR1)");
  const std::vector<DeadLetter> letters = pool.dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].name, "signal");
  EXPECT_EQ(letters[0].attempts, 2U);
  EXPECT_EQ(letters[0].kind, FailureKind::crash);
  EXPECT_EQ(letters[0].exit->end->number, SIGUSR1);
  EXPECT_EQ(pool.exec("echo", "x").get().text(), "x");
}

TEST(ProcessPool, DeadLettersAreReplayedOrDiscardedOnceAndBounded) {
  ProcessPool pool({.workers = 1, .retry = at_once(1), .max_dead_letters = 2});
  for (const char* const what : {"one", "two", "three"}) {
    EXPECT_NE(thrown_by<RemoteError>(pool.exec("throw", what)), "nothing");
  }
  const std::vector<DeadLetter> letters = pool.dead_letters();
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].payload.text(), "two");
  EXPECT_TRUE(pool.discard(letters[0].id));
  EXPECT_FALSE(pool.discard(letters[0].id));
  auto again = pool.replay(letters[1].id);
  ASSERT_TRUE(again);
  EXPECT_NE(thrown_by<RemoteError>(std::move(*again)).find("three"), std::string::npos);
  EXPECT_FALSE(pool.replay(letters[1].id));
  EXPECT_EQ(pool.dead_letters().size(), 1U) << "it has failed again";
}

TEST(ProcessPool, ADeadLetterThatCannotBeReplayedStays) {
  ProcessPool pool({.workers = 1, .retry = at_once(1)});
  EXPECT_NE(thrown_by<RemoteError>(pool.exec("throw", "one")), "nothing");
  const std::uint64_t id = pool.dead_letters().at(0).id;
  (void)pool.stop();
  auto again = pool.replay(id);
  ASSERT_TRUE(again);
  EXPECT_THROW((void)again->get(), Stopped);
  EXPECT_EQ(pool.dead_letters().size(), 1U);
}

TEST(ProcessPool, ATaskThatIsNotIdempotentIsNeverRunAgain) {
  ProcessPool pool({.workers = 1, .retry = at_once(5)});
  EXPECT_THROW((void)pool.call_with<int>({.idempotent = false}, "die_until", 2U).get(),
               WorkerCrashed);
  EXPECT_THROW((void)pool.call_with<int>({.idempotent = false}, "fail_until", 2U).get(),
               RemoteError);
  EXPECT_EQ(pool.metrics().retries, 0U);
}

TEST(ProcessPool, RetryOnSaysWhichFailuresAreRepeated) {
  RetryOptions only_errors = at_once(3);
  only_errors.retry_on = {.error = true, .crash = false, .timeout = false};
  ProcessPool pool({.workers = 1, .retry = only_errors});
  EXPECT_EQ(pool.call<int>("fail_until", 3U).get(), 3);
  EXPECT_THROW((void)pool.call<int>("die_until", 2U).get(), WorkerCrashed);
}

TEST(ProcessPool, ATimeoutKillsTheWorkerAndOnlyIt) {
  ProcessPool pool({.workers = 2, .retry = at_once(1)});
  await_ready(pool, 2);
  const ExecOptions with_one{.affinity = "x", .affinity_class = AffinityClass::hard};
  const auto one = static_cast<unsigned>(pool.call_with<std::size_t>(with_one, "worker").get());
  const pid_t its_pid = pool.worker_status(one)->pid;
  const pid_t other_pid = pool.worker_status(1 - one)->pid;
  ExecOptions limited = with_one;
  limited.timeout = 50ms;
  EXPECT_THROW((void)pool.exec("hang", {}, limited).get(), TimedOut);
  EXPECT_EQ(pool.metrics().timeouts, 1U);
  EXPECT_EQ(pool.metrics().crashes, 0U);
  EXPECT_EQ(pool.dead_letters().at(0).kind, FailureKind::timeout);
  EXPECT_EQ(pool.exec("echo", "x", with_one).get().text(), "x");
  EXPECT_NE(pool.worker_status(one)->pid, its_pid);
  EXPECT_EQ(pool.worker_status(1 - one)->pid, other_pid);
}

TEST(ProcessPool, ATaskThatHasEndedIsNotKeptForItsTimeout) {
  ProcessPool pool({.workers = 1});
  auto owner = std::make_shared<std::string>(1'000, 'x');
  const std::weak_ptr<std::string> payload = owner;
  const auto bytes = std::as_bytes(std::span(*owner));
  Bytes given = Bytes::view_of(bytes, std::move(owner));
  EXPECT_EQ(pool.exec("echo", std::move(given), {.timeout = 1h}).get().size(), 1'000U);
  wait_until([&] { return payload.expired(); });
}

TEST(ProcessPool, WhatWaitsBehindALongTaskHasItsWholeTimeout) {
  ProcessPool pool({.workers = 1, .prefetch = 2, .retry = at_once(1)});
  auto first = pool.call<Bytes>("sleep_ms", 600);
  auto second = pool.exec("echo", "in time", {.timeout = 100ms});
  EXPECT_EQ(second.get().text(), "in time");
  EXPECT_EQ(first.get().size(), 0U) << "it has no timeout";
}

TEST(ProcessPool, HigherPrioritiesRunFirstEqualsInOrder) {
  const std::string path = testing::TempDir() + "muster_priorities_" + std::to_string(getpid());
  std::remove(path.c_str());
  {
    ProcessPool pool({.workers = 1});
    auto first = pool.call<Bytes>("sleep_ms", 50);
    std::vector<Future<Bytes>> notes;
    for (const int priority : {0, -5, 7, 0, 7}) {
      notes.push_back(
          pool.call_with<Bytes>({.priority = priority}, "note", path,
                                std::to_string(priority) + '.' + std::to_string(notes.size())));
    }
    for (auto& note : notes) (void)note.get();
  }
  const std::string all = read_all(path);
  std::remove(path.c_str());
  EXPECT_EQ(all, "7.2\n7.4\n0.0\n0.3\n-5.1\n");
}

// Short tasks are given ahead; that must not show.
TEST(ProcessPool, AnUrgentTaskOvertakesWhatAWorkerWasGivenAhead) {
  ProcessPool pool({.workers = 1});
  run_short_tasks(pool);
  std::vector<Future<Bytes>> others;
  others.push_back(pool.call<Bytes>("sleep_ms", 300));
  for (int i = 0; i < 20; ++i) others.push_back(pool.call<Bytes>("sleep_ms", 5));
  auto urgent = pool.exec("echo", "now", {.priority = 1});
  EXPECT_EQ(urgent.get().text(), "now");
  EXPECT_GE(pool.metrics().recalled, 1U);
  EXPECT_FALSE(others[2].is_ready()) << "it was next in line";
  for (auto& other : others) (void)other.get();
}

TEST(ProcessPool, WhatWaitsBehindALongTaskGoesToAnotherWorker) {
  ProcessPool pool({.workers = 2, .retry = at_once(1)});
  wait_until([&] { return pool.metrics().ready == 2; });
  std::vector<Future<Bytes>> many;
  for (int i = 0; i < 500; ++i) many.push_back(pool.exec("echo"));
  auto hangs = pool.exec("hang", {}, {.killable = true});
  for (int i = 0; i < 500; ++i) many.push_back(pool.exec("echo"));
  for (auto& one : many) (void)one.get();
  EXPECT_TRUE(hangs.cancel());
}

TEST(ProcessPool, WhatWaitsBehindALongTaskGoesToAWorkerThatComes) {
  ProcessPool pool({.workers = 1});
  run_short_tasks(pool);
  auto hangs = pool.exec("hang", {}, {.killable = true});
  auto behind = pool.exec("echo", "behind");
  wait_until([&] { return pool.metrics().in_flight == 2; });
  pool.scale_up(1);
  EXPECT_EQ(behind.get().text(), "behind");
  EXPECT_TRUE(hangs.cancel());
}

TEST(ProcessPool, ASoftKeyIsNoReasonToWaitBehindALongTask) {
  ProcessPool pool({.workers = 2});
  await_ready(pool, 2);
  const ExecOptions soft{.affinity = "a"};
  run_short_tasks(pool, soft);
  auto hangs = pool.exec("hang", {}, {.affinity = "a", .killable = true});
  wait_until([&] { return pool.metrics().busy == 1; });
  EXPECT_EQ(pool.exec("echo", "free", soft).get().text(), "free");
  EXPECT_TRUE(hangs.cancel());
}

TEST(ProcessPool, ATaskMayBeginLater) {
  ProcessPool pool({.workers = 1});
  const Time begin = std::chrono::steady_clock::now();
  auto later = pool.exec("echo", "later", {.run_at = begin + 50ms});
  EXPECT_EQ(pool.metrics().delayed, 1U);
  EXPECT_EQ(pool.exec("echo", "now").get().text(), "now");
  EXPECT_EQ(later.get().text(), "later");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
}

TEST(ProcessPool, TellsWhichTasksHaveNotEnded) {
  ProcessPool pool({.workers = 1, .retry = {.max_attempts = 2, .delay = fixed(1h)}});
  EXPECT_TRUE(pool.tasks().empty());
  (void)pool.call<Bytes>("sleep_ms", 5).get();  // so that none is given ahead
  auto fails = pool.exec("throw_number");
  wait_until([&] { return pool.metrics().delayed == 1; });
  auto later = pool.exec("pid", {}, {.run_at = Time::clock::now() + 2h});
  auto runs = pool.exec("until_cancelled");
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  auto waits = pool.exec("echo");
  auto goes_first = pool.exec("reverse", {}, {.priority = 7});
  const std::vector<TaskStatus> tasks = pool.tasks();
  std::vector<std::pair<std::string, std::string_view>> told;
  for (const TaskStatus& task : tasks) told.emplace_back(task.name, to_string(task.state));
  EXPECT_EQ(told, (decltype(told){{"until_cancelled", "dequeued"},
                                  {"reverse", "queued"},
                                  {"echo", "queued"},
                                  {"throw_number", "retry_pending"},
                                  {"pid", "created"}}));
  EXPECT_EQ(tasks.at(0).id, pool.worker_status(0)->task);
  EXPECT_EQ(tasks.at(0).worker, 0U);
  EXPECT_EQ(tasks.at(1).priority, 7);
  EXPECT_EQ(tasks.at(1).worker, std::nullopt);
  EXPECT_EQ(tasks.at(3).attempts, 1U);
  for (std::size_t limit = 0; limit < 6; ++limit)
    EXPECT_EQ(pool.tasks(limit).size(), std::min(limit, 5UL));
  (void)runs.cancel();
  EXPECT_TRUE(fails.cancel());
  EXPECT_TRUE(later.cancel());
  EXPECT_EQ(waits.get().size() + goes_first.get().size(), 0U);
  EXPECT_TRUE(pool.tasks().empty());
}

TEST(ProcessPool, AQueuedTaskIsCancelledARunningOneIsToldOrKilled) {
  ProcessPool pool({.workers = 1, .retry = at_once(3)});
  auto running = pool.exec("until_cancelled");
  auto queued = pool.exec("echo");
  EXPECT_TRUE(queued.cancel());
  EXPECT_NE(thrown_by<Cancelled>(std::move(queued)), "nothing");
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  EXPECT_FALSE(running.cancel()) << "it has begun";
  EXPECT_EQ(running.get().text(), "seen") << "but it was told";
  auto killable = pool.exec("hang", {}, {.killable = true});
  EXPECT_TRUE(killable.cancel());
  EXPECT_NE(thrown_by<Cancelled>(std::move(killable)), "nothing");
  EXPECT_EQ(pool.metrics().retries, 0U);
}

TEST(ProcessPool, WhatIsCalledWithValuesIsCancelledLikewise) {
  ProcessPool pool({.workers = 1, .retry = at_once(1)});
  auto hangs = pool.call_with<Bytes>({.killable = true}, "hang");
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  auto waits = pool.call<int>("sum", 1, 2);
  EXPECT_TRUE(waits.cancel());
  EXPECT_THROW((void)waits.get(), Cancelled);
  EXPECT_TRUE(hangs.cancel());
  EXPECT_THROW((void)hangs.get(), Cancelled);
  EXPECT_EQ(pool.metrics().dead_lettered, 0U);
  auto done = pool.call<int>("sum", 1, 2);
  done.wait();
  EXPECT_FALSE(done.cancel());
  EXPECT_EQ(done.get(), 3);
}

TEST(ProcessPool, ATaskMayBeToldBeforeItIsKilled) {
  ProcessPool pool({.workers = 1, .retry = at_once(3)});
  const ExecOptions told{.killable = true, .told_first = true};
  auto willing = pool.exec("until_cancelled", {}, told);
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  EXPECT_FALSE(willing.cancel());
  EXPECT_EQ(willing.get().text(), "seen");
  auto hangs = pool.exec("hang", {}, told);
  wait_until([&] { return pool.worker_status(0)->task != 0; });
  EXPECT_FALSE(hangs.cancel());
  EXPECT_TRUE(hangs.cancel()) << "for the second time";
  EXPECT_NE(thrown_by<Cancelled>(std::move(hangs)), "nothing");
}

TEST(ProcessPool, WhatCannotBeRightIsRefusedAtOnce) {
  ProcessPool pool({.workers = 1, .max_payload_bytes = 1000, .retry = at_once(1)});
  const auto fields = [&pool](std::string_view name, Bytes payload, ExecOptions options) {
    std::vector<std::string> names;
    try {
      (void)pool.exec(name, std::move(payload), std::move(options));
    } catch (const InvalidArgument& error) {
      for (const BadField& bad : error.bad_fields()) names.push_back(bad.field);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(fields("no such", {}, {}), Names{"name"});
  EXPECT_EQ(fields("echo", std::string(1001, 'x'), {}), Names{"payload"});
  EXPECT_EQ(fields("echo", {}, {.capability = "gpu"}), Names{"capability"});
  EXPECT_EQ(fields("echo", {}, {.priority = 40'000, .timeout = 0s}),
            (Names{"priority", "timeout"}));
  EXPECT_EQ(fields("echo", {}, {.retry = RetryOptions{.max_attempts = 0}}),
            Names{"retry.max_attempts"});
  EXPECT_THROW((void)pool.exec_many("echo", {}, {.timeout = 0s}), InvalidArgument);
  EXPECT_EQ(pool.metrics().submitted, 0U);
  EXPECT_NE(thrown_by<RemoteError>(pool.call<Bytes>("make", std::uint64_t{2000}))
                .find("max_payload_bytes"),
            std::string::npos);
}

TEST(ProcessPool, BadOptionsAreAllNamedAndNothingIsStarted) {
  try {
    ProcessPool pool({.workers = 5000,
                      .start_timeout = 0s,
                      .prefetch = 0,
                      .max_payload_bytes = 0,
                      .admission = {.max_queued = 0},
                      .health = {.heartbeat = 0s},
                      .recycling = {.jitter = 2}});
    FAIL() << "it was made";
  } catch (const InvalidArgument& error) {
    std::set<std::string> fields;
    for (const BadField& bad : error.bad_fields()) fields.insert(bad.field);
    for (const char* const field :
         {"workers", "start_timeout", "prefetch", "max_payload_bytes", "admission.max_queued",
          "health.heartbeat", "recycling.jitter"}) {
      EXPECT_TRUE(fields.contains(field)) << field;
    }
  }
}

TEST(ProcessPool, AProgramThatCannotBeAWorkerIsAnErrorOfTheConstructor) {
  EXPECT_THROW(ProcessPool({.workers = 1, .program = "/no/such/program"}), SystemFailure);
  try {
    ProcessPool pool({.workers = 1, .environment = {{"TEST_START_FAILURE", "no licence"}}});
    FAIL() << "it was made";
  } catch (const SystemFailure& error) {
    EXPECT_NE(std::string(error.what()).find("no licence"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace muster
