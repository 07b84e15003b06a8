// job_pool_life_test.cpp: pools that are defined, paused, stopped and opened again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "job_pool_testing.hpp"

namespace muster::testing {
namespace {

class JobPoolLifeTest : public JobPoolTest {};

// A note as another part of a program may see it: with more, or with something else.
struct WideNote {
  std::string customer;
  int number = 0;
  bool is_urgent = false;
};
BOOST_DESCRIBE_STRUCT(WideNote, (), (customer, number, is_urgent))

struct WordyNote {
  std::string customer;
  std::string number;
};
BOOST_DESCRIBE_STRUCT(WordyNote, (), (customer, number))

TEST_P(JobPoolLifeTest, APausedInstanceBeginsNothing) {
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  client.pause();
  client.enqueue({.id = "a", .event = {"a", 0}});
  EXPECT_EQ(client.drain(10s), DrainOutcome::paused);
  EXPECT_EQ(client.status().instances[1].state, InstanceState::paused);
  EXPECT_TRUE(witness_.seen().empty());
  client.resume();
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.count("a0"), 1U);
  client.pause(1);
  EXPECT_EQ(client.instance_status(0).state, InstanceState::idle);
  EXPECT_EQ(client.instance_status(1).state, InstanceState::paused);
  EXPECT_THROW(client.pause(2), InvalidArgument);
}

TEST_P(JobPoolLifeTest, WhatRunsWhenItsPoolIsPausedEnds) {
  Door door;
  Config config = noting();
  config.concurrency = 1;
  config.execute = [&](JobContext& context, const Note&) {
    witness_.see("begins " + context.job_id());
    door.wait();
    if (context.stop_token().stop_requested()) throw std::runtime_error("disturbed");
    witness_.see("ends " + context.job_id());
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  while (witness_.seen().empty()) std::this_thread::yield();
  client.enqueue({.id = "b", .event = {}});
  client.pause();
  EXPECT_EQ(client.instance_status(0).state, InstanceState::processing);
  door.open();
  EXPECT_EQ(client.drain(10s), DrainOutcome::paused);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"begins a", "ends a"}));
  EXPECT_EQ(client.status().total_processed, 1U);
  client.resume();
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained);
}

TEST_P(JobPoolLifeTest, ClientsOfOnePoolTakeTurnsTogether) {
  const auto first = jobs_->define<Note>("notes", noting());
  const auto second = jobs_->client<Note>("notes");
  const std::uint32_t start = first.enqueue({.id = "0", .event = {}}).instance_index;
  for (std::uint32_t i = 1; i < 6; ++i) {
    const auto& client = i % 2 == 0 ? first : second;
    const EnqueueResult result = client.enqueue({.id = std::to_string(i), .event = {}});
    EXPECT_EQ(result.instance_index, (start + i) % 2);
  }
}

TEST_P(LastingJobPoolTest, ARetryWaitsForTheRestOfItsTimeAfterARestart) {
  if (std::string(GetParam()) == "postgresql") return;  // goes by the database's clock
  FakeClock clock;
  Config config = noting();
  config.retry = {.max_attempts = 2, .delay = fixed(10s), .jitter = 0};
  config.execute = [this](JobContext& context, const Note&) {
    witness_.see("attempt " + std::to_string(context.attempt()));
    if (context.attempt() == 1) throw std::runtime_error("later");
  };
  const auto define = [&] {
    reopen({.clock = &clock, .mode = JobsMode::by_hand});
    const auto client = jobs_->define<Note>("notes", config);
    jobs_->start();
    return client;
  };
  define().enqueue({.id = "a", .event = {}});
  EXPECT_EQ(jobs_->run_due(), 1U);
  clock.advance(4s);
  (void)define();
  EXPECT_EQ(jobs_->run_due(), 0U);
  clock.advance(5s);
  EXPECT_EQ(jobs_->run_due(), 0U);
  clock.advance(1s);
  EXPECT_EQ(jobs_->run_due(), 1U);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"attempt 1", "attempt 2"}));
  jobs_.reset();  // before its clock
}

