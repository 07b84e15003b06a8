// otlp_json_test.cpp: metrics and spans as OTLP wants them. tests/integration decodes them by the
// official definitions; here is every value.
#include "export/otlp_json.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <muster/version.hpp>

#include "golden.hpp"
#include "pool_figures.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

const OtlpOptions kOptions{
    .service_name = "shop", .attributes = {{"zone", "a\xff"}}, .metrics = {.buckets = {1ms, 50ms}}};

const std::string kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string kOwn = "00-4bf92f3577b34da6a3ce929d0e0e4736-1112131415161718-01";

TaskTrace traced() {
  return {.pool = "io",
          .name = "resize",
          .accepted = Time(10ns),
          .started = Time(25ns),
          .ended = Time(100ns),
          .worker = 3,
          .parent = parse({.traceparent = kParent}).value(),
          .context = parse({.traceparent = kOwn, .tracestate = "a=1"}).value()};
}

json::array spans_of(const TaskTrace& task) {
  const std::string text = traces_json(std::span(&task, 1), kOptions, 1'000'000'000s);
  const json::value whole = json::parse(text);
  return whole.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array();
}

std::string text_at(const json::value& span, const char* key) {
  const json::value* found = span.as_object().if_contains(key);
  return found == nullptr ? "none" : std::string(found->as_string());
}

TEST(OtlpJson, MetricsHaveEveryFigure) {
  const std::array pools = {NamedSnapshot{.pool = "io", .snapshot = pool_figures()}};
  const std::string text = metrics_json(
      pools, kOptions, {.start = WallTime(1'700'000'000s), .now = WallTime(1'700'000'001s)});
  // One metric per line, for whoever looks at the difference; and of any version.
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("{\"name\"", begin + 1), text.size());
    lines += text.substr(begin, end - begin) + "\n";
    begin = end;
  }
  lines.replace(lines.find(MUSTER_VERSION), std::string_view(MUSTER_VERSION).size(), "VERSION");
  EXPECT_EQ(lines, golden("metrics.json", lines));
}

TEST(OtlpJson, ATaskIsAWaitAndARunInTheTraceOfItsSender) {
  const json::array spans = spans_of(traced());
  ASSERT_EQ(spans.size(), 2U);
  for (const json::value& span : spans) {
    EXPECT_EQ(text_at(span, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(text_at(span, "parentSpanId"), "00f067aa0ba902b7");
    EXPECT_EQ(text_at(span, "traceState"), "a=1");
    EXPECT_EQ(span.at("kind"), 1);
    EXPECT_EQ(span.at("flags"), 1);
    EXPECT_FALSE(span.as_object().contains("status"));
  }
  const json::value& wait = spans[0];
  EXPECT_EQ(text_at(wait, "name"), "resize wait");
  EXPECT_EQ(text_at(wait, "startTimeUnixNano"), "1000000000000000010");
  EXPECT_EQ(text_at(wait, "endTimeUnixNano"), "1000000000000000025");
  EXPECT_EQ(text_at(wait, "spanId").size(), 16U);
  EXPECT_NE(text_at(wait, "spanId"), "1112131415161718");
  const json::value& run = spans[1];
  EXPECT_EQ(text_at(run, "name"), "resize");
  EXPECT_EQ(text_at(run, "startTimeUnixNano"), "1000000000000000025");
  EXPECT_EQ(text_at(run, "endTimeUnixNano"), "1000000000000000100");
  EXPECT_EQ(text_at(run, "spanId"), "1112131415161718");
  EXPECT_EQ(json::serialize(run.at("attributes")),
            R"([{"key":"pool","value":{"stringValue":"io"}},)"
            R"({"key":"outcome","value":{"stringValue":"succeeded"}},)"
            R"({"key":"worker","value":{"intValue":"3"}}])");
}

TEST(OtlpJson, WithoutASenderTheWaitIsTheRoot) {
  TaskTrace task = traced();
  task.parent = {};
  task.name = "";
  const json::array spans = spans_of(task);
  EXPECT_EQ(text_at(spans[0], "parentSpanId"), "none");
  EXPECT_EQ(text_at(spans[0], "name"), "task wait");
  EXPECT_EQ(text_at(spans[1], "parentSpanId"), text_at(spans[0], "spanId"));
  EXPECT_EQ(text_at(spans[1], "name"), "task");
}

TEST(OtlpJson, ATaskThatNeverBeganIsOnlyAWait) {
  TaskTrace task = traced();
  task.started.reset();
  task.worker.reset();
  task.outcome = TaskOutcome::expired;
  task.error = "too late";
  const json::array spans = spans_of(task);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(text_at(spans[0], "name"), "resize wait");
  EXPECT_EQ(text_at(spans[0], "spanId"), "1112131415161718");
  EXPECT_EQ(text_at(spans[0], "endTimeUnixNano"), "1000000000000000100");
  EXPECT_EQ(json::serialize(spans[0].at("status")), R"({"code":2,"message":"too late"})");
}

TEST(OtlpJson, AFailureIsAnErrorAndACancelIsNot) {
  for (const auto& [outcome, is_error] :
       std::vector<std::pair<TaskOutcome, bool>>{{TaskOutcome::failed, true},
                                                 {TaskOutcome::timed_out, true},
                                                 {TaskOutcome::dropped, true},
                                                 {TaskOutcome::cancelled, false}}) {
    TaskTrace task = traced();
    task.outcome = outcome;
    task.error = "a\xff";
    const json::array spans = spans_of(task);
    EXPECT_FALSE(spans[0].as_object().contains("status"));
    EXPECT_EQ(spans[1].as_object().contains("status"), is_error) << to_string(outcome);
    if (!is_error) continue;
    EXPECT_EQ(text_at(spans[1].at("status"), "message"), "a\xef\xbf\xbd");
  }
}

TEST(OtlpJson, SaysWhoSends) {
  const json::value whole = json::parse(traces_json({}, kOptions, 0s));
  const json::value& resource = whole.at("resourceSpans").at(0);
  EXPECT_EQ(json::serialize(resource.at("resource").at("attributes")),
            "[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}},"
            "{\"key\":\"zone\",\"value\":{\"stringValue\":\"a\xef\xbf\xbd\"}}]");
  EXPECT_EQ(resource.at("scopeSpans").at(0).at("scope").at("name"), "muster");
}

TEST(OtlpJson, AnAnswerMayTellOfWhatWasLeftOut) {
  EXPECT_EQ(parse_answer("").rejected, 0U);
  EXPECT_EQ(parse_answer("no json").rejected, 0U);
  EXPECT_EQ(parse_answer("{}").rejected, 0U);
  EXPECT_EQ(parse_answer("[1]").rejected, 0U);
  EXPECT_EQ(parse_answer(R"({"partialSuccess":{}})").rejected, 0U);
  EXPECT_EQ(parse_answer(R"({"partialSuccess":{"rejectedSpans":3}})").rejected, 3U);
  const PartialSuccess seen =
      parse_answer(R"({"partialSuccess":{"rejectedDataPoints":"12","errorMessage":"too many"}})");
  EXPECT_EQ(seen.rejected, 12U);
  EXPECT_EQ(seen.error, "too many");
}

}  // namespace
}  // namespace muster
