// stealing.cpp: the order in which a thief visits its victims.
#include <cmath>
#include <functional>
#include <string>

#include <muster/policy/stealing.hpp>

#include "option_text.hpp"

namespace muster {

std::vector<BadField> validate(const StealingOptions& options) {
  std::vector<BadField> bad;
  if (options.most < 1) {
    bad.push_back({.field = "most", .value = "0", .rule = "must be at least 1"});
  }
  if (options.cooldown < Duration::zero()) {
    bad.push_back(
        {.field = "cooldown", .value = option_text(options.cooldown), .rule = "must be 0 or more"});
  }
  if (options.patience < Duration::zero()) {
    bad.push_back(
        {.field = "patience", .value = option_text(options.patience), .rule = "must be 0 or more"});
  }
  // Written so that a NaN fails.
  if (!(options.max_searchers > 0 && options.max_searchers <= 1)) {
    bad.push_back({.field = "max_searchers",
                   .value = option_text(options.max_searchers),
                   .rule = "must be more than 0, and 1 at most"});
  }
  return bad;
}

std::size_t max_searchers(const StealingOptions& options, std::size_t workers) {
  const double share = std::floor(options.max_searchers * static_cast<double>(workers));
  return std::max<std::size_t>(1, static_cast<std::size_t>(share));
}

std::span<Victim> order_victims(const StealingOptions& options, std::span<Victim> victims,
                                Random& random) {
  const auto end = std::partition(victims.begin(), victims.end(), [&](const Victim& victim) {
    return tasks_to_steal(options, victim.queued) > 0;
  });
  const std::span<Victim> worthwhile(victims.begin(), end);

  // Sorting what was shuffled leaves equals in random order: the sort sees no difference between
  // them, so each order of theirs stays as likely as the others.
  random.shuffle(worthwhile);
  const auto comes_first = [&](const Victim& a, const Victim& b) {
    if (options.fair && a.last_drained != b.last_drained) return a.last_drained < b.last_drained;
    switch (options.victim) {
      case VictimChoice::nearest:
        return a.distance < b.distance;
      case VictimChoice::random:
        return false;
      case VictimChoice::busiest:
        return a.queued > b.queued;
    }
    return false;
  };
  std::sort(worthwhile.begin(), worthwhile.end(), comes_first);
  return worthwhile;
}

}  // namespace muster
