// job_transaction_test.cpp: jobs that are enqueued in a transaction of the caller's own.
#include <chrono>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include <muster/job_pool.hpp>

#include "support/postgres_cluster.hpp"

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

struct Order {
  std::string id;
};
BOOST_DESCRIBE_STRUCT(Order, (), (id))

class JobTransactionTest : public ::testing::Test {
 protected:
  static PostgresCluster& cluster() {
    static PostgresCluster all({.fsync = false});
    return all;
  }

  void run(const char* sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(own_.get(), sql), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    ASSERT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << PQerrorMessage(own_.get());
  }

  const std::string url_ = cluster().create_database();
  const std::unique_ptr<PGconn, decltype(&PQfinish)> own_{PQconnectdb(url_.c_str()), &PQfinish};
  Jobs jobs_ = Jobs::open(url_);
  std::atomic<int> ran_ = 0;
  const JobClient<Order> client_ = jobs_.define<Order>(
      "orders", {.concurrency = 2, .execute = [this](JobContext&, const Order&) { ++ran_; }});
};

TEST_F(JobTransactionTest, AJobComesWithTheTransactionOrNotAtAll) {
  jobs_.start();
  run("CREATE TABLE orders(id text PRIMARY KEY)");
  run("BEGIN");
  run("INSERT INTO orders VALUES('a')");
  EXPECT_TRUE(client_.enqueue(own_.get(), {.id = "a", .event = {"a"}}).created);
  EXPECT_FALSE(client_.enqueue(own_.get(), {.id = "a", .event = {"a"}}).created) << "twice";
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(ran_, 0) << "it is not there yet";
  run("COMMIT");
  EXPECT_EQ(client_.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(ran_, 1);
  run("BEGIN");
  const std::vector<EnqueueOptions<Order>> many{{.id = "b", .event = {"b"}},
                                                {.id = "c", .event = {"c"}, .partition_key = "k"}};
  EXPECT_EQ(client_.enqueue_many(own_.get(), many).enqueued, 2U);
  run("ROLLBACK");
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(ran_, 1);
  EXPECT_TRUE(client_.enqueue({.id = "b", .event = {"b"}}).created) << "its id is free";
  EXPECT_EQ(client_.drain(10s), DrainOutcome::drained);
  EXPECT_EQ(ran_, 2);
}

TEST_F(JobTransactionTest, WhatPostgresSaysIsTold) {
  run("BEGIN");
  PQclear(PQexec(own_.get(), "SELECT 1/0"));
  try {
    client_.enqueue(own_.get(), {.id = "a", .event = {"a"}});
    FAIL();
  } catch (const StoreFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("aborted"), std::string::npos) << failure.what();
  }
  EXPECT_THROW(client_.enqueue(own_.get(), {.id = "", .event = {"a"}}), InvalidArgument);
  Jobs memory = Jobs::open("memory:");
  const auto other = memory.define<Order>(
      "orders", {.concurrency = 1, .execute = [](JobContext&, const Order&) {}});
  EXPECT_THROW(other.enqueue(own_.get(), {.id = "a", .event = {"a"}}), InvalidArgument);
}

}  // namespace
}  // namespace muster::testing
