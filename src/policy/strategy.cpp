// strategy.cpp: names, what a strategy does unless it is told otherwise, and functions as such.
#include <algorithm>
#include <utility>

#include <muster/error.hpp>
#include <muster/strategy.hpp>

#include "policy/strategies/built_in.hpp"

namespace muster {
namespace {

class FunctionStrategy final : public Strategy {
 public:
  FunctionStrategy(std::string name, SelectFunction function)
      : name_(std::move(name)), function_(std::move(function)) {}

  std::string_view name() const override { return name_; }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& task) override {
    const std::optional<std::size_t> worker = function_(workers, task);
    if (!worker) return std::nullopt;
    return Selection{*worker, "chosen by " + name_};
  }

 private:
  const std::string name_;
  const SelectFunction function_;
};

}  // namespace

std::string_view to_string(BuiltIn strategy) {
  switch (strategy) {
    case BuiltIn::round_robin:
      return "round-robin";
    case BuiltIn::least_used:
      return "least-used";
    case BuiltIn::least_busy:
      return "least-busy";
    case BuiltIn::least_elu:
      return "least-elu";
    case BuiltIn::fair_share:
      return "fair-share";
    case BuiltIn::weighted_round_robin:
      return "weighted-round-robin";
    case BuiltIn::interleaved_weighted:
      return "interleaved-weighted";
  }
  return "unknown";
}

std::optional<BuiltIn> built_in_named(std::string_view name) {
  const auto* const found =
      std::find_if(kBuiltIns.begin(), kBuiltIns.end(),
                   [name](BuiltIn strategy) { return to_string(strategy) == name; });
  if (found == kBuiltIns.end()) return std::nullopt;
  return *found;
}

Strategy::~Strategy() = default;
void Strategy::on_task_complete(std::size_t /*worker*/, Duration /*duration*/) {}
void Strategy::on_worker_added(const WorkerInfo& /*worker*/) {}
void Strategy::on_worker_removed(std::size_t /*worker*/) {}
void Strategy::reset() {}

std::unique_ptr<Strategy> strategy_from(std::string name, SelectFunction function) {
  std::vector<BadField> bad;
  if (name.empty()) {
    bad.push_back({.field = "name", .value = "empty", .rule = "must name the strategy"});
  }
  if (!function) {
    bad.push_back({.field = "function", .value = "empty", .rule = "must be callable"});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  return std::make_unique<FunctionStrategy>(std::move(name), std::move(function));
}

std::unique_ptr<Strategy> make_strategy(BuiltIn strategy) {
  switch (strategy) {
    case BuiltIn::round_robin:
      return make_round_robin();
    case BuiltIn::least_used:
      return make_least_used();
    case BuiltIn::least_busy:
      return make_least_busy();
    case BuiltIn::least_elu:
      return make_least_elu();
    case BuiltIn::fair_share:
      return make_fair_share();
    case BuiltIn::weighted_round_robin:
      return make_weighted_round_robin();
    case BuiltIn::interleaved_weighted:
      return make_interleaved_weighted();
  }
  throw InvalidArgument({.field = "strategy",
                         .value = std::to_string(static_cast<int>(strategy)),
                         .rule = "must be one of the built-ins"});
}

}  // namespace muster
