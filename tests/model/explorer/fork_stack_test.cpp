// fork_stack_test.cpp: the shipped fork stacks under every small schedule and every allowed read.
//
// The explorer's threads are fibres on one thread, so the present worker's stack cannot be found as
// join() finds it: workers are named here. Forks live as long as the run and not in frames, since
// the explorer also ends executions that turned out not to exist.
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/sync/futex.hpp>
#include <muster/sync/plain.hpp>
#include <muster/threads/fork_stack.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr int kGiven = 100;
constexpr int kResult = 200;

// Lets one thread wait for another, without giving it any order that it does not have.
class Signal {
 public:
  void give() {
    given_.store(1, relaxed);
    futex_wake_one(given_);
  }
  void await() {
    while (given_.load(relaxed) == 0) futex_wait(given_, 0, std::nullopt);
  }

 private:
  Atomic<std::uint32_t> given_ = 0;
};

class Team;
class Worker;
using Body = std::function<void(Worker&)>;

// The second side of a join.
class Side : public Fork {
 public:
  Side(Team& team, Body body) : Fork(&run_by_taker), team_(&team), body_(std::move(body)) {
    given.set(kGiven);
  }

  void run_by(Worker& worker);
  [[nodiscard]] bool stems_from(const Side& other) const {
    return this == &other || (parent != nullptr && parent->stems_from(other));
  }

  const Side* parent = nullptr;  // what its joiner was running
  int runs = 0;
  Plain<int> given;   // by the joiner, before
  Plain<int> result;  // for the joiner

 private:
  static void run_by_taker(Fork& fork);

  Team* team_;
  Body body_;
};

class Worker {
 public:
  explicit Worker(Roster& roster) : forks(roster) {}

  // As muster::join does it.
  void join(Side& second, const Body& first = {}) {
    const ForkStack::Place place = fork(second);
    if (first) first(*this);
    finish(second, place);
  }
  ForkStack::Place fork(Side& second) {
    second.parent = running;
    return forks.push(second);
  }
  void finish(Side& second, ForkStack::Place place) {
    if (forks.pop(place)) {
      second.run_by(*this);
    } else {
      const Side* const outer = std::exchange(awaited, &second);
      forks.wait(second);
      awaited = outer;
    }
    require(second.runs == 1, "a join ends after its fork, which ran once");
    require(second.result.get() == kResult, "what the fork did is visible after the join");
    second.given.set(0);  // the frame ends: whoever still looks at it races with this
  }

  // A look around by a worker that has nothing to do.
  bool take_from(Worker& victim) {
    const ForkStack::Taking taking = forks.take_from(victim.forks);
    if (taking.outcome == StealOutcome::taken) forks.run_taken(*taking.fork);
    return taking.outcome == StealOutcome::taken;
  }

  // As a worker goes idle: searches, announces that it will sleep, looks again, sleeps.
  void sleep_until_taken_from(Worker& victim, std::size_t index, Roster& roster) {
    for (;;) {
      roster.begin_search();
      if (Fork* const fork = look_at(victim)) {
        if (roster.end_search() && victim.forks.offered_approx() != 0) roster.notify();
        return forks.run_taken(*fork);
      }
      const ParkingLot::Ticket ticket = roster.give_up(index);
      if (Fork* const fork = look_at(victim)) {
        roster.stay(ticket);
        if (victim.forks.offered_approx() != 0) roster.notify();
        return forks.run_taken(*fork);
      }
      roster.sleep(ticket);
    }
  }

  ForkStack forks;
  const Side* running = nullptr;
  const Side* awaited = nullptr;
  unsigned taken = 0;   // by looking around or by helping
  unsigned helped = 0;  // of those

 private:
  // A race that was lost says nothing about what else is on offer.
  Fork* look_at(Worker& victim) {
    for (;;) {
      const ForkStack::Taking taking = forks.take_from(victim.forks);
      if (taking.outcome != StealOutcome::lost_race) return taking.fork;
    }
  }
};

class Team {
 public:
  explicit Team(std::size_t workers) {
    for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back(roster_);
  }

