// bounded_queue_stress_test.cpp: every item out once, in order, with all that was written before.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/bounded_queue.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr std::size_t kMostAtOnce = 8;

enum class Style { singles, batches, mixed };

// Holds one parcel and owns another, so that both the slot and what it leads to are watched.
struct Item {
  Parcel inside;
  std::unique_ptr<const Parcel> outside;
  std::size_t place = 0;  // in the batch that it was pushed with
};

struct Setup {
  std::size_t capacity;
  std::uint32_t producers;
  std::uint32_t consumers;
  Style style;
};

Setup random_setup(Random& random, Style style) {
  constexpr std::array<std::size_t, 3> kCapacities = {2, 4, 64};
  return {.capacity = kCapacities.at(random.below(kCapacities.size())),
          .producers = static_cast<std::uint32_t>(1 + random.below(4)),
          .consumers = static_cast<std::uint32_t>(1 + random.below(4)),
          .style = style};
}

bool chooses_batch(Style style, Random& random) {
  return style == Style::batches || (style == Style::mixed && random.below(2) == 0);
}

class Round {
 public:
  explicit Round(const Setup& setup)
      : setup_(setup),
        queue_(setup.capacity),
        ledger_({.producers = setup.producers, .each = 4000 / setup.producers}) {}

  void play(Random& random) {
    SCOPED_TRACE(::testing::Message() << setup_.producers << " producers, " << setup_.consumers
                                      << " consumers, capacity " << setup_.capacity);
    {
      Threads threads(random);
      for (std::uint32_t i = 0; i < setup_.producers; ++i) {
        threads.start([this, i](Random& own) { produce(i, own); });
      }
      for (std::uint32_t i = 0; i < setup_.consumers; ++i) {
        threads.start([this](Random& own) { consume(own); });
      }
    }
    ledger_.expect_every_parcel_once_and_in_order();
    EXPECT_FALSE(queue_.try_pop());
    EXPECT_EQ(queue_.size_approx(), 0U);
  }

 private:
  void produce(std::uint32_t producer, Random& random) {
    std::array<Item, kMostAtOnce> items;
    for (std::uint32_t number = 0; number < ledger_.size().each;) {
      const bool as_batch = chooses_batch(setup_.style, random);
      const std::size_t left = ledger_.size().each - number;
      const std::size_t count = as_batch ? std::min(left, 1 + random.below(kMostAtOnce)) : 1;
      for (std::size_t i = 0; i < count; ++i, ++number) {
        items[i].inside.pack(producer, number);
        auto outside = std::make_unique<Parcel>();
        outside->pack(producer, number);
        items[i].outside = std::move(outside);
      }
      if (!(as_batch ? push_all(std::span(items).first(count)) : push(items[0]))) return;
    }
  }

  bool push(Item& item) {
    Patience patience;
    item.place = 0;
    while (!queue_.try_push(std::move(item))) {
      if (item.outside == nullptr) ledger_.record_out_of_order();  // full, and still moved from
      if (!patience.pause()) return false;
    }
    return true;
  }

  bool push_all(std::span<Item> items) {
    Patience patience;
    while (!items.empty()) {
      for (std::size_t i = 0; i < items.size(); ++i) items[i].place = i;
      const std::size_t pushed = queue_.try_push_batch(items);
      items = items.subspan(pushed);
      if (pushed == 0 && !patience.pause()) return false;
    }
    return true;
  }

  void consume(Random& random) {
    Inspector inspector(ledger_, setup_.consumers == 1 ? Taking::alone : Taking::among_others);
    Patience patience;
    std::array<Item, kMostAtOnce> items;
    while (!ledger_.all_out()) {
      std::size_t popped = 0;
      if (chooses_batch(setup_.style, random)) {
        popped = queue_.try_pop_batch(std::span(items).first(1 + random.below(kMostAtOnce)));
      } else if (pop(items[0], random)) {
        popped = 1;
      }
      for (const Item& item : std::span(items).first(popped)) inspect(inspector, item);
      if (popped > 0) {
        patience.reset();
      } else if (!patience.pause()) {
        return;
      }
    }
  }

  bool pop(Item& out, Random& random) {
    if (random.below(2) == 0) return queue_.try_pop(out);
    std::optional<Item> item = queue_.try_pop();
    if (!item) return false;
    out = std::move(*item);
    return true;
  }

  void inspect(Inspector& inspector, const Item& item) {
    const bool alone = setup_.consumers == 1;
    inspector.inspect_joined(item.inside, alone ? item.place : 0);
    const bool same = item.outside != nullptr && item.outside->intact() &&
                      item.outside->number() == item.inside.number() &&
                      item.outside->producer() == item.inside.producer();
    if (!same) ledger_.record_out_of_order();
  }

  // Fixed at construction.
  const Setup setup_;

  // Any thread.
  BoundedQueue<Item> queue_;
  Ledger ledger_;
};

void stress(Style style) {
  StressRun run;
  while (run.next_round()) Round(random_setup(run.random(), style)).play(run.random());
}

TEST(BoundedQueueStress, SingleItemsComeOutOnceAndInOrder) {
  stress(Style::singles);
}

TEST(BoundedQueueStress, BatchesComeOutOnceInOrderAndTogether) {
  stress(Style::batches);
}

TEST(BoundedQueueStress, SingleItemsAndBatchesMix) {
  stress(Style::mixed);
}

}  // namespace
}  // namespace muster::testing
