// parking_lot_test.cpp: who is woken, who is not, and that no wake is lost.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/sync/parking_lot.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time kPast{};

// Never reached, unless a wake is lost; then the test fails instead of hanging.
Time far_deadline() {
  return real_clock().now() + 20s;
}

// What the constructor complains about; nothing if it does not.
std::optional<BadField> complaint_about(std::size_t workers) {
  try {
    const ParkingLot lot(workers);
  } catch (const InvalidArgument& error) {
    return error.bad_fields().at(0);
  }
  return std::nullopt;
}

// Workers 0 .. n-1 of a lot, each on a thread of its own that parks once.
class Sleepers {
 public:
  Sleepers(ParkingLot& lot, std::size_t count) : outcomes_(count, ParkOutcome::timed_out) {
    for (std::size_t worker = 0; worker < count; ++worker) {
      threads_.emplace_back([this, &lot, worker] {
        const ParkingLot::Ticket ticket = lot.announce(worker);
        ++announced_;
        outcomes_[worker] = lot.park(ticket, far_deadline());
        ++awake_;
      });
    }
    while (announced_ < count) std::this_thread::yield();
  }

  std::size_t awake() const { return awake_; }

  void expect_all_woken() {
    for (std::thread& thread : threads_) thread.join();
    for (const ParkOutcome outcome : outcomes_) EXPECT_EQ(outcome, ParkOutcome::woken);
  }

 private:
  std::atomic<std::size_t> announced_ = 0;
  std::atomic<std::size_t> awake_ = 0;
  std::vector<ParkOutcome> outcomes_;  // each sleeper writes its own
  std::vector<std::thread> threads_;
};

TEST(ParkingLot, TooFewAndTooManyWorkersAreRefused) {
  for (const std::size_t workers :
       {std::size_t{0}, ParkingLot::kMaxWorkers + 1, std::numeric_limits<std::size_t>::max()}) {
    const std::optional<BadField> bad = complaint_about(workers);
    ASSERT_TRUE(bad) << workers;
    EXPECT_EQ(bad->field, "workers");
    EXPECT_EQ(bad->value, std::to_string(workers));
    EXPECT_EQ(bad->rule, "must be from 1 to 65536");
  }
}

TEST(ParkingLot, OneAndTheMostWorkersAreAccepted) {
  EXPECT_FALSE(complaint_about(1));
  EXPECT_FALSE(complaint_about(ParkingLot::kMaxWorkers));
}

TEST(ParkingLot, WithNobodyParkedNobodyIsWoken) {
  ParkingLot lot(3);
  EXPECT_EQ(lot.parked_approx(), 0U);
  EXPECT_FALSE(lot.wake_one());
}

TEST(ParkingLot, AnnouncingIsSeenAndWithdrawingTakesItBack) {
  ParkingLot lot(3);
  const ParkingLot::Ticket ticket = lot.announce(1);
  EXPECT_EQ(lot.parked_approx(), 1U);
  lot.withdraw(ticket);
  EXPECT_EQ(lot.parked_approx(), 0U);
  EXPECT_FALSE(lot.wake_one());
}

TEST(ParkingLot, IsEmptyUnlessSomebodyHasAnnouncedAndWasNotPicked) {
  ParkingLot lot(130);
  for (const std::size_t worker : {0U, 64U, 129U}) {
    EXPECT_TRUE(lot.empty_approx());
    const ParkingLot::Ticket withdrawn = lot.announce(worker);
    EXPECT_FALSE(lot.empty_approx());
    lot.withdraw(withdrawn);
    EXPECT_TRUE(lot.empty_approx());
    const ParkingLot::Ticket picked = lot.announce(worker);
    EXPECT_TRUE(lot.wake_one());
    EXPECT_TRUE(lot.empty_approx());
    EXPECT_EQ(lot.park(picked), ParkOutcome::woken);
  }
}

TEST(ParkingLot, WakeOnePicksTheWorkerThatAnnounced) {
  ParkingLot lot(4);
  const ParkingLot::Ticket ticket = lot.announce(2);
  EXPECT_TRUE(lot.wake_one());
  EXPECT_EQ(lot.parked_approx(), 0U);
  EXPECT_EQ(lot.park(ticket), ParkOutcome::woken);
}

TEST(ParkingLot, AWakeReachesNobodyElse) {
  ParkingLot lot(4);
  const ParkingLot::Ticket woken = lot.announce(1);
  const ParkingLot::Ticket other = lot.announce(3);
  EXPECT_TRUE(lot.wake_one());
  EXPECT_EQ(lot.park(woken, kPast), ParkOutcome::woken);
  EXPECT_EQ(lot.park(other, kPast), ParkOutcome::timed_out);
}

TEST(ParkingLot, AGivenWorkerIsWokenAndNobodyElse) {
  ParkingLot lot(100);
  const ParkingLot::Ticket first = lot.announce(0);
  const ParkingLot::Ticket chosen = lot.announce(70);
  EXPECT_TRUE(lot.wake_this(70));
  EXPECT_FALSE(lot.wake_this(70)) << "it is awake now";
  EXPECT_FALSE(lot.wake_this(1)) << "it was never asleep";
  EXPECT_EQ(lot.parked_approx(), 1U);
  EXPECT_EQ(lot.park(chosen), ParkOutcome::woken);
  EXPECT_EQ(lot.park(first, real_clock().now()), ParkOutcome::timed_out);
}

