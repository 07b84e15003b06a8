// passing.hpp: producers pass items through a queue to consumers; how many arrive per second?
//
// Each producer pushes its share of the items, consumers pop until all have arrived. Who finds the
// queue full or empty waits politely (support/polite_wait.hpp). The ledger checks every sample.
//
// A contender is a class template with push(T&) and pop(T&), which return false when full or empty.
// If it has the types Producer and Consumer, each thread makes one before the start and goes
// through that.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "queues/load.hpp"
#include "support/ledger.hpp"
#include "support/polite_wait.hpp"
#include "support/rounds.hpp"
#include "support/together.hpp"

namespace muster::bench {

template <class Queue>
concept HasHandles = requires {
  typename Queue::Producer;
  typename Queue::Consumer;
};

// The numbers one producer sends: `count` of them from `first`.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// How a consumer stands with the ledger.
struct Taker {
  Ledger& ledger;
  std::size_t number;
  Haul haul;

  // After a failed try: true once there is nothing left to wait for.
  bool is_done(PoliteWait& wait) {
    if (wait.wait() == Waited::spun) return false;
    ledger.publish(number, haul);
    return ledger.is_complete();
  }
};

// Items one by one.
struct Singles {
  template <class Item, class End>
  static void produce(End& end, const Share& share) {
    PoliteWait wait;
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
      Item item = item_of<Item>(number);
      while (!end.push(item)) wait.wait();
      wait.reset();
    }
  }

  template <class Item, class End>
  static void consume(End& end, Taker& taker) {
    PoliteWait wait;
    Item item{};
    for (;;) {
      if (end.pop(item)) {
        taker.haul.add(checksum(item));
        wait.reset();
      } else if (taker.is_done(wait)) {
        return;
      }
    }
  }
};

// Up to kBatch items at a time.
struct Batches {
  template <class Item, class End>
  static void produce(End& end, const Share& share) {
    PoliteWait wait;
    std::array<Item, kBatch> items{};
    for (std::uint64_t sent = 0; sent < share.count;) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(items.size(), share.count - sent));
      for (std::size_t i = 0; i < count; ++i) items[i] = item_of<Item>(share.first + sent + i);
      sent += count;
      std::span<Item> left(items.data(), count);
      while (!left.empty()) {
        const std::size_t pushed = end.push_batch(left);
        if (pushed == 0) {
          wait.wait();
        } else {
          wait.reset();
          left = left.subspan(pushed);
        }
      }
    }
  }

  template <class Item, class End>
  static void consume(End& end, Taker& taker) {
    PoliteWait wait;
    std::array<Item, kBatch> items{};
    for (;;) {
      const std::size_t popped = end.pop_batch(items);
      for (std::size_t i = 0; i < popped; ++i) taker.haul.add(checksum(items[i]));
      if (popped > 0) {
        wait.reset();
      } else if (taker.is_done(wait)) {
        return;
      }
    }
  }
};

template <class Queue, class Manner>
void run_producer(Queue& queue, const Share& share, StartLine& start) {
  using Item = typename Queue::Item;
  if constexpr (HasHandles<Queue>) {
    typename Queue::Producer end(queue);
    start.wait();
    Manner::template produce<Item>(end, share);
  } else {
    start.wait();
    Manner::template produce<Item>(queue, share);
  }
}

template <class Queue, class Manner>
void run_consumer(Queue& queue, Taker taker, StartLine& start) {
  using Item = typename Queue::Item;
  if constexpr (HasHandles<Queue>) {
    typename Queue::Consumer end(queue);
    start.wait();
    Manner::template consume<Item>(end, taker);
  } else {
    start.wait();
    Manner::template consume<Item>(queue, taker);
  }
  taker.ledger.close(taker.number, taker.haul);
}

// Manner is Singles or Batches.
template <class Queue, class Manner>
Sample pass_items(const Shape& shape, std::uint64_t items) {
  const std::uint64_t share = (items + shape.producers - 1) / shape.producers;
  const std::uint64_t all = share * shape.producers;
  const auto queue = std::make_unique<Queue>(kQueueCapacity);
  Ledger ledger(shape.consumers, all);

  std::vector<Role> roles;
  for (unsigned producer = 0; producer < shape.producers; ++producer) {
    roles.emplace_back([&queue, share, producer](StartLine& start) {
      run_producer<Queue, Manner>(*queue, {producer * share + 1, share}, start);
    });
  }
  for (unsigned consumer = 0; consumer < shape.consumers; ++consumer) {
    roles.emplace_back([&queue, &ledger, consumer](StartLine& start) {
      run_consumer<Queue, Manner>(*queue, {ledger, consumer, {}}, start);
    });
  }
  const double seconds = run_together(roles);
  ledger.verify(checksum_of_all(all));
  return {all, seconds};
}

}  // namespace muster::bench
