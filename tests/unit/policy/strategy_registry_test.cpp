// strategy_registry_test.cpp: strategies by name, and functions as strategies.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/strategy.hpp>

namespace muster {
namespace {

std::optional<std::size_t> always_seven(std::span<const WorkerInfo> /*workers*/,
                                        const TaskInfo& /*task*/) {
  return 7;
}

std::unique_ptr<Strategy> make_seven() {
  return strategy_from("seven", always_seven);
}

// What the call was refused for.
template <class Call>
std::vector<BadField> refusal(const Call& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.bad_fields();
  }
  return {};
}

TEST(StrategyRegistry, EveryBuiltInIsMadeByItsName) {
  for (const BuiltIn strategy : kBuiltIns) {
    const std::string_view name = to_string(strategy);
    EXPECT_EQ(built_in_named(name), strategy);
    EXPECT_EQ(make_strategy(name)->name(), name);
    EXPECT_EQ(make_strategy(strategy)->name(), name);
  }
}

TEST(StrategyRegistry, TheNamesAreThoseOfTheDocumentation) {
  const std::vector<std::string> expected{
      "round-robin", "least-used",           "least-busy",           "least-elu",
      "fair-share",  "weighted-round-robin", "interleaved-weighted",
  };
  const std::vector<std::string> names = strategy_names();
  ASSERT_GE(names.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), names.begin()));
}

TEST(StrategyRegistry, AnUnknownNameIsRefusedWithTheKnownOnes) {
  register_strategy("listed", make_seven);
  const auto bad = refusal([] { static_cast<void>(make_strategy("least_busy")); });
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].field, "strategy");
  EXPECT_EQ(bad[0].value, "\"least_busy\"");
  for (const std::string& name : strategy_names()) {
    EXPECT_NE(bad[0].rule.find(name), std::string::npos) << bad[0].rule;
  }
  EXPECT_NE(bad[0].rule.find("listed"), std::string::npos);
  EXPECT_EQ(built_in_named("least_busy"), std::nullopt);
}

TEST(StrategyRegistry, AnEnumThatIsNoneIsRefused) {
  const auto bad = refusal([] { static_cast<void>(make_strategy(static_cast<BuiltIn>(99))); });
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].value, "99");
}

TEST(StrategyRegistry, ARegisteredOneIsMadeAnewEachTime) {
  int made = 0;
  register_strategy("counted", [&made] {
    ++made;
    return make_seven();
  });
  EXPECT_EQ(made, 0);
  EXPECT_NE(make_strategy("counted"), make_strategy("counted"));
  EXPECT_EQ(made, 2);
  EXPECT_EQ(strategy_names().back(), "counted");
}

TEST(StrategyRegistry, AFactoryMayMakeAnotherByName) {
  register_strategy("wrapper", [] { return make_strategy("wrapped"); });
  register_strategy("wrapped", make_seven);
  EXPECT_EQ(make_strategy("wrapper")->name(), "seven");
}

TEST(StrategyRegistry, TakenAndEmptyNamesAreRefused) {
  register_strategy("taken", make_seven);
  const auto taken = refusal([] { register_strategy("taken", make_seven); });
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0], (BadField{"name", "\"taken\"", "must not be taken already"}));
  EXPECT_EQ(refusal([] { register_strategy("round-robin", make_seven); }).size(), 1U);
  EXPECT_EQ(refusal([] { register_strategy("", nullptr); }).size(), 2U);
}

TEST(StrategyRegistry, AFactoryWithoutResultIsAnError) {
  register_strategy("void", [] { return std::unique_ptr<Strategy>(); });
  const auto bad = refusal([] { static_cast<void>(make_strategy("void")); });
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].value, "\"void\"");
}

TEST(StrategyRegistry, WhatAFactoryThrowsIsPassedOn) {
  register_strategy("broken",
                    []() -> std::unique_ptr<Strategy> { throw std::runtime_error("broken"); });
  EXPECT_THROW(static_cast<void>(make_strategy("broken")), std::runtime_error);
}

TEST(StrategyFrom, AFunctionSeesWorkersAndTaskAndChooses) {
  const auto strategy =
      strategy_from("by length", [](std::span<const WorkerInfo> workers, const TaskInfo& task) {
        return std::optional<std::size_t>(workers[task.name.size() % workers.size()].id);
      });
  const std::vector<WorkerInfo> workers{{.id = 10}, {.id = 11}, {.id = 12}};
  const auto selection = strategy->select(workers, {.name = "four"});
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->worker, 11U);
  EXPECT_EQ(selection->reason, "chosen by by length");
  EXPECT_EQ(strategy->name(), "by length");
}

TEST(StrategyFrom, AFunctionMayHaveNoOpinionAndItsHooksDoNothing) {
  const auto strategy = strategy_from(
      "none", [](auto, const auto&) -> std::optional<std::size_t> { return std::nullopt; });
  strategy->on_worker_added({});
  strategy->on_task_complete(0, Duration{1});
  strategy->on_worker_removed(0);
  strategy->reset();
  EXPECT_FALSE(strategy->select({}, {}).has_value());
}

TEST(StrategyFrom, AnEmptyNameOrFunctionIsRefused) {
  const auto bad = refusal([] { static_cast<void>(strategy_from("", nullptr)); });
  ASSERT_EQ(bad.size(), 2U);
  EXPECT_EQ(bad[0].field, "name");
  EXPECT_EQ(bad[1].field, "function");
}

}  // namespace
}  // namespace muster