TEST(ParkingLot, EachWakePicksAnotherWorker) {
  ParkingLot lot(3);
  std::vector<ParkingLot::Ticket> tickets;
  for (std::size_t worker = 0; worker < 3; ++worker) tickets.push_back(lot.announce(worker));
  for (std::size_t left = 3; left > 0; --left) {
    EXPECT_EQ(lot.parked_approx(), left);
    EXPECT_TRUE(lot.wake_one());
  }
  EXPECT_FALSE(lot.wake_one());
  for (const ParkingLot::Ticket& ticket : tickets) {
    EXPECT_EQ(lot.park(ticket), ParkOutcome::woken);
  }
}

TEST(ParkingLot, AWakeSpentOnAWorkerThatWithdrawsIsPassedOn) {
  ParkingLot lot(2);
  const ParkingLot::Ticket busy = lot.announce(0);
  const ParkingLot::Ticket idle = lot.announce(1);
  EXPECT_TRUE(lot.wake_one());
  EXPECT_EQ(lot.parked_approx(), 1U) << "the lowest worker was picked";
  lot.withdraw(busy);
  EXPECT_EQ(lot.parked_approx(), 0U);
  EXPECT_EQ(lot.park(idle, kPast), ParkOutcome::woken);
}

TEST(ParkingLot, AWithdrawalThatCostNoWakeWakesNobody) {
  ParkingLot lot(2);
  const ParkingLot::Ticket busy = lot.announce(0);
  const ParkingLot::Ticket idle = lot.announce(1);
  lot.withdraw(busy);
  EXPECT_EQ(lot.parked_approx(), 1U);
  EXPECT_EQ(lot.park(idle, kPast), ParkOutcome::timed_out);
}

TEST(ParkingLot, AWakeThatNobodyIsLeftForIsDropped) {
  ParkingLot lot(2);
  const ParkingLot::Ticket ticket = lot.announce(0);
  EXPECT_TRUE(lot.wake_one());
  lot.withdraw(ticket);
  EXPECT_EQ(lot.park(lot.announce(0), kPast), ParkOutcome::timed_out)
      << "an old wake does not end a new sleep";
}

TEST(ParkingLot, APastDeadlineTimesOutAndLeavesNobodyParked) {
  ParkingLot lot(1);
  EXPECT_EQ(lot.park(lot.announce(0), kPast), ParkOutcome::timed_out);
  EXPECT_EQ(lot.parked_approx(), 0U);
  EXPECT_FALSE(lot.wake_one());
}

TEST(ParkingLot, AWorkerParksAgainAfterATimeoutAndAfterAWake) {
  ParkingLot lot(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lot.park(lot.announce(0), kPast), ParkOutcome::timed_out);
    const ParkingLot::Ticket ticket = lot.announce(0);
    EXPECT_TRUE(lot.wake_one());
    EXPECT_EQ(lot.park(ticket, kPast), ParkOutcome::woken);
  }
}

TEST(ParkingLot, WorkersBeyondTheFirstWordAreFoundLowestFirst) {
  ParkingLot lot(130);
  std::vector<ParkingLot::Ticket> tickets;
  for (const std::size_t worker : {63U, 64U, 129U}) tickets.push_back(lot.announce(worker));
  EXPECT_EQ(lot.parked_approx(), 3U);
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    EXPECT_TRUE(lot.wake_one());
    EXPECT_EQ(lot.parked_approx(), 2 - i);
    EXPECT_EQ(lot.park(tickets[i], kPast), ParkOutcome::woken);
  }
  EXPECT_FALSE(lot.wake_one());
}

TEST(ParkingLot, WakeAllReachesWhoHasAnnouncedButNotParkedYet) {
  ParkingLot lot(130);
  std::vector<ParkingLot::Ticket> tickets;
  for (std::size_t worker = 0; worker < 130; ++worker) tickets.push_back(lot.announce(worker));
  lot.wake_all();
  for (const ParkingLot::Ticket& ticket : tickets) {
    EXPECT_EQ(lot.park(ticket, kPast), ParkOutcome::woken);
  }
  EXPECT_EQ(lot.parked_approx(), 0U);
}

TEST(ParkingLot, WakeAllWithNobodyThereIsHarmless) {
  ParkingLot lot(2);
  lot.wake_all();
  EXPECT_EQ(lot.park(lot.announce(0), kPast), ParkOutcome::timed_out);
}

TEST(ParkingLot, WakeAllEndsTheSleepOfEveryThread) {
  ParkingLot lot(4);
  Sleepers sleepers(lot, 4);
  lot.wake_all();
  sleepers.expect_all_woken();
  EXPECT_EQ(lot.parked_approx(), 0U);
}

TEST(ParkingLot, WakeOneEndsTheSleepOfOneThread) {
  ParkingLot lot(3);
  Sleepers sleepers(lot, 3);
  for (std::size_t woken = 1; woken <= 3; ++woken) {
    EXPECT_TRUE(lot.wake_one());
    while (sleepers.awake() < woken) std::this_thread::yield();
  }
  EXPECT_FALSE(lot.wake_one());
  sleepers.expect_all_woken();
}

}  // namespace
}  // namespace muster
