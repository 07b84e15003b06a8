// registry_test.cpp: handlers of every shape are called with what was sent, and no bad ones added.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/registry.hpp>

#include "unit/processes/fake_context.hpp"
#include "unit/processes/sample.hpp"

namespace muster {
namespace {

using testing::FakeContext;
using testing::Named;
using testing::Point;
using Names = std::vector<std::string>;

// What a worker would answer.
Bytes answer(const Registry& registry, std::string_view name, const Bytes& payload) {
  FakeContext context({.id = 7, .name = name});
  return registry.run(registry.method(name).value(), context, payload);
}

// What a caller would get from it.
template <class Result, class... Arguments>
Result call(const Registry& registry, std::string_view name, Arguments&&... arguments) {
  return decode_result<Result>(
      answer(registry, name, encode_arguments(std::forward<Arguments>(arguments)...)));
}

template <class Exception, class Call>
std::string complaint_of(const Call& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "none";
}

template <class Call>
std::string refusal_of(const Call& call) {
  return complaint_of<InvalidArgument>(call);
}

int triple(int number) {
  return 3 * number;
}
int triple_safely(int number) noexcept {
  return 3 * number;
}

static_assert(detail::HasSignature<int (*)(int)>);
static_assert(detail::HasSignature<int (*)(int) noexcept>);
static_assert(detail::HasSignature<std::function<int(int)>>);
static_assert(detail::HasSignature<decltype([](int) {})>);
static_assert(!detail::HasSignature<decltype([](auto) {})>, "which type should be decoded?");
static_assert(!detail::HasSignature<int> && !detail::HasSignature<int Point::*>);

TEST(Registry, CallsHandlersWithWhatWasSent) {
  Registry registry;
  registry.add("sum", [](int a, int b) { return a + b; });
  registry.add("name", [](const Point& point) { return Named{std::to_string(point.x)}; });
  registry.add("join", [](const std::vector<std::string>& texts, std::string between) {
    return texts.at(0) + between + texts.at(1);
  });
  EXPECT_EQ(call<int>(registry, "sum", 1, 2), 3);
  EXPECT_EQ(call<Named>(registry, "name", Point{5, 6}), Named{"5"});
  EXPECT_EQ(call<std::string>(registry, "join", std::vector<std::string>{"a", "b"}, "-"), "a-b");
}

TEST(Registry, TakesFunctionsOfEveryKind) {
  Registry registry;
  int calls = 0;
  registry.add("function", triple);
  registry.add("pointer", &triple);
  registry.add("noexcept", triple_safely);
  registry.add("object", std::function<int(int)>(triple));
  registry.add("mutable", [calls](int number) mutable { return number * ++calls; });
  registry.add("unique",
               [three = std::make_unique<int>(3)](int number) noexcept { return *three * number; });
  registry.add("reference", [](const int& number) -> const int& { return number; });
  registry.add("rvalue", [](std::string&& first, Bytes second) {
    return std::move(first) + second.to_string();
  });
  EXPECT_EQ(call<int>(registry, "function", 2), 6);
  EXPECT_EQ(call<int>(registry, "pointer", 2), 6);
  EXPECT_EQ(call<int>(registry, "noexcept", 2), 6);
  EXPECT_EQ(call<int>(registry, "object", 2), 6);
  EXPECT_EQ(call<int>(registry, "mutable", 2), 2);
  EXPECT_EQ(call<int>(registry, "mutable", 2), 4);
  EXPECT_EQ(call<int>(registry, "unique", 2), 6);
  EXPECT_EQ(call<int>(registry, "reference", 2), 2);
  EXPECT_EQ(call<std::string>(registry, "rvalue", "a", "b"), "ab");
}

TEST(Registry, TextsAndBytesUnderstandEachOther) {
  Registry registry;
  registry.add("bytes", [](const Bytes& payload) { return payload; });
  registry.add("value", [](Bytes payload) { return payload; });
  registry.add("string", [](const std::string& text) { return text; });
  registry.add("view", [](std::string_view text) { return text; });
  const std::string long_text(100, 'x');
  for (const std::string& name : registry.names()) {
    EXPECT_EQ(answer(registry, name, "hello"), Bytes("hello")) << name;
    EXPECT_EQ(call<std::string>(registry, name, std::string("hello")), "hello") << name;
    EXPECT_EQ(call<Bytes>(registry, name, "hello"), Bytes("hello")) << name;
    EXPECT_EQ(call<std::string>(registry, name, Bytes(long_text)), long_text) << name;
    EXPECT_EQ(call<std::string>(registry, name, ""), "") << name;
  }
}

TEST(Registry, BytesPassThroughAHandlerWithoutBeingCopied) {
  Registry registry;
  registry.add("echo", [](const Bytes& payload) { return payload; });
  const Bytes payload(std::string(1000, 'x'));
  EXPECT_EQ(answer(registry, "echo", payload).span().data(), payload.span().data());
}

TEST(Registry, AViewAmongOtherParametersIsOneOfTheArgument) {
  Registry registry;
  registry.add("repeat", [](std::string_view text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  });
  EXPECT_EQ(call<std::string>(registry, "repeat", "ab", 3), "ababab");
}

TEST(Registry, AHandlerMayTakeNothingAndGiveNothing) {
  Registry registry;
  int calls = 0;
  registry.add("count", [&calls] { ++calls; });
  EXPECT_NO_THROW(call<void>(registry, "count"));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(answer(registry, "count", {}).empty());
}

TEST(Registry, AHandlerMayTakeItsContextFirst) {
  Registry registry;
  registry.add("work", [](TaskContext& context, const std::string& text) {
    context.progress(0.25);
    context.progress(1);
    return text + " " + std::string(context.name()) + " " + std::to_string(context.id()) + " " +
           std::to_string(context.attempt()) + " " + std::to_string(context.worker()) +
           (context.cancelled() ? " cancelled" : "");
  });
  registry.add("look", [](const TaskContext& context) { return context.attempt(); });
  FakeContext context({.id = 9, .name = "work", .attempt = 2, .worker = 3});
  EXPECT_EQ(registry.run(0, context, "hello").text(), "hello work 9 2 3");
  EXPECT_EQ(context.reported(), std::vector<double>({0.25, 1}));
  context.cancel();
  EXPECT_EQ(registry.run(0, context, "hello").text(), "hello work 9 2 3 cancelled");
  EXPECT_EQ(decode_result<std::uint32_t>(registry.run(1, context, {})), 2U);
}

TEST(TaskContext, ProgressGoesFromZeroToOne) {
  FakeContext context({.id = 1, .name = "work"});
  for (const double wrong : {-0.01, 1.01, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(context.progress(wrong), InvalidArgument) << wrong;
  }
  EXPECT_EQ(refusal_of([&] { context.progress(1.5); }),
            "invalid argument: fraction is 1.500000 but must be from 0 to 1");
  EXPECT_TRUE(context.reported().empty());
  context.progress(0);
  context.progress(1);
  EXPECT_EQ(context.reported(), std::vector<double>({0, 1}));
}

TEST(Registry, APayloadThatIsNoneIsRefusedWithTheNameOfTheTask) {
  Registry registry;
  bool was_called = false;
  registry.add("sum", [&](int a, int b) {
    was_called = true;
    return a + b;
  });
  registry.add("ping", [&] { was_called = true; });
  const auto complaint = [&](const char* name, const Bytes& payload) {
    return complaint_of<CodecError>([&] { (void)answer(registry, name, payload); });
  };
  EXPECT_EQ(complaint("sum", "hello"),
            "task \"sum\": argument 2: cannot decode int: it takes 4 bytes, but 1 byte is left");
  EXPECT_EQ(complaint("sum", encode_arguments(1, 2, 3)),
            "task \"sum\": cannot decode all of it: 4 bytes are left behind the last value");
  EXPECT_EQ(complaint("ping", "x"),
            "task \"ping\": cannot decode all of it: 1 byte is left behind the last value");
  EXPECT_FALSE(was_called);
}

TEST(Registry, WhatAHandlerThrowsIsLeftAlone) {
  Registry registry;
  registry.add("fail", [](int) -> int { throw std::logic_error("no"); });
  registry.add("decode", [](int) { throw CodecError("mine"); });
  const Bytes payload = encode_arguments(1);
  EXPECT_EQ(complaint_of<std::logic_error>([&] { (void)answer(registry, "fail", payload); }), "no");
  EXPECT_EQ(complaint_of<CodecError>([&] { (void)answer(registry, "decode", payload); }), "mine");
}

TEST(Registry, MethodsAreNumberedInTheOrderTheyWereAdded) {
  Registry registry;
  EXPECT_EQ(registry.names(), Names());
  registry.add("zebra", [] {});
  registry.add("ant", [] {});
  EXPECT_EQ(registry.names(), Names({"zebra", "ant"}));
  EXPECT_EQ(registry.method("zebra"), 0U);
  EXPECT_EQ(registry.method("ant"), 1U);
  EXPECT_EQ(registry.method("an"), std::nullopt);
  EXPECT_EQ(registry.method(""), std::nullopt);
}

TEST(Registry, RefusesToRunAMethodThatIsNotThere) {
  Registry registry;
  registry.add("one", [] {});
  FakeContext context({.id = 1, .name = "one"});
  EXPECT_EQ(refusal_of([&] { (void)registry.run(1, context, {}); }),
            "invalid argument: method is 1 but must be below 1");
}

TEST(Registry, RefusesBadNamesAndEmptyFunctions) {
  Registry registry;
  registry.add("taken", [] {});
  registry.add(std::string(255, 'n'), [] {});
  EXPECT_EQ(refusal_of([&] { registry.add("", [] {}); }),
            "invalid argument: name is empty but must have 1 to 255 bytes");
  EXPECT_EQ(refusal_of([&] { registry.add(std::string(256, 'n'), [] {}); }),
            "invalid argument: name is of 256 bytes but must have 1 to 255 bytes");
  EXPECT_EQ(refusal_of([&] { registry.add("taken", [] {}); }),
            "invalid argument: name is \"taken\" but must not be that of another function");
  EXPECT_EQ(refusal_of([&] { registry.add("none", std::function<void()>()); }),
            "invalid argument: function of \"none\" is empty but must be callable");
  int (*const null)(int) = nullptr;
  EXPECT_EQ(refusal_of([&] { registry.add("null", null); }),
            "invalid argument: function of \"null\" is empty but must be callable");
  EXPECT_EQ(registry.names().size(), 2U);
}

TEST(Registry, HasABoundOnMethods) {
  Registry registry;
  for (std::size_t i = 0; i < Registry::kMaxMethods; ++i) registry.add(std::to_string(i), [] {});
  EXPECT_EQ(refusal_of([&] { registry.add("one more", [] {}); }),
            "invalid argument: methods is 4097 but must be at most 4096");
}

TEST(Registry, CallsHooksInTheirOrderUpToOneThatThrows) {
  Registry registry;
  std::string calls;
  registry.on_start([&] { calls += "a"; });
  registry.on_start([&] { calls += "b"; });
  registry.after_task([&](const TaskContext& context) { calls += context.name(); });
  registry.run_start_hooks();
  registry.run_after_task_hooks(FakeContext({.id = 1, .name = "task"}));
  EXPECT_EQ(calls, "abtask");

  registry.on_start([] { throw std::runtime_error("no model"); });
  registry.on_start([&] { calls += "never"; });
  EXPECT_THROW(registry.run_start_hooks(), std::runtime_error);
  EXPECT_EQ(calls, "abtaskab");
  EXPECT_EQ(refusal_of([&] { registry.on_start(nullptr); }),
            "invalid argument: on_start is empty but must be callable");
  EXPECT_EQ(refusal_of([&] { registry.after_task(nullptr); }),
            "invalid argument: after_task is empty but must be callable");
}

TEST(Registry, KnowsItsCapabilities) {
  Registry registry;
  EXPECT_EQ(registry.capabilities(), Names());
  registry.capabilities({"gpu", "eu"});
  EXPECT_EQ(registry.capabilities(), Names({"gpu", "eu"}));
  EXPECT_EQ(refusal_of([&] { registry.capabilities({"", "eu", "eu"}); }),
            "invalid argument: capabilities is empty but must have 1 to 255 bytes; capabilities is "
            "\"eu\" but must be there only once");
  EXPECT_EQ(refusal_of([&] {
              Names many;
              for (int i = 0; i < 65; ++i) many.push_back(std::to_string(i));
              registry.capabilities(many);
            }),
            "invalid argument: capabilities is 65 but must be at most 64");
  EXPECT_EQ(registry.capabilities(), Names({"gpu", "eu"}));
}

TEST(Registry, IsMovedWithAllThatWasAdded) {
  Registry registry;
  registry.add("sum", [](int a, int b) { return a + b; });
  registry.capabilities({"gpu"});
  const Registry moved = std::move(registry);
  EXPECT_EQ(call<int>(moved, "sum", 1, 2), 3);
  EXPECT_EQ(moved.capabilities(), Names({"gpu"}));
}

}  // namespace
}  // namespace muster