TEST_P(JobPoolLifeTest, OneInstanceOfAPausedPoolGoesOnAlone) {
  Config config = noting();
  config.concurrency = 3;
  const auto define = [&] {
    const auto client = jobs_->define<Note>("notes", config);
    jobs_->start();
    return client;
  };
  auto client = define();
  client.pause();
  client.resume(2);
  const auto states = [&client] {
    std::vector<InstanceState> all;
    for (const InstanceStatus& instance : client.status().instances) all.push_back(instance.state);
    return all;
  };
  const std::vector<InstanceState> only_the_last{InstanceState::paused, InstanceState::paused,
                                                 InstanceState::idle};
  EXPECT_EQ(states(), only_the_last);
  if (std::string(GetParam()) != "memory") {
    reopen();
    client = define();
    EXPECT_EQ(states(), only_the_last) << "also after a restart";
  }
  std::size_t expected = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    const EnqueueResult result = client.enqueue({.id = key, .event = {}, .partition_key = key});
    expected += result.instance_index == 2 ? 1 : 0;
  }
  EXPECT_EQ(client.drain({.index = 2, .timeout = 10s}), DrainOutcome::drained);
  EXPECT_EQ(client.drain(10s), DrainOutcome::paused);
  EXPECT_EQ(witness_.seen().size(), expected);
  client.resume();
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen().size(), 20U);
}

TEST_P(JobPoolLifeTest, WhatAJobEnqueuesComesWithItsCompletion) {
  const auto follow = jobs_->define<Note>("follow", noting());
  Config config = noting();
  config.retry = at_once(2);
  config.execute = [&](JobContext& context, const Note& note) {
    context.enqueue<Note>("follow", {.id = "after-" + note.customer, .event = {note.customer, 7}});
    EXPECT_THROW(context.enqueue<Note>("nowhere", {.id = "x", .event = {}}), InvalidArgument);
    if (note.customer == "bad") throw std::runtime_error("no");
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "1", .event = {"good", 1}});
  client.enqueue({.id = "2", .event = {"bad", 1}});
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  ASSERT_EQ(follow.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"good7"}));
}

TEST_P(JobPoolLifeTest, OnEmptyIsCalledOncePerTransition) {
  std::atomic<int> empty = 0;
  Config config = noting();
  config.concurrency = 1;
  config.on_empty = [&](const EmptyInfo& info) {
    EXPECT_EQ(info.instance_index, 0U);
    EXPECT_EQ(info.processed, empty == 0 ? 50U : 51U);
    ++empty;
  };
  const auto client = jobs_->define<Note>("notes", config);
  std::vector<Enqueue> many;
  for (int i = 0; i < 50; ++i) many.push_back({.id = std::to_string(i), .event = {}});
  client.enqueue_many(many);
  jobs_->start();  // they are all there then
  (void)client.drain(10s);
  while (empty == 0) std::this_thread::yield();
  client.enqueue({.id = "more", .event = {}});
  (void)client.drain(10s);
  while (empty < 2) std::this_thread::yield();
  (void)jobs_->stop();
  EXPECT_EQ(empty, 2);
}

TEST_P(JobPoolLifeTest, WhatIsWrongIsRefusedWithItsFieldAndNothingIsEnqueued) {
  const auto client = jobs_->define<Note>("notes", noting());
  const auto refusal = [&](const Enqueue& job) {
    try {
      const std::vector<Enqueue> jobs{{.id = "good", .event = {}}, job};
      client.enqueue_many(jobs);
    } catch (const InvalidArgument& error) {
      return error.bad_fields().front().field;
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal({.id = "", .event = {}}), "id");
  EXPECT_EQ(refusal({.id = std::string(513, 'x'), .event = {}}), "id");
  EXPECT_EQ(refusal({.id = "\xff", .event = {}}), "id");
  EXPECT_EQ(refusal({.id = "x", .event = {}, .partition_key = ""}), "partition_key");
  EXPECT_EQ(refusal({.id = "x", .event = {}, .priority = 40'000}), "priority");
  EXPECT_EQ(refusal({.id = "x", .event = {std::string(2 << 20, 'x'), 1}}), "event");
  EXPECT_EQ(client.cancel("good"), JobCancelOutcome::not_found) << "all or nothing";
}

TEST_P(JobPoolLifeTest, AnEventOfAnotherTypeIsAcceptedIfThePoolCanReadIt) {
  const auto client = jobs_->define<Note>("notes", noting());
  const auto wide = jobs_->client<WideNote>("notes");
  const auto wordy = jobs_->client<WordyNote>("notes");
  const std::vector<EnqueueOptions<WordyNote>> bad{{.id = "bad", .event = {"ada", "one"}}};
  try {
    (void)wordy.enqueue_many(bad);
    FAIL();
  } catch (const EventError& error) {
    EXPECT_EQ(error.path(), "$.number");
  }
  EXPECT_EQ(client.cancel("bad"), JobCancelOutcome::not_found);
  EXPECT_THROW(jobs_->schedule<WordyNote>("s", {.pool = "notes", .cron = "@daily"}), EventError);
  jobs_->start();
  EXPECT_TRUE(wide.enqueue({.id = "wide", .event = {"ada", 1, true}}).created);
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"ada1"}));
}

TEST_P(JobPoolLifeTest, AJobCannotEnqueueAnEventThatThePoolCannotRead) {
  Config config = noting();
  config.retry = at_once(1);
  config.execute = [](JobContext& context, const Note&) {
    context.enqueue<WordyNote>("notes", {.id = "b", .event = {"ada", "one"}});
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  client.enqueue({.id = "a", .event = {}});
  EXPECT_EQ(client.drain(10s), DrainOutcome::drained);
  const std::vector<JobDeadLetter> letters = client.dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].id, "a") << "the other one was not accepted";
  EXPECT_NE(letters[0].errors.at(0).what.find("$.number"), std::string::npos);
}

