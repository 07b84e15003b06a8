// queue_cells.cpp: the bounded queues, by item size and number of threads.
#include <string>
#include <type_traits>

#include "queues/cells.hpp"
#include "queues/contenders/boost_lockfree.hpp"
#include "queues/contenders/moodycamel.hpp"
#include "queues/contenders/muster_bounded.hpp"
#include "queues/contenders/tbb_bounded.hpp"
#include "queues/contenders/vyukov.hpp"
#include "queues/passing.hpp"

namespace muster::bench {
namespace {

template <class Queue>
Contender singles(const Shape& shape) {
  return {Queue::kName,
          [shape](std::uint64_t items) { return pass_items<Queue, Singles>(shape, items); }};
}

template <class Queue>
Contender batches(const Shape& shape) {
  return {std::string(Queue::kName) + kBatchSuffix,
          [shape](std::uint64_t items) { return pass_items<Queue, Batches>(shape, items); }};
}

template <class Item, unsigned kPairs>
Cell queue_cell() {
  constexpr Shape kShape{.producers = kPairs, .consumers = kPairs};
  Cell cell{
      .group = kQueueGroup,
      .name = std::to_string(sizeof(Item)) + " B " + to_text(kShape),
      .contenders = {singles<MusterBounded<Item>>(kShape), singles<Vyukov<Item>>(kShape),
                     singles<Moodycamel<Item, kPairs>>(kShape),
                     singles<BoostLockfree<Item>>(kShape), singles<TbbBounded<Item>>(kShape)}};
  if constexpr (kPairs > 1) {
    cell.contenders.push_back(singles<Moodycamel<Item, kPairs, Room::each>>(kShape));
  }
  if constexpr (std::is_same_v<Item, SmallItem>) {
    cell.contenders.push_back(batches<MusterBounded<Item>>(kShape));
    cell.contenders.push_back(batches<Moodycamel<Item, kPairs>>(kShape));
  }
  return cell;
}

}  // namespace

std::vector<Cell> queue_cells() {
  return {queue_cell<SmallItem, 1>(), queue_cell<SmallItem, 2>(), queue_cell<SmallItem, 4>(),
          queue_cell<LargeItem, 1>(), queue_cell<LargeItem, 2>(), queue_cell<LargeItem, 4>()};
}

}  // namespace muster::bench