  Worker& worker(std::size_t index) {
    return *std::next(workers_.begin(), static_cast<std::ptrdiff_t>(index));
  }
  Worker* with(const ForkStack* forks) {
    for (Worker& worker : workers_) {
      if (&worker.forks == forks) return &worker;
    }
    return nullptr;
  }
  Side& side(Body body = {}) { return sides_.emplace_back(*this, std::move(body)); }
  Atomic<int>& count() { return counts_.emplace_back(0); }
  Signal& signal() { return signals_.emplace_back(); }
  Roster& roster() { return roster_; }

  void expect_at_rest() {
    for (const Side& side : sides_) require(side.runs == 1, "every fork is run");
    for (Worker& worker : workers_) {
      const ForkStack::Counters& counters = worker.forks.counters();
      require(worker.forks.offered_approx() == 0, "nothing is left on offer");
      require(counters.taken.load(relaxed) == worker.taken, "what is taken is counted");
      require(counters.helped.load(relaxed) == worker.helped, "help is counted");
    }
  }

 private:
  Roster roster_{2};
  std::list<Worker> workers_;
  std::list<Side> sides_;
  std::list<Atomic<int>> counts_;
  std::list<Signal> signals_;
};

void Side::run_by_taker(Fork& fork) {
  auto& self = static_cast<Side&>(fork);
  Worker* const taker = self.team_->with(self.offer.taker.load(relaxed));
  require(taker != nullptr, "a fork that was taken names its taker");
  if (taker == nullptr) return;
  ++taker->taken;
  if (taker->awaited != nullptr) {
    ++taker->helped;
    require(self.stems_from(*taker->awaited), "who waits helps only with what it waits for");
  }
  // What the fork awaits itself is another matter than what the worker awaits below it.
  const Side* const outer = std::exchange(taker->awaited, nullptr);
  self.run_by(*taker);
  taker->awaited = outer;
}

void Side::run_by(Worker& worker) {
  require(++runs == 1, "no fork is run twice");
  require(given.get() == kGiven, "what was done before the join is visible to the fork");
  const Side* const outer = std::exchange(worker.running, this);
  if (body_) body_(worker);
  worker.running = outer;
  result.set(kResult);
}

using Setup = std::function<void(Program&, Team&)>;

Scenario scenario(const std::string& name, std::size_t workers, const Setup& setup,
                  const Limits& limits = {}) {
  return {.name = name,
          .setup =
              [=](Program& program) {
                auto team = std::make_shared<Team>(workers);
                setup(program, *team);
                program.at_end([=] { team->expect_at_rest(); });
              },
          .limits = limits};
}

// Two joins inside each other, and two workers that look around.
Scenario nested() {
  return scenario("nested joins, 1 + 2", 3, [](Program& program, Team& team) {
    Worker& owner = team.worker(0);
    Side& outer = team.side();
    Side& inner = team.side();
    program.thread([&] { owner.join(outer, [&](Worker& w) { w.join(inner); }); });
    for (std::size_t thief : {1U, 2U}) {
      program.thread([&team, thief] { team.worker(thief).take_from(team.worker(0)); });
    }
  });
}

// What is taken forks itself: its joiner, or the other thief, may take part.
Scenario grandchildren() {
  return scenario("a taken fork forks, 1 + 2", 3,
                  [](Program& program, Team& team) {
                    Side& inner = team.side();
                    Side& outer = team.side([&](Worker& w) { w.join(inner); });
                    program.thread([&] { team.worker(0).join(outer); });
                    program.thread([&] { team.worker(1).take_from(team.worker(0)); });
                    program.thread([&] { team.worker(2).take_from(team.worker(1)); });
                  },
                  {.preemptions = 3, .stale_reads = 1});
}

// Each joins, then looks at the other.
Scenario each_other() {
  return scenario("two owners", 2, [](Program& program, Team& team) {
    for (std::size_t me : {0U, 1U}) {
      Side& inner = team.side();
      Side& outer = team.side([&](Worker& w) { w.join(inner); });
      program.thread([&team, &outer, me] {
        team.worker(me).join(outer);
        team.worker(me).take_from(team.worker(1 - me));
      });
    }
  });
}

// Who took the fork goes on with forks of its own, which its joiner must not take.
Scenario unrelated() {
  return scenario("the taker goes on, 2", 2, [](Program& program, Team& team) {
    Side& fork = team.side();
    Side& other = team.side();
    program.thread([&] { team.worker(0).join(fork); });
    program.thread([&] {
      team.worker(1).take_from(team.worker(0));
      team.worker(1).join(other);
    });
  });
}

