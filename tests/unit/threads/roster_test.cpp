// roster_test.cpp: who is woken and who is not, step by step on one thread.
#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/threads/roster.hpp>

namespace muster {
namespace {

TEST(Roster, NeedsAWorker) {
  EXPECT_THROW(Roster(0), InvalidArgument);
}

TEST(Roster, NobodyIsWokenIfNobodySleeps) {
  Roster roster(2);
  EXPECT_FALSE(roster.notify());
}

TEST(Roster, ASleeperIsWokenUnlessSomebodySearches) {
  Roster roster(2);
  roster.begin_search();
  const ParkingLot::Ticket ticket = roster.give_up(0);
  EXPECT_EQ(roster.sleeping_approx(), 1U);
  roster.begin_search();  // worker 1
  EXPECT_FALSE(roster.notify());
  EXPECT_TRUE(roster.end_search());
  EXPECT_TRUE(roster.notify());
  EXPECT_FALSE(roster.notify()) << "it is awake now";
  EXPECT_EQ(roster.sleep(ticket), ParkOutcome::woken);
}

TEST(Roster, FromOutsideASleeperIsWokenUnlessSomebodySearches) {
  for (const std::size_t workers : {1U, 2U}) {  // all asleep, or another awake and busy
    Roster roster(workers);
    EXPECT_FALSE(roster.notify_from_outside());
    roster.begin_search();
    const ParkingLot::Ticket ticket = roster.give_up(0);
    roster.begin_search();
    EXPECT_FALSE(roster.notify_from_outside());
    EXPECT_TRUE(roster.end_search());
    EXPECT_TRUE(roster.notify_from_outside());
    EXPECT_EQ(roster.sleep(ticket), ParkOutcome::woken);
  }
}

TEST(Roster, FromOutsideAnAbsentWorkerIsAskedForIfNobodyElseIsFree) {
  unsigned recruited = 0;
  Roster roster(2, 0, [&] { ++recruited; });
  roster.set_absent(1);
  EXPECT_FALSE(roster.notify_from_outside());
  EXPECT_EQ(recruited, 1U);
  roster.begin_search();
  const ParkingLot::Ticket ticket = roster.give_up(0);
  EXPECT_TRUE(roster.notify_from_outside());
  EXPECT_EQ(recruited, 1U);
  EXPECT_EQ(roster.sleep(ticket), ParkOutcome::woken);
}

TEST(Roster, AGivenWorkerIsWokenAlsoIfSomebodySearches) {
  Roster roster(2);
  roster.begin_search();
  roster.begin_search();
  const ParkingLot::Ticket ticket = roster.give_up(1);
  EXPECT_FALSE(roster.notify_worker(0));
  EXPECT_TRUE(roster.notify_worker(1));
  EXPECT_FALSE(roster.notify_worker(1));
  EXPECT_EQ(roster.sleep(ticket), ParkOutcome::woken);
}

TEST(Roster, WhoBeginsToSearchLearnsHowManyDoSoAlready) {
  Roster roster(3);
  EXPECT_EQ(roster.begin_search(), 0U);
  EXPECT_EQ(roster.begin_search(), 1U);
  EXPECT_FALSE(roster.end_search());
  EXPECT_EQ(roster.begin_search(), 1U);
}

TEST(Roster, OnlyTheLastSearcherIsAskedToLookForMore) {
  Roster roster(3);
  roster.begin_search();
  roster.begin_search();
  EXPECT_EQ(roster.searching_approx(), 2U);
  EXPECT_FALSE(roster.end_search());
  EXPECT_TRUE(roster.end_search());
  EXPECT_EQ(roster.searching_approx(), 0U);
}

TEST(Roster, WhoStaysIsNoSleeperAnyMore) {
  Roster roster(1);
  roster.begin_search();
  const ParkingLot::Ticket ticket = roster.give_up(0);
  EXPECT_EQ(roster.searching_approx(), 0U);
  roster.stay(ticket);
  EXPECT_EQ(roster.sleeping_approx(), 0U);
  EXPECT_FALSE(roster.notify());
}

TEST(Roster, ASleepEndsAtItsDeadline) {
  Roster roster(1);
  roster.begin_search();
  EXPECT_EQ(roster.sleep(roster.give_up(0), real_clock().now()), ParkOutcome::timed_out);
}

}  // namespace
}  // namespace muster