TEST_P(JobPoolLifeTest, BadDefinitionsAreRefused) {
  const auto refusal = [&](const std::string& name, const Config& config) {
    try {
      (void)jobs_->define<Note>(name, config);
    } catch (const InvalidArgument& error) {
      return error.bad_fields().front().field;
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal("notes", {.execute = noting().execute}), "concurrency");
  EXPECT_EQ(refusal("notes", {.concurrency = 1}), "execute");
  EXPECT_EQ(refusal("", noting()), "pool");
  Config retry = noting();
  retry.retry.max_attempts = 0;
  EXPECT_EQ(refusal("notes", retry), "max_attempts");
  EXPECT_EQ(refusal("notes", noting()), "none");
  EXPECT_EQ(refusal("notes", noting()), "pool") << "twice";
  EXPECT_THROW((void)jobs_->client<Note>("unknown"), InvalidArgument);
  EXPECT_THROW((void)Jobs::open("mysql:x"), InvalidArgument);
}

TEST_P(LastingJobPoolTest, WaitingJobsGoOnAfterARestart) {
  {
    const auto client = jobs_->define<Note>("notes", noting());
    for (int i = 0; i < 10; ++i) {
      client.enqueue({.id = std::to_string(i), .event = {"n", i}, .partition_key = "k"});
    }
    client.pause(1);
  }
  reopen();
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  EXPECT_EQ(client.instance_status(1).state, InstanceState::paused) << "that stays, too";
  client.resume();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  const std::vector<std::string> seen = witness_.seen();
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  reopen();
  EXPECT_EQ(jobs_->define<Note>("notes", noting()).status().total_processed, 10U);
}

TEST_P(LastingJobPoolTest, OtherConcurrencyReordersNoPartition) {
  {
    const auto client = jobs_->define<Note>("notes", noting());
    std::vector<Enqueue> many;
    for (int i = 0; i < 200; ++i) {
      const std::string key = "k" + std::to_string(i % 17);
      many.push_back({.id = std::to_string(i), .event = {key, i}, .partition_key = key});
    }
    client.enqueue_many(many);
  }
  for (const unsigned concurrency : {7U, 1U}) {
    reopen();
    std::mutex mutex;
    std::map<std::string, std::vector<int>> done;
    Config config = noting();
    config.concurrency = concurrency;
    std::atomic<int> left = 100;
    config.execute = [&](JobContext&, const Note& note) {
      const std::lock_guard lock(mutex);
      done[note.customer].push_back(note.number);
      --left;
    };
    const auto client = jobs_->define<Note>("notes", config);
    jobs_->start();
    if (concurrency == 7) {
      while (left > 0) std::this_thread::yield();
    } else {
      ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
    }
    (void)jobs_->stop();
    for (const auto& [key, numbers] : done) EXPECT_TRUE(std::ranges::is_sorted(numbers)) << key;
  }
}

TEST_P(JobPoolLifeTest, AStopHandsBackWhatItInterrupts) {
  std::atomic<int> begun = 0;
  Config config = noting();
  config.retry = at_once(1);
  config.execute = [&](JobContext& context, const Note&) {
    ++begun;
    std::atomic<bool> asked = false;
    const std::stop_callback callback(context.stop_token(), [&] {
      asked = true;
      asked.notify_all();
    });
    asked.wait(false);
    throw std::runtime_error("interrupted");
  };
  {
    const auto client = jobs_->define<Note>("notes", config);
    jobs_->start();
    client.enqueue({.id = "a", .event = {"a", 1}});
    while (begun == 0) std::this_thread::yield();
    EXPECT_EQ(jobs_->stop().unfinished, 0U);
    EXPECT_EQ(jobs_->stop().unfinished, 0U) << "twice";
    EXPECT_TRUE(client.dead_letters().empty()) << "that was no attempt";
  }
  if (std::string(GetParam()) == "memory") return;
  reopen();
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.count("a1"), 1U);
}