// A fork that ends only if its joiner runs what it forks: so the joiner must not sleep through it.
Scenario only_the_waiter() {
  return scenario("only the waiter can help, 2", 2, [](Program& program, Team& team) {
    Signal& taken = team.signal();
    Signal& helped = team.signal();
    Side& child = team.side([&](Worker&) { helped.give(); });
    Side& fork = team.side([&](Worker& w) {
      taken.give();
      w.join(child, [&](Worker&) { helped.await(); });
    });
    const ForkStack::Place place = team.worker(0).fork(fork);
    program.thread([&team, &taken, &fork, place] {
      taken.await();
      team.worker(0).finish(fork, place);
    });
    program.thread([&] { team.worker(1).take_from(team.worker(0)); });
  });
}

// Offers one fork when one is wanted, and no more.
Scenario nobody_asks() {
  return scenario("nobody asks, 1", 1, [](Program& program, Team& team) {
    Side& first = team.side();
    Side& second = team.side();
    Side& third = team.side();
    program.thread([&] {
      Worker& owner = team.worker(0);
      const Atomic<std::uint64_t>& offered = owner.forks.counters().offered;
      owner.join(first, [&](Worker& w) { w.join(second); });
      require(offered.load(relaxed) == 1, "what nobody asked for is not offered");
      owner.join(third);
      require(offered.load(relaxed) == 2, "when an offer is taken back, the next fork is offered");
    });
  });
}

// The owner goes on until both others have something; they sleep in between.
Scenario both_want_one() {
  return scenario("both want one, 1 + 2", 3,
                  [](Program& program, Team& team) {
                    Atomic<int>& taken = team.count();
                    const Body note = [&](Worker&) { taken.fetch_add(1, relaxed); };
                    Side& outer = team.side(note);
                    Side& inner = team.side(note);
                    program.thread([&] {
                      team.worker(0).join(outer, [&](Worker& w) {
                        w.join(inner, [&](Worker&) {
                          while (taken.load(relaxed) < 2) {
                            std::ignore = w.forks.must_split();
                            spin_pause();
                          }
                        });
                      });
                    });
                    for (std::size_t i : {0U, 1U}) {
                      program.thread([&team, i] {
                        team.worker(1 + i).sleep_until_taken_from(team.worker(0), i, team.roster());
                      });
                    }
                  },
                  {.preemptions = 2, .stale_reads = 0});
}

// Whoever takes the last offer asks for the next one.
Scenario last_offer() {
  return {.name = "the last offer is taken, 1 + 1", .setup = [](Program& program) {
            auto team = std::make_shared<Team>(2);
            Side& fork = team->side();
            const ForkStack::Place place = team->worker(0).fork(fork);
            program.thread([=] { team->worker(1).take_from(team->worker(0)); });
            program.at_end([=, &fork] {
              require(team->worker(0).forks.must_split(), "another fork is wanted");
              team->worker(0).finish(fork, place);
              team->expect_at_rest();
            });
          }};
}

TEST(ForkStackModel, EveryForkIsRunOnceAndItsJoinerSeesTheResult) {
  expect_all_hold({nested(), grandchildren(), each_other()});
}

TEST(ForkStackModel, AWaiterHelpsOnlyWithWhatItWaitsFor) {
  expect_all_hold({unrelated()});
}

TEST(ForkStackModel, AWaiterDoesNotSleepThroughAnOffer) {
  expect_all_hold({only_the_waiter()});
}

TEST(ForkStackModel, ARequestIsMetOnce) {
  expect_all_hold({nobody_asks(), last_offer(), both_want_one()});
}

TEST(ForkStackModel, EveryOrderIsNeeded) {
  const std::string reason =
      "shows a taker's stack that is younger than the fork; here all are older";
  expect_weakenings_caught(
      {nobody_asks(), last_offer(), unrelated(), only_the_waiter(), each_other(), nested()},
      "fork_stack.cpp",
      {{"taker.store(this, release)", Weakening::drop_release, reason},
       {"taker.load(acquire)", Weakening::drop_acquire, reason}});
}

}  // namespace
}  // namespace muster::explore
