// otlp_test.cpp: what is sent, when, how often; and that nobody waits for a receiver.
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/export/otlp.hpp>

#include "pool_figures.hpp"
#include "receiver.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Sends nothing by itself before a test has ended.
OtlpOptions quiet(const Receiver& receiver) {
  return {.endpoint = receiver.endpoint(),
          .metrics_interval = 1h,
          .batch_interval = 1h,
          .request_timeout = 1h,
          .first_pause = 1ms};
}

Receiver::Script always(const Receiver::Reply& reply) {
  return [reply](std::size_t) { return reply; };
}

Receiver::Script never_answered() {
  return [](std::size_t) { return std::nullopt; };
}

void record(OtlpExporter& exporter, int tasks) {
  for (int i = 0; i < tasks; ++i) {
    const TraceContext context = exporter.begin({});
    exporter.record({.pool = "io", .name = "resize", .started = Time(1ns), .context = context});
  }
}

std::size_t spans_in(const Receiver::Request& request) {
  const boost::json::value whole = boost::json::parse(request.body);
  return whole.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array().size();
}

TEST(OtlpExporter, SendsThePoolsFiguresEverySoOften) {
  Receiver receiver;
  OtlpOptions options = quiet(receiver);
  options.endpoint += "/otel/";
  options.headers = {{"x-key", "secret"}};
  options.pools = {{"io", pool_figures}};
  options.metrics_interval = 1ms;
  const OtlpExporter exporter(std::move(options));
  for (const Receiver::Request& request : receiver.requests(2)) {
    EXPECT_EQ(request.path, "/otel/v1/metrics");
    EXPECT_EQ(request.headers.at("Content-Type"), "application/json");
    EXPECT_EQ(request.headers.at("x-key"), "secret");
    EXPECT_NE(request.body.find(R"("asInt":"1001")"), std::string::npos);
  }
}

TEST(OtlpExporter, SendsATaskWhenItHasWaitedLongEnough) {
  Receiver receiver;
  OtlpOptions options = quiet(receiver);
  options.batch_interval = 1ms;
  OtlpExporter exporter(std::move(options));
  record(exporter, 1);
  const Receiver::Request request = receiver.requests(1).at(0);
  EXPECT_EQ(request.path, "/v1/traces");
  EXPECT_EQ(spans_in(request), 2U);
}

TEST(OtlpExporter, SendsABatchThatIsFullAtOnce) {
  Receiver receiver;
  OtlpOptions options = quiet(receiver);
  options.max_batch = 4;
  OtlpExporter exporter(std::move(options));
  for (std::size_t batch = 1; batch <= 3; ++batch) {
    record(exporter, 4);
    EXPECT_EQ(spans_in(receiver.requests(batch).back()), 8U);
  }
}

TEST(OtlpExporter, AReceiverThatNeverAnswersMakesNobodyWait) {
  Receiver receiver(never_answered());
  OtlpOptions options = quiet(receiver);
  options.max_queued = 8;
  options.max_batch = 4;
  OtlpExporter exporter(std::move(options));
  record(exporter, 4);
  receiver.requests(1);  // the thread waits for its answer from now on
  record(exporter, 8 + 100);
  EXPECT_EQ(exporter.stats().tasks_dropped, 100U);

  EXPECT_FALSE(exporter.stop(1ms));
  const OtlpStats stats = exporter.stats();
  EXPECT_EQ(stats.tasks_sent, 0U);
  EXPECT_EQ(stats.tasks_lost, 4U + 8U);
  EXPECT_EQ(stats.tasks_dropped, 100U);
  EXPECT_NE(stats.last_error.find("takes too long"), std::string::npos) << stats.last_error;
}

