// trace_context_test.cpp: which headers are read, what is written, and what is current.
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/observe/task_trace.hpp>
#include <muster/observe/trace_context.hpp>

namespace muster {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kSpan = "00f067aa0ba902b7";
const std::string kParent = "00-" + kTrace + "-" + kSpan + "-01";

// What becomes of a tracestate beside a good traceparent.
std::string state_of(const std::string& text) {
  return parse({.traceparent = kParent, .tracestate = text}).value().trace_state;
}

TEST(TraceContext, WhatIsReadIsWrittenAgain) {
  const std::optional<TraceContext> seen =
      parse({.traceparent = kParent, .tracestate = "congo=t61rcWkgMzE,rojo=00f067"});
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->is_valid());
  EXPECT_TRUE(seen->sampled);
  EXPECT_EQ(seen->trace_id[0], 0x4b);
  EXPECT_EQ(seen->trace_id[15], 0x36);
  EXPECT_EQ(seen->span_id[7], 0xb7);
  EXPECT_EQ(to_headers(*seen).traceparent, kParent);
  EXPECT_EQ(to_headers(*seen).tracestate, "congo=t61rcWkgMzE,rojo=00f067");
}

TEST(TraceContext, OnlyTheSampledFlagIsKept) {
  for (const auto& [flags, written] :
       std::vector<std::pair<std::string, std::string>>{{"00", "00"}, {"fe", "00"}, {"ff", "01"}}) {
    const auto seen = parse({.traceparent = "00-" + kTrace + "-" + kSpan + "-" + flags});
    EXPECT_EQ(to_headers(seen.value()).traceparent, "00-" + kTrace + "-" + kSpan + "-" + written);
  }
}

TEST(TraceContext, ALaterVersionMaySayMoreBehindADash) {
  const std::string rest = "-" + kTrace + "-" + kSpan + "-01";
  EXPECT_TRUE(parse({.traceparent = "01" + rest}));
  EXPECT_TRUE(parse({.traceparent = "fe" + rest + "-what-is-to-come"}));
  EXPECT_FALSE(parse({.traceparent = "01" + rest + "x"}));
  EXPECT_FALSE(parse({.traceparent = "ff" + rest}));
  EXPECT_FALSE(parse({.traceparent = "00" + rest + "-more"}));
}

TEST(TraceContext, ATraceparentThatBreaksARuleIsRefused) {
  const std::string zeros(32, '0');
  for (const std::string& bad : {
           std::string(),
           kParent.substr(1),
           " " + kParent,
           kParent + " ",
           "00-" + zeros + "-" + kSpan + "-01",
           "00-" + kTrace + "-0000000000000000-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + kSpan + "-01",
           "00-" + kTrace + "-00F067AA0BA902B7-01",
           "00-" + kTrace + "-" + kSpan + "-0x",
           "0x-" + kTrace + "-" + kSpan + "-01",
           "00-" + kTrace + "_" + kSpan + "-01",
           "00_" + kTrace + "-" + kSpan + "-01",
           "00-" + kTrace + "-" + kSpan + "_01",
           "00-" + kTrace.substr(1) + "g-" + kSpan + "-01",
       }) {
    EXPECT_EQ(parse({.traceparent = bad}), std::nullopt) << bad;
  }
}

TEST(TraceContext, AGoodTracestateIsHandedOnAsItIs) {
  for (const std::string& good :
       {std::string("a=1"), std::string(" a=1 ,\tb=2,,"), std::string("tenant@vendor=x y"),
        std::string("0*/-_=~!"), std::string(256, 'k') + "=" + std::string(256, 'v')}) {
    EXPECT_EQ(state_of(good), good);
  }
}

TEST(TraceContext, ABadTracestateIsLeftOutAndTheTraceKept) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += "k" + std::to_string(i) + "=v,";
  for (const std::string& bad :
       {std::string("a"), std::string("a="), std::string("=1"), std::string("A=1"),
        std::string("_a=1"), std::string("a=1,a=2"), std::string("a=1=2"), std::string("a=\x7f"),
        std::string("a b=1"), std::string(257, 'k') + "=v", "k=" + std::string(257, 'v'), many}) {
    EXPECT_EQ(state_of(bad), "") << bad;
  }
}

TEST(TraceContext, NoTraceHasNoHeaders) {
  EXPECT_FALSE(TraceContext().is_valid());
  EXPECT_EQ(to_headers(TraceContext()).traceparent, "");
}

TEST(TraceContext, AChildIsAnotherSpanOfTheSameTrace) {
  const TraceContext parent = parse({.traceparent = kParent, .tracestate = "a=1"}).value();
  const TraceContext child = child_of(parent);
  EXPECT_EQ(child.trace_id, parent.trace_id);
  EXPECT_NE(child.span_id, parent.span_id);
  EXPECT_TRUE(child.sampled);
  EXPECT_EQ(child.trace_state, "a=1");
  TraceContext unsampled = parent;
  unsampled.sampled = false;
  EXPECT_FALSE(child_of(unsampled).sampled);
}

TEST(TraceContext, WithoutAParentATraceOfItsOwnBegins) {
  const TraceContext one = child_of({});
  const TraceContext other = start_trace();
  EXPECT_TRUE(one.is_valid());
  EXPECT_TRUE(one.sampled);
  EXPECT_NE(one.trace_id, other.trace_id);
}

TEST(TraceScope, IsCurrentOnItsThreadUntilItEnds) {
  EXPECT_FALSE(current_trace().is_valid());
  const TraceContext outer = start_trace();
  const TraceContext inner = child_of(outer);
  {
    const TraceScope first(outer);
    {
      const TraceScope second(inner);
      EXPECT_EQ(current_trace(), inner);
      std::thread([] { EXPECT_FALSE(current_trace().is_valid()); }).join();
    }
    EXPECT_EQ(current_trace(), outer);
  }
  EXPECT_FALSE(current_trace().is_valid());
}

TEST(TaskTrace, EveryOutcomeHasItsName) {
  using enum TaskOutcome;
  std::string names;
  for (const TaskOutcome each : {succeeded, failed, timed_out, cancelled, expired, dropped}) {
    names += std::string(to_string(each)) + " ";
  }
  EXPECT_EQ(names, "succeeded failed timed_out cancelled expired dropped ");
}

}  // namespace
}  // namespace muster
