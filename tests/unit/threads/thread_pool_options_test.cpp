// thread_pool_options_test.cpp: bad options are refused by name, good ones do what they say.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/cpu_topology.hpp>
#include <muster/base/log.hpp>
#include <muster/thread_pool.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(ThreadPoolOptions, EveryBadFieldIsNamedAtOnce) {
  const ThreadPoolOptions bad{.workers = 5000, .thread_name = "much too long"};
  EXPECT_EQ(validate(bad).size(), 2U);
  try {
    const ThreadPool pool(bad);
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    ASSERT_EQ(error.bad_fields().size(), 2U);
    EXPECT_EQ(error.bad_fields()[0].field, "workers");
    EXPECT_EQ(error.bad_fields()[0].value, "5000");
    EXPECT_EQ(error.bad_fields()[1].field, "thread_name");
  }
}

TEST(ThreadPoolOptions, OneErrorNamesEveryProblemOfEveryGroup) {
  ThreadPoolOptions bad{.workers = 3, .thread_name = "much too long"};
  bad.scaling = ScalingOptions{
      .min_workers = 5, .max_workers = 4, .scale_up_cooldown = -1s, .scale_down_cooldown = -1s};
  bad.warm_up.at_least = -1s;
  bad.priority_aging = 0s;
  bad.admission = {.max_queued = 0, .low_watermark = 0.9};
  bad.stealing = {.most = 0, .cooldown = -1s, .patience = -1s, .max_searchers = 0};
  bad.affinity = {.virtual_nodes = 0, .session_ttl = 0s, .max_sessions = 0};
  bad.strategy = "fastest";
  bad.weights = {0, 1, -1};
  bad.pinning = Pinning::listed;
  bad.cpus = {1'000'000};
  std::vector<std::string> expected{"scaling.min_workers",
                                    "scaling.scale_up_cooldown",
                                    "scaling.scale_down_cooldown",
                                    "workers",
                                    "warm_up.at_least",
                                    "priority_aging",
                                    "admission.max_queued",
                                    "admission.low_watermark",
                                    "stealing.most",
                                    "stealing.cooldown",
                                    "stealing.patience",
                                    "stealing.max_searchers",
                                    "affinity.virtual_nodes",
                                    "affinity.session_ttl",
                                    "affinity.max_sessions",
                                    "strategy",
                                    "strategy",
                                    "weights[0]",
                                    "weights[2]",
                                    "cpus[0]",
                                    "thread_name"};
  std::vector<std::string> fields;
  try {
    const ThreadPool pool(bad);
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    for (const BadField& each : error.bad_fields()) {
      fields.push_back(each.field);
      EXPECT_NE(std::string(error.what()).find(each.field), std::string::npos);
    }
  }
  std::sort(fields.begin(), fields.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(fields, expected);
}

TEST(ThreadPoolOptions, WithoutANumberThereIsAWorkerPerUsableCpu) {
  const ThreadPool pool;
  EXPECT_EQ(pool.worker_count(), detect_cpus().worker_count());
}

TEST(ThreadPoolOptions, WorkersAreNamed) {
  ThreadPool pool({.workers = 1, .thread_name = "clerk"});
  std::array<char, 16> name{};
  pool.run([&] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  EXPECT_STREQ(name.data(), "clerk-0");
}

TEST(ThreadPoolOptions, HooksRunOnEachWorkersThread) {
  for (const Queueing queueing : {Queueing::stealing, Queueing::global}) {
    std::mutex mutex;
    std::set<unsigned> started;
    std::set<unsigned> ended;
    {
      ThreadPool pool({.workers = 3,
                       .queueing = queueing,
                       .on_worker_start =
                           [&](unsigned worker) {
                             const std::lock_guard lock(mutex);
                             started.insert(worker);
                           },
                       .on_worker_exit =
                           [&](unsigned worker) {
                             const std::lock_guard lock(mutex);
                             ended.insert(worker);
                           }});
    }
    EXPECT_EQ(started, (std::set<unsigned>{0, 1, 2}));
    EXPECT_EQ(ended, started);
  }
}

TEST(ThreadPoolOptions, WhatAPostedTaskThrowsReachesOnError) {
  std::atomic<int> errors = 0;
  ThreadPool pool({.workers = 2, .on_error = [&](std::exception_ptr error) {
                     EXPECT_THROW(std::rethrow_exception(error), std::out_of_range);
                     ++errors;
                   }});
  for (int i = 0; i < 10; ++i) pool.post([] { throw std::out_of_range("posted"); });
  pool.wait_idle();
  EXPECT_EQ(errors, 10);
  std::uint64_t failed = 0;
  for (const ThreadPoolStats::Worker& worker : pool.stats().workers) failed += worker.failed;
  EXPECT_EQ(failed, 10U);
}

TEST(ThreadPoolOptions, WithoutOnErrorItIsLogged) {
  std::mutex mutex;
  std::string logged;
  const LogHook before = set_log_hook([&](const LogRecord& record) {
    const std::lock_guard lock(mutex);
    logged += record.message;
  });
  {
    ThreadPool pool({.workers = 1});
    pool.post([] { throw std::runtime_error("no such file"); });
    pool.post([] { throw 42; });
  }
  set_log_hook(before);
  EXPECT_NE(logged.find("no such file"), std::string::npos) << logged;
  EXPECT_NE(logged.find("no std::exception"), std::string::npos) << logged;
}

TEST(ThreadPoolOptions, EmptyCallablesAreRefused) {
  ThreadPool pool({.workers = 1});
  EXPECT_THROW(pool.post(std::function<void()>()), InvalidArgument);
  EXPECT_THROW((void)pool.submit(static_cast<int (*)()>(nullptr)), InvalidArgument);
  pool.wait_idle();
  EXPECT_EQ(pool.stats().submitted, 0U);
}

}  // namespace
}  // namespace muster