TEST(OtlpExporter, EveryTaskIsCountedOnceWhoeverRecordsItAndWhatIsCountedAsSentHasArrived) {
  Receiver receiver;
  OtlpOptions options = quiet(receiver);
  options.max_queued = 64;
  options.max_batch = 16;
  OtlpExporter exporter(std::move(options));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { record(exporter, 500); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(exporter.stop(1h));
  const OtlpStats stats = exporter.stats();
  EXPECT_EQ(stats.tasks_sent + stats.tasks_dropped, 2000U);
  std::size_t spans = 0;
  for (const Receiver::Request& request : receiver.requests(1)) spans += spans_in(request);
  EXPECT_EQ(spans, 2 * stats.tasks_sent);
}

TEST(OtlpExporter, ARequestMayTakeOnlySoLong) {
  Receiver receiver([](std::size_t request) {
    return request == 0 ? std::nullopt : std::optional<Receiver::Reply>(Receiver::Reply());
  });
  OtlpOptions options = quiet(receiver);
  options.request_timeout = 20ms;
  OtlpExporter exporter(std::move(options));
  record(exporter, 1);
  EXPECT_TRUE(exporter.stop(1h));
  EXPECT_EQ(receiver.requests(2).size(), 2U);
}

TEST(OtlpExporter, WhatIsRefusedForTheMomentIsSentAgain) {
  Receiver receiver([](std::size_t request) {
    const std::vector<Receiver::Reply> replies = {
        {.status = 503}, {.status = 429, .retry_after = "0"}, {.status = 200}};
    return replies.at(request);
  });
  OtlpExporter exporter(quiet(receiver));
  record(exporter, 1);
  EXPECT_TRUE(exporter.stop(1h));
  const std::vector<Receiver::Request> requests = receiver.requests(3);
  EXPECT_EQ(requests[0].body, requests[1].body);
  EXPECT_EQ(requests[0].body, requests[2].body);
  EXPECT_EQ(exporter.stats().tasks_sent, 1U);
  EXPECT_EQ(exporter.stats().retries, 2U);
  EXPECT_EQ(exporter.stats().last_error, "");
}

TEST(OtlpExporter, GivesUpAfterTheLastAttempt) {
  Receiver receiver(always({.status = 503}));
  OtlpOptions options = quiet(receiver);
  options.max_attempts = 3;
  OtlpExporter exporter(std::move(options));
  record(exporter, 2);
  EXPECT_FALSE(exporter.stop(1h));
  EXPECT_EQ(receiver.requests(3).size(), 3U);
  EXPECT_EQ(exporter.stats().tasks_lost, 2U);
  EXPECT_EQ(exporter.stats().last_error, "answered 503");
}

TEST(OtlpExporter, WhatIsRefusedForGoodIsNotSentAgain) {
  Receiver receiver(always({.status = 400}));
  OtlpExporter exporter(quiet(receiver));
  record(exporter, 2);
  EXPECT_FALSE(exporter.stop(1h));
  EXPECT_EQ(receiver.requests(1).size(), 1U);
  EXPECT_EQ(exporter.stats().tasks_lost, 2U);
}

TEST(OtlpExporter, AReceiverThatIsNotThereLosesTasksAndSaysSo) {
  OtlpOptions options = quiet(Receiver());  // whose port is free again
  options.max_attempts = 2;
  OtlpExporter exporter(std::move(options));
  record(exporter, 1);
  EXPECT_FALSE(exporter.stop(1h));
  EXPECT_EQ(exporter.stats().retries, 1U);
  EXPECT_EQ(exporter.stats().last_error, "cannot connect: Connection refused");
}

TEST(OtlpExporter, WhatTheReceiverLeavesOutIsLost) {
  Receiver receiver(
      always({.body = R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})"}));
  OtlpExporter exporter(quiet(receiver));
  record(exporter, 4);
  EXPECT_FALSE(exporter.stop(1h));
  EXPECT_EQ(exporter.stats().tasks_lost, 2U);
  EXPECT_EQ(exporter.stats().tasks_sent, 2U);
  EXPECT_EQ(exporter.stats().last_error, "too old");
}

TEST(OtlpExporter, StoppingSendsWhatThereIs) {
  Receiver receiver;
  OtlpOptions options = quiet(receiver);
  options.max_batch = 2048;
  options.pools = {{"io", pool_figures}};
  OtlpExporter exporter(std::move(options));
  record(exporter, 3);
  EXPECT_TRUE(exporter.stop(1h));
  const std::vector<Receiver::Request> requests = receiver.requests(2);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(spans_in(requests[0]), 6U);
  EXPECT_EQ(requests[1].path, "/v1/metrics");
  EXPECT_EQ(exporter.stats().tasks_sent, 3U);
  EXPECT_EQ(exporter.stats().metrics_sent, 1U);
}

TEST(OtlpExporter, StoppingDoesNotWaitForAPauseThatEndsTooLate) {
  Receiver receiver(always({.status = 503, .retry_after = "300"}));
  OtlpExporter exporter(quiet(receiver));
  record(exporter, 1);
  EXPECT_FALSE(exporter.stop(4min));
  EXPECT_EQ(receiver.requests(1).size(), 1U);
}

TEST(OtlpExporter, StoppingTwiceIsHarmlessAndNothingIsTakenAfterwards) {
  Receiver receiver;
  OtlpExporter exporter(quiet(receiver));
  EXPECT_TRUE(exporter.stop(Duration::max()));
  EXPECT_TRUE(exporter.stop(0s));
  record(exporter, 2);
  EXPECT_EQ(exporter.stats().tasks_dropped, 2U);
}

TEST(OtlpExporter, WhatIsRecordedMeanwhileDoesNotKeepItFromStopping) {
  OtlpExporter* exporter = nullptr;
  Receiver receiver([&](std::size_t) {
    record(*exporter, 1);
    return Receiver::Reply();
  });
  OtlpExporter stopping(quiet(receiver));
  exporter = &stopping;
  record(stopping, 1);
  EXPECT_TRUE(stopping.stop(1h));
  EXPECT_EQ(stopping.stats().tasks_sent, 1U);
  EXPECT_EQ(stopping.stats().tasks_dropped, 1U);
}

TEST(OtlpExporter, ItsDestructorWaitsNoLongerThanItMay) {
  Receiver receiver(never_answered());
  OtlpOptions options = quiet(receiver);
  options.stop_timeout = 1ms;
  options.max_batch = 1;
  auto exporter = std::make_unique<OtlpExporter>(std::move(options));
  record(*exporter, 3);
  receiver.requests(1);
  exporter.reset();
}

TEST(OtlpExporter, ASourceThatThrowsLosesItsFiguresOnly) {
  Receiver receiver;
  OtlpOptions options = quiet(receiver);
  int asked = 0;
  options.pools = {{"io", [&] {
                      if (++asked == 1) throw std::runtime_error("no figures");
                      return pool_figures();
                    }}};
  options.metrics_interval = 1ms;
  OtlpExporter exporter(std::move(options));
  receiver.requests(1);
  exporter.stop(1h);
  EXPECT_EQ(exporter.stats().metrics_lost, 1U);
  EXPECT_GE(exporter.stats().metrics_sent, 1U);
  EXPECT_EQ(exporter.stats().last_error, "no figures");
}

TEST(OtlpExporter, ATraceThatIsNotSampledIsPassedOnAndNotSent) {
  Receiver receiver;
  OtlpExporter exporter(quiet(receiver));
  TraceContext parent = start_trace();
  parent.sampled = false;
  const TraceContext context = exporter.begin(parent);
  EXPECT_EQ(context.trace_id, parent.trace_id);
  EXPECT_FALSE(context.sampled);
  exporter.record({.context = context});
  EXPECT_TRUE(exporter.stop(1h));
  EXPECT_EQ(exporter.stats().tasks_sent, 0U);
  EXPECT_EQ(exporter.stats().tasks_dropped, 0U);
}

TEST(OtlpExporter, BeginsATraceForAShareOfTasksAndKeepsToWhatTheSenderSays) {
  Receiver receiver;
  for (const double share : {0.0, 0.25, 1.0}) {
    OtlpOptions options = quiet(receiver);
    options.trace_share = share;
    OtlpExporter exporter(std::move(options));
    int sampled = 0;
    for (int i = 0; i < 1000; ++i) sampled += exporter.begin({}).sampled ? 1 : 0;
    EXPECT_NEAR(sampled, 1000 * share, share == 0.25 ? 100 : 0);
    EXPECT_TRUE(exporter.begin(start_trace()).sampled);
  }
}

TEST(OtlpExporter, ListsEveryProblem) {
  const OtlpOptions options{.endpoint = "https://otel",
                            .headers = {{"a b", "x"}, {"ok", "x\r\ny"}},
                            .service_name = "",
                            .pools = {{"", pool_figures}},
                            .metrics_interval = 0s,
                            .metrics = {.buckets = {}},
                            .trace_share = std::numeric_limits<double>::quiet_NaN(),
                            .max_queued = 100,
                            .max_batch = 0,
                            .batch_interval = -1s,
                            .request_timeout = 25h,
                            .max_attempts = 0,
                            .first_pause = 0s,
                            .longest_pause = 0s,
                            .stop_timeout = 0s};
  std::vector<std::string> fields;
  try {
    const OtlpExporter exporter(options);
  } catch (const InvalidArgument& error) {
    for (const BadField& bad : error.bad_fields()) fields.push_back(bad.field);
  }
  EXPECT_EQ(fields, (std::vector<std::string>{"endpoint", "headers", "headers", "service_name",
                                              "pool", "buckets", "metrics_interval", "trace_share",
                                              "max_queued", "max_batch", "batch_interval",
                                              "request_timeout", "max_attempts", "first_pause",
                                              "longest_pause", "stop_timeout"}));
  EXPECT_TRUE(validate(OtlpOptions()).empty());
}

}  // namespace
}  // namespace muster
