// roster_test.cpp: the shipped roster and parking lot under every small schedule and every allowed
// read.
#include <memory>

#include <gtest/gtest.h>

#include <muster/threads/roster.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

enum class Publisher { inside, outside };

// Work is a number, pushed and taken with the order of a queue and no more. A task takes for ever,
// so a worker takes one and is never seen again: what it leaves behind, somebody else must find.
struct Crew {
  explicit Crew(std::size_t workers) : roster(workers) {}

  Roster roster;
  Atomic<int> work = 0;

  void publish(Publisher publisher) {
    work.fetch_add(1, release);
    if (publisher == Publisher::inside) {
      roster.notify();
    } else {
      roster.notify_from_outside();
    }
  }
  bool take() {
    int seen = work.load(acquire);
    while (seen > 0) {
      if (work.compare_exchange_weak(seen, seen - 1, acquire, relaxed)) return true;
    }
    return false;
  }
  bool has_more() { return work.load(relaxed) > 0; }  // relaxed: as a racy emptiness test

  // As a worker does, until it has found one piece of work.
  void work_one(std::size_t worker) {
    for (;;) {
      roster.begin_search();
      if (search(worker)) return;
    }
  }
  bool search(std::size_t worker) {
    if (!take()) return sleep_unless_work(roster.give_up(worker));
    if (roster.end_search() && has_more()) roster.notify();
    return true;
  }
  bool sleep_unless_work(ParkingLot::Ticket ticket) {
    if (!take()) return roster.sleep(ticket), false;
    roster.stay(ticket);
    if (has_more()) roster.notify();
    return true;
  }
};

// What a worker has done before the publishers begin.
enum class Before { nothing, begun_to_search, given_up };

std::function<void()> worker(const std::shared_ptr<Crew>& crew, std::size_t index, Before before) {
  if (before == Before::nothing) return [=] { crew->work_one(index); };
  crew->roster.begin_search();
  if (before == Before::begun_to_search) {
    return [=] {
      if (!crew->search(index)) crew->work_one(index);
    };
  }
  return [=, ticket = crew->roster.give_up(index)] {
    if (!crew->sleep_unless_work(ticket)) crew->work_one(index);
  };
}

// As many pieces of work as workers, so if one is left, then somebody sleeps for ever.
Scenario scenario(const std::string& name, const std::vector<int>& published,
                  const std::vector<Before>& workers, const Limits& limits,
                  Publisher publisher = Publisher::inside) {
  const auto setup = [=](Program& program) {
    auto crew = std::make_shared<Crew>(workers.size());
    for (const int count : published) {
      program.thread([=] {
        for (int i = 0; i < count; ++i) crew->publish(publisher);
      });
    }
    for (std::size_t i = 0; i < workers.size(); ++i) program.thread(worker(crew, i, workers[i]));
    program.at_end([=] {
      require(crew->work.load(relaxed) == 0, "no work is left");
      require(crew->roster.searching_approx() == 0, "nobody is left searching");
      require(crew->roster.sleeping_approx() == 0, "nobody is left announced");
    });
  };
  return {.name = name, .setup = setup, .limits = limits};
}

std::vector<Scenario> scenarios() {
  constexpr Before kNothing = Before::nothing;
  constexpr Before kSearches = Before::begun_to_search;
  constexpr Before kGivenUp = Before::given_up;
  return {
      scenario("one publisher, two workers", {2}, {kNothing, kNothing}, {2, 1}),
      scenario("two publishers, two workers", {1, 1}, {kNothing, kNothing}, {3, 0}),
      scenario("a searcher and a sleeper", {1, 1}, {kSearches, kGivenUp}, {2, 1}),
      scenario("a searcher and two sleepers", {2, 1}, {kSearches, kGivenUp, kGivenUp}, {1, 0}),
      scenario("two searchers and a sleeper", {3}, {kSearches, kSearches, kGivenUp}, {1, 1}),
      scenario("from outside, a searcher and a sleeper", {1, 1}, {kSearches, kGivenUp}, {2, 0},
               Publisher::outside),
  };
}

TEST(RosterModel, NobodySleepsWhileWorkWaitsAndNobodySearches) {
  expect_all_hold(scenarios());
}

TEST(RosterModel, EveryOrderIsNeeded) {
  expect_weakenings_caught(scenarios(), "roster.cpp");
}

}  // namespace
}  // namespace muster::explore
