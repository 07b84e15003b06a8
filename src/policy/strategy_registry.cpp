// strategy_registry.cpp: strategies by name. The one place in this layer that locks: names are
// registered for the whole program, from whatever thread comes first.
#include <algorithm>
#include <utility>

#include <muster/error.hpp>
#include <muster/strategy.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {
namespace {

struct Registry {
  struct Entry {
    std::string name;
    StrategyFactory factory;
  };

  // Guarded by mutex.
  Mutex mutex;
  std::vector<Entry> entries MUSTER_GUARDED_BY(mutex);

  // Empty if there is none of that name.
  StrategyFactory find(std::string_view name) MUSTER_REQUIRES(mutex) {
    for (const Entry& entry : entries) {
      if (entry.name == name) return entry.factory;
    }
    return {};
  }
};

Registry& registry() {
  // Never destroyed: a pool may outlive the statics of another file.
  static Registry& only = *new Registry;
  return only;
}

std::string quoted(std::string_view name) {
  return '"' + std::string(name) + '"';
}

std::string known_names() {
  std::string text;
  for (const std::string& name : strategy_names()) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace

std::vector<BadField> validate(const StrategyChoice& strategy) {
  if (const auto* const object = std::get_if<std::shared_ptr<Strategy>>(&strategy)) {
    if (*object != nullptr) return {};
    return {{.field = "strategy", .value = "null", .rule = "must be an object"}};
  }
  const auto* const name = std::get_if<std::string>(&strategy);
  if (name == nullptr) return {};
  const std::vector<std::string> known = strategy_names();
  if (std::find(known.begin(), known.end(), *name) != known.end()) return {};
  return {{.field = "strategy", .value = quoted(*name), .rule = "must be one of " + known_names()}};
}

std::optional<BuiltIn> built_in_of(const StrategyChoice& strategy) {
  if (const auto* const built_in = std::get_if<BuiltIn>(&strategy)) return *built_in;
  const auto* const name = std::get_if<std::string>(&strategy);
  return name != nullptr ? built_in_named(*name) : std::nullopt;
}

std::shared_ptr<Strategy> custom_of(const StrategyChoice& strategy) {
  if (built_in_of(strategy)) return nullptr;
  if (const auto* const name = std::get_if<std::string>(&strategy)) return make_strategy(*name);
  return std::get<std::shared_ptr<Strategy>>(strategy);
}

std::unique_ptr<Strategy> make_strategy(std::string_view name) {
  if (const std::optional<BuiltIn> built_in = built_in_named(name)) return make_strategy(*built_in);
  StrategyFactory factory;
  {
    const MutexLock lock(registry().mutex);
    factory = registry().find(name);
  }
  // Without the lock: a factory may make the strategy that it wraps by its name.
  if (!factory) {
    throw InvalidArgument(
        {.field = "strategy", .value = quoted(name), .rule = "must be one of " + known_names()});
  }
  std::unique_ptr<Strategy> strategy = factory();
  if (strategy == nullptr) {
    throw InvalidArgument({.field = "strategy",
                           .value = quoted(name),
                           .rule = "must be registered with a factory that gives a strategy"});
  }
  return strategy;
}

void register_strategy(std::string name, StrategyFactory factory) {
  const MutexLock lock(registry().mutex);
  std::vector<BadField> bad;
  if (name.empty()) {
    bad.push_back({.field = "name", .value = "empty", .rule = "must name the strategy"});
  } else if (built_in_named(name) || registry().find(name)) {
    bad.push_back({.field = "name", .value = quoted(name), .rule = "must not be taken already"});
  }
  if (!factory) {
    bad.push_back({.field = "factory", .value = "empty", .rule = "must be callable"});
  }
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  registry().entries.push_back({std::move(name), std::move(factory)});
}

std::vector<std::string> strategy_names() {
  const MutexLock lock(registry().mutex);
  std::vector<std::string> names;
  names.reserve(kBuiltIns.size() + registry().entries.size());
  for (const BuiltIn strategy : kBuiltIns) names.emplace_back(to_string(strategy));
  for (const Registry::Entry& entry : registry().entries) names.push_back(entry.name);
  return names;
}

}  // namespace muster
