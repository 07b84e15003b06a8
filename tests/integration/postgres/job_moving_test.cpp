// job_moving_test.cpp: all that a store knows is taken along to another.
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include <muster/job_pool.hpp>
#include <muster/jobs/move_jobs.hpp>

#include "support/postgres_cluster.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

struct Note {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(Note, (), (text))

class JobMovingTest : public ::testing::Test {
 protected:
  static PostgresCluster& cluster() {
    static PostgresCluster all({.fsync = false});
    return all;
  }

  JobClient<Note> define(Jobs& jobs) {
    return jobs.define<Note>("notes",
                             {.concurrency = 3,
                              .retry = {.max_attempts = 2, .delay = fixed(0ns), .jitter = 0},
                              .execute = [this](JobContext& context, const Note& note) {
                                if (note.text == "bad") throw std::runtime_error("bad");
                                context.result(note.text);
                                context.log("ran");
                                const std::lock_guard lock(mutex_);
                                ran_.push_back(context.job_id());
                              }});
  }

  // Some of everything.
  void fill(const std::string& url) {
    Jobs jobs = Jobs::open(url);
    const auto client = define(jobs);
    jobs.start();
    client.enqueue({.id = "done", .event = {"x"}});
    client.enqueue({.id = "dead", .event = {"bad"}});
    ASSERT_EQ(client.drain(20s), DrainOutcome::drained);
    client.pause(1);
    client.enqueue({.id = "later", .event = {"x"}, .delay = 1h});
    client.enqueue({.id = "cancelled", .event = {"x"}, .delay = 1h});
    EXPECT_EQ(client.cancel("cancelled"), JobCancelOutcome::cancelled);
    (void)jobs.stop();
    for (int i = 0; i < 2500; ++i) {
      client.enqueue({.id = "k" + std::to_string(i), .event = {"x"}, .partition_key = "key"},
                     Durability::written);
    }
  }

  void check(const std::string& url) {
    Jobs jobs = Jobs::open(url);
    const auto client = define(jobs);
    EXPECT_EQ(client.result("done"), "\"x\"");
    EXPECT_EQ(client.log("done"), "ran\n");
    const std::vector<JobDeadLetter> letters = client.dead_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].id, "dead");
    ASSERT_EQ(letters[0].errors.size(), 2U);
    EXPECT_EQ(letters[0].errors[1].what, "bad");
    EXPECT_EQ(client.cancel("cancelled"), JobCancelOutcome::already_completed);
    EXPECT_FALSE(client.enqueue({.id = "done", .event = {"x"}}).created);
    EXPECT_FALSE(client.enqueue({.id = "k7", .event = {"x"}}).created);
    EXPECT_EQ(client.cancel("later"), JobCancelOutcome::cancelled);
    EXPECT_EQ(client.instance_status(1).state, InstanceState::paused);
    EXPECT_EQ(client.status().total_processed, 2U);
    ran_.clear();
    jobs.start();
    client.resume();
    ASSERT_EQ(client.drain(60s), DrainOutcome::drained);
    ASSERT_EQ(ran_.size(), 2500U);
    for (std::size_t i = 0; i < ran_.size(); ++i) ASSERT_EQ(ran_[i], "k" + std::to_string(i));
  }

  TemporaryFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> ran_;
};

TEST_F(JobMovingTest, FromAFileToPostgresAndBack) {
  const std::string file = "sqlite:" + folder_.file("jobs.db");
  const std::string back = "sqlite:" + folder_.file("back.db");
  const std::string database = cluster().create_database();
  fill(file);
  const MovedJobs moved = move_jobs(file, database);
  EXPECT_EQ(moved.pools, 1U);
  EXPECT_EQ(moved.jobs, 2504U);
  EXPECT_EQ(moved.known, 0U);
  EXPECT_EQ(move_jobs(database, back).jobs, 2504U);
  check(back);
  check(database);
}

TEST_F(JobMovingTest, WhatWasInterruptedIsDoneAgain) {
  const std::string file = "sqlite:" + folder_.file("jobs.db");
  const std::string database = cluster().create_database();
  fill(file);
  (void)move_jobs(file, database);
  const MovedJobs again = move_jobs(file, database);
  EXPECT_EQ(again.jobs, 0U);
  EXPECT_EQ(again.known, 2504U);
}

TEST_F(JobMovingTest, AStoreThatIsUsedIsRefused) {
  const std::string database = cluster().create_database();
  Jobs jobs = Jobs::open(database);
  define(jobs);
  jobs.start();
  (void)jobs.client<Note>("notes").status();
  std::this_thread::sleep_for(300ms);
  EXPECT_THROW(move_jobs("memory:", database), StoreFailure);
  const std::string file = "sqlite:" + folder_.file("jobs.db");
  Jobs owner = Jobs::open(file);
  EXPECT_THROW(move_jobs(file, "memory:"), StoreFailure);
}

TEST_F(JobMovingTest, TheExampleDoesIt) {
  const std::string file = "sqlite:" + folder_.file("jobs.db");
  const std::string database = cluster().create_database();
  fill(file);
  const std::string command = std::string(MOVE_JOBS) + " " + file + " " + database;
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): one thread
  check(database);
}

}  // namespace
}  // namespace muster::testing