// Until a pool is loaded nobody has it: what is enqueued then would come before what was there.
TEST_P(LastingJobPoolTest, WhoEnqueuesWhileAPoolIsLoadedComesLast) {
  constexpr int kJobs = 10'000;
  std::vector<Enqueue> jobs;
  for (int i = 0; i < kJobs; ++i) {
    jobs.push_back({.id = std::to_string(i), .event = {"old", i}, .partition_key = "key"});
  }
  jobs_->define<Note>("notes", noting()).enqueue_many(jobs);
  reopen();
  std::jthread enqueues([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        const auto client = jobs_->client<Note>("notes");
        client.enqueue({.id = "late", .event = {"late", 0}, .partition_key = "key"});
        return;
      } catch (const InvalidArgument&) {  // it is not defined yet
        std::this_thread::yield();
      }
    }
  });
  const auto client = jobs_->define<Note>("notes", noting());
  enqueues.join();
  jobs_->start();
  ASSERT_EQ(client.drain(60s), DrainOutcome::drained);
  ASSERT_EQ(witness_.seen().size(), std::size_t{kJobs} + 1);
  EXPECT_EQ(witness_.seen().back(), "late0");
}

TEST_P(LastingJobPoolTest, AnEventThatDoesNotMatchItsTypeIsADeadLetterAtOnce) {
  struct Tester {
    static JobPoolConfig<std::string> texts() {
      return {.concurrency = 1, .execute = [](JobContext&, const std::string&) {}};
    }
  };
  jobs_->define<std::string>("notes", Tester::texts())
      .enqueue({.id = "old", .event = "not a struct"});
  reopen();
  Config config = noting();
  config.on_dead_letter = [this](const Note&, const JobError&, const DeadLetterInfo&) {
    witness_.see("read");
  };
  config.on_unreadable_dead_letter = [this](std::string_view event, const JobError& error,
                                            const DeadLetterInfo& info) {
    EXPECT_EQ(event, "\"not a struct\"");
    EXPECT_NE(error.what.find("event does not match its type"), std::string::npos);
    EXPECT_EQ(info.attempts, 1U);
    witness_.see(info.job_id);
  };
  const auto client = jobs_->define<Note>("notes", config);
  jobs_->start();
  ASSERT_EQ(client.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen(), (std::vector<std::string>{"old"}));
  const std::vector<JobDeadLetter> dead = client.dead_letters();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].errors.size(), 1U);
  EXPECT_NE(dead[0].errors[0].what.find("event does not match its type"), std::string::npos);
}

TEST_P(JobPoolLifeTest, ManyThreadsEnqueueAtOnceAndEachJobIsRunOnce) {
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  std::atomic<int> created = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&client, &created] {
        for (int i = 0; i < 50; ++i) {
          const std::string id = std::to_string(i);  // the same ids from all threads
          const Durability durability = i % 2 == 0 ? Durability::synced : Durability::written;
          created += client.enqueue({.id = id, .event = {"x", i}}, durability).created ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(created, 50);
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  const std::vector<std::string> seen = witness_.seen();
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 50U);
}

TEST_P(JobPoolLifeTest, PoolsMayBeDefinedWhileOthersAreUsed) {
  constexpr int kJobs = 60;
  const auto client = jobs_->define<Note>("notes", noting());
  {
    const std::jthread user([&client] {
      for (int i = 0; i < kJobs; ++i) {
        const std::string id = std::to_string(i);
        (void)client.enqueue({.id = id, .event = {"x", i}}, Durability::written);
      }
    });
    for (int i = 0; i < 20; ++i) (void)jobs_->define<Note>("pool" + std::to_string(i), noting());
  }
  jobs_->start();
  ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
  EXPECT_EQ(witness_.seen().size(), static_cast<std::size_t>(kJobs));
}

TEST_P(JobPoolLifeTest, WhatWasStoppedIsNotStarted) {
  (void)jobs_->define<Note>("notes", noting());
  (void)jobs_->stop();
  EXPECT_THROW(jobs_->start(), InvalidArgument);
}

TEST_P(JobPoolLifeTest, SeveralMayStopAtOnce) {
  const auto client = jobs_->define<Note>("notes", noting());
  jobs_->start();
  for (int i = 0; i < 20; ++i) (void)client.enqueue({.id = std::to_string(i), .event = {"x", i}});
  std::atomic<std::size_t> unfinished = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] { unfinished += jobs_->stop({.timeout = 20s}).unfinished; });
    }
  }
  EXPECT_EQ(unfinished, 0U);
  EXPECT_EQ(jobs_->stop({.timeout = 1s}).unfinished, 0U) << "and once more";
}

INSTANTIATE_TEST_SUITE_P(Stores, JobPoolLifeTest,
                         ::testing::Values("memory", "sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });
INSTANTIATE_TEST_SUITE_P(Stores, LastingJobPoolTest, ::testing::Values("sqlite", "postgresql"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace muster::testing
