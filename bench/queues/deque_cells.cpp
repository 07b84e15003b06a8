// deque_cells.cpp: the work-stealing deque, by burst and number of thieves.
#include <string>

#include "queues/cells.hpp"
#include "queues/contenders/muster_deque.hpp"
#include "queues/contenders/mutex_deque.hpp"
#include "queues/contenders/plain_ring_fence.hpp"
#include "queues/stealing.hpp"

namespace muster::bench {
namespace {

using Item = SmallItem;

constexpr std::uint64_t kOwnerBursts[] = {1, 16, 64};
constexpr std::uint64_t kStealBursts[] = {0, 64, 4};  // one per group in kStealGroups
constexpr unsigned kMostThieves = 3;

template <class Deque>
Contender alone(std::uint64_t burst) {
  return {Deque::kName, [burst](std::uint64_t items) { return run_alone<Deque>(burst, items); }};
}

template <class Deque>
Contender robbed(const StealLevel& level) {
  return {Deque::kName, [level](std::uint64_t items) { return take_items<Deque>(level, items); }};
}

}  // namespace

std::vector<Cell> deque_cells() {
  std::vector<Cell> cells;
  for (const std::uint64_t burst : kOwnerBursts) {
    cells.push_back(
        {.group = kOwnerGroup,
         .name = "burst " + std::to_string(burst),
         .contenders = {alone<MusterDeque<Item>>(burst), alone<PlainRingFence<Item>>(burst),
                        alone<MutexDeque<Item>>(burst)}});
  }
  for (std::size_t group = 0; group < std::size(kStealGroups); ++group) {
    for (unsigned thieves = 1; thieves <= kMostThieves; ++thieves) {
      const StealLevel level{.thieves = thieves, .burst = kStealBursts[group]};
      cells.push_back(
          {.group = kStealGroups[group],
           .name = std::to_string(thieves) + (thieves == 1 ? " thief" : " thieves"),
           .contenders = {robbed<MusterDeque<Item>>(level), robbed<MutexDeque<Item>>(level)}});
    }
  }
  return cells;
}

}  // namespace muster::bench
