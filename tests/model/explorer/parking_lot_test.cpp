// parking_lot_test.cpp: the shipped parking lot under every small schedule and every allowed read.
#include <memory>

#include <gtest/gtest.h>

#include <muster/sync/parking_lot.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

// Work is a number; publishing is a plain release store's worth of order and no more, so that
// whatever keeps workers from sleeping through it must come from the parking lot.
struct Crew {
  ParkingLot lot{2};
  Atomic<int> work = 0;
  Atomic<int> stopped = 0;
  int done = 0;

  void publish() {
    work.fetch_add(1, release);
    lot.wake_one();
  }
  void publish_to(std::size_t worker) {
    work.fetch_add(1, release);
    lot.wake_this(worker);
  }
  bool take() {
    int seen = work.load(acquire);
    while (seen > 0) {
      if (work.compare_exchange_weak(seen, seen - 1, acquire, relaxed)) return ++done, true;
    }
    return false;
  }
  // Takes exactly `count` pieces of work, sleeping while there is none.
  void work_off(std::size_t worker, int count) {
    while (count > 0) {
      if (take()) {
        --count;
        continue;
      }
      const ParkingLot::Ticket ticket = lot.announce(worker);
      if (take()) {
        lot.withdraw(ticket);
        --count;
      } else {
        lot.park(ticket);
      }
    }
  }
  void stop() {
    stopped.store(1, release);
    lot.wake_all();
  }
  void wait_for_stop(std::size_t worker) {
    while (stopped.load(acquire) == 0) {
      const ParkingLot::Ticket ticket = lot.announce(worker);
      if (stopped.load(acquire) != 0) {
        lot.withdraw(ticket);
      } else {
        lot.park(ticket);
      }
    }
  }
};

Scenario scenario(const std::string& name, const std::vector<std::function<void(Crew&)>>& threads,
                  int expected) {
  return {.name = name, .setup = [=](Program& program) {
            auto crew = std::make_shared<Crew>();
            for (const auto& body : threads) program.thread([=] { body(*crew); });
            program.at_end([=] { require(crew->done == expected, "all work is done"); });
          }};
}

std::vector<Scenario> scenarios() {
  const auto publish = [](Crew& c) { c.publish(); };
  const auto publish_twice = [](Crew& c) { c.publish(), c.publish(); };
  const auto worker = [](std::size_t index, int count) {
    return [=](Crew& c) { c.work_off(index, count); };
  };
  const auto sleeper = [](std::size_t index) { return [=](Crew& c) { c.wait_for_stop(index); }; };
  return {
      scenario("one publisher, one worker", {publish_twice, worker(0, 2)}, 2),
      scenario("two publishers, two workers", {publish, publish, worker(0, 1), worker(1, 1)}, 2),
      scenario("one publisher, two workers", {publish_twice, worker(0, 1), worker(1, 1)}, 2),
      scenario("work for one worker only",
               {[](Crew& c) { c.publish_to(1), c.publish_to(1); }, worker(1, 2)}, 2),
      scenario("two sleepers are stopped", {[](Crew& c) { c.stop(); }, sleeper(0), sleeper(1)}, 0),
  };
}

TEST(ParkingLotModel, NobodySleepsWhileWorkWaits) {
  expect_all_hold(scenarios());
}

TEST(ParkingLotModel, ATimeoutAndAWakeDoNotLoseEachOther) {
  expect_all_hold({{.name = "parking with a deadline", .setup = [](Program& program) {
                      auto crew = std::make_shared<Crew>();
                      program.thread([=] { crew->publish(); });
                      program.thread([=] {
                        const ParkingLot::Ticket ticket = crew->lot.announce(0);
                        if (crew->take()) return crew->lot.withdraw(ticket);
                        const ParkOutcome outcome = crew->lot.park(ticket, Time{});
                        // relaxed, or stale, this look may miss the work: then the worker announces
                        // again.
                        if (outcome == ParkOutcome::woken) crew->work_off(0, 1);
                      });
                      program.at_end([=] {
                        const int left = crew->work.load(relaxed);
                        require(crew->done + left == 1, "the work is done or still there");
                        require(crew->lot.parked_approx() == 0, "nobody is left announced");
                      });
                    }}});
}

TEST(ParkingLotModel, EveryOrderIsNeeded) {
  const std::string reason =
      "keeps the load of the epoch in front of the bit; only a machine that delays a load past a "
      "later store "
      "could break it, which the explorer does not show. parking_lot.pml does: EPOCH_LATE";
  expect_weakenings_caught(scenarios(), "parking_lot.cpp",
                           {{"fetch_or(bit, release)", Weakening::drop_release, reason},
                            {"fetch_and(~bit, acquire)", Weakening::drop_acquire, reason}});
}

}  // namespace
}  // namespace muster::explore
