// stealing.hpp: an owner pushes, and it and the thieves take; how many items are taken per second?
//
// A contender is a class template with the types Owner (push, pop) and Thief (steal), which each
// thread makes for itself. A yardstick without thieves has only Owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "queues/load.hpp"
#include "support/keep.hpp"
#include "support/ledger.hpp"
#include "support/polite_wait.hpp"
#include "support/rounds.hpp"
#include "support/together.hpp"

namespace muster::bench {

// Room from the start, so that nobody grows while being measured.
inline constexpr std::size_t kDequeCapacity = 1024;

// What a worker does without thieves: push `burst` items, pop them again.
template <class Deque>
void push_then_pop(typename Deque::Owner& owner, std::uint64_t burst, std::uint64_t items,
                   Haul& haul) {
  using Item = typename Deque::Item;
  Item item{};
  for (std::uint64_t first = 1; first <= items; first += burst) {
    for (std::uint64_t i = 0; i < burst; ++i) {
      owner.push(item_of<Item>(first + i));
      do_something_else();
    }
    for (std::uint64_t i = 0; i < burst; ++i) {
      if (owner.pop(item)) haul.add(checksum(item));
      do_something_else();
    }
  }
}

// On a thread of its own although it is alone: in a process that never had two threads the C
// library takes mutexes without atomic operations.
template <class Deque>
Sample run_alone(std::uint64_t burst, std::uint64_t items) {
  const std::uint64_t all = (items + burst - 1) / burst * burst;
  const auto deque = std::make_unique<Deque>(kDequeCapacity);
  let_escape(deque.get());
  Ledger ledger(1, all);
  const double seconds = run_together({[&deque, burst, all, &ledger](StartLine& start) {
    typename Deque::Owner owner(*deque);
    Haul haul;
    start.wait();
    push_then_pop<Deque>(owner, burst, all, haul);
    ledger.close(0, haul);
  }});
  ledger.verify(checksum_of_all(all));
  return {all, seconds};
}

struct StealLevel {
  unsigned thieves = 1;

  // The owner pushes so many and then pops until it finds nothing. 0: it never pops, thieves take
  // all, and it waits while kDequeCapacity items lie there.
  std::uint64_t burst = 0;
};

template <class Deque>
void push_and_pop_rest(typename Deque::Owner& owner, std::uint64_t burst, std::uint64_t items,
                       Haul& haul) {
  using Item = typename Deque::Item;
  Item item{};
  for (std::uint64_t number = 1; number <= items;) {
    for (std::uint64_t i = 0; i < burst && number <= items; ++i, ++number) {
      owner.push(item_of<Item>(number));
    }
    while (owner.pop(item)) haul.add(checksum(item));
  }
}

template <class Deque>
void push_only(typename Deque::Owner& owner, std::uint64_t items, const Ledger& ledger) {
  using Item = typename Deque::Item;
  PoliteWait wait;
  std::uint64_t room = kDequeCapacity;
  for (std::uint64_t number = 1; number <= items; ++number) {
    while (room == 0) {
      room = kDequeCapacity - (number - 1 - ledger.published_items());
      if (room == 0) wait.wait();
    }
    wait.reset();
    owner.push(item_of<Item>(number));
    --room;
  }
}

template <class Deque>
void run_owner(Deque& deque, std::uint64_t burst, std::uint64_t items, Ledger& ledger,
               StartLine& start) {
  typename Deque::Owner owner(deque);
  Haul haul;
  start.wait();
  if (burst == 0) {
    push_only<Deque>(owner, items, ledger);
  } else {
    push_and_pop_rest<Deque>(owner, burst, items, haul);
  }
  ledger.close(0, haul);
}

template <class Deque>
void run_thief(Deque& deque, std::size_t number, Ledger& ledger, StartLine& start) {
  typename Deque::Thief thief(deque);
  typename Deque::Item item{};
  PoliteWait wait;
  Haul haul;
  start.wait();
  for (;;) {
    if (thief.steal(item)) {
      haul.add(checksum(item));
      ledger.publish(number, haul);
      wait.reset();
    } else if (wait.wait() == Waited::yielded && ledger.is_complete()) {
      break;
    }
  }
  ledger.close(number, haul);
}

template <class Deque>
Sample take_items(const StealLevel& level, std::uint64_t items) {
  const auto deque = std::make_unique<Deque>(kDequeCapacity);
  Ledger ledger(1 + level.thieves, items);
  std::vector<Role> roles;
  roles.emplace_back([&deque, &level, items, &ledger](StartLine& start) {
    run_owner(*deque, level.burst, items, ledger, start);
  });
  for (std::size_t thief = 1; thief <= level.thieves; ++thief) {
    roles.emplace_back(
        [&deque, thief, &ledger](StartLine& start) { run_thief(*deque, thief, ledger, start); });
  }
  const double seconds = run_together(roles);
  ledger.verify(checksum_of_all(items));
  return {items, seconds};
}

}  // namespace muster::bench
